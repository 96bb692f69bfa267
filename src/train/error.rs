//! [`TrainError`]: why a run could not go on.

use crate::datasets::DatasetError;
use crate::device::DeviceError;
use crate::event::{FailedStatus, PROTOCOL_VERSION};
use crate::layers::checkpoint::CheckpointError;
use crate::ops::OpError;
use crate::tasks::TaskError;

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum TrainError {
    /// The parent speaks another version.
    #[error(
        "the order has protocol version {0}, this worker has {PROTOCOL_VERSION}: both must be the same build"
    )]
    Protocol(u32),
    /// The cell asks for something that this device or version does not do.
    #[error("{0}")]
    Unsupported(String),
    /// The training split does not fill a single batch.
    #[error(
        "the training split has {rows} samples, fewer than the batch of {batch_size} that `drop-last` asks for"
    )]
    NoBatch {
        /// Rows of the split.
        rows: usize,
        /// Batch size.
        batch_size: usize,
    },
    /// The loader gave fewer batches than it promised: our bug.
    #[error("the loader ended after {0} batches of an epoch")]
    Short(usize),
    /// Data.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// Model, loss and dataset.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Weights.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// An operation or the device.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A file or folder of the run's own.
    #[error("cannot write `{path}`: {reason}")]
    Unwritable {
        /// The file or folder.
        path: String,
        /// The system's reason.
        reason: std::io::Error,
    },
}

impl From<DeviceError> for TrainError {
    fn from(error: DeviceError) -> Self {
        Self::Op(error.into())
    }
}

impl TrainError {
    /// The status of the run's row.
    pub(super) fn status(&self) -> FailedStatus {
        match self {
            Self::Op(OpError::Device(DeviceError::OutOfMemory { .. }))
            | Self::Task(TaskError::Op(OpError::Device(DeviceError::OutOfMemory { .. })))
            | Self::Checkpoint(CheckpointError::Device(OpError::Device(
                DeviceError::OutOfMemory { .. },
            ))) => FailedStatus::Oom,
            _ => FailedStatus::Error,
        }
    }
}
