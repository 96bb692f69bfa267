//! Frozen parameters (`train.freeze`), and fresh ones that are not taken from a file (`train.fresh`).

use std::path::{Path, PathBuf};

use super::*;
use crate::device::DeviceKind;
use crate::layers::checkpoint::{self, Metadata, Tensor};

pub(super) const DEVICE: DeviceKind = if cfg!(feature = "cuda") {
    DeviceKind::Cuda(0)
} else {
    DeviceKind::Cpu
};

/// The tensors of the checkpoint that a run with these settings saves.
fn trained(folder: &Path, change: impl FnOnce(&mut TrainSpec)) -> Vec<Tensor> {
    let mut cell = with(|train| {
        (train.device, train.save_to) = (DEVICE, Some("weights".into()));
        change(train);
    });
    cell.checkpoint_folder = Some(folder.to_owned());
    let file = cell.weights_file(42).unwrap();
    told(cell).finished();
    checkpoint::read(&file).unwrap()
}

fn reason(change: impl FnOnce(&mut TrainSpec)) -> String {
    match told(with(change)).events.pop() {
        Some(Event::Failed { reason, .. }) => reason,
        other => panic!("{other:?}"),
    }
}

pub(super) fn optimizers() -> Vec<OptimizerSpec> {
    let kinds = ["adam", "adamw", "sgd", "rmsprop", "lion"];
    let settings = kinds.map(|kind| match kind {
        "sgd" => "kind = 'sgd', momentum = 0.9, weight-decay = 0.1".to_owned(),
        kind => format!("kind = '{kind}', weight-decay = 0.1"),
    });
    settings.map(|settings| spec(&settings)).into()
}

#[test]
fn frozen_parameters_keep_their_bytes_and_all_others_change() {
    let folder = tempfile::tempdir().unwrap();
    let before = trained(folder.path(), |train| train.epochs = 0);
    for optimizer in optimizers() {
        for (pattern, frozen) in [
            ("layers.0.**", ["layers.0.weight", "layers.0.bias"]),
            ("layers.2.*", ["layers.2.weight", "layers.2.bias"]),
            ("**.weight", ["layers.0.weight", "layers.2.weight"]),
        ] {
            for ema in [None, Some(spec("decay = 0.5, warm-up = false"))] {
                let ema: Option<EmaSpec> = ema;
                let after = trained(folder.path(), |train| {
                    train.freeze = vec![pattern.into()];
                    (train.clip, train.accumulate) = (Some(0.1), 2);
                    (train.optimizer, train.ema) = (optimizer.clone(), ema.clone());
                });
                for (before, after) in before.iter().zip(&after) {
                    let is_same = before.values == after.values;
                    let name = before.name.as_str();
                    assert_eq!(
                        is_same,
                        frozen.contains(&name),
                        "{optimizer:?} {pattern} {name}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_memory_of_a_step_is_that_of_the_trained_parameters() {
    let bytes = |freeze: &[&str]| {
        let told = told(with(|train| {
            train.freeze = freeze.iter().map(|&pattern| pattern.into()).collect();
        }));
        let memory = &told.finished().1.memory;
        (
            memory.parameter_bytes,
            memory.gradient_bytes,
            memory.optimizer_bytes,
        )
    };
    // The layers 5 → 16 → 1 have 113 parameters; Adam keeps two means of each.
    assert_eq!(bytes(&[]), (4 * 113, 4 * 113, 8 * 113));
    assert_eq!(bytes(&["layers.0.**"]), (4 * 113, 4 * 17, 8 * 17));
}

/// A checkpoint of an MLP with three outputs, whose last layer has no bias, and with one more layer.
fn other_head(folder: &Path) -> (Vec<Tensor>, PathBuf) {
    let mut tensors = trained(folder, |_| ());
    tensors.retain(|tensor| tensor.name != "layers.2.bias");
    let tensor = |name: &str, shape: [usize; 2]| Tensor {
        name: name.into(),
        shape: shape.into(),
        values: vec![0.5; shape.iter().product()],
    };
    let head = tensors.pop().unwrap();
    tensors.extend([
        tensor(&head.name, [3, 16]),
        tensor("layers.4.weight", [2, 3]),
    ]);
    let file = folder.join("other.safetensors");
    checkpoint::write(&file, &tensors, &Metadata::new()).unwrap();
    (tensors, file)
}

#[test]
fn a_fresh_head_has_the_initial_values_of_its_seed_and_the_rest_those_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let initial = trained(folder.path(), |train| train.epochs = 0);
    let (from, file) = other_head(folder.path());
    let fresh = ["layers.2.**", "layers.4.**"].map(str::to_owned);
    let begun = trained(folder.path(), |train| {
        (train.epochs, train.init_from) = (0, Some(file.clone()));
        train.fresh = fresh.to_vec();
    });
    let names = |tensors: &[Tensor]| {
        tensors
            .iter()
            .map(|one| one.name.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&begun), names(&initial));
    for (begun, initial) in begun.iter().zip(&initial) {
        let is_fresh = begun.name.starts_with("layers.2");
        let expected = from.iter().find(|one| one.name == begun.name && !is_fresh);
        assert_eq!(begun, expected.unwrap_or(initial), "{}", begun.name);
    }
    // Without `train.fresh` the file does not fit the model.
    let reason = reason(|train| train.init_from = Some(file.clone()));
    for part in [
        "not fit the model, 3 of its tensors",
        "`layers.2.bias` is missing",
        "`layers.4.weight` is not in the model",
        "`layers.2.weight` has shape [3, 16], the model's is [1, 16]",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
}

#[test]
fn patterns_that_match_nothing_and_patterns_that_match_all_are_failures() {
    let folder = tempfile::tempdir().unwrap();
    let (_, file) = other_head(folder.path());
    let freeze = |pattern: &str| reason(|train| train.freeze = vec![pattern.into()]);
    let known = "the model's parameters are `layers.0.weight`, `layers.0.bias`, `layers.2.weight`, `layers.2.bias`";
    assert_eq!(
        freeze("layer.0.**"),
        format!(
            "`train.freeze`: `layer.0.**` matches no parameter of the model; did you mean `layers.0.**`?; {known}"
        )
    );
    assert_eq!(
        freeze("**"),
        "`train.freeze` matches all parameters of the model, nothing is left to train"
    );
    let fresh = reason(|train| {
        train.init_from = Some(file);
        train.fresh = vec![
            "layers.2.**".into(),
            "layers.4.weight".into(),
            "head.*".into(),
        ];
    });
    let start = "`train.fresh`: `head.*` matches no parameter of the model; ";
    assert!(fresh.starts_with(start), "{fresh}");
}
