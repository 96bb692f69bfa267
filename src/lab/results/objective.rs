//! The value of a search objective, computed from the results of a run.
//!
//! Names, directions and the list of clock-dependent objectives are in [`crate::plan::search::objective`]. Start at
//! [`value`]; [`epoch_value`] is what a pruner sees of a running trial.

use crate::event::{EpochRow, RunFacts, RunTimes};
use crate::models::DECIDING_LOSSES;
use crate::plan::MetricTargetSpec;
use crate::plan::search::ObjectiveDirection;
pub use crate::plan::search::objective::{
    DECIDING_LOSS, FIRST_EPOCH_AT_TARGET, FLOPS_TO_BEST, direction, pruner_column,
    varies_between_runs,
};

use super::Direction;
use super::columns::{
    FACT_COLUMNS, STEP_TIME_COLUMN_COUNT, TIME_COLUMNS, TIMINGS_COLUMNS, metric_column,
};
use super::command_columns::{show_fact, show_time};
use super::field::{Field, round_as_fact};

/// Returns the value of the objective `column` for a run with these facts, times and epochs, rounded as in the CSV
/// files.
///
/// Besides the fixed numeric columns of `runs.csv` and `blocks.csv` and the final metrics there are:
///
/// | column | value |
/// |---|---|
/// | `best_<metric>` | the best over the epochs, if the run has no metric of this name |
/// | `<metric>` | the value of the last epoch that has it, if the run has no metric of this name |
/// | `flops_to_best` | `(forward + backward FLOPs per sample) × samples × (best epoch + 1) / epochs` |
/// | `first_epoch_at_target` | the first epoch, from 0, that ends at `target` or better; else the number of epochs |
///
/// `None` if the run diverged or has no finite value, for example the time to a target that it never reached.
///
/// # Units
/// `wall_s` is in seconds, from start to end of the run, measured by the parent process; the value has the column's
/// unit.
pub fn value(
    column: &str,
    facts: &RunFacts,
    times: Option<&RunTimes>,
    wall_s: f64,
    epochs: &[EpochRow],
    target: Option<&MetricTargetSpec>,
) -> Option<f64> {
    if facts.diverged.is_some() {
        return None;
    }
    let found = match column {
        FLOPS_TO_BEST => flops_to_best(facts),
        FIRST_EPOCH_AT_TARGET => first_epoch_at(target?, epochs),
        "wall_s" => wall_s.show_measured().parse().ok(),
        _ => of_table(column, facts, times)
            .or_else(|| times?.own.get(column).copied())
            .or_else(|| metric(column, facts, epochs)),
    };
    found.filter(|value| value.is_finite()).map(round_as_fact)
}

/// The value that an epoch reports to a pruner: name of the column of `epochs.csv`, and the value rounded as in the
/// file, NaN if it is not finite. `None` for an epoch that was not evaluated.
///
/// `watched` comes from [`crate::plan::search::objective::pruner_column`]: a column, or the loss that selects the best
/// epoch. In a run without validation or test data, that loss is the training loss, at the epochs where an evaluation
/// would be due; `every` is the run's `validation.every`.
pub fn epoch_value<'w>(watched: &'w str, every: usize, row: &EpochRow) -> Option<(&'w str, f64)> {
    let name = match watched {
        DECIDING_LOSS => deciding_loss(every, row)?,
        name => name,
    };
    Some((name, round_as_fact(of_epoch(name, row)?)))
}

/// The column of the loss that selects the best epoch; `None` for an epoch in which no evaluation was due.
fn deciding_loss(every: usize, row: &EpochRow) -> Option<&'static str> {
    let mut evaluated = DECIDING_LOSSES.into_iter();
    let found = evaluated.find(|name| row.validation.contains_key(*name));
    let is_due = (row.epoch + 1).is_multiple_of(every.max(1));
    found.or_else(|| is_due.then_some("train_loss"))
}

/// The metric of an epoch, NaN if it is not finite; `None` if the epoch does not have it.
fn of_epoch(metric: &str, row: &EpochRow) -> Option<f64> {
    let found = match metric {
        "train_loss" => row.train_loss,
        name => *row.validation.get(name)?,
    };
    Some(found.unwrap_or(f64::NAN))
}

/// The value of a fixed column; NaN if it is empty, `None` if there is no such column.
fn of_table(column: &str, facts: &RunFacts, times: Option<&RunTimes>) -> Option<f64> {
    let text = if let Some(known) = FACT_COLUMNS.iter().find(|known| known.name == column) {
        show_fact(known, facts)
    } else {
        let known = TIME_COLUMNS.iter().find(|known| known.name == column)?;
        let is_of_steps = TIMINGS_COLUMNS[..STEP_TIME_COLUMN_COUNT].contains(&column);
        let is_figure = |times: &&RunTimes| times.are_measured() || !is_of_steps;
        let show = |times| show_time(known, times);
        times.filter(is_figure).map(show).unwrap_or_default()
    };
    Some(text.parse().unwrap_or(f64::NAN))
}

