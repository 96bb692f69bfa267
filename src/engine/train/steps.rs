//! [`Steps`]: divides the rows of an epoch into batches (micro-steps), and these into optimizer steps.

use std::ops::Range;

use super::error::TrainError;
use crate::plan::TrainSpec;

/// The optimizer steps of an epoch.
///
/// `accumulate` micro-steps form one optimizer step. The last step of an epoch may have fewer micro-steps, and its last
/// micro-step fewer samples. Gradients are weighted by their number of samples, so that a step equals a step with one
/// large batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    rows: usize,
    batch_size: usize,
    accumulate: usize,
    batches: usize,
    count: usize,
    is_capped: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Indices of the step's micro-steps within the epoch.
    pub(super) micro_steps: Range<usize>,
    pub(super) samples: usize,
}

impl Steps {
    /// The steps of an epoch over `rows` rows.
    ///
    /// # Errors
    /// [`TrainError::NoBatch`] if there is no batch: no rows, or with `drop-last` fewer rows than one batch.
    pub(super) fn new(rows: usize, train: &TrainSpec) -> Result<Self, TrainError> {
        let batch_size = train.batch_size.max(1);
        let (batches, all) = train.batches_and_steps(rows);
        if batches == 0 {
            return Err(TrainError::NoBatch { rows, batch_size });
        }
        let accumulate = train.accumulate.max(1);
        let count = train.steps_per_epoch.map_or(all, |cap| all.min(cap));
        Ok(Self {
            rows,
            batch_size,
            accumulate,
            batches: batches.min(count * accumulate),
            count,
            is_capped: count < all,
        })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn batches(&self) -> usize {
        self.batches
    }

    /// Whether `train.steps-per-epoch` ends epochs before all rows were used.
    pub(super) fn is_capped(&self) -> bool {
        self.is_capped
    }

    /// Number of batches (micro-steps) of the first `steps` steps.
    pub(super) fn batches_before(&self, steps: usize) -> usize {
        (steps * self.accumulate).min(self.batches)
    }

    /// All steps of the epoch, in order.
    pub(super) fn iter(self) -> impl Iterator<Item = Step> {
        (0..self.count).map(move |step| {
            let first = step * self.accumulate;
            let end = (first + self.accumulate).min(self.batches);
            Step {
                micro_steps: first..end,
                samples: (end * self.batch_size).min(self.rows) - first * self.batch_size,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_says;

    fn steps(rows: usize, train: &TrainSpec) -> Vec<(Range<usize>, usize)> {
        let steps = Steps::new(rows, train).unwrap();
        steps
            .iter()
            .map(|step| (step.micro_steps, step.samples))
            .collect()
    }

    #[test]
    fn the_last_group_and_the_last_batch_may_be_partial() {
        let train = TrainSpec {
            batch_size: 4,
            accumulate: 2,
            ..TrainSpec::default()
        };
        assert_eq!(steps(18, &train), [(0..2, 8), (2..4, 8), (4..5, 2)]);
        assert_eq!(steps(15, &train), [(0..2, 8), (2..4, 7)]);
    }

    #[test]
    fn drop_last_leaves_the_partial_batch_out() {
        let train = TrainSpec {
            batch_size: 4,
            accumulate: 2,
            drop_last: true,
            ..TrainSpec::default()
        };
        assert_eq!(steps(15, &train), [(0..2, 8), (2..3, 4)]);
        let error = Steps::new(3, &train).unwrap_err().to_string();
        assert_says(&error, "3 samples, fewer than the batch of 4");
    }

    #[test]
    fn a_cap_counts_optimizer_steps() {
        let train = TrainSpec {
            batch_size: 4,
            accumulate: 2,
            steps_per_epoch: Some(2),
            ..TrainSpec::default()
        };
        let capped = Steps::new(100, &train).unwrap();
        assert_eq!((capped.count(), capped.batches()), (2, 4));
        assert!(capped.is_capped());
        assert!(!Steps::new(16, &train).unwrap().is_capped());
    }
}
