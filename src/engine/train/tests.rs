#[cfg(feature = "cuda-stand-in")]
mod control;
#[cfg(not(feature = "cuda"))]
mod convolution;
#[cfg(feature = "cuda-stand-in")]
mod cuda;
mod cut_off;
mod freeze;
mod losses;
mod members;
mod profile;
mod resuming;
mod schedules;

use std::sync::Arc;

use super::run;
use crate::event::{EpochRow, Event, Order, PROTOCOL_VERSION, Reply, RunFacts, RunTimes};
use crate::losses::{CrossEntropySpec, LossSpec, MseSpec};
use crate::models::ModelSpec;
use crate::optim::{EmaSpec, OptimizerSpec, SgdSpec};
use crate::plan::{self, CellSpec, EarlyStoppingSpec, TrainSpec};
use crate::testing::{assert_begins, assert_says, spec};

struct Recorded {
    events: Vec<Event>,
}

impl Recorded {
    fn facts(&self) -> &RunFacts {
        self.finished().0
    }

    fn finished(&self) -> (&RunFacts, &RunTimes) {
        match self.events.last() {
            Some(Event::Finished { facts, times }) => (facts, times),
            other => panic!("the run ended with {other:?}"),
        }
    }

    fn epochs(&self) -> Vec<&EpochRow> {
        let rows = self.events.iter().filter_map(|event| match event {
            Event::Epoch(row) => Some(&**row),
            _ => None,
        });
        rows.collect()
    }

    /// The epoch rows with all step times set to 0, which leaves only facts.
    fn curves(&self) -> Vec<EpochRow> {
        let mut rows: Vec<EpochRow> = self.epochs().into_iter().cloned().collect();
        for step in rows.iter_mut().flat_map(|row| &mut row.steps) {
            step.step_ms = 0.0;
        }
        rows
    }
}

/// An MLP of 16 units on 44 rows, 32 of them for training.
pub(super) fn cell() -> CellSpec {
    let mlp = "kind = 'mlp', hidden = 16, depth = 1";
    let mut cell = plan::testing::cell(mlp, "kind = 'regression-5d', samples = 44", "kind = 'mse'");
    let train = Arc::make_mut(&mut cell.train);
    (train.epochs, train.batch_size) = (3, 8);
    train.optimizer = spec("kind = 'adam', lr = 0.01");
    cell
}

const DIGITS: &str = "kind = 'digits'";
const CLASSES: &str = "kind = 'cross-entropy'";

/// `cell` on images of digits, with their classes as targets and the fraction `validated` as validation split.
fn of_digits(mut cell: CellSpec, validated: f64) -> CellSpec {
    (cell.dataset, cell.loss) = (Arc::new(spec(DIGITS)), Arc::new(spec(CLASSES)));
    Arc::make_mut(&mut cell.validation).fraction = Some(validated);
    cell
}

/// `cell` with a small U-Net that generates images of digits.
fn of_unet(cell: CellSpec, base_channels: usize, validated: f64) -> CellSpec {
    let unet = "kind = 'ddpm-unet', embed = 8, heads = 2, groups = 2";
    let mut cell = of_digits(cell, validated);
    cell.model = Arc::new(spec(&format!("{unet}, base-channels = {base_channels}")));
    cell.loss = Arc::new(spec("kind = 'noise-mse'"));
    cell
}

fn with(change: impl FnOnce(&mut TrainSpec)) -> CellSpec {
    let mut cell = cell();
    change(Arc::make_mut(&mut cell.train));
    cell
}

fn told(cell: CellSpec) -> Recorded {
    told_by(order(cell))
}

fn told_in_block(block: usize, cell: CellSpec) -> Recorded {
    let order = order(cell);
    told_by(Order { block, ..order })
}

fn order(cell: CellSpec) -> Order<CellSpec> {
    Order {
        protocol: PROTOCOL_VERSION,
        cell,
        seed: 42,
        block: 0,
        assess_into: None,
        verdicts: false,
        keep_weights_below: 0,
        members: Vec::new(),
        resume: None,
        program: None,
    }
}

fn told_by(order: Order<CellSpec>) -> Recorded {
    told_and_answered(order, |_| Reply::Continue)
}

