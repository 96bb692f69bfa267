//! Generates the results files from the store, the plan and the previous files.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::device::DeviceKind;
use crate::event::Status;
use crate::plan::{Feasibility, PlannedCell};
use crate::results::store::{RunKeys, Store, StoredRun};
use crate::results::{
    BlockRow, CellInfo, ColumnInfo, ConfusionRecord, EpochRecord, ResultSet, RunRow, RunSteps,
    SampleInfo, WorkRecord, by_key, declared_column, metric_column, timings,
};

use super::disagreement::{Disagreement, check_agreement};
use super::plan_file::{cell_info, spec_difference};
use super::row::{
    confusion_rows, empty_row, epoch_rows, nondeterministic_metrics, run_row, run_with_facts,
    work_rows,
};
use super::trials::CellWithRows;
use super::{Recorder, TrialRow};

#[derive(Default)]
struct CellRows {
    runs: Vec<RunRow>,
    epochs: Vec<EpochRecord>,
    /// Rows of `work.csv` of the first seed that has any.
    work: Vec<WorkRecord>,
    confusions: Vec<ConfusionRecord>,
    blocks: Vec<BlockRow>,
    samples: Vec<SampleInfo>,
    /// Code hash and numeric class of the runs that these rows come from.
    measured: Option<(Arc<str>, Arc<str>)>,
}

