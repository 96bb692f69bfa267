//! [`JoinedTable`]: one table with a row for every run, which a reader would otherwise join from `runs.csv`,
//! `epochs.csv`, `blocks.csv` and `timings.csv`.

use std::collections::BTreeMap;

use crate::base::statistics;
use crate::event::EpochRow;

use super::columns::{EPOCH_COLUMNS, LAST_EPOCH_SUFFIX};
use super::datatype::Datatype;
use super::described::{as_median, describe_column};
use super::field::Field;
use super::intervals::counted_runs;
use super::session::{self, millis_after_start};
use super::write::{
    CellOrder, block_fields, blocks_header, epoch_fields, epochs_header, metric_names, run_fields,
    runs_header, timing_fields, timings_header,
};
use super::{
    BlockRow, ColumnInfo, EpochRecord, PlanFile, ResultSet, RunRow, TimingRow, by_key, write,
};

/// Columns of `blocks.csv` that the joined table leaves out: they describe a single block, or `runs.csv` has them too.
const OF_ONE_BLOCK: [&str; 5] = ["block", "status", "reason", "session", "start_s"];

/// Where a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnSource {
    /// Key, seed and axes.
    Identity,
    /// `runs.csv`: the facts and metrics.
    Run,
    /// `epochs.csv`: values of the best and the last epoch.
    Epoch,
    /// `blocks.csv`: times of the run.
    Block,
    /// `timings.csv`: times of the run's cell, the same in all rows of that cell.
    Cell,
}

/// The joined table.
#[derive(Debug)]
pub struct JoinedTable {
    /// The columns that have a value in any row.
    pub columns: Vec<(ColumnInfo, ColumnSource)>,
    /// A row for every row of `runs.csv`, in its order; a missing value is empty.
    pub rows: Vec<Vec<String>>,
}

impl JoinedTable {
    /// Joins the tables of a result.
    pub fn of(results: &ResultSet) -> Self {
        let plan = &results.plan;
        let order = CellOrder::of(plan);
        let sources = Sources::of(results);
        let rows = order.sort(&results.runs, |row| &row.key, |row| row.seed);
        let rows = rows.into_iter().map(|row| sources.row(row, &order));
        let all = Self {
            columns: sources.columns(),
            rows: rows.collect(),
        };
        all.without_empty()
    }

    /// The table as CSV.
    pub fn csv(&self) -> Vec<u8> {
        let header = self.columns.iter().map(|(column, _)| column.name.clone());
        write::csv_text(header.collect(), self.rows.iter().cloned())
    }

    /// Removes columns without any value, for example GPU temperatures of CPU runs.
    fn without_empty(mut self) -> Self {
        let count = self.columns.len();
        let has_value = |place: usize| self.rows.iter().any(|row| !row[place].is_empty());
        let kept: Vec<bool> = (0..count).map(has_value).collect();
        for row in &mut self.rows {
            let mut places = kept.iter();
            row.retain(|_| places.next() == Some(&true));
        }
        let mut places = kept.iter();
        self.columns.retain(|_| places.next() == Some(&true));
        self
    }
}

/// The rows of all tables, grouped by the columns that they are joined on.
struct Sources<'a> {
    plan: &'a PlanFile,
    metrics: Vec<String>,
    epoch_metrics: Vec<String>,
    /// The columns of `blocks.csv` that the joined table has, with their indices in [`block_fields`].
    taken: Vec<(usize, ColumnInfo)>,
    epochs: BTreeMap<(&'a str, u64), Vec<&'a EpochRow>>,
    blocks: BTreeMap<&'a str, Vec<&'a BlockRow>>,
    timings: BTreeMap<&'a str, Vec<&'a TimingRow>>,
}

impl<'a> Sources<'a> {
    fn of(results: &'a ResultSet) -> Self {
        let facts = results.runs.iter().filter_map(|row| row.facts.as_ref());
        let epochs = &results.epochs;
        let mut by_run: BTreeMap<_, Vec<&EpochRow>> = BTreeMap::new();
        for EpochRecord { key, seed, epoch } in epochs {
            by_run.entry((&**key, *seed)).or_default().push(epoch);
        }
        Self {
            plan: &results.plan,
            taken: block_columns(&results.plan),
            metrics: metric_names(facts.map(|facts| &facts.metrics)),
            epoch_metrics: metric_names(epochs.iter().map(|row| &row.epoch.validation)),
            epochs: by_run,
            blocks: by_key(&results.blocks, |row| &row.key),
            timings: by_key(&results.timings, |row| &row.key),
        }
    }

    fn columns(&self) -> Vec<(ColumnInfo, ColumnSource)> {
        let plan = self.plan;
        let identity = 2 + plan.axes.len();
        let runs = [runs_header(plan), self.metrics.clone()].concat();
        let runs = runs.iter().enumerate().map(|(place, name)| {
            let of_run = if place < identity {
                ColumnSource::Identity
            } else {
                ColumnSource::Run
            };
            (describe_column(name, plan), of_run)
        });
        let epochs = [epochs_header(plan), self.epoch_metrics.clone()].concat();
        let epochs = epochs.into_iter().skip(identity + 1);
        let epochs: Vec<ColumnInfo> = epochs.map(|name| describe_column(&name, plan)).collect();
        let at = |which| {
            epochs
                .iter()
                .map(move |column| (at_epoch(column, which), ColumnSource::Epoch))
        };
        let blocks = BLOCK_COLUMNS.map(|(name, datatype, unit, meaning)| {
            ColumnInfo::plain(name, datatype, unit, meaning)
        });
        let blocks = blocks
            .into_iter()
            .chain(self.taken.iter().map(|(_, column)| column.clone()));
        let cells = timings_header(plan).into_iter().skip(1 + plan.axes.len());
        let cells = cells.map(|name| (of_cell(describe_column(&name, plan)), ColumnSource::Cell));
        let blocks = blocks.map(|column| (column, ColumnSource::Block));
        runs.chain(at("best"))
            .chain(at("last"))
            .chain(blocks)
            .chain(cells)
            .collect()
    }

