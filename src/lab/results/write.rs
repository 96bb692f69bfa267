//! Writes a [`ResultSet`] as files: `plan.json`, `env.toml` and the CSV files; equal values give equal bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::once;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::base::temporary::remove_abandoned;
use crate::base::text::{one_line, snake_case};
use crate::event::{EpochRow, Metrics, RunFacts};
use crate::plan::AxisInfo;

use super::columns::{
    CONFUSION_COLUMNS, Column, DURATION_COLUMNS, EPOCH_COLUMNS, FACT_COLUMNS, OP_COLUMNS,
    PARENT_COLUMNS, SESSION_COLUMNS, TIME_COLUMNS, WORK_COLUMNS, fixed_column,
};
use super::command_columns::{command_time_columns, show_fact, show_time, timed_columns};
use super::field::Field;
use super::files::{create_folder, remove, write_if_changed};
use super::identity::IDENTITY;
use super::plan_file::plan_json;
use super::{BlockRow, EpochRecord, PlanFile, ResultSet, ResultsError, RunRow, TimingRow};

/// Writes every results file of `folder` whose content would change, and returns the written files. Without counted
/// work there is no `work.csv`, without classes no `confusion.csv`.
///
/// Rows are in plan order. The caller holds the folder's lock; temporary files of a killed program are removed.
///
/// # Errors
/// [`ResultsError::System`]; each file has its old or its new content then.
pub fn write(folder: &Path, results: &ResultSet) -> Result<Vec<PathBuf>, ResultsError> {
    create_folder(folder)?;
    remove_abandoned(folder);
    let order = CellOrder::of(&results.plan);
    let files = [
        ("plan.json", Some(plan_json(&results.plan).into_bytes())),
        ("runs.csv", Some(runs_csv(results, &order))),
        ("epochs.csv", Some(epochs_csv(results, &order))),
        ("work.csv", work_csv(results, &order)),
        ("confusion.csv", confusion_csv(results, &order)),
        ("blocks.csv", Some(blocks_csv(results, &order))),
        ("timings.csv", Some(timings_csv(results, &order))),
        ("env.toml", Some(env_toml(results))),
    ];
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = folder.join(name);
        let Some(bytes) = bytes else {
            remove(&path)?;
            continue;
        };
        if write_if_changed(&path, &bytes)? {
            written.push(path);
        }
    }
    Ok(written)
}

/// Sorts rows in the order of the plan's cells, and looks up axis values by key.
pub(super) struct CellOrder<'a> {
    places: BTreeMap<&'a str, usize>,
    plan: &'a PlanFile,
}

impl<'a> CellOrder<'a> {
    pub(super) fn of(plan: &'a PlanFile) -> Self {
        let cells = plan.cells.iter().enumerate();
        Self {
            places: cells.map(|(place, cell)| (&*cell.key, place)).collect(),
            plan,
        }
    }

    pub(super) fn sort<T, K: Ord>(
        &self,
        rows: &'a [T],
        key: fn(&T) -> &str,
        then: fn(&T) -> K,
    ) -> Vec<&'a T> {
        let mut sorted: Vec<&T> = rows.iter().collect();
        sorted.sort_by_cached_key(|row| {
            let place = self.places.get(key(row)).copied();
            (place.unwrap_or(usize::MAX), key(row).to_owned(), then(row))
        });
        sorted
    }

    /// The fields that identify a row: key, seed and axis values.
    pub(super) fn identity(&self, key: &str, seed: u64) -> Vec<String> {
        let mut fields = vec![key.to_owned(), seed.show()];
        fields.extend(self.axes(key));
        fields
    }

    fn axes(&self, key: &str) -> Vec<String> {
        let cell = self.places.get(key).map(|&place| &self.plan.cells[place]);
        let no_axes = || vec![String::new(); self.plan.axes.len()];
        cell.map_or_else(no_axes, |cell| cell.axes.clone())
    }
}

/// Returns the columns of the axes: their names in snake case, or their long paths in snake case where a fixed column
/// already has that name (an axis `epochs` becomes `train_epochs`).
pub fn axis_columns(plan: &PlanFile) -> Vec<String> {
    let reserved =
        |name: &str| IDENTITY.iter().any(|(own, ..)| *own == name) || fixed_column(name).is_some();
    let column = |axis: &AxisInfo| match snake_case(&axis.name) {
        short if reserved(&short) => snake_case(&axis.path),
        short => short,
    };
    plan.axes.iter().map(column).collect()
}

/// The header of `runs.csv` before the metrics.
pub(crate) fn runs_header(plan: &PlanFile) -> Vec<String> {
    header(
        plan,
        ["status", "reason"].into_iter().chain(names(FACT_COLUMNS)),
    )
}

/// The header of `epochs.csv` before the metrics.
pub(crate) fn epochs_header(plan: &PlanFile) -> Vec<String> {
    header(plan, names(EPOCH_COLUMNS))
}

