//! Models with frozen parameters (`train.freeze`), compared with PyTorch's `requires_grad_(False)`.

use std::path::Path;
use std::sync::Arc;

use super::super::{Verification, VerifyError, verify};
use super::{cell, mistakes};
use crate::plan::CellSpec;
use crate::testing::{assert_begins, spec};

/// The model of the reference files, which were made from the output of `list model … cnn --format json` by `layers.py
/// reference cnn.json --double --lr 1e-2 --weight-decay 0.1 --clip 0.1 --freeze 'layers.0.**' 'layers.1.*'
/// 'layers.8.bias' --out tests/reference/frozen`.
const CNN: &str = "kind = 'layers', layers = [
  { conv = 4, kernel = 3, bias = false }, 'batch-norm', 'silu',
  { conv = 4, kernel = 3, stride = 2 }, { group-norm = 2 }, 'silu',
  'flatten', { linear = 6 }, 'layer-norm', 'silu',
  { linear = 'classes' }
]";

fn frozen(patterns: &[&str]) -> CellSpec {
    let adam = "kind = 'adam', lr = 1e-2, weight-decay = 0.1";
    let mut cell = cell(CNN, "kind = 'cross-entropy'", adam);
    cell.dataset = Arc::new(spec("kind = 'digits'"));
    let train = Arc::make_mut(&mut cell.train);
    train.clip = Some(0.1);
    train.freeze = patterns.iter().map(|&pattern| pattern.into()).collect();
    cell
}

fn verified(cell: &CellSpec) -> Result<Verification, VerifyError> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/frozen");
    verify(cell, &folder)
}

#[test]
fn a_model_with_frozen_parameters_takes_the_steps_of_pytorchs() {
    let cell = frozen(&["layers.0.**", "layers.1.*", "layers.8.bias"]);
    let verification = verified(&cell).unwrap();
    assert!(verification.passed, "{verification:?}");
    // The running statistics of the frozen batch norm are still updated.
    assert!(verification.statistics_relative_error.unwrap() < 1e-5);
}

#[test]
fn another_frozen_set_is_found_out() {
    let more = frozen(&["layers.0.**", "layers.1.*", "layers.8.*"]);
    let verification = verified(&more).unwrap();
    assert!(!verification.passed);
    assert!(verification.weights_after_relative_error.is_infinite());
    assert_eq!(verification.weights_after_worst, "layers.8.weight");
    let fewer = frozen(&["layers.0.**", "layers.1.*"]);
    let found = mistakes(verified(&fewer));
    assert_eq!(found, ["`grads.safetensors` has no `layers.8.bias`"]);
    let nothing = mistakes(verified(&frozen(&["layer.0.*"])));
    assert_begins(&nothing[0], "`train.freeze`: `layer.0.*` matches no");
}
