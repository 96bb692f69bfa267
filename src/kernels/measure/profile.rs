//! [`Profile`]: profiled steps summed by operation, and the first of them as they went.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::clock::Phase;
use super::profiler::OpCost;

/// Steps whose spans are kept.
const SPAN_STEPS: usize = 3;

/// Several steps, operation by operation. Durations and counts are sums over the steps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Steps.
    pub steps: usize,
    /// From their starts to their stops.
    pub total: Duration,
    /// By [`Phase`], in its order. A phase less the forward times of its rows, or the backward phase less all backward
    /// times, is what it took between its operations: never less than nothing, for one clock gives them all.
    pub phases: [Duration; Phase::COUNT],
    /// Operations in the order of their first call.
    pub rows: Vec<OpRow>,
    /// What happened when, in the first three steps.
    pub moments: Vec<Moment>,
}

/// One operation of one layer in one phase.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpRow {
    /// Layer; empty for none.
    pub layer: String,
    /// Operation.
    pub op: &'static str,
    /// Phase in which it ran forward; `None` outside of all.
    pub phase: Option<Phase>,
    /// Calls.
    pub calls: u64,
    /// Time forward.
    pub forward: Duration,
    /// Time backward.
    pub backward: Duration,
    /// What it cost.
    pub cost: OpCost,
    /// Bytes of its results that were held when the forward pass ended.
    pub retained_bytes: u64,
}

/// Something that happened from `start` to `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// What it was.
    pub what: What,
    /// When it began.
    pub start: Instant,
    /// When it ended.
    pub end: Instant,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A step, counted from 1.
    Step(usize),
    /// A phase.
    Phase(Phase),
    /// An operation of a layer, forward or backward.
    Operation {
        /// Operation.
        name: &'static str,
        /// Layer.
        layer: String,
        /// Whether backward.
        is_backward: bool,
    },
}

/// One step as it was recorded.
pub(super) struct StepRecord {
    start: Instant,
    pub(super) operations: Vec<Operation>,
    pub(super) laps: Vec<PhaseLap>,
}

pub(super) struct Operation {
    name: &'static str,
    layer: String,
    pub(super) phase: Option<Phase>,
    forward: (Instant, Instant),
    pub(super) backward: Option<(Instant, Instant)>,
    cost: OpCost,
    pub(super) retained_bytes: u64,
}

/// A phase, or what was skipped, from mark to mark.
pub(super) struct PhaseLap {
    pub(super) phase: Option<Phase>,
    pub(super) start: Instant,
    pub(super) end: Instant,
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

impl Operation {
    pub(super) fn forward(
        name: &'static str,
        layer: String,
        forward: (Instant, Instant),
        cost: OpCost,
    ) -> Self {
        Self {
            name,
            layer,
            phase: None,
            forward,
            backward: None,
            cost,
            retained_bytes: 0,
        }
    }
}

/// Sums over steps.
#[derive(Default)]
pub(super) struct Totals {
    sums: Profile,
    /// Place of a row by what tells it apart.
    places: BTreeMap<(String, &'static str, Option<Phase>), usize>,
}

impl Totals {
    pub(super) fn steps(&self) -> usize {
        self.sums.steps
    }

    pub(super) fn add(&mut self, step: &StepRecord) {
        self.sums.steps += 1;
        let end = step.laps.last().map_or(step.start, |lap| lap.end);
        self.sums.total += end - step.start;
        for lap in &step.laps {
            if let Some(phase) = lap.phase {
                self.sums.phases[phase as usize] += lap.end - lap.start;
            }
        }
        for operation in &step.operations {
            self.row(operation).add(operation);
        }
        if self.sums.steps <= SPAN_STEPS {
            self.keep_moments(step, end);
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

    fn keep_moments(&mut self, step: &StepRecord, end: Instant) {
        let number = self.sums.steps;
        let moments = &mut self.sums.moments;
        moments.push(moment(What::Step(number), (step.start, end)));
        for lap in &step.laps {
            let phase = lap.phase.map(What::Phase);
            moments.extend(phase.map(|what| moment(what, (lap.start, lap.end))));
        }
        let operation = |of: &Operation, is_backward| What::Operation {
            name: of.name,
            layer: of.layer.clone(),
            is_backward,
        };
        for of in &step.operations {
            moments.push(moment(operation(of, false), of.forward));
            moments.extend(of.backward.map(|when| moment(operation(of, true), when)));
        }
    }
}

impl OpRow {
    fn add(&mut self, operation: &Operation) {
        self.calls += 1;
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

fn moment(what: What, (start, end): (Instant, Instant)) -> Moment {
    Moment { what, start, end }
}