pub(crate) fn blocks_header(plan: &PlanFile) -> Vec<String> {
    let of_parent = names(DURATION_COLUMNS).chain(names(SESSION_COLUMNS));
    let mut header = header(
        plan,
        names(PARENT_COLUMNS)
            .chain(names(TIME_COLUMNS))
            .chain(of_parent),
    );
    header.extend(command_time_columns(plan).map(str::to_owned));
    header
}

pub(crate) fn ops_header(plan: &PlanFile) -> Vec<String> {
    header(plan, names(OP_COLUMNS))
}

/// The header of `work.csv`: its rows have no seed, since all seeds of a cell do the same work.
pub(crate) fn work_header(plan: &PlanFile) -> Vec<String> {
    let mut header = vec!["key".to_owned()];
    header.extend(axis_columns(plan));
    header.extend(names(WORK_COLUMNS).map(str::to_owned));
    header
}

pub(crate) fn confusion_header(plan: &PlanFile) -> Vec<String> {
    header(plan, names(CONFUSION_COLUMNS))
}

pub(crate) fn timings_header(plan: &PlanFile) -> Vec<String> {
    let ends = |name: &str| ["", "_low", "_high"].map(|end| format!("{name}{end}"));
    let mut header = vec!["key".to_owned()];
    header.extend(axis_columns(plan));
    header.extend(["n", "env_id", "interval", "outliers"].map(str::to_owned));
    header.extend(timed_columns(plan).flat_map(ends));
    header
}

fn header(plan: &PlanFile, columns: impl Iterator<Item = &'static str>) -> Vec<String> {
    let mut header = vec!["key".to_owned(), "seed".to_owned()];
    header.extend(axis_columns(plan));
    header.extend(columns.map(str::to_owned));
    header
}

fn names<R>(table: &[Column<R>]) -> impl Iterator<Item = &'static str> {
    table.iter().map(|column| column.name)
}

fn runs_csv(results: &ResultSet, order: &CellOrder<'_>) -> Vec<u8> {
    let facts = results.runs.iter().filter_map(|row| row.facts.as_ref());
    let metrics = metric_names(facts.map(|facts| &facts.metrics));
    let rows = order.sort(&results.runs, |row| &row.key, |row| row.seed);
    let fields = rows.into_iter().map(|row| run_fields(row, order, &metrics));
    csv_text([&*runs_header(&results.plan), &metrics].concat(), fields)
}

/// The row of a run in `runs.csv`.
pub(super) fn run_fields(row: &RunRow, order: &CellOrder<'_>, metrics: &[String]) -> Vec<String> {
    let mut fields = order.identity(&row.key, row.seed);
    if row.axes.len() == order.plan.axes.len() {
        fields.splice(2.., row.axes.iter().cloned());
    }
    fields.extend([row.status.show(), one_line(&row.reason)]);
    let facts = row.facts.as_ref();
    let show = |column| facts.map_or_else(String::new, |facts| show_fact(column, facts));
    fields.extend(FACT_COLUMNS.iter().map(show));
    fields.extend(metric_fields(metrics, facts.map(|facts| &facts.metrics)));
    fields
}

/// The facts of a run by column, as `runs.csv` shows them: first the fixed columns, then the metrics by name.
pub fn fact_texts(facts: &RunFacts) -> Vec<(String, String)> {
    let fixed = FACT_COLUMNS.iter();
    let fixed = fixed.map(|column| (column.name.to_owned(), show_fact(column, facts)));
    let metrics = facts.metrics.iter();
    let metrics = metrics.map(|(name, value)| (name.clone(), value.show_fact()));
    fixed.chain(metrics).collect()
}

fn epochs_csv(results: &ResultSet, order: &CellOrder<'_>) -> Vec<u8> {
    let metrics = metric_names(results.epochs.iter().map(|row| &row.epoch.validation));
    let place = |row: &EpochRecord| (row.seed, row.epoch.epoch);
    let rows = order.sort(&results.epochs, |row| &row.key, place);
    let fields = rows.into_iter().map(|row| {
        let mut fields = order.identity(&row.key, row.seed);
        fields.extend(epoch_fields(&row.epoch, &metrics));
        fields
    });
    csv_text([&*epochs_header(&results.plan), &metrics].concat(), fields)
}

/// The row of an epoch in `epochs.csv` after key, seed and axes.
pub(super) fn epoch_fields(epoch: &EpochRow, metrics: &[String]) -> Vec<String> {
    let metrics = metric_fields(metrics, Some(&epoch.validation));
    group(EPOCH_COLUMNS, epoch).chain(metrics).collect()
}

/// The text of `work.csv`; `None` if no work was counted.
fn work_csv(results: &ResultSet, order: &CellOrder<'_>) -> Option<Vec<u8>> {
    // The rows of a cell keep the order in which their operations were first called.
    let rows = order.sort(&results.work, |row| &row.key, |_| ());
    let fields = rows.into_iter().map(|row| {
        let mut fields = vec![row.key.clone()];
        fields.extend(order.axes(&row.key));
        fields.extend(group(WORK_COLUMNS, row));
        fields
    });
    (!results.work.is_empty()).then(|| csv_text(work_header(&results.plan), fields))
}