/// Executes a run in a thread of its own, since a run makes its thread part of a pool. `reply` answers every epoch.
fn told_and_answered(
    order: Order<CellSpec>,
    reply: impl Fn(&EpochRow) -> Reply + Sync,
) -> Recorded {
    let run = || {
        let mut events = Vec::new();
        run(order, &mut |event| {
            let answer = match &event {
                Event::Epoch(row) => reply(row),
                _ => Reply::Continue,
            };
            events.push(event);
            answer
        });
        Recorded { events }
    };
    std::thread::scope(|scope| scope.spawn(run).join().unwrap())
}

#[test]
fn events_come_in_their_legal_order() {
    let told = told(cell());
    assert!(matches!(
        told.events[0],
        Event::Hello {
            protocol: PROTOCOL_VERSION,
            ..
        }
    ));
    let started = Event::Started {
        parameters: 6 * 16 + 17,
        epochs: 3,
        steps_per_epoch: 4,
    };
    assert_eq!(told.events[1], started);
    assert_eq!(told.epochs().len(), 3);
    let facts = told.facts();
    assert_eq!((facts.steps, facts.samples, facts.epochs), (12, 96, 3));
    assert_eq!(facts.parameters, 113);
}

#[test]
fn training_lowers_the_loss() {
    let told = told(with(|train| train.epochs = 60));
    let facts = told.facts();
    assert!(facts.eval_loss_after.unwrap() < 0.2 * facts.eval_loss_before.unwrap());
    assert!(facts.final_loss.unwrap() < 0.2 * facts.first_loss.unwrap());
    for name in [
        "val_loss",
        "val_mse",
        "val_r2",
        "test_loss",
        "test_mse",
        "test_r2",
        "fresh_mse",
        "fresh_r2",
    ] {
        assert!(facts.metrics[name].is_some(), "{name}");
    }
    assert!(facts.metrics["val_r2"].unwrap() > 0.8);
}

#[test]
fn the_same_cell_gives_the_same_facts_with_any_threads_and_workers() {
    let base = told(cell());
    for threads in [1, 2] {
        for workers in [0, 4] {
            let mut cell = with(|train| train.threads = Some(threads));
            Arc::make_mut(&mut cell.loader).workers = workers;
            let told = told(cell);
            assert_eq!(
                told.facts(),
                base.facts(),
                "{threads} threads, {workers} workers"
            );
            assert_eq!(told.curves(), base.curves());
            assert_eq!(told.finished().1.threads, threads);
        }
    }
}

#[test]
fn a_cell_whose_step_is_tiny_computes_with_one_thread_unless_it_says_otherwise() {
    assert_eq!(told(cell()).finished().1.threads, 1);
    let two = with(|train| train.threads = Some(2));
    assert_eq!(told(two).finished().1.threads, 2);
}

#[test]
fn accumulated_micro_steps_are_one_big_batch() {
    let sgd = OptimizerSpec::Sgd(SgdSpec::default());
    let big = told(with(|train| {
        (train.batch_size, train.optimizer) = (24, sgd.clone());
    }));
    let small = told(with(|train| {
        (train.batch_size, train.accumulate, train.optimizer) = (5, 5, sgd.clone());
    }));
    // Steps have 24 and 8 of the 32 rows, or 25 and 7: not even the first steps are over the same rows.
    assert_eq!((big.facts().steps, small.facts().steps), (6, 6));
    let exact = told(with(|train| {
        (train.batch_size, train.accumulate, train.optimizer) = (6, 4, sgd);
    }));
    for (a, b) in big.epochs().iter().zip(exact.epochs()) {
        let (a, b) = (a.train_loss.unwrap(), b.train_loss.unwrap());
        assert!((a - b).abs() < 1e-6 * a, "{a} {b}");
    }
}

#[test]
fn phases_and_the_residual_sum_to_the_step() {
    let told = told(cell());
    let (_, times) = told.finished();
    let phases = &times.phases;
    let sum = phases.data_wait_ms
        + phases.transfer_ms
        + phases.forward_ms
        + phases.loss_ms
        + phases.backward_ms
        + phases.optimizer_ms
        + phases.other_ms;
    assert!((sum - times.step_mean_ms).abs() < 1e-9 * times.step_mean_ms);
    assert!(phases.other_ms >= 0.0 && phases.backward_ms > 0.0);
    assert_eq!((times.warmup_steps, times.measured_steps), (3, Some(9)));
    assert!(times.memory.activation_bytes > 0);
    assert_eq!(times.memory.optimizer_bytes, 2 * 4 * 113);
    assert_eq!(
        times.memory_growth_bytes.is_some(),
        cfg!(target_os = "linux")
    );
}

