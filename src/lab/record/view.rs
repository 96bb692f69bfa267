//! [`View`]: generates the results files from the store, the plan and the previous files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::device::DeviceKind;
use crate::event::Status;
use crate::plan::{Feasibility, PlannedCell};
use crate::results::store::{RunConditions, RunKeys, Store, StoredRun};
use crate::results::{
    BlockRow, CellInfo, EpochRecord, PlanFile, ResultSet, RunRow, RunSteps, SampleInfo,
    metric_column, timings,
};

use super::TrialRow;
use super::plan_file::{cell_info, portable};
use super::row::{Disagreement, check_agreement, empty_row, epoch_rows, leading, run_row};
use super::trials::Shown;

/// Everything that the files are generated from.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// All cells of the manifest, selected or not, in row order.
    pub cells: &'a [PlannedCell],
    /// Finished trials of a search by row; a search has no other cells.
    pub trials: &'a BTreeMap<usize, TrialRow>,
    /// The store.
    pub store: &'a Store,
    /// Machine, build and run settings of this invocation.
    pub conditions: &'a RunConditions,
    /// `plan.json` without cells and columns.
    pub header: &'a PlanFile,
    /// The current content of the files.
    pub previous: Option<&'a ResultSet>,
    /// Absolute folder of the manifest: paths below it are stored as written in the manifest.
    pub manifest_folder: &'a Path,
    /// Whether this invocation measured anything.
    pub has_measured: bool,
}

#[derive(Default)]
struct CellRows {
    runs: Vec<RunRow>,
    epochs: Vec<EpochRecord>,
    blocks: Vec<BlockRow>,
    samples: Vec<SampleInfo>,
    /// Code hash and numeric class.
    measured: Option<(String, String)>,
}

impl View<'_> {
    /// All results, in plan order.
    ///
    /// # Errors
    /// [`Disagreement`], if two CPU runs that must be equal are not.
    pub fn results(&self) -> Result<ResultSet, Disagreement> {
        let mut all = ResultSet {
            plan: self.header.clone(),
            ..ResultSet::default()
        };
        let first = self.shown().next().map(|shown| &shown.cell.spec);
        let first = portable(
            serde_json::to_value(first).unwrap_or(Value::Null),
            self.manifest_folder,
        );
        let previous = Previous::of(self.previous);
        for (row, shown) in self.shown().enumerate() {
            let rows = self.rows(shown, &previous)?;
            all.plan.cells.push(cell_info(
                shown,
                self.manifest_folder,
                &first,
                row == 0,
                rows.measured,
                rows.samples,
            ));
            all.runs.extend(rows.runs);
            all.epochs.extend(rows.epochs);
            all.blocks.extend(rows.blocks);
        }
        all.plan.columns = metric_names(&all)
            .iter()
            .map(|name| metric_column(name))
            .collect();
        all.timings = timings(&all.blocks);
        self.add_environments(&mut all);
        Ok(all)
    }

    /// All cells that have rows, in row order.
    pub(super) fn shown(&self) -> impl Iterator<Item = Shown<'_>> {
        Shown::all(self.cells, self.trials)
    }

    /// The same, indexed by key.
    pub(super) fn by_key(&self) -> BTreeMap<&str, Shown<'_>> {
        let shown = self.shown();
        shown.map(|shown| (&*shown.cell.spec.key, shown)).collect()
    }

    /// Keys of a row's run in the store; for a pruned trial, those of the partial run.
    pub(super) fn keys(&self, shown: Shown<'_>, seed: u64, block: usize) -> RunKeys {
        RunKeys {
            until: shown.trial.and_then(TrialRow::until),
            ..self.conditions.keys(shown.cell, seed, block)
        }
    }

    fn rows(&self, shown: Shown<'_>, previous: &Previous<'_>) -> Result<CellRows, Disagreement> {
        let now = self.rows_from_store(shown)?;
        let Shown { cell, trial } = shown;
        if let Some(trial) = trial {
            // Status and reason come from the current search, not from the stored run.
            return Ok(as_search_says(shown.cell, trial, now));
        }
        let keys = self.conditions.keys(cell, 0, 0);
        let Some(before) = previous.rows(cell) else {
            return Ok(completed(cell, now));
        };
        let current = Some((keys.code_hash, keys.numeric_class));
        let merged = if before.measured == current {
            merge(now, before)
        } else if covers(&now, &before) {
            now
        } else {
            before
        };
        Ok(completed(cell, merged))
    }

    /// Steps of the runs that `results` shows in `blocks.csv`, in its order; read from the store one by one.
    pub fn steps<'r>(&'r self, results: &'r ResultSet) -> impl Iterator<Item = RunSteps<'r>> {
        let cells = self.by_key();
        results.blocks.iter().filter_map(move |row| {
            let shown = cells.get(row.key.as_str())?;
            let run = best(self.store, &self.keys(*shown, row.seed, row.block))?;
            Some(RunSteps {
                key: &row.key,
                seed: row.seed,
                block: row.block,
                epochs: self.store.steps_of(&run.keys),
            })
        })
    }

    /// What the store holds for the current code and numeric class.
    fn rows_from_store(&self, shown: Shown<'_>) -> Result<CellRows, Disagreement> {
        let mut rows = CellRows::default();
        let cell = shown.cell;
        for &seed in &cell.spec.measure.seeds {
            let blocks: Vec<&StoredRun> = (0..cell.spec.measure.repeats)
                .filter_map(|block| best(self.store, &self.keys(shown, seed, block)))
                .collect();
            if cell.spec.train.device == DeviceKind::Cpu {
                check_agreement(cell, &blocks)?;
            }
            let Some(run) = leading(&blocks) else {
                continue;
            };
            rows.runs.push(run_row(cell, run));
            rows.epochs.extend(epoch_rows(cell, run));
            rows.samples.extend(run.sample_infos(&cell.spec.key));
            rows.blocks
                .extend(blocks.iter().map(|run| run.block_row(&cell.spec.key)));
            rows.measured = Some((run.keys.code_hash.clone(), run.keys.numeric_class.clone()));
        }
        Ok(rows)
    }

    fn add_environments(&self, all: &mut ResultSet) {
        let used: BTreeSet<&String> = all.blocks.iter().map(|block| &block.env_id).collect();
        let before = |id: &String| self.previous?.environments.get(id);
        let stored = |id: &String| self.store.environments().get(id);
        for id in used {
            // The store keeps the last environment of an ID, perhaps with another branch's commit: rows that were not
            // measured again keep the commit of their measurement.
            let found = if self.has_measured {
                stored(id).or_else(|| before(id))
            } else {
                before(id).or_else(|| stored(id))
            };
            if let Some(environment) = found {
                all.environments.insert(id.clone(), environment.clone());
            }
        }
    }
}

