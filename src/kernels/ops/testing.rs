//! Helpers of the operations' tests: random leaves, gradients by finite differences, and comparisons between numbers of
//! threads and between a batch and its samples.
//!
//! The helpers run on [`TestDevice`]: the CPU, or with the feature `cuda` a GPU or its stand-in. Dependent crates get
//! them with the feature `testing`.
#![expect(clippy::missing_panics_doc, reason = "a test that fails panics")]

use std::fmt::Debug;
use std::str::FromStr;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::conformance::weighted_sum;
use super::{Pass, Result, Shape, Var};
use crate::device::{Backend, Buffer};

/// The device that operations are tested on.
#[cfg(not(feature = "cuda"))]
pub type TestDevice = dfdx::tensor::Cpu;
/// The device that operations are tested on.
#[cfg(feature = "cuda")]
pub type TestDevice = dfdx::tensor::Cuda;

/// Opens the device that operations are tested on.
pub fn device() -> TestDevice {
    TestDevice::open(0).unwrap()
}

/// Copies the values of a device buffer to the host.
pub fn values(buffer: &Buffer<TestDevice>) -> Vec<f32> {
    device().download(buffer).unwrap()
}

/// `len` values, uniform in (-1, 1).
pub fn random_values(len: usize, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..len).map(|_| rng.gen_range(-1.0..1.0)).collect()
}

/// Parses numbers that are separated by white space.
pub fn parse_numbers<T: FromStr<Err: Debug>>(text: &str) -> Vec<T> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().expect(word)).collect()
}

/// Panics unless `|actual - expected| ≤ tolerance · max(1, |expected|)` everywhere.
#[track_caller]
pub fn assert_close(actual: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(actual.len(), expected.len(), "number of values");
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        assert!(
            (a - e).abs() <= tolerance * e.abs().max(1.0),
            "value {i}: {a} instead of {e}"
        );
    }
}

/// Result of `f` for leaves with the given values, computed without recording a tape.
pub fn forward<F>(leaves: &[(&[f32], Shape)], f: F) -> Vec<f32>
where
    F: Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Result<Var<TestDevice>>,
{
    let device = device();
    let vars = make_leaves(&device, leaves);
    f(&mut Pass::inference(&device), &vars)
        .unwrap()
        .to_host(&device)
        .unwrap()
}

/// Result of `f`, and the gradients of all leaves if the gradient of the result is `grad_output`.
pub fn backward<F>(
    leaves: &[(&[f32], Shape)],
    grad_output: &[f32],
    f: F,
) -> (Vec<f32>, Vec<Vec<f32>>)
where
    F: Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Result<Var<TestDevice>>,
{
    let device = device();
    let vars = make_leaves(&device, leaves);
    let mut pass = Pass::recording(&device);
    let output = f(&mut pass, &vars).unwrap();
    let values = output.to_host(&device).unwrap();
    assert_eq!(grad_output.len(), values.len(), "one weight for each value");
    let loss = weighted_sum(&mut pass, &output, &values, grad_output.to_vec()).unwrap();
    let mut grads = pass.backward(&loss, 1.0).unwrap();
    let grads = vars
        .iter()
        .map(|leaf| device.download(grads.of(leaf).unwrap()).unwrap())
        .collect();
    (values, grads)
}

/// Panics unless the gradients of `f` at random leaves of these shapes match central differences.
#[track_caller]
pub fn check_gradients<F>(shapes: &[Shape], f: F)
where
    F: Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Result<Var<TestDevice>>,
{
    const STEP: f32 = 1.0 / 128.0;
    let values = random(shapes);
    let weights = random_values(forward(&pairs(&values, shapes), &f).len(), 99);
    let (_, grads) = backward(&pairs(&values, shapes), &weights, &f);
    for (leaf, grad) in grads.iter().enumerate() {
        let scale = grad.iter().fold(0.05_f32, |m, g| m.max(g.abs()));
        // 23 is coprime to the shapes of the tests, so that all rows and columns are visited.
        for i in (0..grad.len()).step_by(if grad.len() > 64 { 23 } else { 1 }) {
            let shifted = |by: f32| {
                let mut values = values.clone();
                values[leaf][i] += by;
                forward(&pairs(&values, shapes), &f)
            };
            let (up, down) = (shifted(STEP), shifted(-STEP));
            let change =
                |((u, d), w): ((&f32, &f32), &f32)| (f64::from(*u) - f64::from(*d)) * f64::from(*w);
            let slope =
                up.iter().zip(&down).zip(&weights).map(change).sum::<f64>() / f64::from(2.0 * STEP);
            let error = (slope - f64::from(grad[i])).abs();
            assert!(
                error < 2e-3 * f64::from(scale),
                "leaf {leaf}, value {i}: {} instead of {slope}",
                grad[i]
            );
        }
    }
}

