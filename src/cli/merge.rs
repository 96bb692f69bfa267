//! `fieldtrial merge`: merges the journals of all shards into the store, the results files and the report.

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::cluster::{self, CollectSummary, ShardProgress};
use crate::diag::Failure;
use crate::progress::nonzero_counts_text;
use crate::record::Recorder;
use crate::results::store::{RunConditions, Store, journals};
use crate::results::{Session, relative_to_current_dir};

use super::after_run::render;
use super::baselines;
use super::choice::{PlanChoice, SelectedPlan};
use super::overview::{last_shard_count, shards_progress_in};
use super::problem::mistake;
use super::run_plan::conditions;
use super::setup::{self, Setup, record_problem};
use super::trials::Replay;
use super::{Outcome, Problem, exit_code};

/// Put the journals of all shards together: results files and report as one machine would have written them
///
/// Runs nothing, but computes baselines when no run is missing. Says what is still missing, and with which command it is done. Journals stay; merging again is harmless.
///
/// Example: `fieldtrial merge experiments/ddpm.toml`
#[derive(Debug, Args)]
pub(super) struct MergeArguments {
    #[command(flatten)]
    choice: PlanChoice,
    /// Write the results files and no report
    #[arg(long)]
    no_report: bool,
}

pub(super) fn merge(arguments: &MergeArguments) -> Outcome {
    let chosen = arguments.choice.plan()?;
    let (environment, mut conditions) = conditions(&chosen.plan.manifest_path);
    refuse_without_journals(&chosen)?;
    let mut store = setup::open(&chosen.plan)?;
    let collected = cluster::collect(&mut store, &chosen.plan.results_folder);
    let collected = collected.map_err(record_problem)?;
    say(&chosen, &collected);
    // The runs may be from machines of another numeric class (vector instructions, device) than this one.
    conditions.classes = cluster::foreign_numeric_classes(&store);
    let setup = Setup::of(&chosen.plan, &chosen.cells, &conditions, &environment);
    let previous = setup.read_previous(&store)?;
    let mut recorder = setup.recorder(store, previous, Session::begin());
    let after = record_trials(&chosen, &conditions, &mut recorder)?;
    let shards = last_shard_count(&chosen)?.unwrap_or(1);
    let shards = shards_progress_in(&recorder.store, &chosen, shards, &conditions)?;
    let results = recorder.finish().map_err(record_problem)?;
    let is_missing = shards.iter().any(|shard| shard.left > 0) || !after.is_empty();
    if !is_missing {
        baselines::complete_baselines(&chosen.plan, &chosen.cells, &results, true)?;
    }
    say_files(arguments, &chosen)?;
    // A damaged line matters only if runs are missing: otherwise its run was repeated.
    for place in collected.damaged.iter().filter(|_| is_missing) {
        eprintln!("warning: `{place}` is damaged: it counts as missing");
    }
    say_missing(&arguments.choice.to_command_line(), &shards, &after);
    let has_failed = results.blocks.iter().any(|run| run.status.is_failure());
    Ok(exit_code::failed_if(is_missing || has_failed))
}

fn say_files(arguments: &MergeArguments, chosen: &SelectedPlan) -> Result<(), Problem> {
    let folder = relative_to_current_dir(&chosen.plan.results_folder);
    eprintln!("results  {}", folder.display());
    if let Some(page) = render(arguments.no_report, &chosen.plan)? {
        eprintln!("report   {}", page.display());
    }
    Ok(())
}

fn refuse_without_journals(chosen: &SelectedPlan) -> Result<(), Problem> {
    let folder = &chosen.plan.results_folder;
    if !journals(folder).map_err(mistake)?.is_empty() {
        return Ok(());
    }
    let shards = relative_to_current_dir(&folder.join("shards"));
    let title = format!("there are no journals of shards in `{}`", shards.display());
    let manifest = chosen.plan.manifest_path.to_string_lossy();
    let run = shell::command(&shell::joined(["run", &*manifest, "--shard", "1/4"]));
    let help = format!("`{run}` writes one");
    Err(Failure::without_source(title, Some(help)).into())
}

fn say(chosen: &SelectedPlan, collected: &CollectSummary) {
    let name = &chosen.plan.name;
    let journals = count(collected.journals, "journal");
    let runs = count(collected.taken, "run");
    let known = nonzero_counts_text(&[(collected.known, "known before")]);
    eprintln!("{name}: {journals}: {runs} taken{known}");
    for path in &collected.torn {
        let path = relative_to_current_dir(path).display().to_string();
        eprintln!(
            "note: the last line of `{path}` has no end and is left out: it is being written, or was cut off"
        );
    }
    if collected.of_other_code > 0 {
        let runs = count(collected.of_other_code, "run");
        eprintln!("warning: {runs} made by other code than this program's: kept, but not counted");
    }
}

/// Passes the finished trials of a search to `recorder`, and returns the keys of missing runs after its last trial, which
/// belong to no shard.
fn record_trials(
    chosen: &SelectedPlan,
    conditions: &RunConditions,
    recorder: &mut Recorder<'_>,
) -> Result<Vec<String>, Problem> {
    let plan = &chosen.plan;
    let Some(search) = &plan.search else {
        return Ok(Vec::new());
    };
    // The store is read a second time because the recorder has taken the first copy.
    let store = Store::read(&plan.results_folder).map_err(mistake)?;
    let replay = Replay::of(plan, search, &store, conditions, &mut |event| {
        recorder.handle(event)
    });
    Ok(replay.map_err(record_problem)?.missing_after)
}

/// Prints which runs are missing, and the commands that run them, by shard.
fn say_missing(words: &str, shards: &[ShardProgress], after: &[String]) {
    let left: usize = shards.iter().map(|shard| shard.left).sum();
    if left > 0 {
        eprintln!("missing  {}:", count(left, "run"));
        for shard in shards.iter().filter(|shard| shard.left > 0) {
            let (share, runs) = (shard.share, count(shard.left, "run"));
            let run = shell::command(&format!("run {words} --shard {share}"));
            eprintln!("  shard {share}: {runs}  `{run}`");
        }
        let merge = shell::command(&format!("merge {words}"));
        eprintln!("next     `{merge}` when they are there");
    }
    for key in after {
        eprintln!("missing  {key}");
    }
    if !after.is_empty() {
        let run = shell::command(&format!("run {words}"));
        eprintln!("next     `{run}` executes the runs that follow the last trial");
    }
}
