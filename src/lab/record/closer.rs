//! Files with the details of runs, generated from the store: `ops.csv`, and, not in git, `trace/` and `tensorboard/`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::event::Status;
use crate::results::store::{RunKeys, StoredRun};
use crate::results::{
    BlockRow, OpRecord, ResultSet, ResultsError, RunScalars, create_folder, event_file, op_records,
    read_ops, remove_files_not_in, remove_other_events, trace_file, trace_json, write_events,
    write_if_changed, write_ops,
};

use super::Recorder;
use super::trials::CellWithRows;

impl Recorder<'_> {
    /// Updates the outdated files in `folder`, and removes files of runs that no longer exist.
    ///
    /// # Errors
    /// [`ResultsError::System`].
    pub(super) fn write_run_details(
        &self,
        folder: &Path,
        results: &ResultSet,
    ) -> Result<(), ResultsError> {
        // Operations measured earlier, on another machine or with a deleted store, are kept as long as the code hash of
        // the cell is unchanged.
        let known = read_ops(folder, &results.plan).unwrap_or_default();
        write_ops(folder, &results.plan, self.ops(results, &known))?;
        self.write_traces(&folder.join("trace"), results)?;
        self.write_tensorboard(folder, results)
    }

    /// Profiled operations of the runs that `results` shows in `blocks.csv`, run by run: from the store, else from `known`.
    fn ops<'r>(
        &'r self,
        results: &'r ResultSet,
        known: &'r [OpRecord],
    ) -> impl Iterator<Item = Vec<OpRecord>> {
        let stored = self.profiled(results);
        let stored = stored.map(|(row, run)| ((&*row.key, row.seed, row.block), run));
        let stored: BTreeMap<(&str, u64, usize), &StoredRun> = stored.collect();
        let cells = results.plan.cells.iter();
        let codes = cells.filter_map(|cell| Some((&*cell.key, cell.code_hash.as_deref()?)));
        let codes: BTreeMap<&str, &str> = codes.collect();
        results.blocks.iter().map(move |row| {
            let place = (&*row.key, row.seed, row.block);
            let of_run = |run: &&StoredRun| {
                let profile = self.store.profile_of(&run.keys)?;
                Some(op_records(row, &run.keys.code_hash, &profile))
            };
            let is_own = |old: &&OpRecord| {
                (&*old.key, old.seed, old.block) == place
                    && codes.get(&*row.key) == Some(&&*old.code_hash)
            };
            let of_file = || known.iter().filter(is_own).cloned().collect();
            stored.get(&place).and_then(of_run).unwrap_or_else(of_file)
        })
    }

    fn write_traces(&self, folder: &Path, results: &ResultSet) -> Result<(), ResultsError> {
        let mut known = BTreeSet::new();
        for (row, run) in self.profiled(results) {
            let path = folder.join(trace_file(&row.key, row.seed));
            if self.is_behind(&path, &run.keys) {
                let Some(profile) = self.store.profile_of(&run.keys) else {
                    continue;
                };
                create_folder(folder)?;
                let spans = self.store.spans_of(&run.keys);
                let text = trace_json(row, &run.keys.code_hash, &profile, &spans);
                write_if_changed(&path, text.as_bytes())?;
            }
            known.insert(path);
        }
        remove_files_not_in(folder, "json", &known);
        Ok(())
    }

    /// If `measure.tensorboard` is on in any shown cell: writes the missing or outdated event files of all runs with
    /// facts, and removes those of runs that no longer exist. If not, existing files are left in place.
    fn write_tensorboard(&self, folder: &Path, results: &ResultSet) -> Result<(), ResultsError> {
        let is_on = |shown: CellWithRows<'_>| shown.cell.spec.measure.tensorboard;
        if !self.shown().any(is_on) {
            return Ok(());
        }
        let mut known = Vec::new();
        for (row, run) in self.runs(results, |_| true) {
            let file = event_file(&row.key, row.seed, row.block);
            let path = folder.join(&file);
            if run.facts.is_some() && self.is_behind(&path, &run.keys) {
                let scalars = RunScalars {
                    epochs: &run.epochs,
                    steps: &self.store.steps_of(&run.keys),
                    facts: run.facts.as_deref(),
                    times: run.times.as_deref(),
                };
                write_events(&path, scalars)?;
            }
            known.push(file);
        }
        remove_other_events(folder, &known);
        Ok(())
    }

    /// Rows of `blocks.csv` whose run has a profile, with that run. Times and profile of a row may come from two runs
    /// with the same results.
    fn profiled<'r>(
        &'r self,
        results: &'r ResultSet,
    ) -> impl Iterator<Item = (&'r BlockRow, &'r StoredRun)> {
        let runs = self.runs(results, |run| run.is_profiled);
        runs.filter(|(_, run)| run.status == Status::Done)
    }

    /// Whether `path` is missing or older than the stored run.
    fn is_behind(&self, path: &Path, keys: &RunKeys) -> bool {
        let written = fs::metadata(path).and_then(|data| data.modified()).ok();
        written < self.store.stored_at(keys).or(Some(SystemTime::UNIX_EPOCH))
    }
}
