//! Whether a trial goes on.

use crate::plan::search::PrunerSpec;

use super::Record;

/// Why a trial is to end.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Step that was looked at.
    pub step: usize,
    /// The trial's best value up to there; NaN where all were.
    pub value: f64,
    /// What it was held against.
    pub threshold: f64,
    /// Numbers of the trials that the threshold is made of.
    pub trials: Vec<usize>,
}

/// Decides about a running trial. A pure function of its curve and of the trials that it may know.
pub trait Pruner: Sync {
    /// `Some` when the trial with this curve (smaller is better; its last entry was just reported) is to end.
    fn judge(&self, past: &[Record], curve: &[(usize, f64)]) -> Option<Verdict>;
}

/// The pruner of a search; `None` where nothing is pruned.
pub fn pruner(spec: &PrunerSpec) -> Option<Box<dyn Pruner>> {
    let _ = spec;
    None
}
