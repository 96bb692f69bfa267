//! `fieldtrial status`: the state of every shard.

use std::io::Write;
use std::time::SystemTime;

use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use crate::base::shell;
use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::cluster::{self, Phase, Standing, slurm_folder};
use crate::results::from_here;

use super::choice::{Chosen, PlanChoice};
use super::output::Stdout;
use super::overview::Overview;
use super::{Outcome, exit_code};

/// Show what every shard has done, what is left, and what Slurm says of it
///
/// Journals are read first; Slurm explains what they lack, where it is there. Changes nothing. Ends with 1 where a run failed, or
/// runs are left that nobody is going to do.
///
/// Example: `fieldtrial status experiments/ddpm.toml`
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    choice: PlanChoice,
}

pub(super) fn status(arguments: &StatusArguments) -> Outcome {
    let chosen = arguments.choice.look()?;
    let overview = Overview::of(&chosen, None)?;
    let mut out = Stdout::new();
    out.write_all(table(&chosen, &overview).as_bytes())?;
    out.write_all(merge_line(&overview).as_bytes())?;
    if let (Some(error), Some(_)) = (&overview.silent, &overview.jobs) {
        eprintln!("note: {error}; shown is what the journals say");
    }
    let words = arguments.choice.words();
    let stuck = stuck(&overview);
    let left = overview.total(|standing| standing.left);
    let failed = overview.total(|standing| standing.failed);
    if let Some(next) = next(&words, &overview, stuck, left) {
        eprintln!("next     {next}");
    }
    Ok(if stuck > 0 || failed > 0 {
        exit_code::FAILED
    } else {
        exit_code::GOOD
    })
}

/// Shards with runs left that are neither queued nor running.
fn stuck(overview: &Overview) -> usize {
    let stuck = |standing: &&Standing| cluster::is_stuck(standing, overview.task(standing));
    overview.standings.iter().filter(stuck).count()
}

fn next(words: &str, overview: &Overview, stuck: usize, left: usize) -> Option<String> {
    if stuck > 0 && overview.jobs.is_some() {
        let shards = count(stuck, "shard");
        let submit = shell::command(&format!("submit {words} --slurm"));
        return Some(format!("`{submit}` submits {shards} again"));
    }
    if stuck > 0 {
        let share = overview
            .standings
            .iter()
            .find(|standing| standing.left > 0)?
            .share;
        let run = shell::command(&format!("run {words} --shard {share}"));
        return Some(format!("`{run}` goes on"));
    }
    // A merge job is active or has completed.
    let merges = |phase: &Phase| phase.is_active() || *phase == Phase::Ended("COMPLETED".into());
    let merges = overview.merging().is_some_and(|task| merges(&task.phase));
    let merge = shell::command(&format!("merge {words}"));
    (left == 0 && !merges).then(|| format!("`{merge}` puts them together"))
}

fn table(chosen: &Chosen, overview: &Overview) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let header = [
        "shard", "state", "done", "failed", "left", "changed", "node", "log",
    ];
    table.set_header(header);
    for standing in &overview.standings {
        table.add_row(row(chosen, overview, standing));
    }
    let totals = [
        overview.total(|standing| standing.done),
        overview.total(|standing| standing.failed),
        overview.total(|standing| standing.left),
    ];
    let totals = totals.map(|total| total.to_string());
    let [done, failed, left] = totals;
    table.add_row(vec!["all".to_owned(), String::new(), done, failed, left]);
    for index in 2..=5 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 1));
    }
    let text = table.to_string();
    let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}

fn row(chosen: &Chosen, overview: &Overview, standing: &Standing) -> Vec<String> {
    let task = overview.task(standing);
    let log = task.and_then(|task| {
        let name = format!("{}_{}.log", task.job, standing.share.index());
        let path = slurm_folder(&chosen.plan.results_folder).join(name);
        path.is_file()
            .then(|| from_here(&path).display().to_string())
    });
    vec![
        standing.share.to_string(),
        cluster::state(standing, task),
        standing.done.to_string(),
        standing.failed.to_string(),
        standing.left.to_string(),
        standing.changed.map(ago).unwrap_or_default(),
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
    let state = overview.merging().map(|task| task.phase.text());
    let state = state.unwrap_or_else(|| "not known to Slurm any more".to_owned());
    format!("merge job {job}: {state}\n")
}
