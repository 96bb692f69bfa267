//! [`TaskError`]: a model, a loss and a dataset that do not fit together.

use super::{Algorithm, TaskParts};
use crate::datasets::DatasetError;
use crate::ops::OpError;

/// Why a task cannot be built or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// Model, loss and dataset do not fit together.
    #[error("{0}")]
    Misfit(String),
    /// The data of a costly evaluation cannot be read.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// An operation or the device failed.
    #[error(transparent)]
    Op(#[from] OpError),
}

impl TaskError {
    pub(super) fn misfit(parts: TaskParts<'_>) -> Self {
        let by = match parts.algorithm {
            Algorithm::Backprop => "",
            Algorithm::EquilibriumPropagation => "by equilibrium propagation ",
        };
        Self::Misfit(format!(
            "model `{}` with loss `{}` cannot be trained {by}on these features and targets",
            parts.model.kind(),
            parts.loss.kind(),
        ))
    }
}
