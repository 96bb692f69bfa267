//! [`Overview`]: state of every shard, with its journal and task, for `submit`, `status` and `merge`.

use std::convert::Infallible;

use crate::cluster::{
    self, Jobs, RunNumbers, ShardProgress, SlurmError, Task, last_modified, slurm,
};
use crate::device::DeviceKind;
use crate::event::{RunId, Status};
use crate::execute::Decision;
use crate::plan::Feasibility;
use crate::plan::search::SearchSpec;
use crate::results::Share;
use crate::results::store::{RunConditions, Store, journals};
use crate::search::share_of_trial;

use super::Problem;
use super::choice::SelectedPlan;
use super::problem::mistake;
use super::run_plan::conditions;
use super::trials::{Replay, TrialName};

pub(super) struct Overview {
    pub(super) shards_progress: Vec<ShardProgress>,
    /// The submitted jobs, if there are any.
    pub(super) jobs: Option<Jobs>,
    /// Slurm's state of each task.
    pub(super) tasks: Vec<Task>,
    /// Why Slurm could not be queried; `None` if it could.
    pub(super) slurm_error: Option<SlurmError>,
}

impl Overview {
    /// Reads journals and queries Slurm. The number of shards is `shards` of the command line, else that of the
    /// submitted jobs, else the manifest's.
    pub(super) fn of(chosen: &SelectedPlan, shards: Option<usize>) -> Result<Self, Problem> {
        let jobs = Jobs::read(&chosen.plan.results_folder).map_err(mistake)?;
        let submitted = jobs.as_ref().map(|jobs| jobs.shards);
        let shards = shards.or(submitted).or(last_shard_count(chosen)?);
        let shards = shards.unwrap_or(chosen.plan.slurm.shards);
        let known: Vec<&str> = jobs.as_ref().map(Jobs::ids).unwrap_or_default();
        // Slurm is queried before the journals are read, so that the journal of a task that has ended is complete.
        let (tasks, slurm_error) = match slurm::tasks(&known) {
            Ok(tasks) => (tasks, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Ok(Self {
            shards_progress: shards_progress(chosen, shards)?,
            jobs,
            tasks,
            slurm_error,
        })
    }

    pub(super) fn task(&self, shard: &ShardProgress) -> Option<&Task> {
        let jobs = self.jobs.as_ref()?;
        cluster::task_of(jobs, &self.tasks, shard.share.index())
    }

    pub(super) fn merge_task(&self) -> Option<&Task> {
        cluster::merge_task(self.jobs.as_ref()?, &self.tasks)
    }

    pub(super) fn total(&self, of: impl Fn(&ShardProgress) -> usize) -> usize {
        self.shards_progress.iter().map(of).sum()
    }
}

fn shards_progress(chosen: &SelectedPlan, shards: usize) -> Result<Vec<ShardProgress>, Problem> {
    let store = cluster::read_with_journals(&chosen.plan).map_err(mistake)?;
    let (_, mut conditions) = conditions(&chosen.plan.manifest_path);
    conditions.classes = cluster::foreign_numeric_classes(&store);
    shards_progress_in(&store, chosen, shards, &conditions)
}

/// What each shard has done and what is left, by a store that has the runs of all journals.
pub(super) fn shards_progress_in(
    store: &Store,
    chosen: &SelectedPlan,
    shards: usize,
    conditions: &RunConditions,
) -> Result<Vec<ShardProgress>, Problem> {
    let plan = &chosen.plan;
    let runs = match &plan.search {
        None => runs(chosen, shards, store, conditions),
        Some(search) => {
            let index = |name| share_of_trial(search, plan.len(), shards, name);
            let trials = trials(chosen, search, store, conditions).into_iter();
            trials.map(|(name, trial)| (index(name), trial)).collect()
        }
    };
    cluster::shards_progress(&plan.results_folder, shards, runs).map_err(mistake)
}

/// Every run with the index of its shard.
fn runs(
    chosen: &SelectedPlan,
    shards: usize,
    store: &Store,
    conditions: &RunConditions,
) -> Vec<(usize, Option<Status>)> {
    let mut cells = chosen.cells.clone();
    for cell in &mut cells {
        let is_on_gpu = cell.spec.train.device != DeviceKind::Cpu;
        let is_absent = matches!(cell.feasibility, Feasibility::Skipped(_));
        if is_absent && is_on_gpu && asks_for_devices(chosen) {
            cell.feasibility = Feasibility::Runs;
        }
    }
    let run_numbers = RunNumbers::of(&cells);
    let decisions = cluster::decisions(&chosen.plan, &cells, store, conditions);
    let run = |(id, decision): &(RunId, Decision)| {
        let status = match decision {
            Decision::Keep(status) => Some(*status),
            Decision::Run(_) | Decision::NotNeeded => None,
        };
        Some((run_numbers.shard_index(shards, *id)?, status))
    };
    decisions.iter().filter_map(run).collect()
}

/// Every trial of the search with its final status; `None` for a trial that still has to run.
fn trials(
    chosen: &SelectedPlan,
    search: &SearchSpec,
    store: &Store,
    conditions: &RunConditions,
) -> Vec<(TrialName, Option<Status>)> {
    let plan = &chosen.plan;
    let Ok(replay) = Replay::of::<Infallible>(plan, search, store, conditions, &mut |_| Ok(()));
    let replay = replay.expecting_devices(plan, asks_for_devices(chosen));
    let ended = replay.ended.into_iter();
    let ended = ended.map(|(name, status)| (name, Some(status)));
    let left = replay.missing.into_iter();
    ended.chain(left.map(|name| (name, None))).collect()
}

/// Whether the job requests devices that this machine may lack.
fn asks_for_devices(chosen: &SelectedPlan) -> bool {
    chosen.plan.slurm.gpus.is_some()
}

/// The number of shards into which the plan was divided last, from the newest journal; `None` without journals.
pub(super) fn last_shard_count(chosen: &SelectedPlan) -> Result<Option<usize>, Problem> {
    let journals = journals(&chosen.plan.results_folder).map_err(mistake)?;
    let last = journals.iter().max_by_key(|journal| last_modified(journal));
    Ok(last.map(|journal| Share::share_count(journal.share)))
}