/// The text of `confusion.csv`; `None` without classifiers.
fn confusion_csv(results: &ResultSet, order: &CellOrder<'_>) -> Option<Vec<u8>> {
    let rows = order.sort(&results.confusions, |row| &row.key, |row| row.seed);
    let fields = rows.into_iter().map(|row| {
        let mut fields = order.identity(&row.key, row.seed);
        fields.extend(group(CONFUSION_COLUMNS, row));
        fields
    });
    (!results.confusions.is_empty()).then(|| csv_text(confusion_header(&results.plan), fields))
}

fn blocks_csv(results: &ResultSet, order: &CellOrder<'_>) -> Vec<u8> {
    let rows = order.sort(&results.blocks, |row| &row.key, |row| (row.seed, row.block));
    let fields = rows.into_iter().map(|row| {
        let mut fields = order.identity(&row.key, row.seed);
        fields.extend(block_fields(row, &results.plan));
        fields
    });
    csv_text(blocks_header(&results.plan), fields)
}

/// The row of a run in `blocks.csv` after key, seed and axes.
pub(super) fn block_fields(row: &BlockRow, plan: &PlanFile) -> Vec<String> {
    let ends = group(PARENT_COLUMNS, row).map(|field| one_line(&field));
    let mut fields: Vec<String> = ends.collect();
    let times = row.times.as_deref();
    let show = |column| times.map_or_else(String::new, |times| show_time(column, times));
    fields.extend(TIME_COLUMNS.iter().map(show));
    fields.extend(group(DURATION_COLUMNS, row));
    fields.extend(group(SESSION_COLUMNS, row));
    let own = |name: &str| times.and_then(|times| times.own.get(name)).copied();
    fields.extend(command_time_columns(plan).map(|name| own(name).show_measured()));
    fields
}

fn timings_csv(results: &ResultSet, order: &CellOrder<'_>) -> Vec<u8> {
    let rows = order.sort(&results.timings, |row| &row.key, |_| ());
    let fields = rows.into_iter().map(|row| {
        let mut fields = vec![row.key.clone()];
        fields.extend(order.axes(&row.key));
        fields.extend(timing_fields(row, &results.plan));
        fields
    });
    csv_text(timings_header(&results.plan), fields)
}

/// The row of a cell in `timings.csv` after key and axes.
pub(super) fn timing_fields(row: &TimingRow, plan: &PlanFile) -> Vec<String> {
    let kind = row.values.values().next().map(|interval| interval.kind);
    let mut fields = vec![
        row.n.show(),
        row.env_id.clone(),
        kind.show(),
        row.outliers.show(),
    ];
    fields.extend(timed_columns(plan).flat_map(|name| {
        let interval = row.values.get(name);
        let ends = interval.map(|one| [one.median, one.low, one.high].map(|end| end.show()));
        ends.unwrap_or_default()
    }));
    fields
}

fn env_toml(results: &ResultSet) -> Vec<u8> {
    // Maps of maps of strings: TOML serialization cannot fail.
    let text = toml::to_string(&results.environments);
    text.unwrap_or_default().into_bytes()
}

fn group<'a, R>(table: &'a [Column<R>], value: &'a R) -> impl Iterator<Item = String> + 'a {
    table.iter().map(|column| (column.show)(value))
}

pub(super) fn metric_names<'a>(metrics: impl Iterator<Item = &'a Metrics>) -> Vec<String> {
    let names: BTreeSet<&String> = metrics.flat_map(BTreeMap::keys).collect();
    names.into_iter().cloned().collect()
}

pub(super) fn metric_fields<'a>(
    names: &'a [String],
    values: Option<&'a Metrics>,
) -> impl Iterator<Item = String> + 'a {
    names.iter().map(move |name| {
        let value = values.and_then(|values| values.get(name));
        value.map(Field::show_fact).unwrap_or_default()
    })
}

/// CSV by RFC 4180, with LF as line end.
pub(super) fn csv_text(
    header: Vec<String>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Vec<u8> {
    let mut table = csv::Writer::from_writer(Vec::new());
    for fields in once(header).chain(rows) {
        // Writing into memory cannot fail; rows of unequal length would be a bug that the tests would show.
        let written = table.write_record(&fields);
        debug_assert!(written.is_ok(), "{written:?}: {fields:?}");
    }
    table.into_inner().unwrap_or_default()
}

/// CSV text of rows; the names of the fields are the column names.
pub fn csv_of<R: Serialize + Default>(rows: &[R]) -> Vec<u8> {
    if rows.is_empty() {
        // The serializer writes the header with the first row, so a default row is written and cut off.
        let mut lines = csv_of(&[R::default()]);
        let end = lines.iter().position(|byte| *byte == b'\n');
        lines.truncate(end.map_or(0, |end| end + 1));
        return lines;
    }
    let mut table = csv::Writer::from_writer(Vec::new());
    for row in rows {
        let written = table.serialize(row);
        debug_assert!(written.is_ok(), "{written:?}");
    }
    table.into_inner().unwrap_or_default()
}
