//! [`SingleChange`]: two cells of the results that differ in one factor only, which isolates the effect of that factor.

use std::collections::BTreeSet;

use crate::compare::{Comparison, SpecChange, setting_changes};
use crate::report::comparison::scene::MatchedCells;
use crate::report::judged::distinct;
use crate::report::sections::treatment::changes_work_or_result;
use crate::report::view::{CellInView, View};

use super::factor::Factor;

/// Two cells that differ in one factor only.
#[derive(Clone, Copy)]
pub(crate) struct SingleChange<'v, 'a> {
    /// The cell without the change.
    pub(crate) without: CellInView<'v, 'a>,
    /// The cell with the change.
    pub(crate) with: CellInView<'v, 'a>,
}

/// Removes comparisons whose changes are all contained in those of a larger comparison; the larger one shows them as
/// factors measured alone.
pub(crate) fn without_contained_comparisons(comparisons: Vec<Comparison>) -> Vec<Comparison> {
    let changes: Vec<Vec<&SpecChange>> = comparisons.iter().map(all_changes).collect();
    let is_part = |own: &Vec<&SpecChange>| {
        let mut others = changes.iter();
        let is_of = |other: &Vec<_>| own.iter().all(|change| other.contains(change));
        !own.is_empty() && others.any(|other| own.len() < other.len() && is_of(other))
    };
    let kept: Vec<bool> = changes.iter().map(|own| !is_part(own)).collect();
    let with = comparisons.into_iter().zip(kept);
    with.filter(|(_, is_kept)| *is_kept)
        .map(|(one, _)| one)
        .collect()
}

fn all_changes(comparison: &Comparison) -> Vec<&SpecChange> {
    let changes = comparison.cells.iter().flat_map(|pair| &pair.changes);
    distinct(changes.filter(|change| changes_work_or_result(&change.path)))
}

/// The factors in which a pair of cells differs.
pub(crate) fn factors(matched: &MatchedCells<'_, '_>) -> BTreeSet<Factor> {
    let paths = matched.pair.changes.iter().map(|change| &*change.path);
    paths
        .filter(|path| changes_work_or_result(path))
        .map(Factor::of)
        .collect()
}

/// Finds a pair of cells that isolates `factor`: the cell before and one with only this factor added; or, if there is
/// none, the cell after and one with only this factor removed.
pub(crate) fn find_single_change<'v, 'a>(
    matched: &MatchedCells<'v, 'a>,
    factor: Factor,
) -> Option<SingleChange<'v, 'a>> {
    let [before, after] = matched.both;
    let wanted = differing(before, after);
    let wanted: Vec<&SpecChange> = wanted
        .iter()
        .filter(|change| Factor::of(&change.path) == factor)
        .collect();
    if wanted.is_empty() {
        return None;
    }
    let is_one = |alone: &SingleChange<'_, '_>| {
        let is_measured = alone.with.cell.is_measured() && alone.without.cell.is_measured();
        is_measured
            && differing(alone.without, alone.with)
                .iter()
                .eq(wanted.iter().copied())
    };
    let of = |view: &'v View<'a>| view.cells.iter().map(move |cell| CellInView { view, cell });
    let added = of(before.view).map(|with| SingleChange {
        without: before,
        with,
    });
    let last = of(after.view).map(|without| SingleChange {
        without,
        with: after,
    });
    added.chain(last).find(is_one)
}

/// The settings in which two cells differ, without those that affect neither work nor results.
pub(crate) fn differing(one: CellInView<'_, '_>, other: CellInView<'_, '_>) -> Vec<SpecChange> {
    let mut changes = setting_changes(
        (&one.view.set.plan, one.cell.info),
        (&other.view.set.plan, other.cell.info),
    );
    changes.retain(|change| changes_work_or_result(&change.path));
    changes
}