#[test]
fn early_stopping_puts_the_best_weights_back() {
    let told = told(with(|train| {
        train.epochs = 400;
        train.optimizer = spec("kind = 'adam', lr = 0.03");
        train.early_stopping = Some(spec("patience = 5"));
    }));
    let facts = told.facts();
    let best = facts.best_epoch.unwrap();
    assert_eq!(facts.epochs, best + 5 + 1);
    assert_eq!(facts.metrics["val_loss"], facts.best_loss);
    assert_eq!(told.epochs()[best].validation["val_loss"], facts.best_loss);
}

#[test]
fn classes_are_learnt_from_digits() {
    let cell = with(|train| (train.epochs, train.batch_size) = (4, 32));
    let told = told(of_digits(cell, 0.1));
    assert!(told.facts().metrics["val_accuracy"].unwrap() > 0.85);
    assert!(told.facts().metrics["test_accuracy"].unwrap() > 0.85);
}

#[test]
fn a_diverged_run_says_where() {
    let told = told(with(|train| {
        train.optimizer = spec("kind = 'sgd', lr = 1e30");
    }));
    let facts = told.facts();
    let reason = facts.diverged.as_ref().unwrap();
    assert_begins(reason, "loss became ");
    assert_says(reason, " at step ");
    assert_eq!(facts.eval_loss_after, None);
    assert_eq!(told.epochs().len(), facts.epochs);
}

#[test]
fn a_loss_above_the_limit_is_a_divergence() {
    let mut cell = cell();
    Arc::make_mut(&mut cell.limits).max_loss = Some(1e-6);
    let told = told(cell);
    let reason = told.facts().diverged.clone().unwrap();
    assert!(reason.ends_with("above 0.000001, at step 1"), "{reason}");
    assert_eq!(told.facts().steps, 0);
}

#[test]
fn no_epochs_still_give_facts() {
    let told = told(with(|train| train.epochs = 0));
    let (facts, times) = told.finished();
    assert_eq!(
        (facts.steps, facts.epochs, times.measured_steps),
        (0, 0, Some(0))
    );
    assert_eq!(facts.eval_loss_before, facts.eval_loss_after);
    assert!(facts.metrics["val_loss"].is_some());
    assert!(facts.flops_backward_per_sample > facts.flops_forward_per_sample);
}

#[test]
fn weights_are_saved_under_pytorchs_names_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = with(|train| {
        train.save_to = Some("last".into());
        train.ema = Some(spec("decay = 0.9, warm-up = false"));
    });
    first.checkpoint_folder = Some(folder.path().join("cell"));
    let trained = told(first);
    let file = folder.path().join("cell/last-seed42.safetensors");
    let resumed = told(with(|train| {
        (train.epochs, train.init_from) = (0, Some(file.clone()));
    }));
    assert_eq!(
        resumed.facts().weight_checksum,
        trained.facts().weight_checksum
    );
    assert_eq!(
        resumed.facts().eval_loss_before,
        trained.facts().eval_loss_after
    );
    let mut names: Vec<String> = std::fs::read_dir(folder.path().join("cell"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["last-seed42.ema.safetensors", "last-seed42.safetensors"]
    );
    let averaged = told(with(|train| {
        (train.epochs, train.init_from) = (
            0,
            Some(folder.path().join("cell/last-seed42.ema.safetensors")),
        );
    }));
    assert_eq!(averaged.facts().metrics, trained.facts().metrics);
}

#[test]
fn a_cell_that_cannot_be_trained_fails_with_a_sentence() {
    let ends = [
        with(|train| (train.batch_size, train.drop_last) = (64, true)),
        with(|train| train.init_from = Some("/nowhere/weights.safetensors".into())),
    ]
    .map(|cell| told(cell).events.pop());
    let parts = ["fewer than the batch of 64", "`weights.safetensors`"];
    for (end, part) in ends.iter().zip(parts) {
        match end {
            Some(Event::Failed { reason, .. }) => assert!(reason.contains(part), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}
