//! [`PlanChoice`]: arguments that select a plan, for commands about shards.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::shell;
use crate::cluster::Jobs;
use crate::manifest;
use crate::plan::{Only, Plan, PlanInputs, PlanOptions, PlannedCell, project_folder, results_root};
use crate::results::store::RunConditions;
use crate::results::{self, Environment, from_here, no_results};

use super::Problem;
use super::bench::{Bench, mistake};
use super::fingerprints::Fingerprints;
use super::run_plan::{prepare_data, refuse_namesakes};

/// Which plan is meant, by the options of `run`.
#[derive(Debug, Clone, Args)]
pub(super) struct PlanChoice {
    /// The manifest, or the results folder (or its name) of a manifest whose shards have run
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// Override a value of the manifest by its path, as for the shards
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Only some cells: `--only 'device=cpu,batch-size=8|16'`, as for the shards
    #[arg(long, value_name = "AXIS=VALUE,…")]
    only: Option<String>,
    /// Results are in `reports/NAME` instead of the manifest's name
    #[arg(long = "as", value_name = "NAME")]
    results_name: Option<String>,
}

pub(super) struct Chosen {
    pub(super) plan: Plan,
    pub(super) cells: Vec<PlannedCell>,
}

impl PlanChoice {
    /// Makes the plan, and generates missing data, because cells are named by the content of their data.
    pub(super) fn plan(&self) -> Result<Chosen, Problem> {
        let choice = self.resolved()?;
        let known = Fingerprints::beside(&choice.manifest);
        let mut chosen = choice.plan_in(&known.inputs())?;
        if prepare_data(&chosen.plan, &chosen.cells)? {
            chosen = choice.plan_in(&known.inputs())?;
        }
        known.keep();
        Ok(chosen)
    }

    /// Makes the plan without generating data.
    pub(super) fn look(&self) -> Result<Chosen, Problem> {
        let choice = self.resolved()?;
        let known = Fingerprints::beside(&choice.manifest);
        choice.plan_in(&known.inputs())
    }

    /// The arguments that select this plan, quoted for a command line.
    pub(super) fn words(&self) -> String {
        let words = self
            .resolved()
            .as_ref()
            .map_or_else(|_| self.list(), Self::list);
        shell::joined(words)
    }

    /// The same, as a list of words.
    pub(super) fn list(&self) -> Vec<String> {
        let mut words = vec![self.manifest.to_string_lossy().into_owned()];
        for set in &self.set {
            words.extend(["--set".to_owned(), set.clone()]);
        }
        let only = self
            .only
            .iter()
            .flat_map(|only| ["--only".to_owned(), only.clone()]);
        words.extend(only);
        let name = self.results_name.iter();
        words.extend(name.flat_map(|name| ["--as".to_owned(), name.clone()]));
        words
    }

    pub(super) fn parts(&self) -> (&Path, &[String], Option<&String>, Option<&String>) {
        let (only, name) = (self.only.as_ref(), self.results_name.as_ref());
        (&self.manifest, &self.set, only, name)
    }

    /// Replaces a results folder by its manifest.
    pub(super) fn resolved(&self) -> Result<Self, Problem> {
        let is_manifest = self.manifest.extension() == Some(OsStr::new("toml"));
        if is_manifest || self.manifest.is_file() {
            return Ok(self.clone());
        }
        let folder = folder_of(&self.manifest).ok_or_else(|| no_results(&self.manifest))?;
        if let Some(jobs) = Jobs::read(&folder).map_err(mistake)? {
            return Ok(Self::remembered(&jobs, &folder));
        }
        // Not submitted to a cluster: use the results of the last `run` or `merge`.
        let plan = results::read(&folder).map_err(mistake)?.plan;
        let manifest = project_folder(&folder).join(&plan.manifest_path);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            manifest: from_here(&manifest),
            results_name: (name != plan.name.as_str()).then(|| name.into_owned()),
            ..self.clone()
        })
    }

    fn remembered(jobs: &Jobs, folder: &Path) -> Self {
        Self {
            manifest: from_here(&project_folder(folder).join(&jobs.manifest)),
            set: jobs.set.clone(),
            only: jobs.only.clone(),
            results_name: jobs.results_name.clone(),
        }
    }

    fn plan_in(&self, inputs: &PlanInputs) -> Result<Chosen, Problem> {
        let manifest = manifest::load(&self.manifest, &self.set)?;
        let only = self.only.as_deref().map(Only::parse).transpose()?;
        let options = PlanOptions {
            only,
            results_name: self.results_name.clone(),
        };
        let plan = Plan::new(&manifest, inputs, options)?;
        refuse_namesakes(&plan)?;
        let cells = plan.cells().collect();
        Ok(Chosen { plan, cells })
    }
}

impl Chosen {
    pub(super) fn bench<'a>(
        &'a self,
        conditions: &'a RunConditions,
        environment: &'a Environment,
    ) -> Bench<'a> {
        Bench {
            plan: &self.plan,
            cells: &self.cells,
            conditions,
            environment,
        }
    }
}

/// The results folder itself, or the one with this name.
fn folder_of(given: &Path) -> Option<PathBuf> {
    let holds = |folder: &Path| {
        let parts = ["shards", "slurm", "plan.json"];
        parts.iter().any(|part| folder.join(part).exists())
    };
    let named = results_root(Path::new("manifest.toml")).join(given);
    let folder = [given.to_owned(), named]
        .into_iter()
        .find(|folder| holds(folder));
    folder.and_then(|folder| std::path::absolute(folder).ok())
}
