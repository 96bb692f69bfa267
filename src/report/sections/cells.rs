//! Every cell with its status, and every run that failed.

use serde::Serialize;

use crate::base::text::count;
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Table};
use crate::report::view::View;
use crate::results::Status;

/// A run that failed, as a report lists it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// The cell in words.
    pub cell: String,
    /// Its seed.
    pub seed: u64,
    /// Its block, from 0.
    pub block: usize,
    /// `timeout`, `oom`, …
    pub status: String,
    /// One line with its numbers.
    pub reason: String,
}

/// The table of all cells.
pub(crate) fn table(view: &View<'_>) -> Table {
    let columns = vec![
        Column::text("status"),
        Column::number(
            "runs done",
            "",
            &Provenance::Measured("rows of blocks.csv".into()),
        ),
        Column::text("reason"),
    ];
    let about = "Every cell of the plan. The tables below have the same rows.".to_owned();
    Table::of_cells(view, ("cells", "Cells", about), columns, |cell| {
        let done = cell.blocks.iter().filter(|run| run.status == Status::Done);
        let runs = if cell.blocks.is_empty() {
            "0".to_owned()
        } else {
            format!("{} of {}", done.count(), cell.blocks.len())
        };
        Some(vec![
            Entry::text(cell.status.to_string()),
            Entry::text(runs),
            Entry::text(if cell.reason.is_empty() {
                "–"
            } else {
                cell.reason
            }),
        ])
    })
}

/// "9 cells: 7 done, 1 oom, 1 skipped; 24 runs, 3 of them failed".
pub(crate) fn summary(view: &View<'_>) -> String {
    let parts: Vec<String> = Status::ALL
        .iter()
        .filter_map(|(status, name)| {
            let of = view.cells.iter().filter(|cell| cell.status == *status);
            let n = of.count();
            (n > 0).then(|| format!("{n} {name}"))
        })
        .collect();
    let runs = view.set.blocks.len();
    let failed = failures(view).len();
    let failed = if failed > 0 {
        format!(", {failed} of them failed")
    } else {
        String::new()
    };
    let cells = count(view.cells.len(), "cell");
    format!(
        "{cells}: {}; {}{failed}",
        parts.join(", "),
        count(runs, "run")
    )
}

/// Failed runs that a report lists; all of them are in `blocks.csv`.
pub(crate) const FAILURES: usize = 100;

/// The sentence for a list that leaves failed runs out.
pub(crate) fn more_failures(all: usize) -> Option<String> {
    let is_cut = all > FAILURES;
    is_cut
        .then(|| format!("The first {FAILURES} of {all} runs that failed; all are in blocks.csv."))
}

/// Every failed run, in plan order.
pub(crate) fn failures(view: &View<'_>) -> Vec<Failure> {
    let runs = view.cells.iter().flat_map(|cell| {
        let failed = cell.blocks.iter().filter(|run| run.status.is_failure());
        failed.map(move |run| (cell, run))
    });
    runs.map(|(cell, run)| Failure {
        cell: view.name(cell, None),
        seed: run.seed,
        block: run.block,
        status: run.status.to_string(),
        reason: run.reason.clone(),
    })
    .collect()
}
