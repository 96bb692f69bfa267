//! Which algorithms the convolutions of a model used, and how large their errors may be.

use std::collections::BTreeMap;
use std::sync::Arc;

use dfdx::tensor::Cpu;

use super::super::compare::{Outcome, compare};
use super::super::{Reference, Untrained, Verification, steps};
use super::cell;
use crate::base::Seed;
use crate::datasets::{Features, ImageSize, Target};
use crate::device::DeviceKind;
use crate::layers::checkpoint::Tensor;
use crate::ops::ConvAlgorithm::{self, Auto, Direct, Winograd2, Winograd4, Winograd5};
use crate::tasks::{self, ReferenceInputs, ReferenceTensor, ReferenceValues, TaskParts};

/// Height and width of the image in pixels.
const SIDE: usize = 8;

fn inputs() -> ReferenceInputs {
    let image = || ReferenceTensor {
        shape: vec![1, 3, SIDE, SIDE],
        values: ReferenceValues::Floats((0..3 * SIDE * SIDE).map(|i| (i % 5) as f32).collect()),
    };
    let one = |value| ReferenceTensor {
        shape: vec![1],
        values: ReferenceValues::Integers(vec![value]),
    };
    ReferenceInputs::new(BTreeMap::from([
        ("x_t".to_owned(), image()),
        ("eps".to_owned(), image()),
        ("t".to_owned(), one(3)),
        ("label_used".to_owned(), one(1)),
    ]))
}

/// The algorithms that a small U-Net uses in three steps with `train.convolution` set to `convolution`.
fn used(convolution: ConvAlgorithm) -> Vec<ConvAlgorithm> {
    let unet = "kind = 'ddpm-unet', base-channels = 8, channel-multipliers = [1, 2], attention = [false, false], embed = 8";
    let mut cell = cell(unet, "kind = 'noise-mse'", "kind = 'adam'");
    let train = Arc::make_mut(&mut cell.train);
    (train.device, train.convolution) = (DeviceKind::Cpu, convolution);
    let parts = TaskParts {
        model: &cell.model,
        loss: &cell.loss,
        features: Features::Image(ImageSize {
            height: SIDE,
            width: SIDE,
            channels: 3,
        }),
        target: Target::Class { classes: 2 },
        algorithm: cell.train.algorithm,
        beta: cell.train.beta,
        convolution,
        training: &[],
        rows_by_class: &[],
        seed: Seed(0),
    };
    let device = Cpu::default();
    let mut task = tasks::build(&device, parts).unwrap();
    let outcome = steps(&cell, &inputs(), &device, &mut *task).unwrap();
    outcome.convolutions
}

/// Every U-Net has some convolutions whose kernel or stride only the direct algorithm supports.
#[test]
fn a_unet_says_by_which_algorithms_it_was_convolved() {
    assert_eq!(used(Direct), [Direct]);
    for winograd in [Winograd2, Winograd4, Winograd5] {
        assert_eq!(used(winograd), [Direct, winograd]);
    }
    assert_eq!(
        used(Auto),
        [Direct],
        "so few channels are fastest like this"
    );
}

/// The comparison with a reference from which the weights differ by `error`, relative to their norm.
fn held(error: f32, convolutions: &[ConvAlgorithm]) -> Verification {
    let tensor = |value: f32| {
        let (name, shape) = ("norm.bias".to_owned(), vec![4]);
        vec![Tensor {
            name,
            shape,
            values: vec![value; 4],
        }]
    };
    let reference = Reference {
        weights: tensor(0.0),
        inputs: ReferenceInputs::new(BTreeMap::new()),
        grads: tensor(1.0),
        after: tensor(1.0),
        loss: 1.0,
        evaluation: None,
    };
    let own = Outcome {
        loss: 1.0,
        grads: tensor(1.0),
        after: tensor(1.0 + error),
        convolutions: convolutions.to_vec(),
        evaluation: None,
    };
    compare(&reference, own, &Untrained::default())
}

/// `SEEN` is the error of a U-Net of 24 base channels at 28×28 with `convolution = "auto"`.
#[test]
fn weights_pass_with_the_tolerance_of_the_algorithm_that_computed_them() {
    const SEEN: f32 = 1.3e-4;
    for accurate in [&[][..], &[Direct], &[Direct, Winograd2, Winograd4]] {
        let held = held(SEEN, accurate);
        assert!(!held.passed, "{held:?}");
    }
    let fast = held(SEEN, &[Direct, Winograd4, Winograd5]);
    assert!(fast.passed, "{fast:?}");
    let tolerance = fast.weights_after_tolerance;
    let beyond = held(1.1 * tolerance as f32, &[Direct, Winograd5]);
    assert!(!beyond.passed, "{beyond:?}");
}