impl Recorder<'_> {
    /// All results, in plan order. Fails if two CPU runs that must be equal are not.
    pub(super) fn results(&self) -> Result<ResultSet, Disagreement> {
        let mut all = ResultSet {
            plan: self.header.clone(),
            ..ResultSet::default()
        };
        let mut first = None;
        let previous = self.previous.as_ref().map(Previous::of);
        for shown in self.shown() {
            let rows = self.rows(shown, previous.as_ref())?;
            let mut info = cell_info(shown, &self.manifest_folder, rows.measured, rows.samples);
            // Only the first cell's specification is stored in full.
            match &first {
                Some(first) => info.spec = spec_difference(first, &info.spec),
                None => first = Some(info.spec.clone()),
            }
            all.plan.cells.push(info);
            all.runs.extend(rows.runs);
            all.epochs.extend(rows.epochs);
            all.work.extend(rows.work);
            all.confusions.extend(rows.confusions);
            all.blocks.extend(rows.blocks);
        }
        let metrics = metric_names(&all);
        let columns = metrics
            .into_iter()
            .map(|name| self.declared(name).unwrap_or_else(|| metric_column(name)));
        let columns: Vec<ColumnInfo> = columns.collect();
        all.plan.columns = columns;
        self.add_times(&mut all);
        all.timings = timings(&all.blocks);
        self.add_environments(&mut all);
        Ok(all)
    }

    /// The column of a metric that the command of a cell declares.
    fn declared(&self, name: &str) -> Option<ColumnInfo> {
        let mut cells = self.shown().map(|shown| &shown.cell.spec);
        cells.find_map(|cell| declared_column(name, cell))
    }

    /// Adds the columns of times that programs of `kind = "command"` reported.
    fn add_times(&self, all: &mut ResultSet) {
        let times = all.blocks.iter().filter_map(|block| block.times.as_deref());
        let names: BTreeSet<&String> = times.flat_map(|times| times.own.keys()).collect();
        let columns = names.into_iter().filter_map(|name| self.declared(name));
        let columns: Vec<ColumnInfo> = columns.collect();
        all.plan.columns.extend(columns);
    }

    /// All cells that have rows, in row order.
    pub(super) fn shown(&self) -> impl Iterator<Item = CellWithRows<'_>> {
        CellWithRows::all(self.cells, &self.trials)
    }

    /// Keys of a row's run in the store; for a pruned trial, those of the run that ended early.
    pub(super) fn keys(&self, shown: CellWithRows<'_>, seed: u64, block: usize) -> RunKeys {
        RunKeys {
            until: shown.trial.and_then(TrialRow::pruned_after_epochs),
            ..self.conditions.keys(shown.cell, seed, block)
        }
    }

    fn rows(
        &self,
        shown: CellWithRows<'_>,
        previous: Option<&Previous<'_>>,
    ) -> Result<CellRows, Disagreement> {
        let now = self.rows_from_store(shown)?;
        let CellWithRows { cell, trial } = shown;
        if let Some(trial) = trial {
            // Status and reason come from the current search, not from the stored run.
            return Ok(as_search_says(cell, trial, now));
        }
        let keys = self.conditions.keys(cell, 0, 0);
        let Some(before) = previous.and_then(|previous| previous.rows(cell)) else {
            return Ok(completed(cell, now));
        };
        let current = Some((keys.code_hash, keys.numeric_class));
        let rows = match before {
            before if before.measured == current => merge(now, before),
            before if covers(&now, &before) => now,
            before => before,
        };
        Ok(completed(cell, rows))
    }

    /// Steps of the runs that `results` shows in `blocks.csv`, in its order; read from the store one by one.
    pub(super) fn steps<'r>(
        &'r self,
        results: &'r ResultSet,
    ) -> impl Iterator<Item = RunSteps<'r>> {
        let runs = self.runs(results, |_| true);
        runs.map(|(row, run)| (row, self.store.steps_of(&run.keys)))
    }

    /// Rows of `blocks.csv`, each with its stored run: of those that `is_wanted` accepts, the one whose measurement
    /// conditions fit best.
    pub(super) fn runs<'r>(
        &'r self,
        results: &'r ResultSet,
        is_wanted: impl Fn(&StoredRun) -> bool,
    ) -> impl Iterator<Item = (&'r BlockRow, &'r StoredRun)> {
        let shown = self.shown().map(|shown| (&*shown.cell.spec.key, shown));
        let cells: BTreeMap<&str, CellWithRows<'_>> = shown.collect();
        results.blocks.iter().filter_map(move |row| {
            let shown = cells.get(row.key.as_str())?;
            let keys = self.keys(*shown, row.seed, row.block);
            Some((row, best(&self.store, &keys, &is_wanted)?))
        })
    }

    /// Rows in the store for the current code and numeric class.
    fn rows_from_store(&self, shown: CellWithRows<'_>) -> Result<CellRows, Disagreement> {
        let mut rows = CellRows::default();
        let cell = shown.cell;
        for &seed in &cell.spec.measure.seeds {
            let stored = |block| best(&self.store, &self.keys(shown, seed, block), |_| true);
            let blocks = (0..cell.spec.measure.max_repeats()).filter_map(stored);
            let blocks: Vec<&StoredRun> = blocks.collect();
            if cell.spec.program.is_none() && cell.spec.train.device == DeviceKind::Cpu {
                check_agreement(cell, &blocks, &self.store)?;
            }
            let Some(run) = run_with_facts(&blocks) else {
                continue;
            };
            let mut row = run_row(cell, run);
            if let (Some(facts), Some(names)) = (
                &mut row.facts,
                nondeterministic_metrics(&cell.spec, &blocks),
            ) {
                facts.nondeterministic = names;
            }
            rows.runs.push(row);
            rows.epochs.extend(epoch_rows(cell, run));
            if rows.work.is_empty() && shown.trial.is_none() {
                rows.work = work_rows(cell, run);
            }
            if shown.trial.is_none() {
                rows.confusions.extend(confusion_rows(cell, run));
            }
            rows.samples.extend(run.sample_infos(&cell.spec.key));
            let of_blocks = blocks.iter().map(|run| run.block_row(&cell.spec.key));
            rows.blocks.extend(of_blocks);
            rows.measured = Some((run.keys.code_hash.clone(), run.keys.numeric_class.clone()));
        }
        Ok(rows)
    }

    fn add_environments(&self, all: &mut ResultSet) {
        let used: BTreeSet<&String> = all.blocks.iter().map(|block| &block.env_id).collect();
        for id in used {
            // Sessions of one environment can have different commits: the newest one with runs in these results counts,
            // even if the store has a later one, of another branch for example.
            let newest = newest_session(&all.blocks, id);
            let measured = newest.and_then(|session| self.store.environment_of(id, session));
            let before = self
                .previous
                .as_ref()
                .and_then(|before| before.environments.get(id));
            let is_same = |before: &ResultSet| newest_session(&before.blocks, id) == newest;
            let unchanged = before.filter(|_| self.previous.as_ref().is_some_and(is_same));
            let latest = self.store.environments().get(id);
            let found = measured.or(unchanged).or(latest).or(before);
            let found = found.map(|environment| (id.clone(), environment.clone()));
            all.environments.extend(found);
        }
    }
}

/// The name of the newest session of the `blocks` in an environment; `None` if none of them has a session.
fn newest_session<'b>(blocks: &'b [BlockRow], env_id: &str) -> Option<&'b str> {
    let own = blocks.iter().filter(|block| block.env_id == env_id);
    own.filter_map(|block| block.session.as_deref()).max()
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

/// Adds an empty row, with the reason, for each seed that was not run, and sorts the rows by seed and block.
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

/// The stored run with these facts, of those that `is_wanted` accepts, whose measurement conditions fit best.
pub(super) fn best<'a>(
    store: &'a Store,
    keys: &RunKeys,
    is_wanted: impl Fn(&StoredRun) -> bool,
) -> Option<&'a StoredRun> {
    let runs = store.runs_of(&keys.cell_hash).iter();
    let runs = runs.filter(|run| run.keys.has_same_facts_as(keys) && is_wanted(run));
    runs.min_by_key(|run| {
        let conditions = &run.keys.conditions;
        let differences = conditions.differences(&keys.conditions).len();
        // Of runs that fit equally well, those measured alone come first; the number of threads only makes the order
        // fixed.
        (differences, !conditions.is_exclusive, conditions.threads)
    })
}

