//! [`Standing`]: what every share has done, and what is left of it, by the journals alone.

use std::collections::HashMap;
use std::fs;
use std::time::SystemTime;

use crate::base::{Share, build_info};
use crate::event::RunId;
use crate::execute::{Decision, Wish, decide};
use crate::plan::{Plan, PlannedCell};
use crate::results::store::{Entries, Here, JournalFile, Store, StoreError, arithmetic, journals};

use super::Deal;

/// One share's journal, and its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The share.
    pub share: Share,
    /// Its runs that ended well, in whatever journal or store they stand.
    pub done: usize,
    /// Its runs that failed.
    pub failed: usize,
    /// Its runs that are still to be done.
    pub left: usize,
    /// When its journal was last written to; `None` where it has none.
    pub changed: Option<SystemTime>,
    /// Whether a program writes to its journal now.
    pub is_in_use: bool,
}

/// Everything that the journals of a results folder and its store hold, without changing either.
///
/// # Errors
/// [`StoreError`].
pub fn everything(plan: &Plan) -> Result<Store, StoreError> {
    let mut store = Store::read(&plan.results_folder)?;
    for journal in journals(&plan.results_folder)? {
        for entry in Entries::of(&journal.path)? {
            let mut run = entry?.run;
            for epoch in &mut run.epochs {
                epoch.steps = Vec::new();
            }
            store.see(run);
        }
    }
    Ok(store)
}

/// The numeric class under which most runs of each cell were measured by today's code, where it is not this machine's.
///
/// A machine that only looks on, or merges, may be of another kind than those that measured.
pub fn classes(cells: &[PlannedCell], store: &Store, here: &Here) -> HashMap<String, String> {
    let mut classes = HashMap::new();
    for cell in cells {
        let code = build_info::code_hash(arithmetic(&cell.spec));
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for run in store.runs_of(&cell.cell_hash) {
            let class = run.keys.numeric_class.as_str();
            match counts.iter_mut().find(|(other, _)| *other == class) {
                _ if run.keys.code_hash != code => {}
                Some((_, count)) => *count += 1,
                None => counts.push((class, 1)),
            }
        }
        let Some(most) = counts.iter().map(|(_, count)| *count).max() else {
            continue;
        };
        let own = here.keys(cell, 0, 0).numeric_class;
        let first = counts.iter().filter(|(_, count)| *count == most);
        let first = first
            .map(|(class, _)| *class)
            .min_by_key(|class| (*class != own, *class));
        if let Some(class) = first.filter(|class| *class != own) {
            classes.insert(cell.cell_hash.clone(), class.to_owned());
        }
    }
    classes
}

/// Every run of the chosen cells, and whether anything that `store` holds makes it done.
pub fn decisions(
    plan: &Plan,
    cells: &[PlannedCell],
    store: &Store,
    here: &Here,
) -> Vec<(RunId, Decision)> {
    let chosen = cells.iter().enumerate();
    let chosen = chosen.filter(|(_, cell)| plan.is_selected(cell));
    let wish = Wish {
        any_conditions: true,
        ..Wish::default()
    };
    decide(chosen, store, here, wish)
}

/// What each of `of` shares has done.
///
/// # Errors
/// [`StoreError`], where the journals cannot be listed.
pub fn standings(
    plan: &Plan,
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    of: usize,
) -> Result<Vec<Standing>, StoreError> {
    let journals = journals(&plan.results_folder)?;
    let journal_of = |share: Share| journals.iter().find(|journal| journal.share == share);
    let mut standings: Vec<Standing> = Share::all(of)
        .map(|share| {
            let journal = journal_of(share);
            Standing {
                share,
                done: 0,
                failed: 0,
                left: 0,
                changed: journal.and_then(changed),
                is_in_use: journal.is_some_and(JournalFile::is_in_use),
            }
        })
        .collect();
    let deal = Deal::of(cells);
    for (id, decision) in decisions {
        let Some(index) = deal.index(of, *id) else {
            continue;
        };
        let standing = &mut standings[index - 1];
        match decision {
            Decision::Keep(status) if status.is_failure() => standing.failed += 1,
            Decision::Keep(_) => standing.done += 1,
            Decision::Run(_) => standing.left += 1,
        }
    }
    Ok(standings)
}

fn changed(journal: &JournalFile) -> Option<SystemTime> {
    fs::metadata(&journal.path)
        .and_then(|data| data.modified())
        .ok()
}
