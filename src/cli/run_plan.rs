//! What `run` does before the first worker starts: checks, data, and announcing the runs.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::iter;
use std::path::Path;

use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::diag::Failure;
use crate::event::RunId;
use crate::execute::{self, Decision, Estimate, Estimator, PrecisionTracker, ResumeOptions};
use crate::manifest::{self, Manifest};
use crate::plan::{
    CellFilter, Feasibility, Plan, PlanInputs, PlanOptions, PlannedCell, manifests_with_name,
};
use crate::progress::{Verbosity, nonzero_counts_text, wrap_to_terminal};
use crate::results::environment::{self, env_id};
use crate::results::store::{RunConditions, Store};
use crate::results::{Environment, by_key};

use super::Problem;
use super::earlier::EarlierStates;
use super::fingerprints::Fingerprints;
use super::problem::mistake;

/// Plans the manifest at `path` with the cached digests of data files, and stores new digests in that cache.
pub(super) fn plan_of(
    path: &Path,
    sets: &[String],
    only: Option<&String>,
    results_name: Option<&String>,
) -> Result<Plan, Failure> {
    let known = Fingerprints::of_results_root(path);
    plan_with_cache(&known, path, sets, only, results_name)
}

/// [`plan_of`] with a given cache of digests and of the answers of `requires` commands.
pub(super) fn plan_with_cache(
    known: &Fingerprints,
    path: &Path,
    sets: &[String],
    only: Option<&String>,
    results_name: Option<&String>,
) -> Result<Plan, Failure> {
    let manifest = manifest::load(path, sets)?;
    let plan = plan_manifest(&manifest, &known.inputs(), only, results_name)?;
    known.write_to_disk();
    Ok(plan)
}

/// Plans a manifest, with the options `--only` and `--as`.
pub(super) fn plan_manifest(
    manifest: &Manifest,
    inputs: &PlanInputs,
    only: Option<&String>,
    results_name: Option<&String>,
) -> Result<Plan, Failure> {
    let options = PlanOptions {
        only: only.map(|only| CellFilter::parse(only)).transpose()?,
        results_name: results_name.cloned(),
    };
    Plan::new(manifest, inputs, options)
}

/// The selected cells, with their rows in the plan.
pub(super) fn selected<'a>(
    plan: &'a Plan,
    cells: &'a [PlannedCell],
) -> impl Iterator<Item = (usize, &'a PlannedCell)> + Clone {
    let cells = cells.iter().enumerate();
    cells.filter(|(_, cell)| plan.is_selected(cell))
}

/// Refuses a second manifest of the same name, which would write to the same folder.
pub(super) fn refuse_shared_name(plan: &Plan) -> Result<(), Problem> {
    let (name, path) = (&plan.name, &plan.manifest_path);
    // `--as NAME` chooses another folder.
    if plan.results_folder.file_name() != Some(OsStr::new(name)) {
        return Ok(());
    }
    let Some(other) = manifests_with_name(path, name).into_iter().next() else {
        return Ok(());
    };
    let (own, other) = (path.display(), other.display());
    let title = format!("`name = \"{name}\"` is used by both `{own}` and `{other}`");
    let help = "results go to `reports/<name>/`; choose another name, or `run --as NAME`";
    Err(Failure::without_source(title, Some(help.into())).into())
}

/// Prints which data are held out by default, a warning if none are, and other remarks about the data.
pub(super) fn print_data_remarks(plan: &Plan, detail: Verbosity) {
    for remark in &plan.data_notes.remarks {
        eprintln!("warning: {remark}");
    }
    for held_out in &plan.data_notes.held_out {
        if held_out.evaluates_on_training_data {
            eprintln!("warning: {held_out}");
        } else if detail > Verbosity::Quiet {
            eprintln!("note: {held_out}");
        }
    }
}

