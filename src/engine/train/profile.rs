//! Extra steps at the end of a run, timed by operation (`measure.ops`).

use std::time::{Duration, Instant};

use super::error::TrainError;
use super::extra::ExtraSteps;
use super::learner::Learner;
use super::log::phases;
use crate::event::{OpRow, Profile, Span};
use crate::loader::{Loader, MadeBatch};
use crate::measure::{self, Phase, Profiler, SpanKind, StepTimes, Stopwatch, TimedSpan};
use crate::ops::{Kernels, layer_names_by_address};

/// Maximum number of spans (timeline entries) in a profile. Its table of operations has no such limit.
const MOST_SPANS: usize = 20_000;

/// Takes `measure.phase-steps` steps after training and times every operation. The weights change. `None` if a loss
/// diverges.
///
/// # Errors
/// Errors of a training step.
pub(super) fn profile<D: Kernels>(
    learner: &mut Learner<D>,
    loader: &Loader,
    extra: &ExtraSteps,
) -> Result<Option<Profile>, TrainError> {
    let loader = loader.traced();
    let profiler = Profiler::new(
        layer_names_by_address(learner.task.module()),
        wait(&learner.device),
    );
    let begin = || Stopwatch::start_profiled(&profiler);
    if !extra.take(learner, &loader, &begin, &mut |_| {})? {
        return Ok(None);
    }
    Ok(Some(told(
        &profiler.profile(),
        extra.samples(),
        &loader.made(),
    )))
}

/// Function that waits until the device has finished; `None` for a device that runs synchronously.
fn wait<D: Kernels>(device: &D) -> Option<Box<dyn Fn()>> {
    let device = device.clone();
    // The error is ignored here, because the next operation fails with it again and reports it.
    let wait = move || drop(device.try_synchronize());
    D::IS_ASYNCHRONOUS.then(|| Box::new(wait) as Box<dyn Fn()>)
}

fn told(profile: &measure::Profile, samples: usize, made: &[MadeBatch]) -> Profile {
    let steps = profile.steps.max(1) as f64;
    let ms = |time: Duration| 1e3 * time.as_secs_f64() / steps;
    Profile {
        steps: profile.steps,
        samples,
        step_ms: ms(profile.total),
        phases: phases(&StepTimes {
            total_s: profile.total.as_secs_f64() / steps,
            phases_s: profile.phases.map(|time| time.as_secs_f64() / steps),
        }),
        ops: profile
            .rows
            .iter()
            .map(|row| OpRow {
                layer: row.layer.clone(),
                op: row.op.to_owned(),
                phase: phase_name(row.phase).to_owned(),
                calls: row.calls,
                forward_ms: ms(row.forward),
                backward_ms: ms(row.backward),
                flops_forward: row.cost.flops_forward as f64 / steps,
                flops_backward: row.cost.flops_backward as f64 / steps,
                allocated_bytes: row.cost.allocated_bytes as f64 / steps,
                retained_bytes: row.retained_bytes as f64 / steps,
            })
            .collect(),
        spans: spans(&profile.spans, made),
    }
}

pub(super) fn phase_name(phase: Option<Phase>) -> &'static str {
    match phase {
        Some(Phase::DataWait) => "data-wait",
        Some(Phase::Transfer) => "transfer",
        Some(Phase::Forward) => "forward",
        Some(Phase::Loss) => "loss",
        Some(Phase::Backward) => "backward",
        Some(Phase::Optimizer) => "optimizer",
        None => "other",
    }
}

/// Timeline entries: steps, phases, operations, and the batches whose loading began before the end of the last step.
fn spans(spans: &[TimedSpan], made: &[MadeBatch]) -> Vec<Span> {
    let (Some(first), Some(end)) = (spans.first(), spans.iter().map(|span| span.end).max()) else {
        return Vec::new();
    };
    let origin = first.start;
    let batches = made.iter().filter(|batch| batch.start < end);
    let batches = batches.map(|batch| {
        let worker = batch.worker.map(|worker| format!(" {worker}"));
        let lane = format!("loader{}", worker.unwrap_or_default());
        let times = (batch.start, batch.end);
        span((&lane, "batch", batch.index.to_string()), times, origin)
    });
    let (operations, others): (Vec<_>, Vec<_>) = spans
        .iter()
        .partition(|span| matches!(span.kind, SpanKind::Operation { .. }));
    let spans = others.into_iter().chain(operations);
    let spans = spans.map(|span| event_span(span, origin));
    batches.chain(spans).take(MOST_SPANS).collect()
}

fn event_span(timed: &TimedSpan, origin: Instant) -> Span {
    let words = match &timed.kind {
        SpanKind::Step(number) => ("steps", "step", number.to_string()),
        SpanKind::Phase(phase) => ("phases", phase_name(Some(*phase)), String::new()),
        SpanKind::Operation {
            name,
            layer,
            is_backward,
        } => {
            let suffix = if *is_backward { " backward" } else { "" };
            let name = format!("{name}{suffix}");
            return span(
                ("ops", &name, layer.clone()),
                (timed.start, timed.end),
                origin,
            );
        }
    };
    span(words, (timed.start, timed.end), origin)
}

fn span(
    (lane, name, detail): (&str, &str, String),
    (start, end): (Instant, Instant),
    origin: Instant,
) -> Span {
    let us = |time: Duration| 1e6 * time.as_secs_f64();
    let start_us = match start.checked_duration_since(origin) {
        Some(after) => us(after),
        None => -us(origin - start),
    };
    Span {
        lane: lane.to_owned(),
        name: name.to_owned(),
        detail,
        start_us,
        duration_us: us(end - start),
    }
}
