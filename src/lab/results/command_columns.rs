//! Columns of `kind = "command"` models: metrics that the manifest declares, and empty fields for values that the
//! program does not report.

use crate::event::{RunFacts, RunTimes};
use crate::models::Better;
use crate::plan::CellSpec;

use super::columns::{Column, TIME_COLUMNS, TIMINGS_COLUMNS, metric_column};
use super::{ColumnInfo, Direction, PlanFile};

/// Describes a metric that the command of a cell declares, or its best value over epochs.
pub fn declared_column(name: &str, cell: &CellSpec) -> Option<ColumnInfo> {
    let command = cell.model.command()?;
    let plain = name.strip_prefix("best_").unwrap_or(name);
    let metric = command
        .metrics
        .get(name)
        .or_else(|| command.metrics.get(plain))?;
    let best = if plain == name {
        ""
    } else {
        ", the best over epochs"
    };
    let known = metric_column(name);
    let meaning = match known.direction {
        Direction::None => format!("`{plain}` as the program reports it{best}"),
        _ => known.meaning.clone(),
    };
    Some(ColumnInfo {
        unit: metric.unit.clone().unwrap_or_else(|| "1".to_owned()),
        direction: match metric.better {
            Better::Lower => Direction::Lower,
            Better::Higher => Direction::Higher,
        },
        meaning,
        is_time: metric.time,
        ..known
    })
}

/// The text of a fact; empty if a command did not report it.
pub(crate) fn show_fact(column: &Column<RunFacts>, facts: &RunFacts) -> String {
    let text = (column.show)(facts);
    let is_untold = text == "0" && facts.weight_checksum.is_empty() && column.name != "best_epoch";
    if is_untold { String::new() } else { text }
}

/// The text of a time; empty if a command did not report it.
pub(crate) fn show_time(column: &Column<RunTimes>, times: &RunTimes) -> String {
    let text = (column.show)(times);
    let is_untold = text == "0" && times.are_reported_by_program();
    if is_untold { String::new() } else { text }
}

/// Moves times that a command reported under the name of a fixed column into that column.
pub fn move_times_to_fixed_columns(times: &mut RunTimes) {
    for (name, value) in std::mem::take(&mut times.own) {
        let column = TIME_COLUMNS.iter().find(|column| column.name == name);
        let is_fixed =
            column.is_some_and(|column| (column.read)(times, &value.to_string()).is_ok());
        if !is_fixed {
            times.own.insert(name, value);
        }
    }
}

/// Columns of `blocks.csv` whose medians are in `timings.csv`: the fixed ones, then those of commands.
pub fn timed_columns(plan: &PlanFile) -> impl Iterator<Item = &str> {
    TIMINGS_COLUMNS
        .into_iter()
        .chain(command_time_columns(plan))
}

/// Names of the times of commands that have a column of their own in `blocks.csv` and `timings.csv`.
pub(crate) fn command_time_columns(plan: &PlanFile) -> impl Iterator<Item = &str> {
    let times = plan.columns.iter().filter(|column| column.is_time);
    times
        .map(|column| &*column.name)
        .filter(|name| !TIME_COLUMNS.iter().any(|column| column.name == *name))
}

#[cfg(test)]
mod tests {
    use super::super::columns::{
        DURATION_COLUMNS, EPOCH_COLUMNS, FACT_COLUMNS, PARENT_COLUMNS, SESSION_COLUMNS,
    };
    use super::super::identity::IDENTITY;
    use super::*;
    use crate::plan::is_free_column;

    /// A metric with the name of a fixed column would give a table two columns of one name.
    #[test]
    fn no_metric_has_the_name_of_a_fixed_column() {
        fn names<R>(table: &[Column<R>]) -> impl Iterator<Item = &'static str> {
            table.iter().map(|column| column.name)
        }
        let identity = IDENTITY.iter().map(|(name, ..)| *name);
        let others = names(FACT_COLUMNS)
            .chain(names(EPOCH_COLUMNS))
            .chain(names(PARENT_COLUMNS));
        let others = others
            .chain(names(DURATION_COLUMNS))
            .chain(names(SESSION_COLUMNS));
        for name in others.chain(identity) {
            let is_of_event = name == "epoch";
            assert!(is_of_event || !is_free_column(name, true), "{name}");
        }
        for name in names(TIME_COLUMNS) {
            assert!(!is_free_column(name, false), "{name}");
        }
        assert!(is_free_column("step_ms", true) && is_free_column("val_loss", false));
    }
}
