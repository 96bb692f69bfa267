//! Reads a results folder into a [`ResultSet`]: all of it, or an error with file and position; nothing is guessed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::base::text::{escape_control, one_line};
use crate::event::{EpochRow, RunFacts, RunTimes};

use super::baselines::read_baselines;
use super::columns::{
    CONFUSION_COLUMNS, DURATION_COLUMNS, EPOCH_COLUMNS, FACT_COLUMNS, PARENT_COLUMNS,
    SESSION_COLUMNS, TIME_COLUMNS, WORK_COLUMNS,
};
use super::command_columns::{command_time_columns, timed_columns};
use super::files::read_text;
use super::ops::read_ops;
use super::plan_file::read_plan;
use super::table::{Cursor, Table, metrics, rows_if_there};
use super::write::{
    blocks_header, confusion_header, epochs_header, runs_header, timings_header, work_header,
};
use super::{
    BlockRow, ConfusionRecord, Environment, EpochRecord, Interval, IntervalKind, PlanFile,
    ResultSet, ResultsError, RunRow, Status, TimingRow, WorkRecord,
};

/// Size of `blocks.csv` in bytes from which threads are used: after their work, pool threads spin for some milliseconds
/// and would keep a core from the first worker.
const LARGE: u64 = 1 << 20;

/// Reads every results file of `folder`.
///
/// Per-step losses are not in these files, so [`crate::event::EpochRow::steps`] is empty.
///
/// # Errors
/// [`ResultsError`]: a missing file, another format version, or damage, with file, line and column.
pub fn read(folder: &Path) -> Result<ResultSet, ResultsError> {
    let plan = read_plan(&folder.join("plan.json"))?;
    let file = |name: &str| folder.join(name);
    let facts = || {
        let runs = read_runs(&file("runs.csv"), &plan);
        (runs, read_epochs(&file("epochs.csv"), &plan))
    };
    let times = || {
        let blocks = read_blocks(&file("blocks.csv"), &plan);
        (blocks, read_timings(&file("timings.csv"), &plan))
    };
    let is_large = fs::metadata(file("blocks.csv")).is_ok_and(|blocks| blocks.len() > LARGE);
    let ((runs, epochs), (blocks, timings)) = if is_large {
        rayon::join(facts, times)
    } else {
        (facts(), times())
    };
    let (runs, epochs, blocks, timings) = (runs?, epochs?, blocks?, timings?);
    let work = read_work(&file("work.csv"), &plan)?;
    let confusions = read_confusions(&file("confusion.csv"), &plan)?;
    let ops = read_ops(folder, &plan)?;
    let baselines = read_baselines(folder)?;
    let environments = read_environments(&folder.join("env.toml"))?;
    Ok(ResultSet {
        plan,
        runs,
        epochs,
        work,
        confusions,
        blocks,
        timings,
        ops,
        baselines,
        environments,
    })
}

/// Reads only the files with the times of a results folder: `plan.json`, `blocks.csv` and `env.toml`. The other tables
/// stay empty.
///
/// # Errors
/// As [`read`].
pub fn read_times(folder: &Path) -> Result<ResultSet, ResultsError> {
    let plan = read_plan(&folder.join("plan.json"))?;
    Ok(ResultSet {
        blocks: read_blocks(&folder.join("blocks.csv"), &plan)?,
        environments: read_environments(&folder.join("env.toml"))?,
        plan,
        ..ResultSet::default()
    })
}

fn read_runs(path: &Path, plan: &PlanFile) -> Result<Vec<RunRow>, ResultsError> {
    let table = Table::read(path, &runs_header(plan), true)?;
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for mut cursor in table.rows() {
        let row = run_row(&mut cursor, &table, plan)?;
        if !seen.insert((row.key.clone(), row.seed)) {
            let (key, seed) = (&row.key, row.seed);
            return Err(cursor.row_error(format!(
                "key `{key}` with seed {seed} stands here for the second time"
            )));
        }
        rows.push(row);
    }
    Ok(rows)
}

fn run_row(
    cursor: &mut Cursor<'_>,
    table: &Table,
    plan: &PlanFile,
) -> Result<RunRow, ResultsError> {
    let (key, seed) = (cursor.next_text()?, cursor.next()?);
    let axes = plan.axes.iter().map(|_| cursor.next());
    let mut row = RunRow {
        key,
        seed,
        axes: axes.collect::<Result<_, _>>()?,
        status: cursor.next()?,
        reason: one_line(&cursor.next::<String>()?),
        facts: None,
    };
    if !cursor.is_empty_for(FACT_COLUMNS.len() + table.metrics().len()) {
        // Programs of `kind = "command"` may leave facts out; built-in models have all of them.
        let is_partial = cursor.is_empty_at(FACT_COLUMNS, "weight_checksum");
        let mut facts = cursor.next_group(FACT_COLUMNS, RunFacts::default(), is_partial)?;
        facts.metrics = metrics(cursor, table)?;
        facts.diverged = (row.status == Status::Diverged).then(|| row.reason.clone());
        row.facts = Some(facts);
    }
    Ok(row)
}

fn read_epochs(path: &Path, plan: &PlanFile) -> Result<Vec<EpochRecord>, ResultsError> {
    let table = Table::read(path, &epochs_header(plan), true)?;
    let rows = table.rows().map(|mut cursor| {
        let (key, seed) = (cursor.next_text()?, cursor.next()?);
        cursor.skip(plan.axes.len());
        let mut epoch = cursor.next_group(EPOCH_COLUMNS, EpochRow::default(), false)?;
        epoch.validation = metrics(&mut cursor, &table)?;
        Ok(EpochRecord { key, seed, epoch })
    });
    rows.collect()
}

