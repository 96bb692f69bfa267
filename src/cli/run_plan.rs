//! What `run` does before the first worker starts: checks, data, and telling what will happen.

use std::collections::BTreeMap;

use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::diag::Failure;
use crate::event::RunId;
use crate::execute::{Decision, Estimate, estimate};
use crate::plan::{Feasibility, Plan, PlannedCell, namesakes};
use crate::results::store::Store;

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

/// Says in a few lines what will run and why, and how long it may take.
pub(super) fn announce(
    plan: &Plan,
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    store: &Store,
    with_every_run: bool,
) {
    let to_run = decisions
        .iter()
        .filter(|(_, decision)| matches!(decision, Decision::Run(_)));
    let to_run = to_run.count();
    let kept = decisions.len() - to_run;
    let mut parts = vec![format!("{} to do", count(to_run, "run"))];
    if kept > 0 {
        parts.push(format!("{kept} kept"));
    }
    parts.extend(other_cells(plan, cells));
    eprintln!(
        "{}: {}, {}",
        plan.name,
        count(cells.len(), "cell"),
        parts.join(", ")
    );
    for (why, n) in reasons(decisions) {
        eprintln!("  {why}: {}", count(n, "run"));
    }
    if let Some(text) = time_text(&estimate(cells, decisions, store), to_run) {
        eprintln!("  {text}");
    }
    if with_every_run {
        for (id, decision) in decisions {
            let what = match decision {
                Decision::Keep(status) => format!("keep ({status})"),
                Decision::Run(why) => format!("run ({why})"),
            };
            let key = &cells[id.cell].spec.key;
            println!("{key} seed {} block {}: {what}", id.seed, id.block);
        }
    }
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
    Some(format!("estimated from earlier runs: {time}{rest}"))
}
