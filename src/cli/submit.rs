//! `fieldtrial submit --slurm`: submits a job array with one task per shard, and a merge job after it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::cluster::{
    self, JobArray, Jobs, Scripts, ShardProgress, SlurmError, array_text, slurm, slurm_folder,
};
use crate::diag::Failure;
use crate::plan::project_folder;
use crate::results::{create_folder, relative_to_current_dir, write_if_changed};

use super::choice::{PlanChoice, SelectedPlan};
use super::overview::Overview;
use super::problem::mistake;
use super::run::refuse_if_nothing_can_run;
use super::words::CommandWords;
use super::{Outcome, Problem, exit_code};

/// Submit a manifest to a batch system: one task per shard, and a job that merges them
///
/// The resources to request are in `[slurm]`. A second `submit` submits only shards that have runs left and are neither
/// queued nor running; `fieldtrial status` shows them.
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
    // Data are generated here, once; otherwise all tasks would generate them at the same time.
    let chosen = arguments.choice.plan()?;
    refuse_if_nothing_can_run(&chosen.plan, &chosen.cells)?;
    let shards = arguments.shards.map(usize::from);
    let shards = shards.unwrap_or(chosen.plan.slurm.shards);
    let overview = Overview::of(&chosen, Some(shards))?;
    refuse(&overview, shards, arguments.dry_run)?;
    let submission = Submission {
        arguments,
        chosen: &chosen,
        overview: &overview,
        shards,
    };
    submission.submit()
}

fn refuse(overview: &Overview, shards: usize, is_dry: bool) -> Result<(), Problem> {
    if let Some(error @ SlurmError::Refused { .. }) = &overview.slurm_error {
        let help = "what is queued or running is not known, so nothing was submitted";
        return Err(Failure::without_source(error.to_string(), Some(help.into())).into());
    }
    let before = overview.jobs.as_ref().map(|jobs| jobs.shards);
    let goes_on = overview.tasks.iter().any(|task| task.phase.is_active());
    if let Some(before) = before.filter(|before| *before != shards && goes_on) {
        let title = format!("{} are still queued or running", count(before, "shard"));
        let help = format!("wait for them or `scancel` them before you divide into {shards}");
        return Err(Failure::without_source(title, Some(help)).into());
    }
    let largest = slurm::largest_task().filter(|largest| shards > *largest);
    if let Some(largest) = largest.filter(|_| !is_dry) {
        let title = format!("this cluster takes arrays of up to {largest} tasks, not {shards}");
        let help = "fewer shards do more runs each; `--shards N` says how many";
        return Err(Failure::without_source(title, Some(help.into())).into());
    }
    Ok(())
}

struct Submission<'a> {
    arguments: &'a SubmitArguments,
    chosen: &'a SelectedPlan,
    overview: &'a Overview,
    shards: usize,
}

