//! [`Status`]: how a run ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a run ended, as in the column `status` of the results.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The run completed.
    Done,
    /// The loss became NaN, infinite or larger than `limits.max-loss`, or a command's metric is not finite at the end.
    Diverged,
    /// The run took longer than `limits.time`.
    Timeout,
    /// Memory ran out.
    Oom,
    /// Data, files or a device failed, and the worker reported the error.
    Failed,
    /// The worker panicked: a bug of this program.
    Panicked,
    /// A signal ended the worker.
    Killed,
    /// A search stopped the trial early.
    Pruned,
    /// The cell's settings do not fit together, so it cannot run on any machine.
    Infeasible,
    /// The cell needs a device or a precision that this machine or build lacks.
    Skipped,
    /// The run was not started, or it was interrupted.
    #[default]
    NotRun,
}

impl Status {
    /// Every status with its text.
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Done, "done"),
        (Self::Diverged, "diverged"),
        (Self::Timeout, "timeout"),
        (Self::Oom, "oom"),
        (Self::Failed, "failed"),
        (Self::Panicked, "panicked"),
        (Self::Killed, "killed"),
        (Self::Pruned, "pruned"),
        (Self::Infeasible, "infeasible"),
        (Self::Skipped, "skipped"),
        (Self::NotRun, "not-run"),
    ];

    /// Whether the status makes `run` exit with 1.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Diverged
                | Self::Timeout
                | Self::Oom
                | Self::Failed
                | Self::Panicked
                | Self::Killed
        )
    }
}

impl Status {
    /// The status as written in files and pages.
    pub fn text(self) -> &'static str {
        let found = Self::ALL.iter().find(|(status, _)| *status == self);
        found.map_or("", |(_, text)| text)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}
