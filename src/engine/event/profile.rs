//! [`Profile`]: the time of each operation in a few steps.

use serde::{Deserialize, Serialize};

use super::PhaseTimes;

/// The profile of a run's extra steps, recorded after everything else (`measure.ops`).
///
/// The steps run after the final weights were read, so that neither facts nor ordinary times depend on them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Profile {
    /// Profiled steps.
    pub steps: usize,
    /// Samples per profiled step.
    pub samples: usize,
    /// Mean milliseconds of a profiled step.
    pub step_ms: f64,
    /// Phases of a step, means over the profiled steps.
    pub phases: PhaseTimes,
    /// Operations, in the order of their first call. A phase's time less the forward times of its operations (for the
    /// backward phase: less all backward times) is spent between operations; it is never negative.
    pub ops: Vec<OpRow>,
    /// Events with their times, for the trace.
    pub spans: Vec<Span>,
}

/// One operation of one layer, averaged over the profiled steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OpRow {
    /// Path of the calling layer, as in checkpoints (`down.0.block.conv1`); empty if no layer called it.
    pub layer: String,
    /// Name of the operation (`conv2d`, `silu`).
    pub op: String,
    /// Phase of the operation's forward time (`forward`, `loss`, `optimizer`).
    pub phase: String,
    /// Calls in all profiled steps.
    pub calls: u64,
    /// Milliseconds per step in the operation's `phase`, without its backward pass.
    pub forward_ms: f64,
    /// Milliseconds per step in the backward pass.
    pub backward_ms: f64,
    /// FLOPs of the forward pass per step, by the operation's formula.
    pub flops_forward: f64,
    /// FLOPs of the backward pass per step, by the operation's formula.
    pub flops_backward: f64,
    /// Bytes of the operation's results per step.
    pub allocated_bytes: f64,
    /// Bytes of the results that are still in memory at the end of the forward pass.
    pub retained_bytes: f64,
}

/// A span of time on one lane (row) of the trace.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Row of the trace: `steps`, `phases`, `ops`, `loader 0` (a thread), `loader` (batches of the training thread).
    pub lane: String,
    /// Name of the span (`step`, `backward`, `conv2d`, `conv2d backward`, `batch`).
    pub name: String,
    /// Layer of an operation, number of a step (from 1) or index of a batch in its epoch (from 0); empty if none
    /// applies.
    pub detail: String,
    /// Microseconds since the first profiled step began; negative for batches that were loaded before it.
    pub start_us: f64,
    /// Duration in microseconds.
    pub duration_us: f64,
}