fn read_work(path: &Path, plan: &PlanFile) -> Result<Vec<WorkRecord>, ResultsError> {
    rows_if_there(path, &work_header(plan), |cursor| {
        let key = cursor.next_text()?;
        cursor.skip(plan.axes.len());
        let row = WorkRecord {
            key,
            ..WorkRecord::default()
        };
        cursor.next_group(WORK_COLUMNS, row, false)
    })
}

fn read_confusions(path: &Path, plan: &PlanFile) -> Result<Vec<ConfusionRecord>, ResultsError> {
    rows_if_there(path, &confusion_header(plan), |cursor| {
        let mut row = ConfusionRecord {
            key: cursor.next_text()?,
            seed: cursor.next()?,
            ..ConfusionRecord::default()
        };
        cursor.skip(plan.axes.len());
        row = cursor.next_group(CONFUSION_COLUMNS, row, false)?;
        row.row.class = one_line(&row.row.class);
        row.row.predicted = one_line(&row.row.predicted);
        Ok(row)
    })
}

fn read_blocks(path: &Path, plan: &PlanFile) -> Result<Vec<BlockRow>, ResultsError> {
    let table = Table::read(path, &blocks_header(plan), false)?;
    let times = TIME_COLUMNS
        .iter()
        .filter(|column| table.has(column.name))
        .count();
    let rows = table.rows().map(|mut cursor| {
        let row = BlockRow {
            key: cursor.next_text()?,
            seed: cursor.next()?,
            ..BlockRow::default()
        };
        cursor.skip(plan.axes.len());
        let mut row = cursor.next_group(PARENT_COLUMNS, row, false)?;
        row.reason = one_line(&row.reason);
        if cursor.is_empty_for(times) {
            cursor.skip(times);
        } else {
            // Commands may lack these columns: built-in models have all of them.
            let is_partial = cursor.is_empty_at(TIME_COLUMNS, "parameter_bytes");
            let mut read = cursor.next_group(TIME_COLUMNS, RunTimes::default(), is_partial)?;
            read.is_observed = is_partial && read.measured_steps.is_some();
            row.times = Some(Arc::new(read));
        }
        row = cursor.next_group(DURATION_COLUMNS, row, false)?;
        row = cursor.next_group(SESSION_COLUMNS, row, false)?;
        for name in command_time_columns(plan) {
            let value: Option<f64> = cursor.next()?;
            if let (Some(times), Some(value)) = (row.times_mut(), value) {
                times.own.insert(name.to_owned(), value);
            }
        }
        Ok(row)
    });
    rows.collect()
}

fn read_timings(path: &Path, plan: &PlanFile) -> Result<Vec<TimingRow>, ResultsError> {
    let table = Table::read(path, &timings_header(plan), false)?;
    let rows = table.rows().map(|mut cursor| {
        let key = cursor.next_text()?;
        cursor.skip(plan.axes.len());
        let (n, env_id) = (cursor.next()?, cursor.next_text()?);
        let kind: Option<IntervalKind> = cursor.next()?;
        let mut row = TimingRow {
            key,
            n,
            env_id,
            values: BTreeMap::new(),
            outliers: cursor.next()?,
        };
        for name in timed_columns(plan).filter(|name| table.has(name)) {
            if cursor.is_empty_for(3) {
                cursor.skip(3);
                continue;
            }
            let interval = Interval {
                median: cursor.next()?,
                low: cursor.next()?,
                high: cursor.next()?,
                kind: kind.unwrap_or(IntervalKind::Single),
            };
            row.values.insert(name.to_owned(), interval);
        }
        Ok(row)
    });
    rows.collect()
}

fn read_environments(path: &Path) -> Result<BTreeMap<String, Environment>, ResultsError> {
    let text = read_text(path)?;
    let read = toml::from_str(&text);
    let mut all: BTreeMap<String, Environment> = read.map_err(|error: toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.get(..start).unwrap_or(&text);
        let line = before.matches('\n').count() + 1;
        ResultsError::damaged(path, format!("line {line}"), error.message())
    })?;
    for environment in all.values_mut() {
        let Environment {
            must_match,
            warn,
            info,
        } = environment;
        let fields = [must_match, warn, info];
        for text in fields.into_iter().flat_map(BTreeMap::values_mut) {
            *text = escape_control(text).into_owned();
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Confusion;
    use crate::results::golden::ddpm;
    use crate::results::write;

    #[test]
    fn confusions_read_back_as_they_were_and_without_any_there_is_no_file() {
        let mut set = ddpm();
        let record = |seed, class: &str, predicted: &str| ConfusionRecord {
            key: set.runs[0].key.clone(),
            seed,
            row: Confusion {
                class: class.to_owned(),
                predicted: predicted.to_owned(),
                samples: 3,
            },
        };
        let confusions = vec![
            record(42, "a, b", "a, b"),
            record(42, "a, b", "c"),
            record(43, "c", "c"),
        ];
        set.confusions.clone_from(&confusions);
        let folder = tempfile::tempdir().expect("a temporary folder");
        write(folder.path(), &set).expect("writes");
        let back = read(folder.path()).expect("reads");
        assert_eq!(back.confusions, confusions);
        write(folder.path(), &ddpm()).expect("writes");
        assert!(!folder.path().join("confusion.csv").exists());
    }
}
