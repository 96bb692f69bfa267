//! Cells by group, where there are too many for a row each: by the values of the axes, neighbouring numbers together.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::units::human_integer;
use crate::plan::AxisKind;
use crate::results::{CellInfo, PlanFile, grouped};

/// Rows that a table shows at most; where there are more cells, its rows are groups of them.
pub(super) const ROWS: usize = 200;
/// Groups at most.
const GROUPS: usize = 100;
/// Levels into which a numeric axis of more values is cut.
const LEVELS: usize = 8;

/// The groups of a report with many cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grouping {
    /// Places of the axes by which the cells are grouped.
    pub(crate) axes: Vec<usize>,
    /// The groups, in the order of their first cells.
    pub(crate) groups: Vec<Group>,
}

/// Cells that share a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// What they have in common: one text per axis of the grouping.
    pub(crate) labels: Vec<String>,
    /// Their places in the plan.
    pub(crate) cells: Vec<usize>,
}

/// An axis with its values cut into levels.
struct Cut {
    place: usize,
    is_numeric: bool,
    /// Its values in order, those of numbers by size.
    values: Vec<String>,
    levels: usize,
}

impl Grouping {
    /// Groups the cells of a plan; `None` where each can have a row of its own.
    pub(crate) fn of(plan: &PlanFile, varying: &[usize]) -> Option<Self> {
        if plan.cells.len() <= ROWS {
            return None;
        }
        let mut cuts: Vec<Cut> = varying.iter().map(|&at| Cut::of(plan, at)).collect();
        loop {
            let grouping = Self::by(plan, &cuts);
            if grouping.groups.len() <= GROUPS {
                return Some(grouping);
            }
            coarsen(&mut cuts);
        }
    }

    /// "10,000 cells in 48 groups by device and batch-size".
    pub(crate) fn words(&self, plan: &PlanFile) -> String {
        let names = self.axes.iter().map(|&place| &*plan.axes[place].name);
        let names: Vec<&str> = names.collect();
        let by = match names.split_last() {
            None => String::new(),
            Some((last, [])) => format!(" by {last}"),
            Some((last, rest)) => format!(" by {} and {last}", rest.join(", ")),
        };
        let cells = human_integer(plan.cells.len() as u64);
        match self.groups.len() {
            1 => format!("{cells} cells in one group{by}"),
            n => format!("{cells} cells in {n} groups{by}"),
        }
    }

    fn by(plan: &PlanFile, cuts: &[Cut]) -> Self {
        let levels: Vec<BTreeMap<&str, String>> = cuts.iter().map(Cut::labels).collect();
        let label = |cell: &CellInfo| -> Vec<String> {
            let cut = cuts.iter().zip(&levels);
            cut.map(|(cut, labels)| labels[&*cell.axes[cut.place]].clone())
                .collect()
        };
        let groups = grouped(0..plan.cells.len(), |&index| label(&plan.cells[index])).into_iter();
        let groups = groups.map(|cells| Group {
            labels: label(&plan.cells[cells[0]]),
            cells,
        });
        Self {
            axes: cuts.iter().map(|cut| cut.place).collect(),
            groups: groups.collect(),
        }
    }
}

impl Cut {
    fn of(plan: &PlanFile, place: usize) -> Self {
        let mut seen = BTreeSet::new();
        let texts = plan.cells.iter().map(|cell| &cell.axes[place]);
        let mut values: Vec<String> = texts.filter(|text| seen.insert(*text)).cloned().collect();
        let number = |text: &String| text.parse::<f64>().ok();
        let numbers = values.iter().all(|text| number(text).is_some());
        let is_numeric = numbers && plan.axes[place].kind != AxisKind::Category;
        if is_numeric {
            let order = |text: &String| number(text).unwrap_or(0.0);
            values.sort_by(|a, b| order(a).total_cmp(&order(b)));
        }
        let levels = if is_numeric {
            values.len().min(LEVELS)
        } else {
            values.len()
        };
        Self {
            place,
            is_numeric,
            values,
            levels,
        }
    }

    /// The level of each value, as a row shows it: the value itself, or the ends of its stretch.
    fn labels(&self) -> BTreeMap<&str, String> {
        let shown = |text: &str| if text.is_empty() { "–" } else { text }.to_owned();
        let stretch = self.values.len().div_ceil(self.levels.max(1));
        let parts = self.values.chunks(stretch.max(1)).flat_map(|part| {
            let ends = (&part[0], &part[part.len() - 1]);
            let label = if ends.0 == ends.1 {
                shown(ends.0)
            } else {
                format!("{} to {}", ends.0, ends.1)
            };
            part.iter()
                .map(move |value| (value.as_str(), label.clone()))
        });
        parts.collect()
    }
}

/// Takes the axis with the most levels, of several the last: numbers are cut into half as many, other axes go.
fn coarsen(cuts: &mut Vec<Cut>) {
    let finest = cuts.iter().enumerate().max_by_key(|(_, cut)| cut.levels);
    let Some((place, _)) = finest else {
        return;
    };
    if cuts[place].is_numeric && cuts[place].levels > 3 {
        cuts[place].levels /= 2;
    } else {
        cuts.remove(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::AxisInfo;

    fn plan(axes: &[(&str, AxisKind, usize)]) -> PlanFile {
        let mut rows: Vec<Vec<String>> = vec![Vec::new()];
        for (name, kind, count) in axes {
            let value = |i: usize| match kind {
                AxisKind::Category => format!("{name}{i}"),
                _ => (i + 1).to_string(),
            };
            let longer = |row: &Vec<String>| {
                let row = row.clone();
                (0..*count).map(move |i| [row.clone(), vec![value(i)]].concat())
            };
            rows = rows.iter().flat_map(longer).collect();
        }
        PlanFile {
            axes: axes
                .iter()
                .map(|(name, kind, _)| AxisInfo {
                    name: (*name).into(),
                    path: (*name).into(),
                    kind: *kind,
                    values: Vec::new(),
                })
                .collect(),
            cells: rows
                .into_iter()
                .map(|axes| CellInfo {
                    key: axes.join(","),
                    axes,
                    ..CellInfo::default()
                })
                .collect(),
            ..PlanFile::default()
        }
    }

    #[test]
    fn few_cells_have_rows_of_their_own() {
        let plan = plan(&[("a", AxisKind::Integer, ROWS)]);
        assert_eq!(Grouping::of(&plan, &[0]), None);
    }

    #[test]
    fn numbers_are_cut_into_stretches_and_every_cell_is_in_one_group() {
        let plan = plan(&[("b", AxisKind::Integer, 5000), ("m", AxisKind::Category, 2)]);
        let grouping = Grouping::of(&plan, &[0, 1]).expect("groups");
        assert_eq!(
            grouping.words(&plan),
            "10,000 cells in 16 groups by b and m"
        );
        assert_eq!(grouping.groups[0].labels, ["1 to 625", "m0"]);
        let mut cells: Vec<usize> = grouping
            .groups
            .iter()
            .flat_map(|g| g.cells.clone())
            .collect();
        cells.sort_unstable();
        assert_eq!(cells, (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn names_that_are_too_many_are_left_out() {
        let plan = plan(&[
            ("m", AxisKind::Category, 3000),
            ("d", AxisKind::Category, 2),
        ]);
        let grouping = Grouping::of(&plan, &[0, 1]).expect("groups");
        assert_eq!(grouping.words(&plan), "6,000 cells in 2 groups by d");
        let alone = Grouping::of(&plan, &[0]).expect("a group");
        assert_eq!((alone.groups.len(), alone.axes.len()), (1, 0));
    }
}