impl Submission<'_> {
    fn submit(&self) -> Outcome {
        let wanted: Vec<usize> = self.wanted().collect();
        let [shard_script, merge_script] = self.write_scripts()?;
        if wanted.is_empty() {
            self.say_nothing();
            return Ok(exit_code::GOOD);
        }
        let array = format!(
            "--array={}",
            array_text(&wanted, self.chosen.plan.slurm.at_once)
        );
        let array = ["--parsable".to_owned(), array];
        if self.arguments.dry_run {
            let shards = command_line(&array, &shard_script);
            let merge = command_line(&merge_options("ARRAY"), &merge_script);
            write!(io::stdout(), "{shards}\n{merge}\n")?;
            return Ok(exit_code::GOOD);
        }
        let mut jobs = self.remembered()?;
        let job = slurm::submit(&array, &shard_script).map_err(mistake)?;
        let what = count(wanted.len(), "shard");
        jobs.arrays.push(JobArray {
            job: job.clone(),
            tasks: wanted,
        });
        // The job id is stored before anything else can fail.
        self.write(&jobs)?;
        eprintln!("submitted job {job}: {what}, {}", count(self.left(), "run"));
        self.submit_merge(&mut jobs, &merge_script)?;
        self.say_next("status", "shows how far they are");
        Ok(exit_code::GOOD)
    }

    /// Shards with remaining runs and without an active task.
    fn wanted(&self) -> impl Iterator<Item = usize> {
        let is_wanted = |shard: &&ShardProgress| {
            let to_retry = self.arguments.retry && shard.failed > 0;
            let has_work = shard.left > 0 || to_retry;
            has_work && !cluster::is_active(shard, self.overview.task(shard))
        };
        let wanted = self.overview.shards_progress.iter().filter(is_wanted);
        wanted.map(|shard| shard.share.index())
    }

    fn left(&self) -> usize {
        self.overview.total(|shard| shard.left)
    }

    fn say_nothing(&self) {
        if self.left() > 0 {
            eprintln!("nothing to submit: all shards with runs left are queued or running");
            self.say_next("status", "shows how far they are");
        } else {
            eprintln!("nothing to submit: no run is left");
            self.say_next("merge", "puts the shards together");
        }
    }

    fn say_next(&self, command: &str, does: &str) {
        eprintln!("next     `{}` {does}", self.command(command));
    }

    fn command(&self, name: &str) -> String {
        shell::command(&format!(
            "{name} {}",
            self.arguments.choice.to_command_line()
        ))
    }

    /// The earlier jobs, if the number of shards is the same, with the current arguments.
    fn remembered(&self) -> Result<Jobs, Problem> {
        let choice = self.arguments.choice.resolved()?;
        let before = self.overview.jobs.clone();
        let before = before.filter(|jobs| jobs.shards == self.shards);
        Ok(Jobs {
            version: Jobs::VERSION,
            manifest: self.in_project(&choice.manifest)?,
            set: choice.set,
            only: choice.only,
            results_name: choice.results_name,
            shards: self.shards,
            ..before.unwrap_or_default()
        })
    }

    fn write(&self, jobs: &Jobs) -> Result<(), Problem> {
        jobs.write(&self.chosen.plan.results_folder)
            .map_err(mistake)
    }

    /// Submits one merge job after all active arrays; cancels an earlier merge job, which waits for fewer arrays.
    fn submit_merge(&self, jobs: &mut Jobs, script: &Path) -> Result<(), Problem> {
        if let Some(task) = self.overview.merge_task()
            && task.phase.is_active()
            && let Err(error) = slurm::cancel(&task.job)
        {
            eprintln!("warning: job {} merges too early: {error}", task.job);
        }
        let goes_on = |array: &&JobArray| {
            let mut tasks = self.overview.tasks.iter();
            let is_new = Some(&array.job) == jobs.arrays.last().map(|last| &last.job);
            is_new || tasks.any(|task| task.job == array.job && task.phase.is_active())
        };
        let after = jobs.arrays.iter().filter(goes_on);
        let after: Vec<&str> = after.map(|array| &*array.job).collect();
        match slurm::submit(&merge_options(&after.join(":")), script) {
            Ok(job) => {
                eprintln!("submitted job {job}: merges when they have ended");
                jobs.merge = Some(job);
                self.write(jobs)
            }
            Err(error) => {
                let merge = self.command("merge");
                let help = format!("the shards are submitted; `{merge}` merges them");
                Err(Failure::without_source(error.to_string(), Some(help)).into())
            }
        }
    }

    /// Writes the scripts of the array and of the merge job.
    fn write_scripts(&self) -> Result<[PathBuf; 2], Problem> {
        let plan = &self.chosen.plan;
        let results = &plan.results_folder;
        let project = project_folder(results);
        let folder = slurm_folder(results);
        let name = results.file_name().unwrap_or_default().to_string_lossy();
        let program = std::env::current_exe()?;
        let run = CommandWords::default()
            .option("--jobs", self.arguments.jobs)
            .flag("--retry", self.arguments.retry);
        let scripts = Scripts {
            program: &program,
            project,
            logs: folder.strip_prefix(project).unwrap_or(&folder).to_owned(),
            name: &name,
            plan: self.plan_words()?,
            run: run.0,
            shards: self.shards,
            slurm: &plan.slurm,
        };
        create_folder(&folder).map_err(mistake)?;
        let files = ["shard.sh", "merge.sh"].map(|name| folder.join(name));
        for (path, text) in files.iter().zip([scripts.shard(), scripts.merge()]) {
            write_if_changed(path, text.as_bytes()).map_err(mistake)?;
            eprintln!("script   {}", relative_to_current_dir(path).display());
        }
        Ok(files)
    }

    /// A path relative to the project's folder if it is inside that folder, else the absolute path.
    fn in_project(&self, path: &Path) -> io::Result<PathBuf> {
        let path = std::path::absolute(path)?;
        let project = project_folder(&self.chosen.plan.results_folder);
        Ok(path.strip_prefix(project).unwrap_or(&path).to_owned())
    }

    /// Manifest and options for the scripts.
    fn plan_words(&self) -> Result<Vec<String>, Problem> {
        let choice = PlanChoice {
            manifest: self.in_project(&self.chosen.plan.manifest_path)?,
            ..self.arguments.choice.resolved()?
        };
        Ok(choice.to_arguments().0)
    }
}

fn merge_options(after: &str) -> [String; 2] {
    let dependency = format!("--dependency=afterany:{after}");
    ["--parsable".to_owned(), dependency]
}

fn command_line(options: &[String], script: &Path) -> String {
    let words = CommandWords::default().words(["sbatch"]).words(options);
    shell::joined(words.words([relative_to_current_dir(script).display()]).0)
}
