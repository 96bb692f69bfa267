//! `fieldtrial merge`: the journals of all shards → the store, the results files and the report.

use std::collections::BTreeMap;

use clap::Args;

use crate::base::text::count;
use crate::cluster::{self, Collected, Deal};
use crate::diag::Failure;
use crate::event::RunId;
use crate::execute::Decision;
use crate::plan::PlannedCell;
use crate::report::{self, ReportError, ReportOptions};
use crate::results::store::{Here, Store, journals};
use crate::results::{ResultSet, Session};

use super::bench::{Bench, mistake, record_problem};
use super::choice::{Chosen, PlanChoice};
use super::overview::last_number_of_shares;
use super::run::from_here;
use super::run_plan::here;
use super::{Outcome, Problem, exit_code};

/// Put the journals of all shards together: results files and report as one machine would have written them
///
/// Runs nothing. Says what is still missing, and with which command it is done. Journals stay; merging again is harmless.
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
    let (environment, here) = here(chosen.plan.manifest_path.parent(), 1);
    let bench = chosen.bench(&here, &environment);
    refuse_without_journals(&chosen)?;
    let (mut store, previous) = bench.open()?;
    let collected = cluster::collect(&mut store, &chosen.plan.results_folder);
    let collected = collected.map_err(record_problem)?;
    say(&chosen, &collected);
    // Those that measured may be of another kind than this machine.
    let here = Here {
        classes: cluster::classes(&store),
        ..here.clone()
    };
    let bench = Bench {
        here: &here,
        ..bench
    };
    let decisions = cluster::decisions(&chosen.plan, &chosen.cells, &store, &here);
    let results = write(&bench, store, previous, collected.taken > 0)?;
    let folder = from_here(&chosen.plan.results_folder);
    eprintln!("results  {}", folder.display());
    if !arguments.no_report {
        let files = report::render(&chosen.plan.results_folder, &ReportOptions::default());
        let files = files.map_err(ReportError::into_failure)?;
        if let Some(first) = files.first() {
            eprintln!("report   {}", from_here(first).display());
        }
    }
    let missing = missing(&decisions);
    say_missing(arguments, &chosen, &missing)?;
    let has_failed = results.blocks.iter().any(|run| run.status.is_failure());
    Ok(if missing.is_empty() && !has_failed {
        exit_code::GOOD
    } else {
        exit_code::FAILED
    })
}

fn refuse_without_journals(chosen: &Chosen) -> Result<(), Problem> {
    let folder = &chosen.plan.results_folder;
    if !journals(folder).map_err(mistake)?.is_empty() {
        return Ok(());
    }
    let shards = from_here(&folder.join("shards"));
    let title = format!("there are no journals of shards in `{}`", shards.display());
    let manifest = chosen.plan.manifest_path.display();
    let help = format!("`fieldtrial run {manifest} --shard 1/4` writes one");
    Err(Failure::plain(title, Some(help)).into())
}

/// Writes all files, as `run` does at its end.
fn write(
    bench: &Bench<'_>,
    store: Store,
    previous: Option<ResultSet>,
    has_taken: bool,
) -> Result<ResultSet, Problem> {
    let mut recorder = bench.recorder(store, previous, Session::begin());
    if has_taken {
        recorder.has_new_runs();
    }
    recorder.finish().map_err(record_problem)
}

fn say(chosen: &Chosen, collected: &Collected) {
    let known = match collected.known {
        0 => String::new(),
        known => format!(", {known} known before"),
    };
    eprintln!(
        "{}: {}: {} taken{known}",
        chosen.plan.name,
        count(collected.journals, "journal"),
        count(collected.taken, "run"),
    );
    for place in &collected.damaged {
        eprintln!("warning: `{place}` is no stored run and counts as not there");
    }
    for path in &collected.torn {
        eprintln!(
            "note: the last line of `{}` has no end and is left out: it is being written, or was cut off",
            from_here(path).display()
        );
    }
    if collected.of_other_code > 0 {
        eprintln!(
            "warning: {} of other code than this program's; it is kept and does not count",
            count(collected.of_other_code, "run")
        );
    }
}

fn missing(decisions: &[(RunId, Decision)]) -> Vec<RunId> {
    let left = decisions.iter();
    let left = left.filter(|(_, decision)| matches!(decision, Decision::Run(_)));
    left.map(|(id, _)| *id).collect()
}

/// Which runs are missing, and the commands that do them, share by share.
fn say_missing(
    arguments: &MergeArguments,
    chosen: &Chosen,
    missing: &[RunId],
) -> Result<(), Problem> {
    if missing.is_empty() {
        return Ok(());
    }
    let of = last_number_of_shares(chosen)?.unwrap_or(1);
    let deal = Deal::of(&chosen.cells);
    let mut by_share: BTreeMap<usize, usize> = BTreeMap::new();
    for id in missing {
        let index = deal.index(of, *id).unwrap_or_default();
        *by_share.entry(index).or_default() += 1;
    }
    eprintln!("missing  {}:", count(missing.len(), "run"));
    for (index, runs) in by_share {
        let words = arguments.choice.words();
        eprintln!(
            "  shard {index}/{of}: {}  `fieldtrial run {words} --shard {index}/{of}`",
            count(runs, "run")
        );
    }
    for line in examples(&chosen.cells, missing) {
        eprintln!("  {line}");
    }
    let words = arguments.choice.words();
    eprintln!("next     `fieldtrial merge {words}` when they are there");
    Ok(())
}

/// The first few of what is missing.
fn examples(cells: &[PlannedCell], missing: &[RunId]) -> Vec<String> {
    let line = |id: &RunId| {
        let key = &cells[id.cell].spec.key;
        format!("{key} seed {} block {}", id.seed, id.block)
    };
    let mut lines: Vec<String> = missing.iter().take(3).map(line).collect();
    if missing.len() > lines.len() {
        lines.push(format!("… and {} more", missing.len() - lines.len()));
    }
    lines
}
