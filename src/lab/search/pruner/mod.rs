//! Pruners decide whether a trial continues.
//!
//! Start at [`judge`]. Steps are epochs, from 0; only epochs with a value of the observed column report one. `median` and
//! `successive_halving` make the same decisions as Optuna's pruners of the same names.

mod median;
mod successive_halving;
#[cfg(test)]
mod tests;

use crate::plan::search::{ObjectiveDirection, PrunedInfo, PrunerSpec, SearchSpec};

use super::Record;

/// Decides about a running trial of `search`; depends only on its curve and on the trials that may be known.
///
/// `Some` if the trial with this curve (smaller is better; the last entry was just reported) is to be pruned. `past`
/// contains the trials that may be known, by number. It uses the first objective. The values told are losses (smaller is
/// better: of successive halving the one just reported, else the best so far), without the metric's name.
pub fn judge(search: &SearchSpec, past: &[Record], curve: &[(usize, f64)]) -> Option<PrunedInfo> {
    match &search.pruner {
        PrunerSpec::None(_) => None,
        PrunerSpec::Median(settings) => {
            let direction = search.objectives.first().map(|first| first.direction);
            let direction = direction.unwrap_or(ObjectiveDirection::Minimize);
            median::judge(settings, direction, past, curve)
        }
        PrunerSpec::SuccessiveHalving(settings) => successive_halving::judge(settings, past, curve),
    }
}
