//! [`TrainedError`]: why a trained model cannot be used.

use std::io;

use crate::datasets::DatasetError;
use crate::device::DeviceError;
use crate::layers::checkpoint::CheckpointError;
use crate::ops::OpError;
use crate::tasks::TaskError;

/// Why a trained model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TrainedError {
    /// The checkpoint cannot be read or does not fit the model.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The checkpoint or its model does not support the request; the message says why.
    #[error("{0}")]
    Unsuited(String),
    /// The data cannot be read or do not fit the training data.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// Model and data do not fit together.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The device failed.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The results could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
}

impl From<DeviceError> for TrainedError {
    fn from(error: DeviceError) -> Self {
        Self::Op(error.into())
    }
}
