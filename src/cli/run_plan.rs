//! What `run` does before the first worker starts: checks, data, and announcing the runs.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::diag::Failure;
use crate::event::RunId;
use crate::execute::{self, Decision, Estimate, Estimator, ResumeOptions};
use crate::plan::{Feasibility, Plan, PlannedCell, namesakes};
use crate::progress::{Detail, fitted};
use crate::results::Environment;
use crate::results::environment::{self, env_id};
use crate::results::store::{RunConditions, Store};

use super::Problem;

/// Refuses a second manifest of the same name, which would write to the same folder.
pub(super) fn refuse_namesakes(plan: &Plan) -> Result<(), Problem> {
    // `--as NAME` avoids it.
    if plan
        .results_folder
        .file_name()
        .is_none_or(|name| name != plan.name.as_str())
    {
        return Ok(());
    }
    let Some(other) = namesakes(&plan.manifest_path, &plan.name)
        .into_iter()
        .next()
    else {
        return Ok(());
    };
    let (own, other) = (plan.manifest_path.display(), other.display());
    let title = format!(
        "`name = \"{}\"` stands in `{own}` and in `{other}`",
        plan.name
    );
    let help = "results go to `reports/<name>/`; choose another name, or `run --as NAME`";
    Err(Failure::plain(title, Some(help.into())).into())
}

/// Prints what is held out if the manifest does not say, and a warning if nothing is.
pub(super) fn say_held_out(plan: &Plan, detail: Detail) {
    for held_out in &plan.held_out {
        if held_out.is_nothing {
            eprintln!("warning: {held_out}");
        } else if detail > Detail::Quiet {
            eprintln!("note: {held_out}");
        }
    }
}

/// Generates missing data; returns whether it generated any.
pub(super) fn prepare_data(plan: &Plan, cells: &[PlannedCell]) -> Result<bool, Problem> {
    let mut datasets = BTreeMap::new();
    for cell in cells {
        if plan.is_selected(cell) && cell.feasibility == Feasibility::Runs {
            datasets
                .entry(&cell.spec.dataset_name)
                .or_insert_with(Vec::new)
                .push(&cell.spec.dataset);
        }
    }
    let mut has_generated = false;
    for (name, mut specs) in datasets {
        specs.dedup();
        for spec in specs {
            let made = spec
                .prepare(&|_, _| {})
                .map_err(|error| Failure::plain(format!("dataset `{name}`: {error}"), None))?;
            if made {
                eprintln!("generated dataset `{name}`");
            }
            has_generated |= made;
        }
    }
    Ok(has_generated)
}

/// This machine and build, and the conditions of runs with `jobs` slots. The commit is that of the working tree around
/// `folder`.
pub(super) fn conditions(folder: Option<&Path>, jobs: usize) -> (Environment, RunConditions) {
    let environment = environment::collect(folder_or_here(folder));
    let conditions = here_as(env_id(&environment), jobs);
    (environment, conditions)
}

/// The folder part of a path; the current folder if it is empty.
pub(super) fn folder_or_here(folder: Option<&Path>) -> &Path {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

pub(super) fn here_as(env_id: String, jobs: usize) -> RunConditions {
    RunConditions {
        env_id,
        jobs,
        cores: cores(),
        classes: HashMap::new(),
    }
}

/// Cores for runs: those of the Slurm task if Slurm names them, since it does not always restrict a task to them.
pub(super) fn cores() -> usize {
    let given = std::env::var("SLURM_CPUS_PER_TASK").ok();
    let given = given
        .and_then(|text| text.parse().ok())
        .filter(|cores| *cores > 0);
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    given.map_or(usable, |given: usize| given.min(usable))
}

/// The stored runs of a plan, for commands that run nothing.
pub(super) struct Outlook {
    conditions: RunConditions,
    store: Store,
}

impl Outlook {
    pub(super) fn of(plan: &Plan) -> Result<Self, Problem> {
        let conditions = here_as(environment::id_here(), 1);
        let store = Store::read(&plan.results_folder);
        let store = store.map_err(|error| Failure::plain(error.to_string(), None))?;
        Ok(Self { conditions, store })
    }

    pub(super) fn estimator(&self) -> Estimator<'_> {
        Estimator::new(&self.store, &self.conditions)
    }

    pub(super) fn text(&self, plan: &Plan, cells: &[PlannedCell]) -> String {
        let selected = cells
            .iter()
            .enumerate()
            .filter(|(_, cell)| plan.is_selected(cell));
        let decisions = execute::decide(
            selected,
            &self.store,
            &self.conditions,
            ResumeOptions::default(),
        );
        summary(plan, cells, &decisions, &self.estimator())
    }

    pub(super) fn runs_of(&self, cell: &PlannedCell) -> Vec<String> {
        let decisions = execute::decide(
            [(0, cell)],
            &self.store,
            &self.conditions,
            ResumeOptions::default(),
        );
        let line = |(id, decision): &(RunId, Decision)| {
            format!("seed {} block {}: {}", id.seed, id.block, what(decision))
        };
        decisions.iter().map(line).collect()
    }
}

