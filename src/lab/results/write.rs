//! Writes a [`ResultSet`] as files: `plan.json`, `env.toml` and the CSV files; equal values give equal bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::event::{EpochRow, Metric};

use super::columns::{
    Column, EPOCHS, FACTS, OPS, RUN_COSTS, RUN_ENDS, SESSIONS, TIMED, TIMES, axis_columns,
};
use super::field::Field;
use super::files::{remove_stale, write_if_changed};
use super::plan_file::plan_json;
use super::{Interval, IntervalKind, PlanFile, ResultSet, ResultsError};

/// Writes every results file of `folder` whose content would change, and returns the written files.
///
/// Rows are in plan order. The caller holds the folder's lock; temporary files of a killed program are removed.
///
/// # Errors
/// [`ResultsError::Unwritable`]; each file has its old or its new content then.
pub fn write(folder: &Path, results: &ResultSet) -> Result<Vec<PathBuf>, ResultsError> {
    fs::create_dir_all(folder).map_err(|error| ResultsError::Unwritable {
        path: folder.to_owned(),
        reason: error.to_string(),
    })?;
    remove_stale(folder, Duration::ZERO);
    let order = Order::of(&results.plan);
    let files = [
        ("plan.json", plan_json(&results.plan).into_bytes()),
        ("runs.csv", runs_csv(results, &order)),
        ("epochs.csv", epochs_csv(results, &order)),
        ("blocks.csv", blocks_csv(results, &order)),
        ("timings.csv", timings_csv(results, &order)),
        ("env.toml", env_toml(results)),
    ];
    let mut written = Vec::new();
    for (name, bytes) in files {
        let path = folder.join(name);
        if write_if_changed(&path, &bytes)? {
            written.push(path);
        }
    }
    Ok(written)
}

/// The plan's cells by key: row position and axis values.
struct Order<'a> {
    places: BTreeMap<&'a str, usize>,
    plan: &'a PlanFile,
}

impl<'a> Order<'a> {
    fn of(plan: &'a PlanFile) -> Self {
        let cells = plan.cells.iter().enumerate();
        Self {
            places: cells.map(|(place, cell)| (&*cell.key, place)).collect(),
            plan,
        }
    }

