//! Matches the cells of two sides.
//!
//! First by key; remaining cells by cell hash; then by the axes that both sides have, if every other axis has a single
//! value. A cell is paired at most once: if several cells would fit, none is paired.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::AxisInfo;
use crate::results::{CellInfo, PlanFile};

use super::{AxisChange, MatchedBy};

/// Two matched cells, as indices into the plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) by: MatchedBy,
}

/// Matches the cells of two results; the pairs are in the plan order of the side after.
pub(super) fn pairs_of(before: &PlanFile, after: &PlanFile) -> Vec<Pair> {
    let mut open = Open {
        plans: [before, after],
        unpaired: [before, after].map(|plan| (0..plan.cells.len()).collect()),
        pairs: Vec::new(),
    };
    open.pair(MatchedBy::Key, |plan, cell| Some(values(plan, cell)));
    open.pair(MatchedBy::CellHash, |_, cell| {
        let hash = Some(&cell.cell_hash).filter(|hash| !hash.is_empty())?;
        Some(BTreeMap::from([(hash.as_str(), "")]))
    });
    if let Some(shared) = shared_axes(before, after) {
        open.pair(MatchedBy::SharedAxes, |plan, cell| {
            let mut values = values(plan, cell);
            values.retain(|path, _| shared.contains(path));
            Some(values)
        });
    }
    open.pairs.sort_by_key(|pair| pair.after);
    open.pairs
}

/// Matches the cells of one result that have the value `before` on the axis at `place` with those that have `after` there
/// and the same values on all other axes.
pub(super) fn pairs_along(plan: &PlanFile, place: usize, before: &str, after: &str) -> Vec<Pair> {
    let others = |index: usize| -> Vec<&String> {
        let mut texts: Vec<&String> = plan.cells[index].axes.iter().collect();
        texts.remove(place);
        texts
    };
    let with = |value: &str| -> Vec<usize> {
        let is_with = |index: &usize| plan.cells[*index].axes[place] == value;
        (0..plan.cells.len()).filter(is_with).collect()
    };
    let mut partners: BTreeMap<Vec<&String>, usize> = BTreeMap::new();
    for index in with(before) {
        partners.entry(others(index)).or_insert(index);
    }
    let pairs = with(after).into_iter().filter_map(|after| {
        let before = partners.remove(&others(after))?;
        let by = MatchedBy::OtherAxes;
        Some(Pair { before, after, by })
    });
    pairs.collect()
}

/// Names and values that identify a cell in one step of matching. Cells whose identity is equal and unique on both
/// sides are paired.
type Identity<'a> = BTreeMap<&'a str, &'a str>;

/// Two plans, before and after, with the cells that no step has paired yet.
struct Open<'a> {
    plans: [&'a PlanFile; 2],
    unpaired: [BTreeSet<usize>; 2],
    pairs: Vec<Pair>,
}

impl<'a> Open<'a> {
    /// Pairs cells whose identity is unique on both sides; cells without an identity stay unpaired.
    fn pair(
        &mut self,
        by: MatchedBy,
        identity: impl Fn(&'a PlanFile, &'a CellInfo) -> Option<Identity<'a>>,
    ) {
        let mut groups: BTreeMap<Identity<'_>, [Vec<usize>; 2]> = BTreeMap::new();
        for (side, plan) in self.plans.into_iter().enumerate() {
            for &place in &self.unpaired[side] {
                if let Some(name) = identity(plan, &plan.cells[place]) {
                    groups.entry(name).or_default()[side].push(place);
                }
            }
        }
        for group in groups.into_values() {
            if let [[before], [after]] = group.each_ref().map(Vec::as_slice) {
                let (before, after) = (*before, *after);
                self.unpaired[0].remove(&before);
                self.unpaired[1].remove(&after);
                self.pairs.push(Pair { before, after, by });
            }
        }
    }
}

/// A cell's values by long axis path; axes that its matrix lacks are left out.
fn values<'a>(plan: &'a PlanFile, cell: &'a CellInfo) -> Identity<'a> {
    let paths = plan.axes.iter().map(|axis| axis.path.as_str());
    let all = paths.zip(cell.axes.iter().map(String::as_str));
    all.filter(|(_, text)| !text.is_empty()).collect()
}

/// Paths of the axes that both plans have; `None` if another axis has more than one value, because the shared axes then do
/// not distinguish the cells.
fn shared_axes<'a>(before: &'a PlanFile, after: &PlanFile) -> Option<BTreeSet<&'a str>> {
    let has = |plan: &PlanFile, path: &str| plan.axes.iter().any(|axis| axis.path == path);
    let is_single = |plan: &PlanFile, other: &PlanFile| {
        let mut axes = plan.axes.iter().enumerate();
        axes.all(|(place, axis)| has(other, &axis.path) || used_values(plan, place).len() <= 1)
    };
    let applies = is_single(before, after) && is_single(after, before);
    let paths = before.axes.iter().map(|axis| axis.path.as_str());
    applies.then(|| paths.filter(|path| has(after, path)).collect())
}

/// Values that the cells of a plan have on an axis.
fn used_values(plan: &PlanFile, place: usize) -> BTreeSet<&str> {
    let texts = plan.cells.iter().map(|cell| cell.axes[place].as_str());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Axes and values that exist in one of two plans only, in the order of the plan after; removed ones come last.
pub(super) fn axis_changes(before: &PlanFile, after: &PlanFile) -> Vec<AxisChange> {
    fn find<'a>(plan: &'a PlanFile, like: &AxisInfo) -> Option<&'a AxisInfo> {
        plan.axes.iter().find(|axis| axis.path == like.path)
    }
    let of_after = |axis| change(find(before, axis), Some(axis));
    let is_gone = |axis: &&AxisInfo| find(after, axis).is_none();
    let gone = before.axes.iter().filter(is_gone);
    let gone = gone.filter_map(|axis| change(Some(axis), None));
    after.axes.iter().filter_map(of_after).chain(gone).collect()
}

/// The change of an axis; `None` if both plans have it with the same values.
fn change(before: Option<&AxisInfo>, after: Option<&AxisInfo>) -> Option<AxisChange> {
    let only = |one: Option<&AxisInfo>, other: Option<&AxisInfo>| -> Vec<String> {
        let values = |axis: Option<&AxisInfo>| axis.map(|axis| axis.values.clone());
        let known = values(other).unwrap_or_default();
        let own = values(one).unwrap_or_default().into_iter();
        let only = own.filter(|value| !known.contains(value));
        only.map(|value| value.to_string()).collect()
    };
    let (removed, added) = (only(before, after), only(after, before));
    let differs = before.is_none() || after.is_none() || !removed.is_empty() || !added.is_empty();
    differs.then_some(AxisChange {
        axis: after.or(before)?.name.clone(),
        in_before: before.is_some(),
        in_after: after.is_some(),
        removed,
        added,
    })
}

#[cfg(test)]
mod tests;
