//! [`TaskError`]: a model, a loss and a dataset that do not fit together.

use super::{Algorithm, TaskParts};
use crate::datasets::{DatasetError, Features, Target};
use crate::ops::OpError;

/// Why a task cannot be built or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// Model, loss and dataset do not fit together.
    #[error("{0}")]
    Misfit(String),
    /// The data of an expensive evaluation cannot be read.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// The device failed.
    #[error(transparent)]
    Op(#[from] OpError),
}

impl TaskError {
    pub(super) fn misfit(parts: TaskParts<'_>) -> Self {
        let features = match parts.features {
            Features::Vector { len } => format!("rows of {len} numbers"),
            Features::Image(image) => format!(
                "images of {}×{} pixels in {} colours",
                image.width, image.height, image.channels
            ),
            Features::Path { points } => format!("paths of {points} points"),
            Features::Tokens { length, .. } => format!("windows of {length} tokens"),
        };
        let target = match parts.target {
            Target::Values { len: 1 } => "one number".to_owned(),
            Target::Values { len } => format!("{len} numbers"),
            Target::Labels { len } => format!("{len} labels"),
            Target::Class { classes } => format!("one of {classes} classes"),
            Target::Tokens { .. } => "the next token".to_owned(),
            Target::None => "nothing".to_owned(),
        };
        let by = match parts.algorithm {
            Algorithm::Backprop => "",
            Algorithm::EquilibriumPropagation => "by equilibrium propagation ",
        };
        Self::Misfit(format!(
            "model `{}` with loss `{}` cannot be trained {by}on {features} with {target} as target",
            parts.model.kind(),
            parts.loss.kind(),
        ))
    }
}
