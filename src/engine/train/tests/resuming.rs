//! Runs that resume from the training state of an interrupted run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use super::freeze::{DEVICE, optimizers};
use super::*;
use crate::datasets::DatasetSpec;
use crate::layers::checkpoint;
use crate::optim::ClipBy;
use crate::plan::ResumeFiles;
use crate::testing::assert_begins;

fn resume(folder: &Path, from: Option<PathBuf>) -> ResumeFiles {
    ResumeFiles {
        state: folder.join("state.safetensors"),
        from,
        lineage: "of the test".into(),
        every_s: Some(0.0),
    }
}

/// An order whose run writes its state after every step, and resumes from the state `from`.
fn saving(cell: CellSpec, folder: &Path, from: Option<PathBuf>) -> Order<CellSpec> {
    Order {
        resume: Some(resume(folder, from)),
        ..order(cell)
    }
}

/// Interrupts a run of `cell` after it has written its state `writes` times; returns the path of that state.
fn interrupted(cell: CellSpec, folder: &Path, writes: usize) -> PathBuf {
    let order = saving(cell, folder, None);
    let state = order.resume.as_ref().unwrap().state.clone();
    let work = || {
        let mut written = 0;
        run(order, &mut |event| {
            written += usize::from(matches!(event, Event::Saved { .. }));
            assert!(written < writes, "interrupted");
            Reply::Continue
        });
    };
    let ended = std::thread::scope(|scope| {
        let end = scope.spawn(|| catch_unwind(AssertUnwindSafe(work)));
        end.join().unwrap()
    });
    assert!(ended.is_err(), "it was interrupted");
    state
}

fn has_resumed(recorded: &Recorded) -> Option<(usize, usize)> {
    recorded.events.iter().find_map(|event| match event {
        Event::Resumed { epoch, step } => Some((*epoch, *step)),
        _ => None,
    })
}

/// Checks that a resumed run has the facts of an uninterrupted one, wherever it was interrupted.
#[track_caller]
fn assert_goes_on(cell: &CellSpec) {
    let whole = told(cell.clone());
    whole.finished();
    let folder = tempfile::tempdir().unwrap();
    let steps: usize = whole.epochs().iter().map(|row| row.steps.len()).sum();
    for writes in [1, steps / 2, steps - 1, steps] {
        let state = interrupted(cell.clone(), folder.path(), writes);
        let rest = told_by(saving(cell.clone(), folder.path(), Some(state)));
        assert!(has_resumed(&rest).is_some(), "after {writes} writes");
        assert_eq!(rest.facts(), whole.facts(), "after {writes} writes");
        assert_eq!(rest.curves(), whole.curves(), "after {writes} writes");
        let (_, times) = rest.finished();
        assert!(times.resumed_after_s.is_some() && !times.are_measured());
    }
}

#[test]
fn every_optimizer_goes_on_with_the_same_bits() {
    let without_state = OptimizerSpec::Sgd(SgdSpec::default());
    for optimizer in optimizers().into_iter().chain([without_state]) {
        assert_goes_on(&with(|train| {
            (train.device, train.optimizer) = (DEVICE, optimizer);
        }));
    }
}

#[test]
fn averages_clipping_schedules_and_the_best_weights_go_on() {
    let mut cell = with(|train| {
        train.device = DEVICE;
        train.epochs = 6;
        train.accumulate = 2;
        train.batch_size = 4;
        train.clip = Some(0.5);
        train.clip_by = ClipBy::Part;
        train.ema = Some(spec("decay = 0.9, warm-up = true"));
        // No epoch after the first is better, so its weights are restored at the end, and the learning rate falls.
        train.early_stopping = Some(spec("patience = 4, min-delta = 10.0, restore-best = true"));
        train.schedule = spec("kind = 'plateau', patience = 0");
    });
    Arc::make_mut(&mut cell.validation).ensemble = Some(2);
    let whole = told(cell.clone());
    assert_eq!(whole.epochs().len(), 5, "it stops early");
    assert_goes_on(&cell);
}

#[test]
fn images_that_are_augmented_dropped_out_and_normalised_go_on() {
    let model = toml::from_str(
        "layers = [{ conv = 4, kernel = 3 }, \"batch-norm\", \"relu\", \"flatten\", { dropout = 0.5 }, { linear = 10 }]",
    );
    let mut cell = with(|train| (train.epochs, train.steps_per_epoch) = (2, Some(4)));
    cell.model = Arc::new(ModelSpec::Layers(model.unwrap()));
    (cell.dataset, cell.loss) = (Arc::new(spec(DIGITS)), Arc::new(spec(CLASSES)));
    let loader = Arc::make_mut(&mut cell.loader);
    (loader.workers, loader.weighted) = (2, true);
    assert_goes_on(&cell);
}

