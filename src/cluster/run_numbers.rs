//! [`RunNumbers`]: assigns the runs of a plan to shards.

use crate::event::RunId;
use crate::plan::PlannedCell;
use crate::results::Share;

/// Numbers the runs of a plan, to assign them to shards: by cell in row order, within a cell by seed in the manifest's
/// order. All blocks of one cell and seed have the same number, so that one machine measures them all.
#[derive(Debug, Clone)]
pub struct RunNumbers<'a> {
    cells: &'a [PlannedCell],
    /// For each cell the number of the run with its first seed.
    first: Vec<usize>,
}

impl<'a> RunNumbers<'a> {
    /// Numbers the runs of `cells`. These must be all cells of the plan, also unselected and infeasible ones, so that
    /// the numbers depend only on the manifest.
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

    /// The number of a run; `None` if it is not in the plan.
    pub fn number(&self, id: RunId) -> Option<usize> {
        let seeds = &self.cells.get(id.cell)?.spec.measure.seeds;
        let place = seeds.iter().position(|&seed| seed == id.seed)?;
        Some(self.first[id.cell] + place)
    }

    /// Whether the run belongs to the shard `share`.
    pub fn is_in_shard(&self, share: Share, id: RunId) -> bool {
        self.number(id).is_some_and(|number| share.owns(number))
    }

    /// Index (from 1) of the one among `of` shards that the run belongs to; `None` if the run is not in the plan.
    pub fn shard_index(&self, of: usize, id: RunId) -> Option<usize> {
        Some(Share::share_of_item(self.number(id)?, of)).filter(|index| *index > 0)
    }
}
