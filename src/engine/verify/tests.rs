//! These tests run on the CPU, and with the feature `cuda` on a GPU or the device stand-in.

mod convolutions;
mod frozen;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Verification, VerifyError, verify};
use crate::device::DeviceKind;
use crate::plan::{self, CellSpec};
use crate::testing::{assert_ends, assert_says, spec};

fn cell(model: &str, loss: &str, optimizer: &str) -> CellSpec {
    let mut cell = plan::testing::cell(model, "kind = 'regression-5d'", loss);
    let train = Arc::make_mut(&mut cell.train);
    train.optimizer = spec(optimizer);
    if cfg!(feature = "cuda") {
        train.device = DeviceKind::Cuda(0);
    }
    cell
}

fn mlp(hidden: usize, depth: usize) -> CellSpec {
    let model = format!("kind = 'mlp', hidden = {hidden}, depth = {depth}");
    cell(
        &model,
        "kind = 'mse'",
        "kind = 'adamw', weight-decay = 1e-6",
    )
}

/// Reference files, made by `peers.py reference mlp --batch 4 --hidden 4 --depth 1 --out tests/reference/mlp`.
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

/// Verifies a model with the reference files in `folder`, which `peers.py reference WORKLOAD … --out FOLDER` made with
/// the options in their `expected.json`.
fn generated(model: &str, loss: &str, folder: &str) -> Verification {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference");
    verify(&cell(model, loss, "kind = 'adam'"), &root.join(folder)).unwrap()
}

/// The last pointwise bias of a CannedNet changes no output: its gradient is rounding noise in PyTorch and must be
/// here.
#[test]
fn canned_net_and_the_t_statistic_compute_what_pytorchs_do() {
    let verification = generated("kind = 'canned-net'", "kind = 't-statistic'", "canned-net");
    assert!(verification.passed, "{verification:?}");
    assert_eq!(verification.parameters, 199);
}

#[test]
fn neural_sde_and_the_kernel_mmd_compute_what_pytorchs_do() {
    let of_order = |order| {
        let loss = format!("kind = 'kernel-mmd', order = {order}, cut = 7, paths = 3");
        generated("kind = 'neural-sde', hidden = 4", &loss, "neural-sde")
    };
    let verification = of_order(1);
    assert!(verification.passed, "{verification:?}");
    assert!(!of_order(0).passed);
}

#[test]
fn another_optimizer_is_found_out() {
    let mut cell = mlp(4, 1);
    Arc::make_mut(&mut cell.train).optimizer = spec("kind = 'adam', lr = 2e-3");
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
    cell.loss = Arc::new(spec("kind = 'cross-entropy', weights = 'balanced'"));
    let found = mistakes(verify(&cell, &folder()));
    assert_ends(&found[0], "write the weights as a list");
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
    let copied = |from: &Path, name: &str| {
        std::fs::copy(from, copy.path().join(name)).unwrap();
    };
    for entry in std::fs::read_dir(folder()).unwrap() {
        let entry = entry.unwrap();
        copied(&entry.path(), entry.file_name().to_str().unwrap());
    }
    let outputs = folder().join("outputs.safetensors");
    copied(&outputs, "grads.safetensors");
    let found = mistakes(verify(&mlp(4, 1), copy.path()));
    assert_eq!(found.len(), 4);
    assert_says(&found[0], "`grads.safetensors` has no `layers.0.bias`");
    copied(&outputs, "inputs.safetensors");
    let found = mistakes(verify(&mlp(4, 1), copy.path()));
    assert_eq!(found, ["`inputs.safetensors` has no `x`"]);
}
