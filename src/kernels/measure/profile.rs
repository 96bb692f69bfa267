//! [`Profile`]: profiled steps, summed by operation, and the time spans of the first ones.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::phase::Phase;
use crate::base::tally::Tally;

/// Number of steps whose spans are recorded.
const SPAN_STEPS: usize = 3;

/// A profile of several steps by operation. Durations and counts are sums over the steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Number of steps.
    pub steps: usize,
    /// Total time of the steps.
    pub total: Duration,
    /// Time by [`Phase`], in order. A phase minus the forward times of its rows (the backward phase minus all backward
    /// times) is the time between its operations; it is never negative, because all times come from one clock.
    pub phases: [Duration; Phase::COUNT],
    /// Requests to the device outside of operations: by [`Phase`], in order, then outside of all phases.
    pub requests: [Tally; Phase::COUNT + 1],
    /// Operations in order of their first call.
    pub rows: Vec<OpRow>,
    /// The time line of the first three steps.
    pub spans: Vec<TimedSpan>,
}

/// Costs of an operation, apart from time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpCost {
    /// FLOPs of the forward pass, by the operation's rule.
    pub flops_forward: u64,
    /// FLOPs of the backward pass; 0 if nothing is recorded on the tape.
    pub flops_backward: u64,
    /// Bytes of the result.
    pub allocated_bytes: u64,
}

/// One operation of one layer in one phase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpRow {
    /// Name of the layer; empty if the operation belongs to none.
    pub layer: String,
    /// Name of the operation.
    pub op: &'static str,
    /// Phase of the operation's forward pass; `None` outside of all phases.
    pub phase: Option<Phase>,
    /// Number of calls of the operation's forward pass.
    pub calls: u64,
    /// Number of calls of the operation's backward pass.
    pub backward_calls: u64,
    /// Memory and kernels that the operation requested, forward and backward.
    pub requests: Tally,
    /// Time of the forward passes.
    pub forward: Duration,
    /// Time of the backward passes.
    pub backward: Duration,
    /// FLOPs of the operation and bytes of its results.
    pub cost: OpCost,
    /// Bytes of the operation's results that are still held when the forward pass ends.
    pub retained_bytes: u64,
}

/// A time span of the profile: a step, a phase or an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedSpan {
    /// Kind of the span.
    pub kind: SpanKind,
    /// When the span began.
    pub start: Instant,
    /// When the span ended.
    pub end: Instant,
}

/// What a [`TimedSpan`] measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpanKind {
    /// A step, counted from 1.
    Step(usize),
    /// A phase.
    Phase(Phase),
    /// The forward or backward pass of a layer's operation.
    Operation {
        /// Name of the operation.
        name: &'static str,
        /// Name of the layer; empty if the operation belongs to none.
        layer: String,
        /// Whether the span is of the backward pass.
        is_backward: bool,
    },
}

pub(super) struct StepRecord {
    start: Instant,
    pub(super) operations: Vec<Operation>,
    pub(super) laps: Vec<PhaseLap>,
}

pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) layer: String,
    pub(super) phase: Option<Phase>,
    pub(super) forward: (Instant, Instant),
    pub(super) backward: Option<(Instant, Instant)>,
    pub(super) cost: OpCost,
    pub(super) requests: Tally,
    pub(super) retained_bytes: u64,
}

/// The time between two marks: a phase, or time outside of all phases.
pub(super) struct PhaseLap {
    pub(super) phase: Option<Phase>,
    pub(super) start: Instant,
    pub(super) end: Instant,
    /// Requests to the device that belong to no operation.
    pub(super) requests: Tally,
}

impl StepRecord {
    pub(super) fn starting(start: Instant) -> Self {
        Self {
            start,
            operations: Vec::new(),
            laps: Vec::new(),
        }
    }
}

/// Sums over the profiled steps, by operation.
#[derive(Default)]
pub(super) struct Totals {
    sums: Profile,
    /// Index of a row by layer, operation and phase.
    places: BTreeMap<(String, &'static str, Option<Phase>), usize>,
}

impl Totals {
    pub(super) fn add(&mut self, step: &StepRecord) {
        self.sums.steps += 1;
        let end = step.laps.last().map_or(step.start, |lap| lap.end);
        self.sums.total += end - step.start;
        for lap in &step.laps {
            if let Some(phase) = lap.phase {
                self.sums.phases[phase as usize] += lap.end - lap.start;
            }
            let place = lap.phase.map_or(Phase::COUNT, |phase| phase as usize);
            self.sums.requests[place] += lap.requests;
        }
        for operation in &step.operations {
            self.row(operation).add(operation);
        }
        if self.sums.steps <= SPAN_STEPS {
            self.keep_spans(step, end);
        }
    }

    pub(super) fn profile(&self) -> Profile {
        self.sums.clone()
    }

    fn row(&mut self, operation: &Operation) -> &mut OpRow {
        let key = (operation.layer.clone(), operation.name, operation.phase);
        let rows = &mut self.sums.rows;
        let place = *self.places.entry(key).or_insert_with(|| {
            rows.push(OpRow {
                layer: operation.layer.clone(),
                op: operation.name,
                phase: operation.phase,
                ..OpRow::default()
            });
            rows.len() - 1
        });
        &mut rows[place]
    }

    fn keep_spans(&mut self, step: &StepRecord, end: Instant) {
        let number = self.sums.steps;
        let spans = &mut self.sums.spans;
        spans.push(span(SpanKind::Step(number), (step.start, end)));
        for lap in &step.laps {
            let phase = lap.phase.map(SpanKind::Phase);
            spans.extend(phase.map(|kind| span(kind, (lap.start, lap.end))));
        }
        let operation = |of: &Operation, is_backward| SpanKind::Operation {
            name: of.name,
            layer: of.layer.clone(),
            is_backward,
        };
        for of in &step.operations {
            spans.push(span(operation(of, false), of.forward));
            spans.extend(of.backward.map(|when| span(operation(of, true), when)));
        }
    }
}

impl OpRow {
    fn add(&mut self, operation: &Operation) {
        self.calls += 1;
        self.backward_calls += u64::from(operation.backward.is_some());
        self.requests += operation.requests;
        self.forward += length(operation.forward);
        self.backward += operation.backward.map_or(Duration::ZERO, length);
        self.cost.flops_forward += operation.cost.flops_forward;
        self.cost.flops_backward += operation.cost.flops_backward;
        self.cost.allocated_bytes += operation.cost.allocated_bytes;
        self.retained_bytes += operation.retained_bytes;
    }
}

fn length((start, end): (Instant, Instant)) -> Duration {
    end - start
}

fn span(kind: SpanKind, (start, end): (Instant, Instant)) -> TimedSpan {
    TimedSpan { kind, start, end }
}
