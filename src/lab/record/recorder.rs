//! [`Recorder`]: receives run events, stores runs and writes the results files.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::event::{Job, KeptTrial, RunEvent, RunId, RunOutcome, Sample, Status};
use crate::plan::{CellSpec, PlannedCell, project_folder};
use crate::results::environment::env_id;
use crate::results::store::{RunConditions, RunKeys, Store, StoredRun, StoredSample, code_parts};
use crate::results::{self, Environment, PlanFile, ResultSet, ResultsError, SampleInfo, Session};

use super::failures::keep_log;
use super::trials::Trials;
use super::{Disagreement, TrialRow};

/// Interval at which the CSV files are rewritten from the store, if that does not take too long.
const WRITE_EVERY: Duration = Duration::from_secs(10);

/// The pause between two writes is at least this multiple of the last write's duration.
const WRITING_SHARE: u32 = 30;

/// Why results cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Error of the store, of the results files, or of a log in `failures/`.
    #[error(transparent)]
    Results(#[from] ResultsError),
    /// Two runs that must have equal facts have different ones.
    #[error(transparent)]
    Disagreement(#[from] Disagreement),
}

/// Stores every finished run at once, and updates the results files at intervals.
#[derive(Debug)]
pub struct Recorder<'a> {
    folder: &'a Path,
    /// The store that receives the runs.
    pub store: Store,
    /// All cells of the manifest, selected or not, in row order.
    pub(super) cells: &'a [PlannedCell],
    /// Machine, build and run settings of this invocation.
    pub(super) conditions: &'a RunConditions,
    /// `plan.json` without cells and columns.
    pub(super) header: PlanFile,
    environment: Environment,
    /// Content of the results files when this invocation started; `None` if there were none.
    pub(super) previous: Option<ResultSet>,
    last_write: Instant,
    is_behind: bool,
    /// Absolute folder of the manifest: paths below it are stored in `plan.json` relative to it.
    pub(super) manifest_folder: PathBuf,
    session: Session,
    /// Start time of each running run, in seconds of the session.
    starts: HashMap<RunId, f64>,
    /// Finished trials of a search by row index; empty without a search.
    pub(super) trials: Trials,
    writing: Duration,
    /// Code hashes whose parts this invocation has stored.
    known_codes: HashSet<Arc<str>>,
}

impl<'a> Recorder<'a> {
    /// A recorder that writes the results of `cells` into `folder`. `cells` are all cells of the manifest, or none for
    /// a search, whose trials are added as they end. `previous` is the current content of the results files; new runs
    /// are recorded under `session`.
    #[expect(clippy::too_many_arguments, reason = "each is a thing of its own")]
    pub fn new(
        folder: &'a Path,
        store: Store,
        cells: &'a [PlannedCell],
        conditions: &'a RunConditions,
        header: PlanFile,
        environment: Environment,
        previous: Option<ResultSet>,
        session: Session,
    ) -> Self {
        let root = project_folder(folder);
        let manifest = root.join(&header.manifest_path);
        let manifest_folder = manifest.parent().unwrap_or(root).to_owned();
        Self {
            folder,
            store,
            cells,
            conditions,
            header,
            environment,
            previous,
            last_write: Instant::now(),
            is_behind: false,
            manifest_folder,
            session,
            starts: HashMap::new(),
            trials: Trials::new(),
            writing: Duration::ZERO,
            known_codes: HashSet::new(),
        }
    }

    /// Stores the run or trial that an event reports as ended, and updates the results files if that is due.
    ///
    /// # Errors
    /// [`RecordError`]; everything stored before is unchanged.
    pub fn handle(&mut self, event: &RunEvent<'_>) -> Result<(), RecordError> {
        match event {
            RunEvent::RunStarted { job, .. } => {
                self.starts.insert(job.id, self.session.seconds());
            }
            RunEvent::RunEnded { job, outcome } if outcome.is_finished() => {
                self.keep(job, outcome)?;
                self.note(job, outcome.status, &outcome.reason);
                self.write_if_due()?;
            }
            RunEvent::RunEnded { outcome, .. } => forget_samples(outcome),
            RunEvent::Kept(KeptTrial {
                job,
                status,
                reason,
            }) => {
                self.note(job, *status, reason);
                self.is_behind = true;
            }
            RunEvent::Tick => self.write_if_due()?,
            _ => {}
        }
        Ok(())
    }

    /// Records a trial that has ended, now or in an earlier invocation; other runs are ignored.
    fn note(&mut self, job: &Job, status: Status, reason: &str) {
        let Some(mut trial) = TrialRow::of(job, status, reason) else {
            return;
        };
        if let Some((_, first)) = self.trials.first_key_value() {
            trial.share_with(first);
        }
        self.trials.insert(job.id.cell, trial);
    }

