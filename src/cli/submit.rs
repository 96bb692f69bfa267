//! `fieldtrial submit --slurm`: submits a job array with one task per shard, and a merge job after it.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::cluster::{
    self, Array, Jobs, Scripts, Slurm, SlurmError, Standing, array_text, slurm_folder,
};
use crate::diag::Failure;
use crate::plan::{SlurmSpec, project_folder};
use crate::results::from_here;

use super::bench::mistake;
use super::choice::{Chosen, PlanChoice};
use super::overview::Overview;
use super::run::refuse_if_nothing_can_run;
use super::{Outcome, Problem, exit_code};

/// Submit a manifest to a batch system: one task per shard, and a job that merges them
///
/// What to ask for stands in `[slurm]`. A second `submit` submits only shards that have runs left and are neither queued nor
/// running; `fieldtrial status` shows them.
///
/// Example: `fieldtrial submit experiments/ddpm.toml --slurm --shards 8`
#[derive(Debug, Args)]
pub(super) struct SubmitArguments {
    #[command(flatten)]
    choice: PlanChoice,
    /// To Slurm, by `sbatch`
    #[arg(long, required = true)]
    slurm: bool,
    /// Shards, instead of those of `[slurm]`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    shards: Option<u16>,
    /// Runs at one time in each task
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Run again what failed
    #[arg(long)]
    retry: bool,
    /// Write the scripts, show the commands, and submit nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn submit(arguments: &SubmitArguments) -> Outcome {
    // Generate data here, once; otherwise all tasks would generate it at the same time.
    let chosen = arguments.choice.plan()?;
    refuse_if_nothing_can_run(&chosen.plan, &chosen.cells)?;
    let shards = arguments
        .shards
        .map_or(chosen.plan.slurm.shards, usize::from);
    let overview = Overview::of(&chosen, Some(shards))?;
    refuse(&overview, shards, arguments.dry_run)?;
    let submission = Submission {
        arguments,
        chosen: &chosen,
        overview: &overview,
        shards,
        spec: &chosen.plan.slurm,
    };
    submission.submit()
}

fn refuse(overview: &Overview, shards: usize, is_dry: bool) -> Result<(), Problem> {
    if let Some(error @ SlurmError::Refused { .. }) = &overview.silent {
        let help = "what is queued or running is not known, so nothing was submitted";
        return Err(Failure::plain(error.to_string(), Some(help.into())).into());
    }
    let before = overview.jobs.as_ref().map(|jobs| jobs.shards);
    let goes_on = overview.tasks.iter().any(|task| task.phase.is_active());
    if let Some(before) = before.filter(|before| *before != shards && goes_on) {
        let title = format!("{} are still queued or running", count(before, "shard"));
        let help = format!("wait for them or `scancel` them before you divide into {shards}");
        return Err(Failure::plain(title, Some(help)).into());
    }
    let largest = Slurm.largest_task().filter(|largest| shards > *largest);
    if let Some(largest) = largest.filter(|_| !is_dry) {
        let title = format!("this cluster takes arrays of up to {largest} tasks, not {shards}");
        let help = "fewer shards do more runs each; `--shards N` says how many";
        return Err(Failure::plain(title, Some(help.into())).into());
    }
    Ok(())
}

struct Submission<'a> {
    arguments: &'a SubmitArguments,
    chosen: &'a Chosen,
    overview: &'a Overview,
    shards: usize,
    spec: &'a SlurmSpec,
}

