//! [`PlanChoice`]: arguments that select a plan, for `run` and for commands about shards.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::shell;
use crate::cluster::Jobs;
use crate::diag::{Failure, Place};
use crate::plan::{Plan, PlannedCell, experiment_name_error, project_folder, results_root};
use crate::results::store::journals;
use crate::results::{self, has_results, no_results_error, relative_to_current_dir};

use super::Problem;
use super::problem::mistake;
use super::run_plan::{plan_of, prepare_data, refuse_shared_name};
use super::words::CommandWords;

/// Parses the name of a results folder: it must be valid as a manifest's `name`, so that it stays below `reports/`. The
/// error says what is wrong.
fn experiment_name(text: &str) -> Result<String, String> {
    let Some(wrong) = experiment_name_error(text, Place::default()) else {
        return Ok(text.to_owned());
    };
    let labels = wrong.labels.into_iter().map(|label| label.text);
    Err(wrong
        .help
        .into_iter()
        .chain(labels)
        .next()
        .unwrap_or_default())
}

/// Arguments that select a plan: the manifest, changed values, cells and the name of the results.
#[derive(Debug, Clone, Args)]
pub(super) struct PlanChoice {
    /// The manifest, or the results folder (or its name) of one that has run
    #[arg(value_name = "MANIFEST")]
    pub(super) manifest: PathBuf,
    /// Override a value of the manifest by its path: `--set matrix.batch-size=[8,32]`; the same for all shards
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
    /// Only some cells: `--only 'device=cpu,batch-size=8|32'`; the same for all shards
    #[arg(long, value_name = "AXIS=VALUE,…")]
    pub(super) only: Option<String>,
    /// Results are in `reports/NAME` instead of the manifest's name
    #[arg(long = "as", value_name = "NAME", value_parser = experiment_name)]
    pub(super) results_name: Option<String>,
}

pub(super) struct SelectedPlan {
    pub(super) plan: Plan,
    pub(super) cells: Vec<PlannedCell>,
}

impl PlanChoice {
    /// Makes the plan, and generates missing data, because cell hashes depend on the content of data.
    pub(super) fn plan(&self) -> Result<SelectedPlan, Problem> {
        self.plan_without_data()?
            .with_data(|| self.plan_without_data())
    }

    /// Makes the plan without generating data.
    pub(super) fn plan_without_data(&self) -> Result<SelectedPlan, Problem> {
        let choice = self.resolved()?;
        let (only, name) = (choice.only.as_ref(), choice.results_name.as_ref());
        let plan = plan_of(&choice.manifest, &choice.set, only, name)?;
        refuse_shared_name(&plan)?;
        Ok(SelectedPlan::of(plan))
    }

    /// The arguments that select this plan, quoted for a command line.
    pub(super) fn to_command_line(&self) -> String {
        let resolved = self.resolved();
        shell::joined(resolved.as_ref().unwrap_or(self).to_arguments().0)
    }

    /// The arguments that select this plan, as words of a command line.
    pub(super) fn to_arguments(&self) -> CommandWords {
        CommandWords::default()
            .words([self.manifest.display()])
            .option("--set", &self.set)
            .option("--only", &self.only)
            .option("--as", &self.results_name)
    }

    /// Replaces a results folder by its manifest.
    pub(super) fn resolved(&self) -> Result<Self, Problem> {
        let is_manifest = self.manifest.extension() == Some(OsStr::new("toml"));
        if is_manifest || self.manifest.is_file() {
            return Ok(self.clone());
        }
        let folder = folder_of(&self.manifest).ok_or_else(|| no_results_error(&self.manifest))?;
        if let Some(jobs) = Jobs::read(&folder).map_err(mistake)? {
            return Ok(Self {
                manifest: relative_to_current_dir(&project_folder(&folder).join(&jobs.manifest)),
                set: jobs.set,
                only: jobs.only,
                results_name: jobs.results_name,
            });
        }
        // If nothing was submitted to a cluster, the results of the last `run` or `merge` name the manifest.
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        if !has_results(&folder) && journals(&folder).is_ok_and(|journals| !journals.is_empty()) {
            let title = format!(
                "the shards of `{name}` are not merged yet: only their manifest knows them all"
            );
            let help = Some("name the manifest instead of the results".to_owned());
            return Err(Failure::without_source(title, help).into());
        }
        let plan = results::read(&folder).map_err(mistake)?.plan;
        let manifest = project_folder(&folder).join(&plan.manifest_path);
        Ok(Self {
            manifest: relative_to_current_dir(&manifest),
            results_name: (name != plan.name.as_str()).then(|| name.into_owned()),
            ..self.clone()
        })
    }
}

impl SelectedPlan {
    pub(super) fn of(plan: Plan) -> Self {
        let cells = plan.cells().collect();
        Self { plan, cells }
    }

    /// Returns the plan after generating missing data; if any were missing, the plan is made again, because cell hashes
    /// depend on data.
    pub(super) fn with_data(
        self,
        again: impl FnOnce() -> Result<Self, Problem>,
    ) -> Result<Self, Problem> {
        if prepare_data(&self.plan, &self.cells)? {
            return again();
        }
        Ok(self)
    }
}

/// The absolute path of the results folder `given`, or else of `reports/<given>`; `None` if neither has results, shards
/// or submitted jobs.
fn folder_of(given: &Path) -> Option<PathBuf> {
    let parts = ["shards", "slurm", "plan.json"];
    let holds = |folder: &Path| parts.iter().any(|part| folder.join(part).exists());
    let named = results_root(Path::new("manifest.toml")).join(given);
    let mut folders = [given.to_owned(), named].into_iter();
    std::path::absolute(folders.find(|folder| holds(folder))?).ok()
}
