//! Whether a trial goes on.
//!
//! Start at [`pruner`]. Steps are epochs from 0, as a trial reports them; only the epochs with a value of what the pruner
//! looks at report one. `median` and `successive_halving` decide as Optuna's pruners of the same name do.

mod median;
mod successive_halving;
#[cfg(test)]
mod tests;

use crate::plan::search::{ObjectiveDirection, PrunerSpec, SearchSpec};

use super::Record;

use median::Median;
use successive_halving::SuccessiveHalving;

/// Why a trial is to end.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Step that was looked at.
    pub step: usize,
    /// What was looked at, smaller is better: the trial's best value up to there, or with successive halving the value
    /// that it just reported; NaN where that is no number.
    pub value: f64,
    /// What it was held against; NaN where the value is none and nothing was needed to see that it must end.
    pub threshold: f64,
    /// Numbers of the trials that the threshold is made of.
    pub trials: Vec<usize>,
}

/// Decides about a running trial. A pure function of its curve and of the trials that it may know.
pub trait Pruner: Sync {
    /// `Some` when the trial with this curve (smaller is better; its last entry was just reported) is to end. `past` are
    /// the trials that it may know, by number.
    fn judge(&self, past: &[Record], curve: &[(usize, f64)]) -> Option<Verdict>;
}

/// The pruner of a search; `None` where nothing is pruned. It judges the first objective.
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