/// The previous rows of the results files, by cell key.
struct Previous<'a> {
    cells: BTreeMap<&'a str, Vec<&'a CellInfo>>,
    runs: BTreeMap<&'a str, Vec<&'a RunRow>>,
    epochs: BTreeMap<&'a str, Vec<&'a EpochRecord>>,
    work: BTreeMap<&'a str, Vec<&'a WorkRecord>>,
    confusions: BTreeMap<&'a str, Vec<&'a ConfusionRecord>>,
    blocks: BTreeMap<&'a str, Vec<&'a BlockRow>>,
}

impl<'a> Previous<'a> {
    fn of(results: &'a ResultSet) -> Self {
        Self {
            cells: by_key(&results.plan.cells, |cell| &cell.key),
            runs: by_key(&results.runs, |row| &row.key),
            epochs: by_key(&results.epochs, |row| &row.key),
            work: by_key(&results.work, |row| &row.key),
            confusions: by_key(&results.confusions, |row| &row.key),
            blocks: by_key(&results.blocks, |row| &row.key),
        }
    }

    /// Previous rows of exactly this cell, for seeds and blocks that the plan still has.
    fn rows(&self, cell: &PlannedCell) -> Option<CellRows> {
        let key = cell.spec.key.as_str();
        let info = self.cells.get(key)?.last()?;
        if info.cell_hash != cell.cell_hash {
            return None;
        }
        let measure = &cell.spec.measure;
        let has = |seed: u64| measure.seeds.contains(&seed);
        let runs = kept(self.runs.get(key), |row| {
            has(row.seed) && was_run(row.status)
        });
        let (code, class) = (info.code_hash.as_deref(), info.numeric_class.as_deref());
        let is_planned = |row: &BlockRow| has(row.seed) && row.block < measure.max_repeats();
        (!runs.is_empty()).then(|| CellRows {
            runs,
            epochs: kept(self.epochs.get(key), |row| has(row.seed)),
            work: kept(self.work.get(key), |_| true),
            confusions: kept(self.confusions.get(key), |row| has(row.seed)),
            blocks: kept(self.blocks.get(key), is_planned),
            samples: kept(Some(&info.samples.iter().collect()), |one| has(one.seed)),
            measured: code.map(Arc::from).zip(class.map(Arc::from)),
        })
    }
}

fn kept<T: Clone>(rows: Option<&Vec<&T>>, is_kept: impl Fn(&T) -> bool) -> Vec<T> {
    let rows = rows.into_iter().flatten().copied();
    rows.filter(|row| is_kept(row)).cloned().collect()
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
        let seed = row.seed;
        match merged.runs.iter_mut().find(|other| other.seed == seed) {
            Some(other) if !is_kept(&row, other) => continue,
            Some(other) => *other = row,
            None => merged.runs.push(row),
        }
        replace(&mut merged.epochs, &before.epochs, |row| row.seed == seed);
        replace(&mut merged.confusions, &before.confusions, |row| {
            row.seed == seed
        });
        replace(&mut merged.samples, &before.samples, |row| row.seed == seed);
    }
    if merged.work.is_empty() {
        merged.work = before.work;
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

/// Replaces the rows that `is_it` accepts by those of `others` that it accepts.
fn replace<T: Clone>(rows: &mut Vec<T>, others: &[T], is_it: impl Fn(&T) -> bool) {
    rows.retain(|row| !is_it(row));
    rows.extend(others.iter().filter(|row| is_it(row)).cloned());
}

/// Whether rows of new code may replace rows of other code: only once every measured seed has a new row.
fn covers(now: &CellRows, before: &CellRows) -> bool {
    before.runs.iter().all(|old| {
        let new = now.runs.iter().find(|row| row.seed == old.seed);
        new.is_some_and(|new| !is_kept(old, new))
    })
}

/// Whether the previous row `old` is kept: a measured row is not replaced by a timeout.
fn is_kept(old: &RunRow, new: &RunRow) -> bool {
    old.facts.is_some() && new.status == Status::Timeout
}

fn metric_names(results: &ResultSet) -> BTreeSet<&String> {
    let facts = results.runs.iter().filter_map(|row| row.facts.as_ref());
    let ends = facts.flat_map(|facts| facts.metrics.keys());
    let epochs = results.epochs.iter();
    let epochs = epochs.flat_map(|row| row.epoch.validation.keys());
    ends.chain(epochs).collect()
}