/// The rows of a trial: one for its single seed, with status and reason from the search.
fn as_search_says(cell: &PlannedCell, trial: &TrialRow, mut rows: CellRows) -> CellRows {
    if rows.runs.is_empty() {
        let seeds = cell.spec.measure.seeds.iter();
        let empty = seeds.map(|seed| empty_row(cell, *seed, trial.status, &trial.reason));
        rows.runs.extend(empty);
    }
    for row in &mut rows.runs {
        (row.status, row.reason) = (trial.status, trial.reason.clone());
    }
    for row in &mut rows.blocks {
        (row.status, row.reason) = (trial.status, trial.reason.clone());
    }
    rows
}

/// One row per seed; rows that were not run say why. Sorted by seed and block.
fn completed(cell: &PlannedCell, mut rows: CellRows) -> CellRows {
    let seeds = &cell.spec.measure.seeds;
    for &seed in seeds {
        if rows.runs.iter().all(|row| row.seed != seed) {
            let (status, reason) = match &cell.feasibility {
                Feasibility::Infeasible(reason) => (Status::Infeasible, reason.as_str()),
                Feasibility::Skipped(reason) => (Status::Skipped, reason.as_str()),
                Feasibility::Runs => (Status::NotRun, "not run yet"),
            };
            rows.runs.push(empty_row(cell, seed, status, reason));
        }
    }
    let place = |seed: u64| seeds.iter().position(|&other| other == seed);
    rows.runs.sort_by_key(|row| place(row.seed));
    rows.epochs
        .sort_by_key(|row| (place(row.seed), row.epoch.epoch));
    rows.blocks.sort_by_key(|row| (place(row.seed), row.block));
    rows.samples.sort_by_key(|sample| place(sample.seed));
    rows
}

/// The stored run with these facts whose measurement conditions fit best.
pub(super) fn best<'a>(store: &'a Store, keys: &RunKeys) -> Option<&'a StoredRun> {
    best_of(store, keys, |_| true)
}

/// The same, restricted to runs that `is_wanted` accepts.
pub(super) fn best_of<'a>(
    store: &'a Store,
    keys: &RunKeys,
    is_wanted: impl Fn(&StoredRun) -> bool,
) -> Option<&'a StoredRun> {
    store
        .runs_of(&keys.cell_hash)
        .iter()
        .filter(|run| run.keys.share_facts(keys) && is_wanted(run))
        .min_by_key(|run| {
            let conditions = &run.keys.conditions;
            let differences = conditions.differences(&keys.conditions).len();
            // Among equals, runs measured alone come first; then any fixed order.
            (differences, !conditions.is_exclusive, conditions.threads)
        })
}

