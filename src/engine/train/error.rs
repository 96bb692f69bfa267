//! [`TrainError`]: why a run failed or was ended.

use std::path::Path;

use crate::datasets::DatasetError;
use crate::device::DeviceError;
use crate::event::{FailedStatus, PROTOCOL_VERSION};
use crate::layers::checkpoint::CheckpointError;
use crate::layers::names::UnmatchedPatterns;
use crate::ops::OpError;
use crate::plan::CellSpec;
use crate::tasks::TaskError;

#[derive(Debug, thiserror::Error)]
pub(super) enum TrainError {
    /// The order comes from a parent process with another protocol version.
    #[error(
        "the order has protocol version {0}, this worker has {PROTOCOL_VERSION}: both must be the same build"
    )]
    Protocol(u32),
    /// The cell asks for something that this device or version does not support.
    #[error("{0}")]
    Unsupported(String),
    /// The training split has fewer rows than one batch, and `drop-last` leaves that batch out.
    #[error(
        "the training split has {rows} samples, fewer than the batch of {batch_size} that `drop-last` asks for"
    )]
    NoBatch {
        /// Rows of the training split.
        rows: usize,
        /// Number of samples of a batch.
        batch_size: usize,
    },
    /// The loader returned fewer batches than announced, which is a bug of this program.
    #[error("the loader ended after {0} batches of an epoch")]
    Short(usize),
    /// The dataset cannot be opened or read.
    #[error(transparent)]
    Data(#[from] DatasetError),
    /// Model, loss and dataset do not fit together, or their task failed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// Patterns of parameter names (`train.freeze`, `train.fresh`) that match no parameter of the model, or a
    /// `train.freeze` that matches all.
    #[error(transparent)]
    Names(#[from] UnmatchedPatterns),
    /// Weights could not be read or written.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// An operation or the device failed.
    #[error(transparent)]
    Op(#[from] OpError),
    /// The parent process ended the run. Its training state has been written, if the run writes one.
    #[error("ended by its parent")]
    Ended,
    /// A file or folder of the run could not be written.
    #[error("cannot write `{path}`: {reason}")]
    Unwritable {
        path: String,
        /// The operating system's error.
        reason: std::io::Error,
    },
}

impl From<DeviceError> for TrainError {
    fn from(error: DeviceError) -> Self {
        Self::Op(error.into())
    }
}

impl TrainError {
    /// The status of the run in `runs.csv`.
    pub(super) fn status(&self) -> FailedStatus {
        match self {
            Self::Op(OpError::Device(DeviceError::OutOfMemory { .. }))
            | Self::Task(TaskError::Op(OpError::Device(DeviceError::OutOfMemory { .. })))
            | Self::Checkpoint(CheckpointError::Device(OpError::Device(
                DeviceError::OutOfMemory { .. },
            ))) => FailedStatus::Oom,
            Self::Protocol(_)
            | Self::Short(_)
            | Self::Data(DatasetError::Panicked(_))
            | Self::Task(TaskError::Data(DatasetError::Panicked(_))) => FailedStatus::Bug,
            _ => FailedStatus::Error,
        }
    }

    /// The error message without folders of this machine, because results must be equal on every machine: a path inside
    /// the dataset's folder is relative to that folder; any other path is reduced to its file name.
    pub(super) fn reason(&self, cell: &CellSpec) -> String {
        let text = match cell.dataset.path() {
            Some(root) => {
                let inside = format!("{}/", root.display());
                self.to_string().replace(&inside, "")
            }
            None => self.to_string(),
        };
        let quoted = text.split('`').enumerate().map(|(index, part)| {
            let path = Path::new(part);
            // Parts with an odd index are between backticks.
            let is_path = index % 2 == 1 && path.is_absolute();
            let name = path.file_name().filter(|_| is_path);
            name.map_or(part.into(), |name| name.to_string_lossy())
        });
        quoted.collect::<Vec<_>>().join("`")
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;
    use crate::datasets::{DatasetSpec, MnistSpec};
    use crate::train::tests::cell;

    #[test]
    fn a_reason_names_files_without_the_folders_of_this_machine() {
        let mut cell = cell();
        let path = PathBuf::from("/home/me/data/mnist");
        cell.dataset = Arc::new(DatasetSpec::Mnist(MnistSpec { path }));
        let reason = |path: &str| {
            let path = path.to_owned();
            let reason = "no such file or directory".to_owned();
            TrainError::Data(DatasetError::Unreadable { path, reason }).reason(&cell)
        };
        let tail = "no such file or directory";
        assert_eq!(
            reason("/home/me/data/mnist/a/b.png"),
            format!("cannot read `a/b.png`: {tail}")
        );
        assert_eq!(
            reason("/home/me/data/mnist"),
            format!("cannot read `mnist`: {tail}")
        );
        assert_eq!(
            reason("/home/me/weights.safetensors"),
            format!("cannot read `weights.safetensors`: {tail}")
        );
    }

    #[test]
    fn what_is_our_bug_is_told_from_what_failed() {
        assert_eq!(TrainError::Short(3).status(), FailedStatus::Bug);
        let data = DatasetError::Mismatch("empty".to_owned());
        assert_eq!(TrainError::Data(data).status(), FailedStatus::Error);
    }
}
