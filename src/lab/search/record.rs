//! [`TrialRecord`]: a finished trial, as samplers and pruners see it.

use crate::plan::search::Point;

/// A finished trial.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialRecord {
    /// Number of the trial in its study.
    pub number: usize,
    /// The trial's point in the search space.
    pub point: Point,
    /// How the trial ended.
    pub ending: TrialResult,
    /// Reported values by step (epoch), smaller is better; a value may be NaN. Steps increase.
    pub curve: Vec<(usize, f64)>,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialResult {
    /// Complete, with a value for every objective, smaller is better.
    Done(Vec<f64>),
    /// A pruner ended the trial after its last reported step.
    Pruned,
    /// The trial diverged, failed, or gave no value.
    Failed,
}

impl TrialRecord {
    /// Values of the objectives, if it is done.
    pub fn values(&self) -> Option<&[f64]> {
        match &self.ending {
            TrialResult::Done(values) => Some(values),
            TrialResult::Pruned | TrialResult::Failed => None,
        }
    }
}
