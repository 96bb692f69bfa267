//! The few cells that are shown in detail; all of them are in the CSV files.

use std::collections::BTreeSet;

use crate::report::answer::TaskRanking;
use crate::report::search::Search;
use crate::report::view::{Cell, View};

use super::ranking::is_baseline;
use super::tasks::tasks;

/// Largest number of cells for which tables show all.
const ALL: usize = 8;
/// Number of rows if there are more cells.
const ROWS: usize = 6;

/// Which cells have a row if there are too many: the best trials of a search, else the best cells of each task and the
/// baselines. Returns their keys and a sentence about the choice; `None` if every cell has a row.
pub(crate) fn chosen_rows(view: &View<'_>) -> Option<(BTreeSet<String>, String)> {
    let measured = view.measured().count();
    if measured <= ALL {
        return None;
    }
    let mut lines: Vec<Vec<&Cell<'_>>> = Vec::new();
    let mut has_baseline = false;
    let search = Search::of(view);
    let best = if let Some(search) = &search {
        let studies = search.studies.iter();
        let best = studies.map(|study| study.best_first(search.first_objective()));
        lines.extend(best.map(|trials| trials.iter().map(|trial| trial.cell).collect()));
        "the best trials"
    } else {
        let choices = TaskRanking::all_without_tests(view);
        for task in tasks(view) {
            let choice = choices.iter().find(|choice| choice.task == task.name);
            let best: Vec<&Cell<'_>> = match choice {
                Some(choice) => choice.in_order(),
                None => task
                    .cells
                    .iter()
                    .copied()
                    .filter(|cell| cell.is_measured())
                    .collect(),
            };
            let is_base = |cell: &&&Cell<'_>| cell.is_measured() && is_baseline(view, cell);
            let base = task.cells.iter().find(is_base);
            has_baseline |= base.is_some();
            lines.push(base.copied().into_iter().chain(best).collect());
        }
        if has_baseline {
            "the best of each task, as the answer has them, and the baseline"
        } else {
            "the best of each task, as the answer has them"
        }
    };
    let mut keys = BTreeSet::new();
    let longest = lines.iter().map(Vec::len).max().unwrap_or(0);
    let in_turns =
        (0..longest).flat_map(|place| lines.iter().filter_map(move |line| line.get(place)));
    for cell in in_turns {
        if keys.len() == ROWS {
            break;
        }
        keys.insert(cell.info.key.clone());
    }
    let shown = keys.len();
    let words = format!(
        "{shown} of {measured} cells: {best}. All are in the CSV files beside this report."
    );
    (shown > 0).then_some((keys, words))
}
