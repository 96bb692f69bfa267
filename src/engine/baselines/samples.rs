//! Samples in memory, their targets, and predictions.

/// Rows of a dataset with their targets, in memory.
pub(super) struct Samples {
    pub(super) rows: usize,
    /// Features, `(rows, features)`.
    pub(super) x: Vec<f32>,
    /// Target values, `(rows, values)` or `(rows, labels)`; empty if the targets are classes.
    pub(super) values: Vec<f32>,
    /// Class of each row; empty if the targets are numbers.
    pub(super) labels: Vec<usize>,
}

/// Predictions for rows, `(rows, outputs)`: values, or logits.
pub(super) struct Predicted {
    pub(super) outputs: Vec<f32>,
    /// Whether the predictions have a finite cross-entropy; a nearest neighbour's have not, since its probabilities are
    /// 0 or 1.
    pub(super) has_loss: bool,
}

/// Kind of target that a baseline predicts, with the number of values, classes or labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Values(usize),
    Classes(usize),
    Labels(usize),
}

impl Goal {
    /// Number of outputs per row.
    pub(super) fn outputs(self) -> usize {
        match self {
            Self::Values(len) | Self::Labels(len) => len,
            Self::Classes(classes) => classes,
        }
    }
}
