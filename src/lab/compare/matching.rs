//! Matches the cells of two sides.
//!
//! First by key; remaining cells by cell hash; then by the axes that both sides have, if every other axis has a single
//! value. A cell is paired at most once: if several cells would fit, none is paired and the ambiguity is reported.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::AxisInfo;
use crate::results::{CellInfo, PlanFile};

use super::{Ambiguity, AxisChange, MatchedBy};

/// Two matched cells, as indices into the plans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) by: MatchedBy,
}

/// The cells of two plans, matched.
#[derive(Debug, Default)]
pub(super) struct Matching {
    /// Pairs, in the plan order of the side after.
    pub(super) pairs: Vec<Pair>,
    /// Cells with more than one possible partner.
    pub(super) ambiguous: Vec<Ambiguity>,
}

impl Matching {
    /// Matches the cells of two results.
    pub(super) fn of(before: &PlanFile, after: &PlanFile) -> Self {
        let mut open = Open::new(before, after);
        let paths = |plan: &PlanFile| -> Vec<String> {
            plan.axes.iter().map(|axis| axis.path.clone()).collect()
        };
        let (paths_before, paths_after) = (paths(before), paths(after));
        let steps: [(MatchedBy, Identify<'_>, Identify<'_>); 2] = [
            (
                MatchedBy::Key,
                &|cell| Some(values(&paths_before, cell, None)),
                &|cell| Some(values(&paths_after, cell, None)),
            ),
            (MatchedBy::CellHash, &hash, &hash),
        ];
        for (by, of_before, of_after) in steps {
            open.pair(by, of_before, of_after);
        }
        if let Some(shared) = shared_axes(before, after) {
            open.pair(
                MatchedBy::SharedAxes,
                &|cell| Some(values(&paths_before, cell, Some(&shared))),
                &|cell| Some(values(&paths_after, cell, Some(&shared))),
            );
        }
        open.finish()
    }

    /// Matches the cells of one result that have the value `before` on the axis at `place` with those that have `after`
    /// there and the same values on all other axes.
    pub(super) fn along(plan: &PlanFile, place: usize, before: &str, after: &str) -> Vec<Pair> {
        let others = |cell: &CellInfo| -> Vec<String> {
            let axes = cell.axes.iter().enumerate();
            axes.filter(|(at, _)| *at != place)
                .map(|(_, text)| text.clone())
                .collect()
        };
        let at = |value: &str| -> Vec<usize> {
            let cells = plan.cells.iter().enumerate();
            cells
                .filter(|(_, cell)| cell.axes[place] == value)
                .map(|(index, _)| index)
                .collect()
        };
        let mut partners: BTreeMap<Vec<String>, usize> = BTreeMap::new();
        for index in at(before) {
            partners.entry(others(&plan.cells[index])).or_insert(index);
        }
        let pairs = at(after).into_iter().filter_map(|after| {
            let before = partners.remove(&others(&plan.cells[after]))?;
            let by = MatchedBy::OtherAxes;
            Some(Pair { before, after, by })
        });
        pairs.collect()
    }
}

/// Identity of a cell in one step of matching; `None` if it has none.
type Identify<'f> = &'f dyn Fn(&CellInfo) -> Option<BTreeMap<String, String>>;

type Groups = BTreeMap<BTreeMap<String, String>, (Vec<usize>, Vec<usize>)>;

struct Open<'a> {
    plans: (&'a PlanFile, &'a PlanFile),
    before: BTreeSet<usize>,
    after: BTreeSet<usize>,
    matching: Matching,
    /// Cells with more than one possible partner, by matching step.
    doubtful: Vec<(MatchedBy, Vec<usize>, Vec<usize>)>,
}

impl<'a> Open<'a> {
    fn new(before: &'a PlanFile, after: &'a PlanFile) -> Self {
        Self {
            plans: (before, after),
            before: (0..before.cells.len()).collect(),
            after: (0..after.cells.len()).collect(),
            matching: Matching::default(),
            doubtful: Vec::new(),
        }
    }

    /// Pairs cells whose identity is unique on both sides.
    fn pair(&mut self, by: MatchedBy, of_before: Identify<'_>, of_after: Identify<'_>) {
        let mut groups = Groups::new();
        for &place in &self.before {
            if let Some(name) = of_before(&self.plans.0.cells[place]) {
                groups.entry(name).or_default().0.push(place);
            }
        }
        for &place in &self.after {
            if let Some(name) = of_after(&self.plans.1.cells[place]) {
                groups.entry(name).or_default().1.push(place);
            }
        }
        for (before, after) in groups.into_values() {
            if let ([one], [other]) = (&*before, &*after) {
                let (before, after) = (*one, *other);
                self.before.remove(&before);
                self.after.remove(&after);
                self.matching.pairs.push(Pair { before, after, by });
            } else if !before.is_empty() && !after.is_empty() {
                self.doubtful.push((by, before, after));
            }
        }
    }