impl Submission<'_> {
    fn submit(&self) -> Outcome {
        let wanted: Vec<usize> = self.wanted().collect();
        let scripts = self.write_scripts()?;
        if wanted.is_empty() {
            self.say_nothing();
            return Ok(exit_code::GOOD);
        }
        let array = vec![
            "--parsable".to_owned(),
            format!("--array={}", array_text(&wanted, self.spec.at_once)),
        ];
        if self.arguments.dry_run {
            let shards = command_line(&array, &scripts.shard);
            let merge = command_line(&merge_options(&["ARRAY".into()]), &scripts.merge);
            write!(io::stdout(), "{shards}\n{merge}\n")?;
            return Ok(exit_code::GOOD);
        }
        let mut jobs = self.remembered()?;
        let job = Slurm.submit(&array, &scripts.shard).map_err(mistake)?;
        let what = count(wanted.len(), "shard");
        jobs.arrays.push(Array {
            job: job.clone(),
            tasks: wanted,
        });
        // Write the job id down before anything else can fail.
        self.write(&jobs)?;
        eprintln!("submitted job {job}: {what}, {}", count(self.left(), "run"));
        self.submit_merge(&mut jobs, &scripts.merge)?;
        eprintln!(
            "next     `{}` shows how far they are",
            self.command("status")
        );
        Ok(exit_code::GOOD)
    }

    /// Shards that have runs left and no active task.
    fn wanted(&self) -> impl Iterator<Item = usize> {
        let is_wanted = |standing: &&Standing| {
            let to_retry = self.arguments.retry && standing.failed > 0;
            let has_work = standing.left > 0 || to_retry;
            has_work && !cluster::is_active(standing, self.overview.task(standing))
        };
        let wanted = self.overview.standings.iter().filter(is_wanted);
        wanted.map(|standing| standing.share.index())
    }

    fn left(&self) -> usize {
        self.overview.total(|standing| standing.left)
    }

    fn say_nothing(&self) {
        if self.left() > 0 {
            eprintln!("nothing to submit: all shards with runs left are queued or running");
            let status = self.command("status");
            eprintln!("next     `{status}` shows how far they are");
        } else {
            eprintln!("nothing to submit: no run is left");
            let merge = self.command("merge");
            eprintln!("next     `{merge}` puts the shards together");
        }
    }

    fn command(&self, name: &str) -> String {
        shell::command(&format!("{name} {}", self.arguments.choice.words()))
    }

    /// The earlier jobs, if the number of shards is the same, with the current arguments.
    fn remembered(&self) -> Result<Jobs, Problem> {
        let choice = self.arguments.choice.resolved()?;
        let (manifest, set, only, results_name) = choice.parts();
        let manifest = std::path::absolute(manifest)?;
        let project = project_folder(&self.chosen.plan.results_folder);
        let manifest = manifest.strip_prefix(project).unwrap_or(&manifest);
        let before = self.overview.jobs.clone();
        let before = before.filter(|jobs| jobs.shards == self.shards);
        let mut jobs = before.unwrap_or_else(|| Jobs::none(PathBuf::new()));
        manifest.clone_into(&mut jobs.manifest);
        jobs.set = set.to_vec();
        jobs.only = only.cloned();
        jobs.results_name = results_name.cloned();
        jobs.shards = self.shards;
        Ok(jobs)
    }

    fn write(&self, jobs: &Jobs) -> Result<(), Problem> {
        jobs.write(&self.chosen.plan.results_folder)
            .map_err(mistake)
    }

    /// Submits one merge job after all active arrays; cancels an earlier one that waits for fewer.
    fn submit_merge(&self, jobs: &mut Jobs, script: &Path) -> Result<(), Problem> {
        let waiting = self
            .overview
            .merging()
            .filter(|task| task.phase.is_active());
        if let Some(task) = waiting
            && let Err(error) = Slurm.cancel(&task.job)
        {
            eprintln!("warning: job {} merges too early: {error}", task.job);
        }
        let goes_on = |array: &&Array| {
            let mut tasks = self.overview.tasks.iter();
            let is_new = Some(&array.job) == jobs.arrays.last().map(|last| &last.job);
            is_new || tasks.any(|task| task.job == array.job && task.phase.is_active())
        };
        let after: Vec<String> = jobs
            .arrays
            .iter()
            .filter(goes_on)
            .map(|a| a.job.clone())
            .collect();
        let merge = Slurm.submit(&merge_options(&after), script);
        match merge {
            Ok(job) => {
                eprintln!("submitted job {job}: merges when they have ended");
                jobs.merge = Some(job);
                self.write(jobs)
            }
            Err(error) => {
                let merge = self.command("merge");
                let help = format!("the shards are submitted; `{merge}` merges them");
                Err(Failure::plain(error.to_string(), Some(help)).into())
            }
        }
    }

    fn write_scripts(&self) -> Result<ScriptFiles, Problem> {
        let plan = &self.chosen.plan;
        let results = &plan.results_folder;
        let project = project_folder(results);
        let folder = slurm_folder(results);
        let name = results.file_name().unwrap_or_default().to_string_lossy();
        let program = std::env::current_exe()?;
        let scripts = Scripts {
            program: &program,
            project,
            logs: folder.strip_prefix(project).unwrap_or(&folder).to_owned(),
            name: &name,
            plan: self.plan_words(project)?,
            run: self.run_words(),
            shards: self.shards,
            slurm: self.spec,
        };
        let files = ScriptFiles {
            shard: folder.join("shard.sh"),
            merge: folder.join("merge.sh"),
        };
        let cannot =
            |error: io::Error| mistake(format!("cannot write `{}`: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(cannot)?;
        for (path, text) in [
            (&files.shard, scripts.shard()),
            (&files.merge, scripts.merge()),
        ] {
            fs::write(path, text).map_err(cannot)?;
            eprintln!("script   {}", from_here(path).display());
        }
        Ok(files)
    }

    /// Manifest and options for the scripts, relative to the project's folder.
    fn plan_words(&self, project: &Path) -> Result<Vec<String>, Problem> {
        let mut words = self.arguments.choice.resolved()?.list();
        let manifest = std::path::absolute(&self.chosen.plan.manifest_path)?;
        let manifest = manifest.strip_prefix(project).unwrap_or(&manifest);
        words[0] = manifest.to_string_lossy().into_owned();
        Ok(words)
    }

    fn run_words(&self) -> Vec<String> {
        let jobs = self.arguments.jobs;
        let jobs = jobs.map(|jobs| ["--jobs".to_owned(), jobs.to_string()]);
        let retry = self.arguments.retry.then(|| "--retry".to_owned());
        jobs.into_iter().flatten().chain(retry).collect()
    }
}

struct ScriptFiles {
    shard: PathBuf,
    merge: PathBuf,
}

fn merge_options(after: &[String]) -> Vec<String> {
    vec![
        "--parsable".to_owned(),
        format!("--dependency=afterany:{}", after.join(":")),
    ]
}

fn command_line(options: &[String], script: &Path) -> String {
    let script = from_here(script).to_string_lossy().into_owned();
    let words = ["sbatch".to_owned()].into_iter();
    let words = words.chain(options.iter().cloned()).chain([script]);
    shell::joined(words)
}
