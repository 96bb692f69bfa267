//! `fieldtrial merge`: merges the journals of all shards into the store, the results files and the report.

use std::collections::BTreeMap;

use clap::Args;

use crate::base::shell;
use crate::base::text::count;
use crate::cluster::{self, CollectSummary, RunNumbers};
use crate::diag::Failure;
use crate::execute::Decision;
use crate::progress::nonzero_counts_text;
use crate::record::Recorder;
use crate::results::store::{RunConditions, Store, journals};
use crate::results::{Session, relative_to_current_dir};
use crate::search::share_of_trial;

use super::after_run::render;
use super::baselines;
use super::choice::{PlanChoice, SelectedPlan};
use super::overview::last_shard_count;
use super::problem::mistake;
use super::run_plan::conditions;
use super::setup::{self, Setup, record_problem};
use super::trials::Replay;
use super::{Outcome, Problem, exit_code};

const EXAMPLES: usize = 3;

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
    let missing = missing(&chosen, &conditions, &mut recorder)?;
    let results = recorder.finish().map_err(record_problem)?;
    let is_missing = !missing.runs.is_empty() || !missing.after.is_empty();
    if !is_missing {
        baselines::complete_baselines(&chosen.plan, &chosen.cells, &results, true)?;
    }
    say_files(arguments, &chosen)?;
    // A damaged line matters only if runs are missing: otherwise its run was repeated.
    for place in collected.damaged.iter().filter(|_| is_missing) {
        eprintln!("warning: `{place}` is damaged: it counts as missing");
    }
    missing.say(&arguments.choice.to_command_line());
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

/// The runs that no journal contains. For a search, also passes its finished trials to `recorder`.
fn missing(
    chosen: &SelectedPlan,
    conditions: &RunConditions,
    recorder: &mut Recorder<'_>,
) -> Result<Missing, Problem> {
    let plan = &chosen.plan;
    let of = last_shard_count(chosen)?.unwrap_or(1);
    let mut missing = Missing {
        of,
        ..Missing::default()
    };
    if let Some(search) = &plan.search {
        // The store is read a second time because the recorder has taken the first copy.
        let store = Store::read(&plan.results_folder).map_err(mistake)?;
        let replay = Replay::of(plan, search, &store, conditions, &mut |event| {
            recorder.handle(event)
        });
        let replay = replay.map_err(record_problem)?;
        for name in replay.missing {
            let index = share_of_trial(search, plan.len(), of, name);
            let (study, number) = name;
            missing.add(index, format!("study {study} trial {number}"));
        }
        missing.after = replay.missing_after;
        return Ok(missing);
    }
    let run_numbers = RunNumbers::of(&chosen.cells);
    for (id, decision) in cluster::decisions(plan, &chosen.cells, &recorder.store, conditions) {
        if matches!(decision, Decision::Run(_)) {
            let key = &chosen.cells[id.cell].spec.key;
            let name = format!("{key} seed {} block {}", id.seed, id.block);
            missing.add(run_numbers.shard_index(of, id).unwrap_or_default(), name);
        }
    }
    Ok(missing)
}

#[derive(Debug, Default)]
struct Missing {
    of: usize,
    /// Number of missing runs by shard index.
    by_share: BTreeMap<usize, usize>,
    /// Names of the missing runs.
    runs: Vec<String>,
    /// Keys of missing runs after the last trial of a search, which belong to no shard.
    after: Vec<String>,
}

impl Missing {
    fn add(&mut self, index: usize, name: String) {
        *self.by_share.entry(index).or_default() += 1;
        self.runs.push(name);
    }

    /// Prints which runs are missing, and the commands that run them, by shard.
    fn say(&self, words: &str) {
        if !self.runs.is_empty() {
            self.say_runs(words);
        }
        for key in &self.after {
            eprintln!("missing  {key}");
        }
        if !self.after.is_empty() {
            let run = shell::command(&format!("run {words}"));
            eprintln!("next     `{run}` executes the runs that follow the last trial");
        }
    }

    fn say_runs(&self, words: &str) {
        eprintln!("missing  {}:", count(self.runs.len(), "run"));
        for (index, runs) in &self.by_share {
            let (share, runs) = (format!("{index}/{}", self.of), count(*runs, "run"));
            let run = shell::command(&format!("run {words} --shard {share}"));
            eprintln!("  shard {share}: {runs}  `{run}`");
        }
        for name in self.runs.iter().take(EXAMPLES) {
            eprintln!("  {name}");
        }
        if let Some(more @ 1..) = self.runs.len().checked_sub(EXAMPLES) {
            eprintln!("  … and {more} more");
        }
        let merge = shell::command(&format!("merge {words}"));
        eprintln!("next     `{merge}` when they are there");
    }
}
