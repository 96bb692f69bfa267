//! The contract between a worker process and its parent: one [`Event`] a line, as JSON, on the worker's stdout.
//!
//! ```text
//! Hello · Started · Resumed? · (Progress* · Saved? · Epoch)* · (Assessing* · Sample)* · Profile? · Finished
//!                                                          the run is `done`, or `diverged` where Finished says so
//! Hello · Started · … · Failed                             the worker reports why it ended: `failed`, or `oom`
//! Hello · … (the stream ends)                              killed, panicked, out of memory: the parent decides
//! ```
//! The parent writes one [`Order`] line to the worker's stdin and keeps stdin open: when it closes, the worker ends. If
//! the order requests verdicts, the worker waits after every `Epoch` for one line with a [`Reply`]; after
//! [`Reply::Stop`] it sends `Finished` as soon as it can.
//!
//! The parent's sinks receive [`RunEvent`]s: the worker's events between the start and the end of each run.

mod facts;
mod job;
mod numeric_class;
mod outcome;
mod profile;
mod run_event;
mod sample;
mod status;

pub use facts::{
    Confusion, DeviceMemoryUsage, EpochRow, FIRST_STEPS, GpuUsage, LoaderTimes, MemoryParts,
    Metrics, OpWork, PhaseTimes, RunFacts, RunTimes, SAMPLES_ROW, StepRow,
};

pub use job::{Job, Pruned, RunId, Trial};
pub use numeric_class::{numeric_class, numeric_class_of};
pub use outcome::RunOutcome;
pub use profile::{OpRow, Profile, Span};
pub use run_event::{KeptTrial, RunEvent, StopReason};
pub use sample::Sample;
pub use status::Status;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::{CellSpec, ResumeFiles};

/// Prefix of the line that a worker's panic hook writes; the rest is `FILE:LINE: MESSAGE`.
pub const PANIC_PREFIX: &str = "fieldtrial worker panicked at ";

/// Message if the operating system refuses to start a thread.
pub const THREAD_START_ERROR: &str =
    "the system refuses to start another thread: see `ulimit -u`, or use fewer `--jobs`";

/// Version of the protocol; both sides must agree.
pub const PROTOCOL_VERSION: u32 = 2;

/// What a worker sends to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The first event: tells the worker's protocol and build.
    Hello {
        /// [`PROTOCOL_VERSION`] of the worker.
        protocol: u32,
        /// Code hash of the worker's build.
        code_hash: String,
    },
    /// Data and model are ready; training begins.
    Started {
        /// Number of parameters (elements of all tensors).
        parameters: u64,
        /// Number of epochs that will be trained.
        epochs: usize,
        /// Optimizer steps in one epoch.
        steps_per_epoch: usize,
    },
    /// The run continues an interrupted one; its finished epochs follow as [`Event::Epoch`].
    Resumed {
        /// Finished epochs.
        epoch: usize,
        /// Finished optimizer steps of the epoch after these.
        step: usize,
    },
    /// The training state was saved: if the run is interrupted, it can resume from here.
    Saved {
        /// Finished epochs.
        epoch: usize,
        /// Finished optimizer steps of the epoch after these.
        step: usize,
    },
    /// Progress of training; at most ten a second.
    Progress {
        /// Current epoch, from 0.
        epoch: usize,
        /// Optimizer steps done in the epoch.
        step: usize,
        /// Loss of the latest step whose loss was copied to the host; `None` where a copy would force a device sync.
        loss: Option<f64>,
    },
    /// An epoch has ended.
    Epoch(Box<EpochRow>),
    /// Progress of a costly evaluation; at most ten a second.
    Assessing {
        /// Name of the evaluation, for example `ddim`.
        what: String,
        /// Number of finished parts of the evaluation.
        done: usize,
        /// Number of all parts of the evaluation.
        of: usize,
    },
    /// The costly evaluation wrote an image.
    Sample(Sample),
    /// A heartbeat, sent once a second if `limits.silence` is set.
    Alive,
    /// A warning for the user; training continues.
    Warning {
        /// The warning, one sentence.
        message: String,
    },
    /// Times of the operations in extra, profiled steps (`measure.ops`, first seed and block only).
    Profile(Box<Profile>),
    /// The end of a run that completed or diverged.
    Finished {
        /// Reproducible results: losses, metrics, checksum of the weights.
        facts: Box<RunFacts>,
        /// Measured times, memory and energy.
        times: Box<RunTimes>,
    },
    /// The end of a run that failed.
    Failed {
        /// Kind of failure, which decides the run's status.
        status: FailedStatus,
        /// The reason in one line, with the figures that explain it, and without paths of this machine.
        reason: String,
    },
}

/// Kinds of failure that a worker itself reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailedStatus {
    /// Data, files or a device failed with a known error; the run is `failed` with this reason.
    Error,
    /// A bug of Fieldtrial that the worker detected; the run's status is `panicked`.
    Bug,
    /// Device or host memory ran out and the allocator reported it.
    Oom,
    /// The training diverged (loss above `limits.max-loss`, NaN).
    Diverged,
}

/// Message of the parent to a worker: the first line on its stdin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Order<Cell> {
    /// [`PROTOCOL_VERSION`] of the parent.
    pub protocol: u32,
    /// The cell to train.
    pub cell: Cell,
    /// Seed of the run.
    pub seed: u64,
    /// Block of the run, from 0.
    pub block: usize,
    /// Folder for the images of the costly evaluation after training; `None` for a run without one. Only runs of block
    /// 0 have one, since later blocks repeat the training only.
    #[serde(default)]
    pub assess_into: Option<PathBuf>,
    /// Whether the worker waits for a [`Reply`] after every epoch.
    #[serde(default)]
    pub verdicts: bool,
    /// Trained models whose mean prediction is evaluated on the cell's data instead of training; empty for a run that
    /// trains a model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// The run writes its weights even without `train.save-to` if they have fewer bytes than this.
    #[serde(default, skip_serializing_if = "crate::manifest::is_default")]
    pub keep_weights_below: u64,
    /// Where the training state is stored, so that an interrupted run can resume; `None` for a run that stores none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumeFiles>,
    /// Folder, log file and cores of a command's run; `None` for built-in models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFiles>,
}

/// Folder, log file and cores of a command's run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFiles {
    /// Folder in which the program may leave files.
    pub folder: PathBuf,
    /// File for the program's output.
    pub log: PathBuf,
    /// The run's cores, as first core and number of cores; `None` for all cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<(usize, usize)>,
}

/// A trained model, part of an ensemble.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The cell that was trained.
    pub cell: Arc<CellSpec>,
    /// File of the weights for inference: averaged ones if the training averaged them ([`CellSpec::weights_file`]).
    pub weights: PathBuf,
}

/// Receives every event of a run, in the worker; its reply to [`Event::Epoch`] decides whether the run continues.
pub type Emit<'a> = dyn FnMut(Event) -> Reply + 'a;

/// The parent's reply to an epoch: a line on the worker's stdin, `"go-on"` or `"stop"`. To a worker that runs a command
/// or saves its training state, the parent may send `"end"` at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Train on.
    #[serde(rename = "go-on")]
    Continue,
    /// End now; the facts are those of a run with this number of epochs.
    Stop,
    /// End the program of a command: SIGTERM, after `limits.grace` SIGKILL. A run that saves its training state saves
    /// it once more and ends.
    End,
}