fn metric(name: &str, facts: &RunFacts, epochs: &[EpochRow]) -> Option<f64> {
    if let Some(value) = facts.metrics.get(name) {
        return *value;
    }
    let by_epoch = |metric| {
        let values = epochs.iter().filter_map(move |row| of_epoch(metric, row));
        values.filter(|value| value.is_finite())
    };
    let Some(plain) = name.strip_prefix("best_") else {
        return by_epoch(name).next_back();
    };
    match direction(plain)? {
        ObjectiveDirection::Minimize => by_epoch(plain).reduce(f64::min),
        ObjectiveDirection::Maximize => by_epoch(plain).reduce(f64::max),
    }
}

fn flops_to_best(facts: &RunFacts) -> Option<f64> {
    let per_sample = facts.flops_forward_per_sample + facts.flops_backward_per_sample;
    let until = (facts.best_epoch? + 1) as f64 / facts.epochs as f64;
    Some(per_sample * facts.samples as f64 * until)
}

fn first_epoch_at(target: &MetricTargetSpec, epochs: &[EpochRow]) -> Option<f64> {
    let is_higher_better = metric_column(&target.metric).direction == Direction::Higher;
    let is_reached = |row: &&EpochRow| {
        let value = of_epoch(&target.metric, row).unwrap_or(f64::NAN);
        (is_higher_better && value >= target.value) || (!is_higher_better && value <= target.value)
    };
    let last = epochs.last()?.epoch;
    let reached = epochs.iter().find(is_reached);
    // A run that never reaches the target ranks below one that reaches it in its last epoch; it is not a failure.
    Some(reached.map_or(last + 1, |row| row.epoch) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::PhaseTimes;
    use crate::plan::search::objective::{is_known, known_columns};
    use crate::results::columns::METRIC_SUFFIXES;
    use crate::results::fixed_column;

    fn facts() -> RunFacts {
        RunFacts {
            parameters: 100,
            flops_forward_per_sample: 10.0,
            flops_backward_per_sample: 20.5,
            samples: 400,
            epochs: 4,
            best_epoch: Some(2),
            best_loss: Some(0.5),
            metrics: [
                ("test_loss", Some(0.7)),
                ("best_test_accuracy", Some(0.9)),
                ("fresh_r2", None),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
            ..RunFacts::default()
        }
    }

    fn epochs() -> Vec<EpochRow> {
        let accuracies = [Some(0.2), None, Some(0.92), Some(0.8)];
        let row = |(epoch, accuracy): (usize, Option<f64>)| EpochRow {
            epoch,
            train_loss: Some(4.0 - epoch as f64),
            validation: [("test_accuracy".to_owned(), accuracy)].into(),
            ..EpochRow::default()
        };
        accuracies.into_iter().enumerate().map(row).collect()
    }

    fn of(column: &str) -> Option<f64> {
        let target = MetricTargetSpec {
            metric: "test_accuracy".to_owned(),
            value: 0.8,
        };
        value(
            column,
            &facts(),
            None,
            1.234_567_89,
            &epochs(),
            Some(&target),
        )
    }

    #[test]
    fn facts_metrics_and_derived_values_are_found() {
        let expected = [
            ("best_loss", Some(0.5)),
            ("parameters", Some(100.0)),
            ("best_epoch", Some(2.0)),
            // The run's own metric, not the best over the epochs.
            ("best_test_accuracy", Some(0.9)),
            ("best_train_loss", Some(1.0)),
            ("test_accuracy", Some(0.8)),
            ("test_loss", Some(0.7)),
            ("fresh_r2", None),
            ("val_loss", None),
            // 30.5 FLOPs · 300 samples.
            ("flops_to_best", Some(9150.0)),
            ("first_epoch_at_target", Some(2.0)),
            ("wall_s", Some(1.23457)),
            ("train_s", None),
            ("weight_checksum", None),
        ];
        for (column, expected) in expected {
            assert_eq!(of(column), expected, "{column}");
        }
    }

    #[test]
    fn a_target_that_is_not_reached_counts_as_the_number_of_epochs() {
        let target = |metric: &str, value| MetricTargetSpec {
            metric: metric.to_owned(),
            value,
        };
        let at = |target: Option<MetricTargetSpec>| {
            let facts = facts();
            value(
                "first_epoch_at_target",
                &facts,
                None,
                1.0,
                &epochs(),
                target.as_ref(),
            )
        };
        let last = epochs().last().unwrap().epoch;
        assert_eq!(
            at(Some(target("test_accuracy", 0.95))),
            Some((last + 1) as f64)
        );
        assert_eq!(at(Some(target("train_loss", 3.0))), Some(1.0));
        assert_eq!(at(None), None);
    }

    #[test]
    fn a_diverged_run_has_no_value() {
        let facts = RunFacts {
            diverged: Some("loss 1e9".to_owned()),
            ..facts()
        };
        assert_eq!(value("parameters", &facts, None, 1.0, &[], None), None);
    }

    #[test]
    fn a_step_that_was_not_measured_has_no_time() {
        let times = |measured_steps| RunTimes {
            measured_steps: Some(measured_steps),
            train_s: 2.0,
            phases: PhaseTimes {
                forward_ms: 0.25,
                ..PhaseTimes::default()
            },
            ..RunTimes::default()
        };
        let of = |column, times: &RunTimes| value(column, &facts(), Some(times), 1.0, &[], None);
        assert_eq!(of("forward_ms", &times(0)), None);
        assert_eq!(of("forward_ms", &times(3)), Some(0.25));
        assert_eq!(of("train_s", &times(0)), Some(2.0));
    }

    #[test]
    fn every_known_column_is_one_of_the_files_with_its_direction() {
        for column in known_columns() {
            if [FLOPS_TO_BEST, FIRST_EPOCH_AT_TARGET].contains(&column) {
                continue;
            }
            let info = fixed_column(column).unwrap_or_else(|| panic!("{column} is no column"));
            let expected = match info.direction {
                Direction::Higher => ObjectiveDirection::Maximize,
                // Results give work no direction; for a search lower is better.
                Direction::Lower | Direction::None => ObjectiveDirection::Minimize,
            };
            assert_eq!(direction(column), Some(expected), "{column}");
        }
    }

    #[test]
    fn every_column_that_can_be_better_is_known() {
        let facts = FACT_COLUMNS
            .iter()
            .map(|column| (column.name, column.direction));
        let times = TIME_COLUMNS
            .iter()
            .map(|column| (column.name, column.direction));
        for (column, direction) in facts.chain(times) {
            assert!(direction == Direction::None || is_known(column), "{column}");
        }
        for column in known_columns() {
            let of_facts = FACT_COLUMNS.iter().any(|known| known.name == column);
            assert!(!(of_facts && varies_between_runs(column)), "{column}");
        }
    }

    #[test]
    fn metrics_have_the_direction_of_their_columns() {
        let metrics = METRIC_SUFFIXES.iter();
        let metrics =
            metrics.flat_map(|(expected, named)| named.iter().map(move |one| (expected, one.0)));
        for (expected, name) in metrics {
            let metric = format!("val_{name}");
            let expected = match expected {
                Direction::Lower => Some(ObjectiveDirection::Minimize),
                Direction::Higher => Some(ObjectiveDirection::Maximize),
                Direction::None => None,
            };
            assert_eq!(direction(&metric), expected, "{metric}");
        }
    }

    fn row(epoch: usize, train_loss: Option<f64>, validation: &[(&str, Option<f64>)]) -> EpochRow {
        let validation = validation
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        EpochRow {
            epoch,
            train_loss,
            validation: validation.collect(),
            ..EpochRow::default()
        }
    }

    #[test]
    fn the_deciding_loss_is_the_validation_loss_where_there_is_one() {
        let before = row(0, Some(9.0), &[]);
        let evaluated = row(1, Some(8.0), &[("val_loss", Some(3.0))]);
        // The last epoch is evaluated even when no evaluation is due.
        let last = row(2, Some(7.0), &[("val_loss", None)]);
        assert_eq!(epoch_value(DECIDING_LOSS, 2, &before), None);
        assert_eq!(
            epoch_value(DECIDING_LOSS, 2, &evaluated),
            Some(("val_loss", 3.0))
        );
        let (name, value) = epoch_value(DECIDING_LOSS, 2, &last).expect("a value");
        assert!(name == "val_loss" && value.is_nan());
    }

    #[test]
    fn without_a_split_to_evaluate_the_training_loss_decides() {
        let row = row(0, Some(9.0), &[]);
        assert_eq!(
            epoch_value(DECIDING_LOSS, 1, &row),
            Some(("train_loss", 9.0))
        );
        assert_eq!(epoch_value(DECIDING_LOSS, 2, &row), None);
        assert_eq!(
            epoch_value("train_loss", 2, &row),
            Some(("train_loss", 9.0))
        );
        assert_eq!(epoch_value("val_r2", 1, &row), None);
    }
}