/// The previous content of the files, by key.
struct Previous<'a> {
    cells: BTreeMap<&'a str, &'a CellInfo>,
    runs: BTreeMap<&'a str, Vec<&'a RunRow>>,
    epochs: BTreeMap<&'a str, Vec<&'a EpochRecord>>,
    blocks: BTreeMap<&'a str, Vec<&'a BlockRow>>,
}

impl<'a> Previous<'a> {
    fn of(results: Option<&'a ResultSet>) -> Self {
        let mut previous = Self {
            cells: BTreeMap::new(),
            runs: BTreeMap::new(),
            epochs: BTreeMap::new(),
            blocks: BTreeMap::new(),
        };
        let Some(results) = results else {
            return previous;
        };
        for cell in &results.plan.cells {
            previous.cells.insert(&cell.key, cell);
        }
        for row in &results.runs {
            previous.runs.entry(&row.key).or_default().push(row);
        }
        for row in &results.epochs {
            previous.epochs.entry(&row.key).or_default().push(row);
        }
        for row in &results.blocks {
            previous.blocks.entry(&row.key).or_default().push(row);
        }
        previous
    }

    /// Previous rows of exactly this cell, for seeds and blocks that the plan still has.
    fn rows(&self, cell: &PlannedCell) -> Option<CellRows> {
        let key = cell.spec.key.as_str();
        let info = self.cells.get(key)?;
        if info.cell_hash != cell.cell_hash {
            return None;
        }
        let measure = &cell.spec.measure;
        let has = |seed: u64| measure.seeds.contains(&seed);
        let runs = self.runs.get(key)?.iter();
        let runs = runs.filter(|row| has(row.seed) && was_run(row.status));
        let epochs = self.epochs.get(key).into_iter().flatten();
        let blocks = self.blocks.get(key).into_iter().flatten();
        Some(CellRows {
            runs: runs.map(|row| (*row).clone()).collect(),
            epochs: epochs
                .filter(|row| has(row.seed))
                .map(|row| (*row).clone())
                .collect(),
            blocks: blocks
                .filter(|row| has(row.seed) && row.block < measure.repeats)
                .map(|row| (*row).clone())
                .collect(),
            samples: info
                .samples
                .iter()
                .filter(|sample| has(sample.seed))
                .cloned()
                .collect(),
            measured: info.code_hash.clone().zip(info.numeric_class.clone()),
        })
        .filter(|rows| !rows.runs.is_empty())
    }
}

fn was_run(status: Status) -> bool {
    !matches!(
        status,
        Status::Infeasible | Status::Skipped | Status::NotRun
    )
}

/// Merges new rows with previous rows of the same code and numeric class, by seed and block.
fn merge(now: CellRows, before: CellRows) -> CellRows {
    let mut merged = now;
    for row in before.runs {
        let place = merged.runs.iter().position(|other| other.seed == row.seed);
        match place {
            Some(place) if !is_kept(&row, &merged.runs[place]) => continue,
            Some(place) => merged.runs[place] = row.clone(),
            None => merged.runs.push(row.clone()),
        }
        merged.epochs.retain(|other| other.seed != row.seed);
        let epochs = before.epochs.iter().filter(|other| other.seed == row.seed);
        merged.epochs.extend(epochs.cloned());
        merged.samples.retain(|other| other.seed != row.seed);
        let samples = before.samples.iter().filter(|other| other.seed == row.seed);
        merged.samples.extend(samples.cloned());
    }
    for block in before.blocks {
        let same = |other: &BlockRow| (other.seed, other.block) == (block.seed, block.block);
        if !merged.blocks.iter().any(same) {
            merged.blocks.push(block);
        }
    }
    merged.measured = merged.measured.or(before.measured);
    merged
}

/// Whether rows of new code may replace rows of other code: only once every measured seed has a new row.
fn covers(now: &CellRows, before: &CellRows) -> bool {
    before.runs.iter().all(|old| {
        let new = now.runs.iter().find(|row| row.seed == old.seed);
        new.is_some_and(|new| !is_kept(old, new))
    })
}

/// A measured row is not replaced by a timeout.
fn is_kept(old: &RunRow, new: &RunRow) -> bool {
    old.facts.is_some() && new.status == Status::Timeout
}

fn metric_names(results: &ResultSet) -> BTreeSet<String> {
    let facts = results.runs.iter().filter_map(|row| row.facts.as_ref());
    let ends = facts.flat_map(|facts| facts.metrics.keys());
    let epochs = results
        .epochs
        .iter()
        .flat_map(|row| row.epoch.validation.keys());
    ends.chain(epochs).cloned().collect()
}
