//! Cells by status, and every cell and run without a result.

use std::collections::BTreeSet;

use crate::base::text::count;
use crate::report::clock::execution;
use crate::report::section::Section;
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Status};

/// Numbers of cells by status, and of runs: "9 cells: 7 done, 1 oom, 1 skipped; 24 runs, 3 of them failed"; for a
/// search its trials and other runs.
pub(crate) fn summary(view: &View<'_>) -> String {
    let is_beside = |cell: &&Cell<'_>| {
        let trial = cell.info.trial.as_ref();
        trial.is_some_and(|trial| !trial.role.is_trial())
    };
    let cells: Vec<&Cell<'_>> = view.cells.iter().filter(|cell| !is_beside(cell)).collect();
    let beside = view.cells.len() - cells.len();
    let parts = Status::ALL.iter().filter_map(|(status, name)| {
        let n = cells.iter().filter(|cell| cell.status == *status).count();
        (n > 0).then(|| format!("{n} {name}"))
    });
    let parts: Vec<String> = parts.collect();
    let what = if view.set.plan.search.is_some() {
        "trial"
    } else {
        "cell"
    };
    let beside = match beside {
        0 => String::new(),
        n => format!(
            "; plus {} to repeat pruned trials without pruning or to evaluate an ensemble",
            count(n, "run")
        ),
    };
    let runs = executions(view);
    let is_failed = |(_, run): &&(&Cell<'_>, &BlockRow)| run.status.is_failure();
    let failed = runs.iter().filter(is_failed).count();
    let failed = match failed {
        0 => String::new(),
        failed => format!(", {failed} of them failed"),
    };
    format!(
        "{}: {}{beside}; {}{failed}",
        count(cells.len(), what),
        parts.join(", "),
        count(runs.len(), "run")
    )
}

/// Every execution of a run with the first cell that requested it, in plan order. Cells that request the same run share
/// it, so it counts once; runs without a recorded start are not merged.
pub(crate) fn executions<'v, 'a>(view: &'v View<'a>) -> Vec<(&'v Cell<'a>, &'a BlockRow)> {
    let mut seen = BTreeSet::new();
    let runs = view.cells.iter();
    let runs = runs.flat_map(|cell| cell.blocks.iter().map(move |run| (cell, *run)));
    runs.filter(|(_, run)| run.start_s.is_none() || seen.insert(execution(run)))
        .collect()
}

/// Largest number of cells or runs in a list; the CSV files contain all.
const LISTED: usize = 100;

/// Every cell without a measurement, with the reason.
pub(crate) fn without_result(view: &View<'_>) -> Section {
    let is_left = |cell: &&Cell<'_>| !cell.is_measured() && cell.info.trial.is_none();
    let cells = view.cells.iter().filter(is_left);
    let named = cells.map(|cell| format!("{}: {}", view.name(cell, None), cell.why_missing()));
    listed(
        "without-result",
        "Cells without a measurement",
        named.collect(),
        "runs.csv",
    )
}

/// Every failed run, in plan order.
pub(crate) fn failed(view: &View<'_>) -> Section {
    let runs = view.cells.iter();
    let runs = runs.flat_map(|cell| cell.blocks.iter().map(move |run| (cell, *run)));
    let named = runs
        .filter(|(_, run)| run.status.is_failure())
        .map(|(cell, run)| {
            let name = view.name(cell, None);
            format!(
                "{name}, seed {}, block {}: {}, {}",
                run.seed, run.block, run.status, run.reason
            )
        });
    listed(
        "failures",
        "Runs that failed",
        named.collect(),
        "blocks.csv",
    )
}

fn listed(id: &str, title: &str, mut points: Vec<String>, file: &str) -> Section {
    let all = points.len();
    if all > LISTED {
        points.truncate(LISTED);
        points.push(format!("and {} more: {file} has all of them", all - LISTED));
    }
    Section {
        points,
        ..Section::titled(id, title)
    }
}
