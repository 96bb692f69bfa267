//! [`RunNumbers`]: assigns the runs of a plan to shards.

use crate::event::RunId;
use crate::plan::PlannedCell;
use crate::results::Share;

/// Numbers the runs of a plan: cells in row order, and within a cell by seeds in the manifest's order. All blocks of a
/// cell and seed have one number, so that one machine measures them all.
#[derive(Debug, Clone)]
pub struct RunNumbers<'a> {
    cells: &'a [PlannedCell],
    /// Number of the first seed of each cell.
    first: Vec<usize>,
}

impl<'a> RunNumbers<'a> {
    /// Numbers the runs of `cells`: all of the plan's, also unselected and infeasible ones, so that numbers depend only on
    /// the manifest.
    pub fn of(cells: &'a [PlannedCell]) -> Self {
        let mut next = 0;
        let first = cells.iter().map(|cell| {
            let own = next;
            next += cell.spec.measure.seeds.len();
            own
        });
        let first = first.collect();
        Self { cells, first }
    }

    /// Number of a run; `None` if it is not in the plan.
    pub fn number(&self, id: RunId) -> Option<usize> {
        let seeds = &self.cells.get(id.cell)?.spec.measure.seeds;
        let place = seeds.iter().position(|&seed| seed == id.seed)?;
        Some(self.first[id.cell] + place)
    }

    /// Whether the run belongs to `share`.
    pub fn is_of(&self, share: Share, id: RunId) -> bool {
        self.number(id).is_some_and(|number| share.owns(number))
    }

    /// Index (from 1) of the shard, out of `of`, to which the run belongs; `None` if it is not in the plan.
    pub fn index(&self, of: usize, id: RunId) -> Option<usize> {
        Some(Share::owner(self.number(id)?, of)).filter(|index| *index > 0)
    }
}
