//! Pruners decide whether a trial continues.
//!
//! Start at [`prune_decision`]. Steps are epochs, from 0; an epoch without a value in the watched column reports none.
//! `median` and `successive_halving` make the same decisions as Optuna's pruners of the same names.

mod median;
mod successive_halving;
#[cfg(test)]
mod tests;

use crate::plan::search::{ObjectiveDirection, PrunedInfo, PrunerSpec, SearchSpec};

use super::TrialRecord;

/// Decides whether to prune a running trial of `search`, from its curve and earlier trials; `None` if it continues.
///
/// `curve` has `(step, value)` pairs of the first objective (smaller is better); the last was just reported. `past`
/// contains the finished trials that `search.lag` lets the decision use, by number. The value in the result is the one
/// just reported for successive halving, else the best so far; the metric's name is left empty.
pub fn prune_decision(
    search: &SearchSpec,
    past: &[TrialRecord],
    curve: &[(usize, f64)],
) -> Option<PrunedInfo> {
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