/// Generates missing data; returns whether it generated any.
pub(super) fn prepare_data(plan: &Plan, cells: &[PlannedCell]) -> Result<bool, Problem> {
    let cells = selected(plan, cells).map(|(_, cell)| cell);
    let cells = cells.filter(|cell| cell.feasibility == Feasibility::Runs);
    let mut has_generated = false;
    for (name, cells) in by_key(cells, |cell| &cell.spec.dataset_name) {
        let mut specs: Vec<_> = cells.iter().map(|cell| &cell.spec.dataset).collect();
        specs.dedup();
        for spec in specs {
            let made = spec.prepare(&|_, _| {});
            if made.map_err(|error| mistake(format!("dataset `{name}`: {error}")))? {
                eprintln!("generated dataset `{name}`");
                has_generated = true;
            }
        }
    }
    Ok(has_generated)
}

/// This machine and build, and the conditions of runs that run one at a time (`jobs` is 1; the caller may change it).
/// The commit is that of the git working tree around `manifest`.
pub(super) fn conditions(manifest: &Path) -> (Environment, RunConditions) {
    let environment = environment::collect(folder_or_here(manifest.parent()));
    let conditions = here_as(env_id(&environment), 1);
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

/// Cores for runs: those of the Slurm task if Slurm names them, because Slurm does not always restrict a task to its
/// cores.
fn cores() -> usize {
    let given = std::env::var("SLURM_CPUS_PER_TASK").unwrap_or_default();
    let given: usize = given.parse().unwrap_or_default();
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    if given > 0 { given.min(usable) } else { usable }
}

/// The stored runs of a plan, for commands that run nothing.
pub(super) struct StoredRuns {
    conditions: RunConditions,
    store: Store,
}

impl StoredRuns {
    pub(super) fn of(plan: &Plan) -> Result<Self, Problem> {
        Ok(Self {
            conditions: here_as(environment::current_env_id(), 1),
            store: Store::read(&plan.results_folder).map_err(mistake)?,
        })
    }

    pub(super) fn estimator(&self) -> Estimator<'_> {
        Estimator::new(&self.store, &self.conditions)
    }

    fn decisions<'a>(
        &self,
        plan: &Plan,
        cells: impl Iterator<Item = (usize, &'a PlannedCell)> + Clone,
    ) -> Vec<(RunId, Decision)> {
        let (store, conditions) = (&self.store, &self.conditions);
        let mut until = PrecisionTracker::of(plan, cells.clone());
        let options = ResumeOptions::default();
        execute::decide_runs(cells, store, conditions, options, Some(&mut until))
    }

    pub(super) fn text(&self, plan: &Plan, cells: &[PlannedCell]) -> String {
        let decisions = self.decisions(plan, selected(plan, cells));
        summary(plan, cells, &decisions, &self.estimator())
    }

    pub(super) fn runs_of(&self, plan: &Plan, cell: &PlannedCell) -> Vec<String> {
        let earlier = EarlierStates::of(std::slice::from_ref(cell));
        let decisions = self.decisions(plan, iter::once((0, cell))).into_iter();
        decisions.map(|run| decided(cell, &run, &earlier)).collect()
    }
}

/// A decision as text: `seed 42 block 0: keep (done)`, `seed 43 block 0: run (new), goes on after 3 epochs`.
fn decided(
    cell: &PlannedCell,
    (id, decision): &(RunId, Decision),
    earlier: &EarlierStates,
) -> String {
    let what = match decision {
        Decision::Keep(status) => format!("keep ({status})"),
        Decision::NotNeeded => "not needed (its times are precise)".to_owned(),
        Decision::Run(why) => {
            let epochs = earlier.epochs(cell, *id, why);
            let goes_on =
                epochs.map(|epochs| format!(", goes on after {}", count(epochs, "epoch")));
            format!("run ({why}){}", goes_on.unwrap_or_default())
        }
    };
    format!("seed {} block {}: {what}", id.seed, id.block)
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
        eprintln!("{}", wrap_to_terminal(line, 4));
    }
}

/// A line for every run: whether its result is kept, or it is executed and why.
pub(super) fn run_lines(cells: &[PlannedCell], decisions: &[(RunId, Decision)]) -> String {
    let earlier = EarlierStates::of(cells);
    let line = |run: &(RunId, Decision)| {
        let cell = &cells[run.0.cell];
        format!("{} {}\n", cell.spec.key, decided(cell, run, &earlier))
    };
    decisions.iter().map(line).collect()
}

