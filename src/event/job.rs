//! [`Job`]: one run that is to be done.

use std::sync::Arc;

use crate::plan::CellSpec;

/// Which run: a cell by its row in the plan, a seed, a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// Row of the cell in the plan.
    pub cell: usize,
    /// Seed.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
}

/// One run that is to be done.
#[derive(Debug, Clone)]
pub struct Job {
    /// Which run.
    pub id: RunId,
    /// What to train.
    pub spec: Arc<CellSpec>,
    /// Seconds that it is expected to take; `None` where nothing is known.
    pub estimated_s: Option<f64>,
}

impl Job {
    /// Key, seed and block as messages show them: `model=mlp,batch-size=8 seed 42 block 0`.
    pub fn name(&self) -> String {
        let RunId { seed, block, .. } = self.id;
        format!("{} seed {seed} block {block}", self.spec.key)
    }
}