    fn row(&self, run: &RunRow, order: &CellOrder<'_>) -> Vec<String> {
        let mut fields = run_fields(run, order, &self.metrics);
        let epochs = self
            .epochs
            .get(&(&*run.key, run.seed))
            .map_or(&[][..], |rows| rows);
        let best = run.facts.as_ref().and_then(|facts| facts.best_epoch);
        let best = epochs.iter().find(|row| Some(row.epoch) == best);
        for epoch in [best, epochs.iter().max_by_key(|row| row.epoch)] {
            let none = || vec![String::new(); EPOCH_COLUMNS.len() + self.epoch_metrics.len()];
            let values = epoch.map_or_else(none, |row| epoch_fields(row, &self.epoch_metrics));
            fields.extend(values.into_iter().skip(1));
        }
        fields.extend(self.times(run));
        let none =
            || vec![String::new(); timings_header(self.plan).len() - 1 - self.plan.axes.len()];
        let cell = self.timings.get(&*run.key).and_then(|rows| rows.first());
        fields.extend(cell.map_or_else(none, |row| timing_fields(row, self.plan)));
        fields
    }

    /// The medians of a run's times over its blocks.
    fn times(&self, run: &RunRow) -> Vec<String> {
        let of_cell = self.blocks.get(&*run.key).map_or(&[][..], |rows| rows);
        let is_own = |row: &&&BlockRow| row.seed == run.seed;
        let own: Vec<&BlockRow> = of_cell.iter().filter(is_own).copied().collect();
        let counted = counted_runs(of_cell);
        let counted: Vec<&BlockRow> = counted.iter().filter(is_own).copied().collect();
        let (started, ended) = span(&own);
        let mut fields = vec![counted.len().show(), started, ended];
        let taken = if counted.is_empty() { own } else { counted };
        let rows: Vec<Vec<String>> = taken
            .iter()
            .map(|row| block_fields(row, self.plan))
            .collect();
        fields.extend(self.taken.iter().map(|(place, column)| {
            let mut texts = rows.iter().map(|row| &*row[*place]);
            match column.datatype {
                Datatype::Number => median(texts),
                _ => texts.next().unwrap_or_default().to_owned(),
            }
        }));
        fields
    }
}

/// The columns of `blocks.csv` that the joined table has, with their indices in [`block_fields`].
fn block_columns(plan: &PlanFile) -> Vec<(usize, ColumnInfo)> {
    let names = blocks_header(plan).into_iter().skip(2 + plan.axes.len());
    let taken = names
        .enumerate()
        .filter(|(_, name)| !OF_ONE_BLOCK.contains(&&**name));
    let described = taken.map(|(place, name)| (place, as_median(describe_column(&name, plan))));
    described.collect()
}

/// Columns about the blocks of a run, besides the medians of their values.
const BLOCK_COLUMNS: [(&str, Datatype, &str, &str); 3] = [
    (
        "blocks",
        Datatype::Whole,
        "1",
        "Number of repetitions (blocks) of the run that count; the columns after it are medians over these, or over all blocks if none counts",
    ),
    (
        "started",
        Datatype::DateTime,
        "",
        "Start of the first block",
    ),
    ("ended", Datatype::DateTime, "", "End of the last block"),
];

/// Describes the column of a metric at the best or last epoch, such as `val_loss_at_best`.
fn at_epoch(column: &ColumnInfo, which: &str) -> ColumnInfo {
    let meaning = column.meaning.trim_end_matches(LAST_EPOCH_SUFFIX);
    ColumnInfo {
        name: format!("{}_at_{which}", column.name),
        meaning: format!("{meaning}: of the {which} epoch"),
        ..column.clone()
    }
}

/// Describes the column of a cell's time, such as `cell_step_ms`.
fn of_cell(column: ColumnInfo) -> ColumnInfo {
    let column = as_median(column);
    ColumnInfo {
        name: format!("cell_{}", column.name),
        meaning: format!("{} (all runs of the cell)", column.meaning),
        ..column
    }
}

/// The median of fields, rounded as a fact; a single value is kept as text.
fn median<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    if let [one] = texts[..] {
        return one.to_owned();
    }
    let values: Vec<f64> = texts.iter().filter_map(|text| text.parse().ok()).collect();
    statistics::median(&values).show_fact()
}

/// Start of the first block and end of the last one, in UTC; empty if unknown.
fn span(blocks: &[&BlockRow]) -> (String, String) {
    let start = |row: &BlockRow| millis_after_start(row.session.as_deref()?, row.start_s?);
    let end =
        |row: &BlockRow| millis_after_start(row.session.as_deref()?, row.start_s? + row.wall_s?);
    let first = blocks.iter().filter_map(|row| start(row)).min();
    let last = blocks.iter().filter_map(|row| end(row)).max();
    let name = |moment: Option<u64>| moment.map(session::name).unwrap_or_default();
    (name(first), name(last))
}
