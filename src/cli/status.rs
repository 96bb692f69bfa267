//! `fieldtrial status`: the state of every shard.

use std::io::Write;
use std::time::SystemTime;

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::cluster::{self, Phase, ShardProgress, slurm_folder};
use crate::results::relative_to_current_dir;

use super::choice::{PlanChoice, SelectedPlan};
use super::output::Stdout;
use super::overview::Overview;
use super::table::table;
use super::{Outcome, exit_code};

/// Show what every shard has done, what is left, and what Slurm says of it
///
/// Reads the journals, then asks Slurm, where it is installed, about the missing runs. Changes nothing. Ends with 1 if a run
/// failed, or if runs are left and no job will do them.
///
/// Example: `fieldtrial status experiments/ddpm.toml`
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    choice: PlanChoice,
}

pub(super) fn status(arguments: &StatusArguments) -> Outcome {
    let chosen = arguments.choice.plan_without_data()?;
    let overview = Overview::of(&chosen, None)?;
    let mut out = Stdout::new();
    out.write_all(standings_table(&chosen, &overview).as_bytes())?;
    out.write_all(merge_line(&overview).as_bytes())?;
    if let (Some(error), Some(_)) = (&overview.slurm_error, &overview.jobs) {
        eprintln!("note: {error}; shown is what the journals say");
    }
    let words = arguments.choice.to_command_line();
    let stuck = stuck(&overview);
    let left = overview.total(|shard| shard.left);
    let failed = overview.total(|shard| shard.failed);
    if let Some(next) = next(&words, &overview, stuck, left) {
        eprintln!("next     {next}");
    }
    Ok(exit_code::failed_if(stuck > 0 || failed > 0))
}

/// Number of shards with remaining runs that are neither queued nor running.
fn stuck(overview: &Overview) -> usize {
    let stuck = |shard: &&ShardProgress| cluster::is_stuck(shard, overview.task(shard));
    overview.shards_progress.iter().filter(stuck).count()
}

fn next(words: &str, overview: &Overview, stuck: usize, left: usize) -> Option<String> {
    if stuck > 0 && overview.jobs.is_some() {
        let shards = count(stuck, "shard");
        let submit = shell::command(&format!("submit {words} --slurm"));
        return Some(format!("`{submit}` submits {shards} again"));
    }
    if stuck > 0 {
        let mut shards_progress = overview.shards_progress.iter();
        let share = shards_progress.find(|shard| shard.left > 0)?.share;
        let shard = match overview.shards_progress.len() {
            1 => String::new(),
            _ => format!(" --shard {share}"),
        };
        let run = shell::command(&format!("run {words}{shard}"));
        return Some(format!("`{run}` goes on"));
    }
    // Without journals there is nothing to merge: all runs are in the store.
    let is_sharded = overview
        .shards_progress
        .iter()
        .any(|shard| shard.changed.is_some());
    // A merge job is active or has completed.
    let merges = |phase: &Phase| phase.is_active() || *phase == Phase::Ended("COMPLETED".into());
    let merges = overview
        .merge_task()
        .is_some_and(|task| merges(&task.phase));
    let merge = shell::command(&format!("merge {words}"));
    (left == 0 && is_sharded && !merges).then(|| format!("`{merge}` puts them together"))
}

fn standings_table(chosen: &SelectedPlan, overview: &Overview) -> String {
    let header = [
        "shard", "state", "done", "failed", "left", "changed", "node", "log",
    ];
    let shards_progress = overview.shards_progress.iter();
    let mut rows: Vec<_> = shards_progress
        .map(|one| row(chosen, overview, one))
        .collect();
    let numbers: [fn(&ShardProgress) -> usize; 3] =
        [|one| one.done, |one| one.failed, |one| one.left];
    let totals = numbers.map(|number| overview.total(number).to_string());
    let all = ["all".to_owned(), String::new()].into_iter();
    rows.push(all.chain(totals).collect());
    table(header, rows, 2..=5)
}

fn row(chosen: &SelectedPlan, overview: &Overview, shard: &ShardProgress) -> Vec<String> {
    let task = overview.task(shard);
    let log = task.map(|task| {
        let name = format!("{}_{}.log", task.job, shard.share.index());
        slurm_folder(&chosen.plan.results_folder).join(name)
    });
    let log = log.filter(|path| path.is_file());
    let log = log.map(|path| relative_to_current_dir(&path).display().to_string());
    vec![
        shard.share.to_string(),
        cluster::state(shard, task),
        shard.done.to_string(),
        shard.failed.to_string(),
        shard.left.to_string(),
        shard.changed.map(ago).unwrap_or_default(),
        task.and_then(|task| task.node.clone()).unwrap_or_default(),
        log.unwrap_or_default(),
    ]
}

fn ago(changed: SystemTime) -> String {
    let age = changed.elapsed().unwrap_or_default();
    format!("{} ago", human_seconds(age.as_secs_f64()))
}

fn merge_line(overview: &Overview) -> String {
    let Some(job) = overview.jobs.as_ref().and_then(|jobs| jobs.merge.as_ref()) else {
        return String::new();
    };
    let state = overview.merge_task().map(|task| task.phase.text());
    let state = state.unwrap_or_else(|| "not known to Slurm any more".to_owned());
    format!("merge job {job}: {state}\n")
}
