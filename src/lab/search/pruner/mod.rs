//! Pruners decide whether a trial continues.
//!
//! Start at [`pruner`]. Steps are epochs, from 0; only epochs with a value of the observed column report one. `median` and
//! `successive_halving` make the same decisions as Optuna's pruners of the same names.

mod median;
mod successive_halving;
#[cfg(test)]
mod tests;

use crate::plan::search::{ObjectiveDirection, PrunerSpec, SearchSpec};

use super::Record;

use median::Median;
use successive_halving::SuccessiveHalving;

/// Why a trial is pruned.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Step of the decision.
    pub step: usize,
    /// Value that was compared, smaller is better: the trial's best value so far, or with successive halving the value just
    /// reported; NaN if that is not a number.
    pub value: f64,
    /// Threshold that it was compared with; NaN if the value is NaN and no threshold was needed.
    pub threshold: f64,
    /// Numbers of the trials that determine the threshold.
    pub trials: Vec<usize>,
}

/// Decides about a running trial. A pure function of its curve and of the trials that may be known.
pub trait Pruner: Sync {
    /// `Some` if the trial with this curve (smaller is better; the last entry was just reported) is to be pruned. `past`
    /// contains the trials that may be known, by number.
    fn judge(&self, past: &[Record], curve: &[(usize, f64)]) -> Option<Verdict>;
}

/// The pruner of a search; `None` without pruning. It uses the first objective.
pub fn pruner(search: &SearchSpec) -> Option<Box<dyn Pruner>> {
    let direction = search.objectives.first().map(|first| first.direction);
    let direction = direction.unwrap_or(ObjectiveDirection::Minimize);
    Some(match &search.pruner {
        PrunerSpec::None => return None,
        PrunerSpec::Median {
            startup_trials,
            warmup_steps,
            interval_steps,
        } => Box::new(Median {
            startup_trials: *startup_trials,
            warmup_steps: *warmup_steps,
            interval_steps: *interval_steps,
            direction,
        }),
        PrunerSpec::SuccessiveHalving {
            min_resource,
            reduction,
            early_stopping_rate,
        } => Box::new(SuccessiveHalving {
            min_resource: *min_resource,
            reduction: *reduction,
            early_stopping_rate: *early_stopping_rate,
        }),
    })
}
