//! On the CPU, and with the feature `cuda` on a GPU or its stand-in.

mod convolutions;
mod frozen;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Verification, VerifyError, verify};
use crate::datasets::{DatasetSpec, RegressionSpec};
use crate::device::DeviceKind;
use crate::losses::{
    ClassWeights, CrossEntropySpec, KernelMmdSpec, LossSpec, MseSpec, TStatisticSpec,
};
use crate::models::{CannedNetSpec, MlpSpec, ModelSpec, NeuralSdeSpec};
use crate::optim::{AdamSpec, OptimizerSpec};
use crate::plan::{CellSpec, LimitsSpec, MeasureSpec, TrainSpec, ValidationSpec};

fn cell(model: ModelSpec, loss: LossSpec, train: TrainSpec) -> CellSpec {
    let device = if cfg!(feature = "cuda") {
        DeviceKind::Cuda(0)
    } else {
        DeviceKind::Cpu
    };
    let train = TrainSpec { device, ..train };
    CellSpec {
        key: String::new(),
        model_name: "model".into(),
        model: Arc::new(model),
        dataset_name: "data".into(),
        dataset: Arc::new(DatasetSpec::Regression5d(RegressionSpec::default())),
        loss: Arc::new(loss),
        train: Arc::new(train),
        loader: Arc::default(),
        validation: Arc::new(ValidationSpec::default()),
        measure: Arc::new(MeasureSpec::default()),
        limits: Arc::new(LimitsSpec::default()),
        program: None,
        checkpoint_folder: None,
    }
}

fn mlp(hidden: usize, depth: usize) -> CellSpec {
    let model = MlpSpec {
        hidden,
        depth,
        ..MlpSpec::default()
    };
    let train = TrainSpec {
        optimizer: OptimizerSpec::AdamW(AdamSpec {
            weight_decay: 1e-6,
            ..AdamSpec::default()
        }),
        ..TrainSpec::default()
    };
    cell(ModelSpec::Mlp(model), LossSpec::Mse(MseSpec {}), train)
}

/// `peers.py reference mlp --batch 4 --hidden 4 --depth 1 --out tests/reference/mlp`
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/mlp")
}

fn mistakes(result: Result<Verification, VerifyError>) -> Vec<String> {
    match result {
        Err(VerifyError::Reference(mistakes)) => mistakes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_mlp_computes_what_pytorchs_does() {
    let verification = verify(&mlp(4, 1), &folder()).unwrap();
    assert!(verification.passed, "{verification:?}");
    assert_eq!(verification.parameters, 29);
    assert!(verification.gradient_relative_error < 1e-5);
}

/// The folder's files, made by `peers.py reference WORKLOAD … --out FOLDER` with the options in its `expected.json`.
fn generated(model: ModelSpec, loss: LossSpec, folder: &str) -> Verification {
    let train = TrainSpec {
        optimizer: OptimizerSpec::Adam(AdamSpec::default()),
        ..TrainSpec::default()
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference");
    verify(&cell(model, loss, train), &root.join(folder)).unwrap()
}

/// Its last pointwise bias changes no output, so that its gradient is rounding noise in PyTorch and must be noise here.
#[test]
fn canned_net_and_the_t_statistic_compute_what_pytorchs_do() {
    let model = ModelSpec::CannedNet(CannedNetSpec::default());
    let loss = LossSpec::TStatistic(TStatisticSpec::default());
    let verification = generated(model, loss, "canned-net");
    assert!(verification.passed, "{verification:?}");
    assert_eq!(verification.parameters, 199);
}

#[test]
fn neural_sde_and_the_kernel_mmd_compute_what_pytorchs_do() {
    let model = ModelSpec::NeuralSde(NeuralSdeSpec { hidden: 4 });
    let loss = |order| {
        LossSpec::KernelMmd(KernelMmdSpec {
            order,
            cut: Some(7),
            paths: Some(3),
            ..KernelMmdSpec::default()
        })
    };
    let verification = generated(model.clone(), loss(1), "neural-sde");
    assert!(verification.passed, "{verification:?}");
    assert!(!generated(model, loss(0), "neural-sde").passed);
}

#[test]
fn another_optimizer_is_found_out() {
    let mut cell = mlp(4, 1);
    Arc::make_mut(&mut cell.train).optimizer = OptimizerSpec::Adam(AdamSpec {
        lr: 2e-3,
        ..AdamSpec::default()
    });
    let verification = verify(&cell, &folder()).unwrap();
    assert!(!verification.passed);
    assert!(verification.weights_after_relative_error > verification.weights_after_tolerance);
    assert!(verification.gradient_relative_error < 1e-5);
}

#[test]
fn a_model_of_another_size_is_told_every_shape() {
    let found = mistakes(verify(&mlp(8, 1), &folder())).join("\n");
    for name in ["layers.0.weight", "layers.0.bias", "layers.2.weight"] {
        assert!(found.contains(name), "{found}");
    }
}

#[test]
fn weights_by_training_rows_are_refused() {
    let mut cell = mlp(4, 1);
    cell.loss = Arc::new(LossSpec::CrossEntropy(CrossEntropySpec {
        weights: Some(ClassWeights::Balanced),
        ..CrossEntropySpec::default()
    }));
    let found = mistakes(verify(&cell, &folder()));
    assert!(
        found[0].ends_with("write the weights as a list"),
        "{found:?}"
    );
}

#[test]
fn every_missing_file_is_named() {
    let found = mistakes(verify(&mlp(4, 1), Path::new("/nowhere")));
    assert_eq!(found.len(), 5);
    for (name, mistake) in ["weights", "grads", "weights_after", "inputs", "expected"]
        .iter()
        .zip(&found)
    {
        assert!(mistake.contains(&format!("/nowhere/{name}.")), "{mistake}");
    }
}

#[test]
fn tensors_that_a_file_lacks_are_named() {
    let copy = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    std::fs::copy(
        folder().join("outputs.safetensors"),
        copy.path().join("grads.safetensors"),
    )
    .unwrap();
    let found = mistakes(verify(&mlp(4, 1), copy.path()));
    assert_eq!(found.len(), 4);
    assert!(
        found[0].contains("`grads.safetensors` has no `layers.0.bias`"),
        "{found:?}"
    );
    std::fs::copy(
        folder().join("outputs.safetensors"),
        copy.path().join("inputs.safetensors"),
    )
    .unwrap();
    let found = mistakes(verify(&mlp(4, 1), copy.path()));
    assert_eq!(found, ["`inputs.safetensors` has no `x`"]);
}
