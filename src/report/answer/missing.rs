//! Sentences about cells without a result.

use crate::report::judged::first_names_text;
use crate::report::view::{Cell, View};
use crate::results::{Status, grouped};

use super::context::{Answer, NAMED};

/// The answer if no cell was measured.
pub(super) fn answer_without_results(view: &View<'_>) -> Option<Answer> {
    let has_value = |cell: &Cell<'_>| {
        let trial = cell.info.trial.as_ref();
        trial.is_some_and(|trial| trial.values.iter().any(Option::is_some))
    };
    if view
        .cells
        .iter()
        .any(|cell| cell.is_measured() || has_value(cell))
    {
        return None;
    }
    let all = view.cells.len();
    let reasons = reasons(view.cells.iter());
    let sentence = match all {
        0 => "The plan has no cell.".to_owned(),
        _ => format!("Nothing was measured: {reasons}."),
    };
    Some(Answer {
        sentences: vec![sentence],
        ..Answer::default()
    })
}

/// Sentence on the cells without a result, if other cells have one.
pub(super) fn not_run(view: &View<'_>) -> String {
    let is_left = |cell: &&Cell<'_>| !cell.is_measured() && cell.info.trial.is_none();
    let left = view.cells.iter().filter(is_left);
    let count = left.clone().count();
    if count == 0 || count == view.cells.len() {
        return String::new();
    }
    format!(
        "Not measured, of {} cells: {}.",
        view.cells.len(),
        reasons(left)
    )
}

/// Sentence on the cells that diverged, if other cells have a result; none for the trials of a search.
pub(super) fn diverged(view: &View<'_>) -> Option<String> {
    let is_lost = |cell: &&Cell<'_>| {
        cell.status == Status::Diverged && !cell.is_measured() && cell.info.trial.is_none()
    };
    let lost: Vec<&Cell<'_>> = view.cells.iter().filter(is_lost).collect();
    if lost.is_empty() || lost.len() == view.cells.len() {
        return None;
    }
    let names = lost.iter().map(|cell| match cell.reason {
        "" => view.name(cell, None),
        reason => format!("{} ({reason})", view.name(cell, None)),
    });
    let names: Vec<String> = names.collect();
    Some(format!(
        "Diverged: {}.",
        first_names_text(&names, NAMED, "; ")
    ))
}

/// `8 skipped (no CUDA device); 1 oom (needed 12 GiB)`: numbers of cells by status and reason.
fn reasons<'v, 'a: 'v>(cells: impl Iterator<Item = &'v Cell<'a>>) -> String {
    let why = |cell: &Cell<'_>| match cell.status {
        Status::Done => "done without a measured step".to_owned(),
        Status::NotRun => "not run yet".to_owned(),
        status if cell.reason.is_empty() => status.to_string(),
        status => format!("{status} ({})", cell.reason),
    };
    let reasons = grouped(cells.map(why), String::clone);
    let shown = reasons.iter().take(NAMED);
    let shown = shown.map(|cells| format!("{} {}", cells.len(), cells[0]));
    let mut shown: Vec<String> = shown.collect();
    let more: usize = reasons.iter().skip(NAMED).map(Vec::len).sum();
    if more > 0 {
        shown.push(format!("{more} for other reasons"));
    }
    shown.join("; ")
}
