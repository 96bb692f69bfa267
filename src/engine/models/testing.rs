//! Helpers for comparisons of models with PyTorch.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::layers::Init;
use crate::layers::checkpoint::Tensor;
use crate::ops::testing::{self, TestDevice};
use crate::ops::{Module, Pass, Path, Result, Var, mse};

pub(super) type Gradients = BTreeMap<String, Vec<f32>>;

/// Mean squared error of the output of `forward` to `target`, and its gradients by name of parameter, in PyTorch's
/// layout.
pub(super) fn loss_and_gradients<M: Module<TestDevice>>(
    device: &TestDevice,
    model: &mut M,
    target: &Var<TestDevice>,
    forward: impl FnOnce(&M, &mut Pass<TestDevice>) -> Result<Var<TestDevice>>,
) -> (f64, Gradients) {
    let mut pass = Pass::recording(device);
    let output = forward(model, &mut pass).unwrap();
    let loss = mse(&mut pass, &output, target).unwrap();
    let mut grads = pass.backward(&loss, 1.0).unwrap();
    let mut gradients = Gradients::new();
    model.visit(&Path::root(), &mut |name, parameter| {
        let values = testing::values(grads.of_parameter(parameter).unwrap());
        let values = parameter
            .layout()
            .to_torch(&values, parameter.torch_shape());
        gradients.insert(name.to_owned(), values);
    });
    (f64::from(loss.to_host(device).unwrap()[0]), gradients)
}

pub(super) fn init(device: &TestDevice) -> Init<'_, TestDevice> {
    Init::new(device, ChaCha8Rng::seed_from_u64(0))
}

/// Reorders a tensor `(B, C, H, W)` to `(B, H, W, C)`; returns its values and shape.
pub(super) fn channels_last(tensor: &Tensor) -> (Vec<f32>, [usize; 4]) {
    let &[b, c, h, w] = tensor.shape.as_slice() else {
        panic!("{} is no image", tensor.name)
    };
    let pixels = (0..b).flat_map(|image| (0..h * w).map(move |pixel| (image, pixel)));
    let at = |image, pixel, channel| tensor.values[(image * c + channel) * h * w + pixel];
    let values = pixels.flat_map(|(i, p)| (0..c).map(move |channel| at(i, p, channel)));
    (values.collect(), [b, h, w, c])
}

pub(super) fn norm(values: &[f32]) -> f64 {
    values
        .iter()
        .map(|v| f64::from(*v).powi(2))
        .sum::<f64>()
        .sqrt()
}