/// Panics unless values and gradients of `f` have the same bits with one thread and with two; on the GPU stand-in, also
/// with blocks and threads in reverse order.
#[track_caller]
pub fn check_thread_invariance<F>(shapes: &[Shape], f: F)
where
    F: Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Result<Var<TestDevice>> + Sync,
{
    let values = random(shapes);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let weights = random_values(forward(&pairs(&values, shapes), &f).len(), 99);
            #[cfg(feature = "cuda-stand-in")]
            crate::device::cuda::set_reverse_execution(threads == 2);
            let result = backward(&pairs(&values, shapes), &weights, &f);
            #[cfg(feature = "cuda-stand-in")]
            crate::device::cuda::set_reverse_execution(false);
            result
        })
    };
    let ((one, one_grads), (two, two_grads)) = (run(1), run(2));
    assert!(one == two, "values");
    for (leaf, (one, two)) in one_grads.iter().zip(&two_grads).enumerate() {
        assert!(one == two, "gradient of leaf {leaf}");
    }
}

/// Panics unless values and gradients of `f` for a batch equal those of its samples one by one.
///
/// Leaves whose first dimension is `batch` are cut into samples; the others are shared, and their gradients add up.
#[track_caller]
pub fn check_batch_invariance<F>(batch: usize, shapes: &[Shape], f: F)
where
    F: Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Result<Var<TestDevice>>,
{
    let values = random(shapes);
    let len = forward(&pairs(&values, shapes), &f).len() / batch;
    let weights = random_values(len * batch, 99);
    let (whole, whole_grads) = backward(&pairs(&values, shapes), &weights, &f);
    let mut sums: Vec<Vec<f32>> = vec![Vec::new(); shapes.len()];
    for sample in 0..batch {
        let leaves: Vec<(&[f32], Shape)> = values
            .iter()
            .zip(shapes)
            .map(|(values, shape)| sample_of(values, *shape, sample, batch))
            .collect();
        let (y, grads) = backward(&leaves, &weights[sample * len..(sample + 1) * len], &f);
        assert_close(&y, &whole[sample * len..(sample + 1) * len], 1e-5);
        for ((sum, grad), shape) in sums.iter_mut().zip(grads).zip(shapes) {
            if shape.dims()[0] == batch || sum.is_empty() {
                sum.extend(grad);
            } else {
                sum.iter_mut().zip(grad).for_each(|(s, g)| *s += g);
            }
        }
    }
    for (sum, whole) in sums.iter().zip(&whole_grads) {
        assert_close(whole, sum, 2e-5);
    }
}

fn sample_of(values: &[f32], shape: Shape, sample: usize, batch: usize) -> (&[f32], Shape) {
    if shape.dims()[0] != batch {
        return (values, shape);
    }
    let len = shape.len() / batch;
    let one: Shape = match *shape.dims() {
        [_] => [1].into(),
        [_, a] => [1, a].into(),
        [_, a, b] => [1, a, b].into(),
        [_, a, b, c] => [1, a, b, c].into(),
        _ => unreachable!("a shape has one to four dimensions"),
    };
    (&values[sample * len..(sample + 1) * len], one)
}

fn random(shapes: &[Shape]) -> Vec<Vec<f32>> {
    shapes
        .iter()
        .zip(1..)
        .map(|(shape, seed)| random_values(shape.len(), seed))
        .collect()
}

fn pairs<'a>(values: &'a [Vec<f32>], shapes: &[Shape]) -> Vec<(&'a [f32], Shape)> {
    values
        .iter()
        .map(Vec::as_slice)
        .zip(shapes.iter().copied())
        .collect()
}

fn make_leaves(device: &TestDevice, leaves: &[(&[f32], Shape)]) -> Vec<Var<TestDevice>> {
    let leaf = |(values, shape): &(&[f32], Shape)| {
        Var::constant(device, values.to_vec(), *shape)
            .and_then(|var| var.leaf(device))
            .unwrap()
    };
    leaves.iter().map(leaf).collect()
}
