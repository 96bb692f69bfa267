//! [`Record`]: a trial that has ended, as samplers and pruners see it.

use crate::plan::search::Point;

/// A trial that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Number in its study.
    pub number: usize,
    /// Where it looked.
    pub point: Point,
    /// How it ended.
    pub ending: Ending,
    /// Values that it reported by step (epoch), smaller is better; a value may be NaN. Steps rise.
    pub curve: Vec<(usize, f64)>,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// With a value of every objective, smaller is better.
    Done(Vec<f64>),
    /// A pruner ended it after its last reported step.
    Pruned,
    /// It diverged, failed or has no value: samplers learn nothing from it.
    Failed,
}

impl Record {
    /// Values of the objectives, where it is done.
    pub fn values(&self) -> Option<&[f64]> {
        match &self.ending {
            Ending::Done(values) => Some(values),
            Ending::Pruned | Ending::Failed => None,
        }
    }
}