    /// Rows of cells outside the plan come last, sorted by key.
    fn sort<T, K: Ord>(&self, rows: &'a [T], key: fn(&T) -> &str, then: fn(&T) -> K) -> Vec<&'a T> {
        let mut sorted: Vec<&T> = rows.iter().collect();
        sorted.sort_by_cached_key(|row| {
            let place = self.places.get(key(row)).copied();
            (place.unwrap_or(usize::MAX), key(row).to_owned(), then(row))
        });
        sorted
    }

    fn axes(&self, key: &str) -> Vec<String> {
        let cell = self.places.get(key).map(|&place| &self.plan.cells[place]);
        cell.map_or_else(
            || vec![String::new(); self.plan.axes.len()],
            |cell| cell.axes.clone(),
        )
    }
}

/// The header of `runs.csv` before the metrics.
pub(crate) fn runs_header(plan: &PlanFile) -> Vec<String> {
    let mut header = identity(&["key", "seed"], plan);
    header.extend(["status", "reason"].map(str::to_owned));
    header.extend(names(FACTS));
    header
}

/// The header of `epochs.csv` before the metrics.
pub(crate) fn epochs_header(plan: &PlanFile) -> Vec<String> {
    let mut header = identity(&["key", "seed"], plan);
    header.extend(names(EPOCHS));
    header
}

pub(crate) fn blocks_header(plan: &PlanFile) -> Vec<String> {
    let mut header = identity(&["key", "seed"], plan);
    header.extend(names(RUN_ENDS));
    header.extend(names(TIMES));
    header.extend(names(RUN_COSTS));
    header.extend(names(SESSIONS));
    header
}

pub(crate) fn ops_header(plan: &PlanFile) -> Vec<String> {
    let mut header = identity(&["key", "seed"], plan);
    header.extend(names(OPS));
    header
}

pub(crate) fn timings_header(plan: &PlanFile) -> Vec<String> {
    let mut header = identity(&["key"], plan);
    header.extend(["n", "env_id", "interval", "outliers"].map(str::to_owned));
    for name in TIMED {
        header.extend([
            name.to_owned(),
            format!("{name}_low"),
            format!("{name}_high"),
        ]);
    }
    header
}

fn identity(first: &[&str], plan: &PlanFile) -> Vec<String> {
    let mut header: Vec<String> = first.iter().map(|name| (*name).to_owned()).collect();
    header.extend(axis_columns(plan));
    header
}

fn names<R>(table: &[Column<R>]) -> impl Iterator<Item = String> {
    table.iter().map(|column| column.name.to_owned())
}

fn runs_csv(results: &ResultSet, order: &Order<'_>) -> Vec<u8> {
    let facts = results.runs.iter().filter_map(|row| row.facts.as_ref());
    let metrics = metric_names(facts.map(|facts| &facts.metrics));
    let mut table = Table::new(runs_header(&results.plan), &metrics);
    for row in order.sort(&results.runs, |row| &row.key, |row| row.seed) {
        let mut fields = vec![row.key.clone(), row.seed.show()];
        let is_whole = row.axes.len() == results.plan.axes.len();
        let axes = is_whole.then(|| row.axes.clone());
        fields.extend(axes.unwrap_or_else(|| order.axes(&row.key)));
        fields.extend([row.status.show(), one_line(&row.reason)]);
        let facts = row.facts.as_ref();
        fields.extend(group(FACTS, facts));
        fields.extend(metric_fields(&metrics, facts.map(|facts| &facts.metrics)));
        table.push(&fields);
    }
    table.bytes()
}

fn epochs_csv(results: &ResultSet, order: &Order<'_>) -> Vec<u8> {
    let metrics = metric_names(results.epochs.iter().map(|row| &row.epoch.validation));
    let mut table = Table::new(epochs_header(&results.plan), &metrics);
    for row in order.sort(
        &results.epochs,
        |row| &row.key,
        |row| (row.seed, row.epoch.epoch),
    ) {
        let epoch: &EpochRow = &row.epoch;
        let mut fields = vec![row.key.clone(), row.seed.show()];
        fields.extend(order.axes(&row.key));
        fields.extend(group(EPOCHS, Some(epoch)));
        fields.extend(metric_fields(&metrics, Some(&epoch.validation)));
        table.push(&fields);
    }
    table.bytes()
}

fn blocks_csv(results: &ResultSet, order: &Order<'_>) -> Vec<u8> {
    let mut table = Table::new(blocks_header(&results.plan), &[]);
    for row in order.sort(&results.blocks, |row| &row.key, |row| (row.seed, row.block)) {
        let mut fields = vec![row.key.clone(), row.seed.show()];
        fields.extend(order.axes(&row.key));
        fields.extend(group(RUN_ENDS, Some(row)).map(|field| one_line(&field)));
        fields.extend(group(TIMES, row.times.as_ref()));
        fields.extend(group(RUN_COSTS, Some(row)));
        fields.extend(group(SESSIONS, Some(row)));
        table.push(&fields);
    }
    table.bytes()
}

fn timings_csv(results: &ResultSet, order: &Order<'_>) -> Vec<u8> {
    let mut table = Table::new(timings_header(&results.plan), &[]);
    for row in order.sort(&results.timings, |row| &row.key, |_| ()) {
        let mut fields = vec![row.key.clone()];
        fields.extend(order.axes(&row.key));
        let kind = row.values.values().next().map(|interval| interval.kind);
        let kind = kind.map_or("", IntervalKind::text).to_owned();
        fields.extend([row.n.show(), row.env_id.clone(), kind, row.outliers.show()]);
        for name in TIMED {
            fields.extend(interval_fields(row.values.get(name)));
        }
        table.push(&fields);
    }
    table.bytes()
}

fn interval_fields(interval: Option<&Interval>) -> [String; 3] {
    interval.map_or_else(Default::default, |interval| {
        [
            interval.median.show(),
            interval.low.show(),
            interval.high.show(),
        ]
    })
}

fn env_toml(results: &ResultSet) -> Vec<u8> {
    // Maps of maps of strings: TOML serialization cannot fail.
    toml::to_string(&results.environments)
        .unwrap_or_default()
        .into_bytes()
}

fn group<'a, R>(table: &'a [Column<R>], value: Option<&'a R>) -> impl Iterator<Item = String> + 'a {
    table
        .iter()
        .map(move |column| value.map(column.show).unwrap_or_default())
}

fn metric_names<'a>(metrics: impl Iterator<Item = &'a Metric>) -> Vec<String> {
    let names: BTreeSet<&String> = metrics.flat_map(BTreeMap::keys).collect();
    names.into_iter().cloned().collect()
}

fn metric_fields<'a>(
    names: &'a [String],
    values: Option<&'a Metric>,
) -> impl Iterator<Item = String> + 'a {
    names.iter().map(move |name| {
        let value = values.and_then(|values| values.get(name));
        value.map(Field::show_fact).unwrap_or_default()
    })
}

/// A reason is one line, also if a library's message has several.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// CSV by RFC 4180, with LF as line end.
pub(super) struct Table(csv::Writer<Vec<u8>>);

impl Table {
    pub(super) fn new(mut header: Vec<String>, metrics: &[String]) -> Self {
        header.extend_from_slice(metrics);
        let mut table = Self(
            csv::WriterBuilder::new()
                .terminator(csv::Terminator::Any(b'\n'))
                .from_writer(Vec::new()),
        );
        table.push(&header);
        table
    }

    pub(super) fn push(&mut self, fields: &[String]) {
        // Writing into memory cannot fail; rows of unequal length would be a bug in this file that the tests would show.
        let written = self.0.write_record(fields);
        debug_assert!(written.is_ok(), "{written:?}: {fields:?}");
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.into_inner().unwrap_or_default()
    }
}
