//! What `run` does before the first worker starts: checks, data, and telling what will happen.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::diag::Failure;
use crate::event::RunId;
use crate::execute::{self, Decision, Estimate, Wish, estimate};
use crate::plan::{Feasibility, Plan, PlannedCell, namesakes};
use crate::results::Environment;
use crate::results::environment::{self, env_id};
use crate::results::store::{Here, Store};

use super::Problem;

/// Two manifests of one name would write to one folder.
pub(super) fn refuse_namesakes(plan: &Plan) -> Result<(), Problem> {
    // `--as NAME` is the way out.
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

/// Generates data that is to be generated and not there; says whether it generated any.
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

/// This machine and build, and what runs with `jobs` slots are measured under.
pub(super) fn here(plan: &Plan, jobs: usize) -> (Environment, Here) {
    let folder = plan.manifest_path.parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let environment = environment::collect(folder.unwrap_or(Path::new(".")), &[]);
    let here = Here {
        env_id: env_id(&environment),
        jobs,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
    };
    (environment, here)
}

/// What is kept, what would run and why: resume's answer, for `plan`.
pub(super) fn resume_text(plan: &Plan, cells: &[PlannedCell]) -> Result<String, Problem> {
    let (_, here) = here(plan, 1);
    let store = Store::read(&plan.results_folder);
    let store = store.map_err(|error| Failure::plain(error.to_string(), None))?;
    let selected = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| plan.is_selected(cell));
    let decisions = execute::decide(selected, &store, &here, Wish::default());
    Ok(summary(plan, cells, &decisions, &store))
}

/// Says in a few lines what will run and why, and how long it may take.
pub(super) fn announce(
    plan: &Plan,
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    store: &Store,
    with_every_run: bool,
) {
    eprint!("{}: {}", plan.name, summary(plan, cells, decisions, store));
    if !with_every_run {
        return;
    }
    for (id, decision) in decisions {
        let what = match decision {
            Decision::Keep(status) => format!("keep ({status})"),
            Decision::Run(why) => format!("run ({why})"),
        };
        let key = &cells[id.cell].spec.key;
        println!("{key} seed {} block {}: {what}", id.seed, id.block);
    }
}

fn summary(
    plan: &Plan,
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    store: &Store,
) -> String {
    let is_run = |(_, decision): &&(RunId, Decision)| matches!(decision, Decision::Run(_));
    let to_run = decisions.iter().filter(is_run).count();
    let kept = decisions.len() - to_run;
    let mut parts = vec![
        count(cells.len(), "cell"),
        format!("{} to do", count(to_run, "run")),
    ];
    if kept > 0 {
        parts.push(format!("{kept} kept"));
    }
    parts.extend(other_cells(plan, cells));
    let mut lines = vec![parts.join(", ")];
    for (why, n) in reasons(decisions) {
        lines.push(format!("  {why}: {}", count(n, "run")));
    }
    lines.extend(time_text(&estimate(cells, decisions, store), to_run));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn other_cells(plan: &Plan, cells: &[PlannedCell]) -> Vec<String> {
    let n = |is: &dyn Fn(&PlannedCell) -> bool| cells.iter().filter(|cell| is(cell)).count();
    let numbers = [
        (n(&|cell| !plan.is_selected(cell)), "not selected"),
        (
            n(&|cell| matches!(cell.feasibility, Feasibility::Infeasible(_))),
            "infeasible",
        ),
        (
            n(&|cell| matches!(cell.feasibility, Feasibility::Skipped(_))),
            "skipped",
        ),
    ];
    let some = numbers.into_iter().filter(|(n, _)| *n > 0);
    some.map(|(n, what)| format!("{} {what}", count(n, "cell")))
        .collect()
}

/// Reasons of runs that something earlier could have spared, most frequent first.
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

fn time_text(estimate: &Estimate, to_run: usize) -> Option<String> {
    let known = estimate.from_same_cell + estimate.from_same_work;
    if to_run == 0 || known == 0 {
        return None;
    }
    let time = human_seconds(estimate.seconds);
    let rest = match estimate.unknown {
        0 => String::new(),
        n => format!(", and {} of unknown length", count(n, "run")),
    };
    Some(format!("  estimated from earlier runs: {time}{rest}"))
}
