//! [`Overview`]: every shard with its journal and its task, for `submit` and `status`.

use crate::base::Share;
use crate::cluster::{self, Jobs, Slurm, SlurmError, Standing, Task};
use crate::execute::Decision;
use crate::plan::Feasibility;
use crate::results::store::{Here, journals};

use super::Problem;
use super::bench::mistake;
use super::choice::Chosen;
use super::run_plan::here;

/// Every shard of a plan.
pub(super) struct Overview {
    pub(super) standings: Vec<Standing>,
    /// What was submitted, where anything was.
    pub(super) jobs: Option<Jobs>,
    /// What Slurm knows of it.
    pub(super) tasks: Vec<Task>,
    /// Why Slurm does not answer.
    pub(super) silent: Option<SlurmError>,
}

impl Overview {
    /// What journals and Slurm say now; `shards` of the command line count before what was submitted, and that before the
    /// manifest.
    pub(super) fn of(chosen: &Chosen, shards: Option<usize>) -> Result<Self, Problem> {
        let results = &chosen.plan.results_folder;
        let jobs = Jobs::read(results).map_err(mistake)?;
        let submitted = jobs.as_ref().map(|jobs| jobs.shards);
        let shards = shards.or(submitted).or(last_number_of_shares(chosen)?);
        let shards = shards.unwrap_or(chosen.plan.slurm.shards);
        let known: Vec<&str> = jobs.as_ref().map(Jobs::ids).unwrap_or_default();
        let (tasks, silent) = match Slurm.tasks(&known) {
            Ok(tasks) => (tasks, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        Ok(Self {
            standings: standings(chosen, shards)?,
            jobs,
            tasks,
            silent,
        })
    }

    /// The task of a shard.
    pub(super) fn task(&self, standing: &Standing) -> Option<&Task> {
        let jobs = self.jobs.as_ref()?;
        cluster::task_of(jobs, &self.tasks, standing.share.index())
    }

    /// The job that merges.
    pub(super) fn merging(&self) -> Option<&Task> {
        cluster::merging(self.jobs.as_ref()?, &self.tasks)
    }

    /// Sum over the shards of what `of` says.
    pub(super) fn total(&self, of: impl Fn(&Standing) -> usize) -> usize {
        self.standings.iter().map(of).sum()
    }
}

fn standings(chosen: &Chosen, shards: usize) -> Result<Vec<Standing>, Problem> {
    let plan = &chosen.plan;
    let store = cluster::everything(plan).map_err(mistake)?;
    let (_, here) = here(plan.manifest_path.parent(), 1);
    let here = Here {
        classes: cluster::classes(&store),
        ..here
    };
    let mut cells = chosen.cells.clone();
    for cell in &mut cells {
        // This machine need not have the devices that tasks are given.
        let is_on_gpu = cell.spec.train.device != crate::device::DeviceKind::Cpu;
        let is_absent = matches!(cell.feasibility, Feasibility::Skipped(_));
        if is_absent && is_on_gpu && plan.slurm.gpus.is_some() {
            cell.feasibility = Feasibility::Runs;
        }
    }
    let decisions: Vec<(_, Decision)> = cluster::decisions(plan, &cells, &store, &here);
    cluster::standings(plan, &cells, &decisions, shards).map_err(mistake)
}

/// Into how many shards the plan was divided last.
pub(super) fn last_number_of_shares(chosen: &Chosen) -> Result<Option<usize>, Problem> {
    let journals = journals(&chosen.plan.results_folder).map_err(mistake)?;
    let changed = |path: &std::path::Path| {
        let data = std::fs::metadata(path);
        data.and_then(|data| data.modified()).ok()
    };
    let last = journals.iter().max_by_key(|journal| changed(&journal.path));
    Ok(last.map(|journal| Share::of(journal.share)))
}