#[test]
fn batches_that_are_mixed_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let generate = "kind = 'surface-textures', normal = 8, abnormal = 6, size = 8, seed = 7";
    let data: DatasetSpec = spec(&format!(
        "kind = 'image-folder', path = '{}', size = 8, augment = {{ mixup = 0.2, cutmix = 1.0 }}, generate = {{ {generate} }}",
        folder.path().join("surfaces").display()
    ));
    data.prepare(&|_, _| ()).unwrap();
    let mut cell = with(|train| (train.epochs, train.batch_size) = (2, 4));
    cell.dataset = Arc::new(data);
    let loss = "kind = 'cross-entropy', label-smoothing = 0.1, weights = 'balanced'";
    cell.loss = Arc::new(spec(loss));
    Arc::make_mut(&mut cell.loader).workers = 2;
    assert_goes_on(&cell);
    let facts = told(cell.clone()).facts().clone();
    Arc::make_mut(&mut cell.loader).workers = 0;
    assert_eq!(told(cell).facts().weight_checksum, facts.weight_checksum);
}

#[test]
fn a_run_that_its_parent_ends_writes_its_state_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut order = saving(cell(), folder.path(), None);
    // So long a pause between writes that the run never writes its state by itself.
    order.resume.as_mut().unwrap().every_s = Some(1e9);
    let state = order.resume.as_ref().unwrap().state.clone();
    let ended = told_and_answered(order, |row| match row.epoch {
        1 => Reply::End,
        _ => Reply::Continue,
    });
    assert!(matches!(ended.events.last(), Some(Event::Failed { .. })));
    let rest = told_by(saving(cell(), folder.path(), Some(state)));
    assert_eq!(has_resumed(&rest), Some((2, 0)));
    assert_eq!(rest.facts(), told(cell()).facts());
}

#[test]
fn more_epochs_go_on_from_fewer() {
    let of = |epochs| {
        with(|train| {
            train.epochs = epochs;
            train.schedule = spec("kind = 'constant', warm-up = {}");
        })
    };
    let folder = tempfile::tempdir().unwrap();
    let first = told_by(saving(of(2), folder.path(), None));
    assert!(first.finished().1.are_measured());
    let state = folder.path().join("state.safetensors");
    let more = told_by(saving(of(5), folder.path(), Some(state)));
    assert_eq!(has_resumed(&more), Some((2, 0)));
    assert_eq!(more.facts(), told(of(5)).facts());
}

#[test]
fn a_damaged_state_is_told_and_the_run_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let state = interrupted(cell(), folder.path(), 2);
    let whole = told(cell());
    let bytes = std::fs::read(&state).unwrap();
    let mut changed = bytes.clone();
    // Changes a bit of the weights.
    let place = changed.len() / 4;
    changed[place] ^= 1;
    // A safetensors file without the tensor of the digest.
    let other = folder.path().join("other");
    checkpoint::write(&other, &[], &checkpoint::Metadata::new()).unwrap();
    let other = std::fs::read(&other).unwrap();
    let cut = &bytes[..bytes.len() - 1];
    for damaged in [cut, &bytes[..7], b"{}", &changed, &other] {
        std::fs::write(&state, damaged).unwrap();
        let run = told_by(saving(cell(), folder.path(), Some(state.clone())));
        let warning = run.events.iter().find_map(|event| match event {
            Event::Warning { message } => Some(message.as_str()),
            _ => None,
        });
        let warning = warning.expect("a warning");
        assert_begins(warning, "training begins anew: `state.safetensors` is no");
        assert_eq!(run.facts(), whole.facts());
    }
}

#[test]
fn the_state_of_another_training_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let state = interrupted(cell(), folder.path(), 2);
    let mut other = saving(cell(), folder.path(), Some(state));
    other.seed = 7;
    let run = told_by(other);
    assert_eq!(has_resumed(&run), None);
}

#[test]
fn a_state_that_cannot_be_written_is_told_once_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let run = told_by(saving(cell(), &file, None));
    let warnings = run
        .events
        .iter()
        .filter(|event| matches!(event, Event::Warning { .. }));
    assert_eq!(warnings.count(), 1);
    assert_eq!(run.facts(), told(cell()).facts());
}

#[cfg(feature = "cuda-stand-in")]
#[test]
fn the_scale_of_the_loss_goes_on() {
    use crate::plan::Precision;

    assert_goes_on(&with(|train| {
        (train.device, train.precision) = (DEVICE, Precision::Amp);
    }));
}