fn what(decision: &Decision) -> String {
    match decision {
        Decision::Keep(status) => format!("keep ({status})"),
        Decision::Run(why) => format!("run ({why})"),
    }
}

/// Prints in a few lines what will run and why, and the estimated time.
pub(super) fn announce(
    plan: &Plan,
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    estimator: &Estimator<'_>,
) {
    let summary = summary(plan, cells, decisions, estimator);
    for line in format!("{}: {summary}", plan.name).lines() {
        eprintln!("{}", fitted(line, 4));
    }
}

/// A line for every run: whether it is kept, or runs and why.
pub(super) fn each_run(cells: &[PlannedCell], decisions: &[(RunId, Decision)]) -> String {
    let line = |(id, decision): &(RunId, Decision)| {
        let (key, what) = (&cells[id.cell].spec.key, what(decision));
        format!("{key} seed {} block {}: {what}\n", id.seed, id.block)
    };
    decisions.iter().map(line).collect()
}

fn summary(
    plan: &Plan,
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    estimator: &Estimator<'_>,
) -> String {
    let is_run = |(_, decision): &&(RunId, Decision)| matches!(decision, Decision::Run(_));
    let to_run = decisions.iter().filter(is_run).count();
    let kept = decisions.len() - to_run;
    let others = match other_cells(plan, cells) {
        others if others.is_empty() => String::new(),
        others => format!(" ({})", others.join(", ")),
    };
    let mut parts = vec![
        format!("{}{others}", count(cells.len(), "cell")),
        format!("{} to do", count(to_run, "run")),
    ];
    if kept > 0 {
        parts.push(format!("{kept} kept"));
    }
    let mut lines = vec![parts.join(", ")];
    for (why, n) in reasons(decisions) {
        lines.push(format!("  {why}: {}", count(n, "run")));
    }
    let estimate = estimator.total(cells, decisions);
    lines.extend(time_text(&estimate, to_run, estimator.jobs()));
    lines.join("\n") + "\n"
}

/// `7 not selected`, `1 skipped`: cells without runs.
fn other_cells(plan: &Plan, cells: &[PlannedCell]) -> Vec<String> {
    // Count each cell once: an unselected cell counts as that, even if it is also infeasible.
    let why = |cell: &PlannedCell| match cell.feasibility {
        _ if !plan.is_selected(cell) => "not selected",
        Feasibility::Infeasible(_) => "infeasible",
        Feasibility::Skipped(_) => "skipped",
        Feasibility::Runs => "",
    };
    let n = |what: &str| cells.iter().filter(|cell| why(cell) == what).count();
    let numbers = ["not selected", "infeasible", "skipped"].map(|what| (n(what), what));
    let some = numbers.into_iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| format!("{n} {what}")).collect()
}

/// Why runs are repeated although there are earlier results, most frequent reason first.
fn reasons(decisions: &[(RunId, Decision)]) -> Vec<(String, usize)> {
    let mut by_reason: BTreeMap<String, usize> = BTreeMap::new();
    for (_, decision) in decisions {
        if let Decision::Run(why) = decision {
            *by_reason.entry(why.to_string()).or_default() += 1;
        }
    }
    let mut reasons: Vec<_> = by_reason
        .into_iter()
        .filter(|(why, _)| why != "new")
        .collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    reasons
}

pub(super) const NOTHING_LIKE_IT: &str = "no estimate: nothing like it has run on this machine";

/// Lines on the estimated time, and what it is based on.
fn time_text(estimate: &Estimate, to_run: usize, jobs: usize) -> Vec<String> {
    if to_run == 0 {
        return Vec::new();
    }
    if estimate.unknown == to_run {
        return vec![format!("  {NOTHING_LIKE_IT}")];
    }
    let bases = [
        (estimate.from_same_cell, "of the same"),
        (estimate.from_like_cells, "of like"),
    ];
    let bases = bases.iter().filter(|(n, _)| *n > 0);
    let bases: Vec<String> = bases.map(|(_, basis)| (*basis).to_owned()).collect();
    let time = human_seconds(estimate.seconds / jobs.max(1) as f64);
    let (most, why) = if estimate.is_upper_bound {
        ("at most ", " (early stopping may end runs sooner)")
    } else {
        ("", "")
    };
    let mut lines = vec![format!(
        "  estimated {most}{time}{why}, from runs {} cells on this machine",
        bases.join(" and ")
    )];
    if estimate.unknown > 0 {
        let runs = count(estimate.unknown, "run");
        lines.push(format!("  {runs} more: {NOTHING_LIKE_IT}"));
    }
    lines
}