    /// Writes all files and returns their content; unchanged files are not touched. A shard's store writes no files,
    /// only its journal.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn finish(mut self) -> Result<ResultSet, RecordError> {
        if self.store.is_shard() {
            return Ok(self.results()?);
        }
        let results = self.write()?;
        // Written only at the end, since a long run has a million steps.
        if results::is_steps_csv_outdated(self.folder) {
            results::write_steps(self.folder, self.steps(&results))?;
        }
        self.write_run_details(self.folder, &results)?;
        results::write_checkpoint_index(self.folder, &self.checkpoints(self.folder))?;
        Ok(results)
    }

    fn write(&mut self) -> Result<ResultSet, RecordError> {
        let began = Instant::now();
        let results = self.results()?;
        results::write(self.folder, &results)?;
        let bytes_of = |sample: &SampleInfo| self.store.sample(&sample.digest);
        results::write_samples(self.folder, &results, bytes_of)?;
        self.last_write = Instant::now();
        self.writing = began.elapsed();
        self.is_behind = false;
        Ok(results)
    }

    fn write_if_due(&mut self) -> Result<(), RecordError> {
        // All files are rewritten each time, so the interval grows with the time that writing takes, which stays a
        // small share of a large search.
        let every = WRITE_EVERY.max(WRITING_SHARE * self.writing);
        if self.is_behind && !self.store.is_shard() && self.last_write.elapsed() >= every {
            self.write()?;
        }
        Ok(())
    }

    fn keep(&mut self, job: &Job, outcome: &RunOutcome) -> Result<(), RecordError> {
        let cell = match &job.trial {
            Some(trial) => &trial.cell,
            None => &self.cells[job.id.cell],
        };
        let keys = RunKeys {
            until: outcome.pruned.as_ref().map(|pruned| pruned.info.step + 1),
            ..self.conditions.keys(cell, job.id.seed, job.id.block)
        };
        let logs = self.folder.join("failures");
        keep_log(self.folder, &keys, outcome).map_err(ResultsError::unwritable(&logs))?;
        self.store_code_and_environment(&keys, &cell.spec)?;
        let (facts, epochs, samples) = match self.measured_before(&keys) {
            Some(run) if outcome.status == Status::Timeout => {
                forget_samples(outcome);
                let run = run.clone();
                (run.facts, run.epochs, run.samples)
            }
            _ => {
                let samples = self.keep_samples(outcome)?;
                let facts = outcome.facts.clone().map(Arc::new);
                (facts, outcome.epochs.clone().into(), samples)
            }
        };
        let is_profiled = self.keep_profile(&keys, &cell.spec, outcome)?;
        self.store.put(StoredRun {
            key: cell.spec.key.as_str().into(),
            keys,
            hash_parts: StoredRun::hash_parts(cell).into(),
            work_signature: cell.work_signature.to_string().into(),
            kind: cell.spec.kind().into(),
            limits: cell.spec.limits.clone(),
            status: outcome.status,
            reason: outcome.reason.clone(),
            facts,
            times: outcome.times.clone().map(Arc::new),
            epochs,
            samples,
            wall_s: outcome.wall_s,
            peak_rss_bytes: outcome.peak_rss_bytes,
            cpu_s: outcome.cpu_s,
            is_profiled,
            estimated_s: job.estimated_s,
            session: Some(self.session.id().into()),
            start_s: self.starts.remove(&job.id),
        })?;
        self.is_behind = true;
        remove_state(job, outcome.status);
        Ok(())
    }

    /// The earlier run with facts that is stored under these keys.
    fn measured_before(&self, keys: &RunKeys) -> Option<&StoredRun> {
        let mut stored = self.store.runs_of(&keys.cell_hash).iter();
        stored.find(|run| run.keys == *keys && run.facts.is_some())
    }

    /// Stores code and environment of this invocation's measurements.
    fn store_code_and_environment(
        &mut self,
        keys: &RunKeys,
        spec: &CellSpec,
    ) -> Result<(), ResultsError> {
        if !self.known_codes.contains(&keys.code_hash) {
            let parts = code_parts(spec);
            self.store.put_code(&keys.code_hash, parts)?;
            self.known_codes.insert(keys.code_hash.clone());
            let environment = self.environment.clone();
            let id = env_id(&environment);
            let of_session = (&*id, self.session.id());
            self.store.put_environment_of(of_session, environment)?;
        }
        Ok(())
    }

    /// Stores the profile of the run. Returns whether this run or an earlier one was profiled: a profile of the same
    /// code on the same machine is kept when a rerun without profiling replaces the run.
    fn keep_profile(
        &self,
        keys: &RunKeys,
        spec: &CellSpec,
        outcome: &RunOutcome,
    ) -> Result<bool, ResultsError> {
        if let Some(profile) = &outcome.profile {
            self.store.put_profile(keys, profile)?;
        }
        let mut stored = self.store.runs_of(&keys.cell_hash).iter();
        let was_profiled = stored.any(|run| run.keys == *keys && run.is_profiled);
        Ok(was_profiled || spec.measure.is_profiled_run(keys.seed, keys.block))
    }

    /// Stores the run's images. They count as facts: a run without facts has no images either.
    fn keep_samples(&self, outcome: &RunOutcome) -> Result<Vec<StoredSample>, ResultsError> {
        if outcome.facts.is_none() {
            forget_samples(outcome);
            return Ok(Vec::new());
        }
        let keep = |sample: &Sample| {
            self.store.add_sample(sample)?;
            Ok(StoredSample {
                name: sample.name.clone(),
                caption: sample.caption.clone(),
                digest: sample.digest.clone(),
            })
        };
        outcome.samples.iter().map(keep).collect()
    }
}

/// Removes the saved training state of a finished run, unless a run with more epochs can continue from it, and the
/// state that the run itself continued from. After a failure both files are kept.
fn remove_state(job: &Job, status: Status) {
    let is_over = matches!(status, Status::Done | Status::Diverged | Status::Pruned);
    let Some(resume) = job.resume.as_ref().filter(|_| is_over) else {
        return;
    };
    let is_kept = status == Status::Done
        && job.id.block == 0
        && job.spec.can_continue_after(job.spec.train.epochs);
    let own = (!is_kept).then_some(&resume.state);
    let from = resume.from.as_ref().filter(|from| **from != resume.state);
    for path in own.into_iter().chain(from) {
        // A file that cannot be removed only takes space.
        let _ = std::fs::remove_file(path);
        if let Some(folder) = path.parent() {
            // Fails, as intended, unless the folder is empty.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn forget_samples(outcome: &RunOutcome) {
    for sample in &outcome.samples {
        // Failure is ignored: the next start removes the file.
        let _ = std::fs::remove_file(&sample.path);
    }
}
