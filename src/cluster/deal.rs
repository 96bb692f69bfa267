//! [`Deal`]: which share a run of a plan belongs to.

use crate::event::RunId;
use crate::plan::PlannedCell;
use crate::results::Share;

/// The runs of a plan by number: cells in row order, in each its seeds as the manifest lists them. All blocks of a cell and
/// seed have one number, so that one machine measures them all.
#[derive(Debug, Clone)]
pub struct Deal<'a> {
    cells: &'a [PlannedCell],
    /// Number of the first seed of each cell.
    first: Vec<usize>,
}

impl<'a> Deal<'a> {
    /// Numbers the runs of `cells`: all of a plan's, chosen and possible or not, so that a number depends on the manifest
    /// alone.
    pub fn of(cells: &'a [PlannedCell]) -> Self {
        let first = cells.iter().scan(0, |next, cell| {
            let own = *next;
            *next += cell.spec.measure.seeds.len();
            Some(own)
        });
        Self {
            first: first.collect(),
            cells,
        }
    }

    /// Number of a run; `None` for one that is not of the plan.
    pub fn number(&self, id: RunId) -> Option<usize> {
        let seeds = &self.cells.get(id.cell)?.spec.measure.seeds;
        let place = seeds.iter().position(|&seed| seed == id.seed)?;
        Some(self.first[id.cell] + place)
    }

    /// Whether `share` does the run.
    pub fn is_of(&self, share: Share, id: RunId) -> bool {
        self.number(id).is_some_and(|number| share.owns(number))
    }

    /// Which of `of` shares does the run, from 1; `None` for one that is not of the plan.
    pub fn index(&self, of: usize, id: RunId) -> Option<usize> {
        Some(Share::owner(self.number(id)?, of)).filter(|index| *index > 0)
    }
}
