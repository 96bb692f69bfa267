//! Scripted runs of the self-test: losses that depend on the cell, times with the noise of a shared machine.

use std::collections::BTreeMap;

use rand::Rng;
use rand_distr::StandardNormal;

use crate::base::{Purpose, Seed};
use crate::event::{
    EpochRow, LoaderTimes, OpWork, PhaseTimes, RunFacts, RunId, RunOutcome, RunTimes, Status,
};
use crate::plan::CellSpec;

use super::{RUNS, SEEDS};

/// Relative spread of the scripted times between runs.
pub const NOISE: f64 = 0.02;
/// Relative slow-down of the machine over the scripted session.
pub const DRIFT: f64 = 0.05;
/// Fraction of scripted runs that take twice as long.
pub const OUTLIERS: f64 = 0.02;

const STEPS: u64 = 40;
const EPOCHS: usize = 4;
/// Bytes of memory of a run; they differ from run to run by half as much as its times.
const MEMORY: f64 = 1e9;
/// Median milliseconds of a step of the first cell.
const STEP_MS: f64 = 20.0;
/// Fractions of a step's phases: waiting for data, forward, loss, backward, optimizer; the rest is the residual.
const PHASES: [f64; 5] = [0.04, 0.34, 0.01, 0.50, 0.10];

/// How a run of a cell ends. `side` is the number of the side, whose times have their own noise; the factors on times,
/// losses, work of a step and memory are 1 if nothing is planted.
pub(super) fn outcome(
    spec: &CellSpec,
    id: RunId,
    side: u64,
    [time, loss, work, memory]: [f64; 4],
) -> RunOutcome {
    let step_ms = step_ms(spec) * time * noise(id, side);
    let mut facts = facts(spec, id, loss);
    let calls = work as u64;
    facts.work = vec![OpWork {
        layer: "0".to_owned(),
        op: "linear".to_owned(),
        calls,
        flops_forward: 256 * calls,
        ..OpWork::default()
    }]
    .into();
    RunOutcome {
        epochs: (0..EPOCHS).map(|epoch| epoch_row(&facts, epoch)).collect(),
        facts: Some(facts),
        times: Some(RunTimes {
            peak_train_bytes: Some((MEMORY * memory * noise(id, side).sqrt()) as u64),
            ..times(spec, step_ms)
        }),
        wall_s: step_ms * 1e-3 * (STEPS + 4) as f64,
        ..RunOutcome::empty(Status::Done, String::new())
    }
}

/// Time in proportion to the batch size, plus a constant.
fn step_ms(spec: &CellSpec) -> f64 {
    STEP_MS * (0.2 + 0.1 * spec.train.batch_size as f64)
}

/// A factor around 1: drift over the session (the same for both sides), noise of the run, and rare outliers.
fn noise(id: RunId, side: u64) -> f64 {
    let mut draws =
        Seed(id.seed).stream_at(Purpose::Noise, &[side, id.cell as u64, id.block as u64]);
    let drift = DRIFT * place(id) / (RUNS - 1) as f64;
    let normal: f64 = draws.sample(StandardNormal);
    let is_outlier = draws.r#gen::<f64>() < OUTLIERS;
    let outlier = if is_outlier { 2.0 } else { 1.0 };
    (1.0 + drift) * (NOISE * normal).exp() * outlier
}

/// Number of the cell's runs before this one: seed after seed, block after block.
fn place(id: RunId) -> f64 {
    let seed = SEEDS.iter().position(|&seed| seed == id.seed);
    (id.block * SEEDS.len() + seed.unwrap_or_default()) as f64
}

/// Every seed has its own final loss, the same on both sides.
fn facts(spec: &CellSpec, id: RunId, factor: f64) -> RunFacts {
    let of_seed = 1.0 + 0.01 * id.seed as f64;
    let loss = 0.05 * (1.0 + 0.01 * spec.train.batch_size as f64) * of_seed * factor;
    RunFacts {
        parameters: 129,
        flops_forward_per_sample: 256.0,
        flops_backward_per_sample: 512.0,
        steps: STEPS,
        samples: STEPS * spec.train.batch_size as u64,
        epochs: EPOCHS,
        best_epoch: Some(EPOCHS - 1),
        first_loss: Some(1.0),
        first_steps_loss: Some(0.8),
        final_loss: Some(loss),
        best_loss: Some(1.1 * loss),
        eval_loss_before: Some(1.0),
        eval_loss_after: Some(1.2 * loss),
        metrics: BTreeMap::from([("val_loss".to_owned(), Some(1.1 * loss))]),
        weight_checksum: format!("{:016x}", (loss * id.seed as f64).to_bits()),
        diverged: None,
        nondeterministic: String::new(),
        work: Vec::new().into(),
        confusion: Vec::new().into(),
    }
}

fn epoch_row(facts: &RunFacts, epoch: usize) -> EpochRow {
    let left = (EPOCHS - 1 - epoch) as f64;
    let at = |end: Option<f64>| end.map(|end| end * 3f64.powf(left));
    EpochRow {
        epoch,
        train_loss: at(facts.final_loss),
        validation: BTreeMap::from([("val_loss".to_owned(), at(facts.best_loss))]),
        lr: Some(0.001),
        steps: Vec::new(),
    }
}

fn times(spec: &CellSpec, step_ms: f64) -> RunTimes {
    let [data_wait_ms, forward_ms, loss_ms, backward_ms, optimizer_ms] =
        PHASES.map(|share| share * step_ms);
    let train_s = step_ms * STEPS as f64 * 1e-3;
    RunTimes {
        warmup_steps: 3,
        measured_steps: Some(STEPS - 3),
        step_ms,
        step_mean_ms: step_ms,
        phases: PhaseTimes {
            data_wait_ms,
            transfer_ms: 0.0,
            forward_ms,
            loss_ms,
            backward_ms,
            optimizer_ms,
            other_ms: (1.0 - PHASES.iter().sum::<f64>()) * step_ms,
        },
        samples_per_s: spec.train.batch_size as f64 / step_ms * 1e3,
        epoch_s: Some(train_s / EPOCHS as f64),
        train_s,
        validation_s: 0.01,
        best_epoch_s: Some(train_s),
        startup_s: 0.02,
        total_s: train_s + 0.03,
        loader: LoaderTimes {
            wait_s: PHASES[0] * train_s,
            work_s: PHASES[0] * train_s,
            ..LoaderTimes::default()
        },
        threads: 1,
        numeric_class: crate::event::numeric_class(spec.train.device),
        ..RunTimes::default()
    }
}