fn summary(
    plan: &Plan,
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    estimator: &Estimator<'_>,
) -> String {
    let number = |is_it: fn(&Decision) -> bool| {
        let decisions = decisions.iter();
        decisions.filter(|(_, decision)| is_it(decision)).count()
    };
    let to_run = number(|decision| matches!(decision, Decision::Run(_)));
    let kept = number(|decision| matches!(decision, Decision::Keep(_)));
    let not_needed = number(|decision| *decision == Decision::NotNeeded);
    let rest = nonzero_counts_text(&[(kept, "kept"), (not_needed, "not needed")]);
    let others = other_cells(plan, cells);
    let repeats = |(id, decision): &(RunId, Decision)| {
        matches!(decision, Decision::Run(_)) && id.block >= cells[id.cell].spec.measure.repeats
    };
    let at_most = if decisions.iter().any(repeats) {
        "at most "
    } else {
        ""
    };
    let (all, runs) = (count(cells.len(), "cell"), count(to_run, "run"));
    let mut lines = vec![format!("{all}{others}, {at_most}{runs} to do{rest}")];
    for (why, n) in reasons(decisions) {
        lines.push(format!("  {why}: {}", count(n, "run")));
    }
    let mut estimate = estimator.total(cells, decisions);
    estimate.is_upper_bound |= !at_most.is_empty();
    lines.extend(time_text(&estimate, to_run, estimator.jobs()));
    lines.join("\n") + "\n"
}

/// ` (7 not selected, 1 skipped)`: cells without runs.
fn other_cells(plan: &Plan, cells: &[PlannedCell]) -> String {
    // Each cell is counted once: an unselected cell as unselected, even if it is also infeasible.
    let why = |cell: &PlannedCell| match cell.feasibility {
        _ if !plan.is_selected(cell) => "not selected",
        Feasibility::Infeasible(_) => "infeasible",
        Feasibility::Skipped(_) => "skipped",
        Feasibility::Runs => "",
    };
    let n = |what: &str| cells.iter().filter(|cell| why(cell) == what).count();
    let others =
        nonzero_counts_text(&["not selected", "infeasible", "skipped"].map(|what| (n(what), what)));
    let others = others.strip_prefix(", ");
    others.map_or_else(String::new, |others| format!(" ({others})"))
}

/// Why runs are repeated although there are earlier results, most frequent reason first.
fn reasons(decisions: &[(RunId, Decision)]) -> Vec<(String, usize)> {
    let mut by_reason: BTreeMap<String, usize> = BTreeMap::new();
    for (_, decision) in decisions {
        if let Decision::Run(why) = decision {
            *by_reason.entry(why.to_string()).or_default() += 1;
        }
    }
    by_reason.remove("new");
    let mut reasons: Vec<_> = by_reason.into_iter().collect();
    reasons.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    reasons
}

pub(super) const NOTHING_LIKE_IT: &str = "no estimate: no similar run on this machine so far";

/// Lines on the estimated time, and what it is based on.
fn time_text(estimate: &Estimate, to_run: usize, jobs: usize) -> Vec<String> {
    if to_run == 0 {
        return Vec::new();
    }
    if estimate.unknown == to_run {
        return vec![format!("  {NOTHING_LIKE_IT}")];
    }
    let bases = match (estimate.from_same_cell, estimate.from_like_cells) {
        (_, 0) => "of the same",
        (0, _) => "of like",
        _ => "of the same and of similar",
    };
    let time = human_seconds(estimate.seconds / jobs.max(1) as f64);
    let (most, why) = if estimate.is_upper_bound {
        (
            "at most ",
            " (early stopping and `measure.until` may end sooner)",
        )
    } else {
        ("", "")
    };
    let mut lines = vec![format!(
        "  estimated {most}{time}{why}, from runs {bases} cells on this machine"
    )];
    if estimate.unknown > 0 {
        let runs = count(estimate.unknown, "run");
        lines.push(format!("  {runs} more: {NOTHING_LIKE_IT}"));
    }
    lines
}
