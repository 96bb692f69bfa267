//! [`Verdict`]: why a trial is pruned.

/// Why a trial is pruned.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Step of the decision.
    pub step: usize,
    /// Value that was compared, smaller is better: the trial's best value so far, or with successive halving the value just
    /// reported; NaN if that is not a number.
    pub value: f64,
    /// Threshold of the comparison; NaN if the value is NaN and no threshold was needed.
    pub threshold: f64,
    /// Numbers of the trials that determine the threshold.
    pub trials: Vec<usize>,
}