    /// An ambiguity is dropped if later steps paired all its cells of one side.
    fn finish(mut self) -> Matching {
        let mut told: BTreeSet<usize> = BTreeSet::new();
        for (by, mut before, mut after) in self.doubtful {
            before.retain(|place| self.before.contains(place) && !told.contains(place));
            after.retain(|place| self.after.contains(place));
            if before.is_empty() || after.is_empty() {
                continue;
            }
            told.extend(&before);
            let keys = |plan: &PlanFile, places: &[usize]| -> Vec<String> {
                let cells = places.iter().map(|&place| &plan.cells[place]);
                cells.map(|cell| cell.key.clone()).collect()
            };
            self.matching.ambiguous.push(Ambiguity {
                by,
                before: keys(self.plans.0, &before),
                after: keys(self.plans.1, &after),
            });
        }
        self.matching.pairs.sort_by_key(|pair| pair.after);
        self.matching
    }
}

/// A cell's values by long axis path, restricted to `only`; axes that its matrix lacks are left out.
fn values(
    paths: &[String],
    cell: &CellInfo,
    only: Option<&BTreeSet<String>>,
) -> BTreeMap<String, String> {
    let all = paths.iter().zip(&cell.axes);
    all.filter(|(path, text)| {
        !text.is_empty() && only.is_none_or(|only| only.contains(path.as_str()))
    })
    .map(|(path, text)| (path.clone(), text.clone()))
    .collect()
}

fn hash(cell: &CellInfo) -> Option<BTreeMap<String, String>> {
    let has_hash = !cell.cell_hash.is_empty();
    has_hash.then(|| BTreeMap::from([(cell.cell_hash.clone(), String::new())]))
}

/// Paths of the axes that both plans have; `None` if another axis has more than one value, because the shared axes then do
/// not distinguish the cells.
fn shared_axes(before: &PlanFile, after: &PlanFile) -> Option<BTreeSet<String>> {
    let has = |plan: &PlanFile, path: &str| plan.axes.iter().any(|axis| axis.path == path);
    let is_single = |plan: &PlanFile, other: &PlanFile| {
        let axes = plan.axes.iter().enumerate();
        let mut extra = axes.filter(|(_, axis)| !has(other, &axis.path));
        extra.all(|(place, _)| used_values(plan, place).len() <= 1)
    };
    let applies = is_single(before, after) && is_single(after, before);
    let shared = before.axes.iter().filter(|axis| has(after, &axis.path));
    applies.then(|| shared.map(|axis| axis.path.clone()).collect())
}

/// Values that the cells of a plan have on an axis.
fn used_values(plan: &PlanFile, place: usize) -> BTreeSet<&str> {
    let texts = plan.cells.iter().map(|cell| cell.axes[place].as_str());
    texts.filter(|text| !text.is_empty()).collect()
}

/// Axes and values that exist in one of two plans only, in the order of the plan after; removed ones come last.
pub(super) fn axis_changes(before: &PlanFile, after: &PlanFile) -> Vec<AxisChange> {
    let find = |plan: &PlanFile, path: &str| plan.axes.iter().position(|axis| axis.path == path);
    let of_after = after.axes.iter().enumerate().map(|(place, axis)| {
        let old = find(before, &axis.path);
        change(axis, old.map(|old| (before, old)), Some((after, place)))
    });
    let gone = before.axes.iter().enumerate();
    let gone = gone.filter(|(_, axis)| find(after, &axis.path).is_none());
    let gone = gone.map(|(place, axis)| change(axis, Some((before, place)), None));
    of_after
        .chain(gone)
        .filter(|change| {
            let is_of_both = change.in_before && change.in_after;
            !(is_of_both && change.removed.is_empty() && change.added.is_empty())
        })
        .collect()
}

fn change(
    axis: &AxisInfo,
    before: Option<(&PlanFile, usize)>,
    after: Option<(&PlanFile, usize)>,
) -> AxisChange {
    let only = |one: Option<(&PlanFile, usize)>, other: Option<(&PlanFile, usize)>| {
        let values = |side: Option<(&PlanFile, usize)>| -> Vec<String> {
            let Some((plan, place)) = side else {
                return Vec::new();
            };
            let values = plan.axes[place].values.iter();
            values.map(ToString::to_string).collect()
        };
        let known = values(other);
        let own = values(one).into_iter();
        own.filter(|value| !known.contains(value)).collect()
    };
    AxisChange {
        axis: axis.name.clone(),
        in_before: before.is_some(),
        in_after: after.is_some(),
        removed: only(before, after),
        added: only(after, before),
    }
}

#[cfg(test)]
mod tests;
