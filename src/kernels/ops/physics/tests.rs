use super::*;
use crate::ops::testing::{self, TestDevice, assert_close, filled};

fn constant(pass: &Pass<TestDevice>, values: Vec<f32>, rows: usize) -> Var<TestDevice> {
    let shape = [rows, values.len() / rows];
    Var::constant(pass.device(), values, shape).unwrap()
}

#[test]
fn value_and_gradient_are_those_of_pytorch() {
    // from detector import physics_loss
    // e = torch.tensor([[.5, -1., .25, 2.], [1., .5, -.5, 0.]], requires_grad=True)
    // xt = torch.tensor([[1., 3., -.5, 2.], [.2, .1, 4., 1.]]); x0 = torch.tensor([[1., 2., 0., 1.], [0., 0., 3., 2.]])
    // (2 * .1 * physics_loss(e, xt, x0, torch.tensor([.6, .001]))).backward()
    let (value, grads) = testing::backward(
        &[(&[0.5, -1.0, 0.25, 2.0, 1.0, 0.5, -0.5, 0.0], [2, 4].into())],
        &[2.0],
        |pass, e| {
            let noised = constant(pass, vec![1.0, 3.0, -0.5, 2.0, 0.2, 0.1, 4.0, 1.0], 2);
            let clean = constant(pass, vec![1.0, 2.0, 0.0, 1.0, 0.0, 0.0, 3.0, 2.0], 2);
            physics(pass, &e[0], &noised, &clean, &[0.6, 0.001], 0.1)
        },
    );
    assert_close(&value, &[0.168_279_7], 1e-6);
    let expected = [
        -0.012_609_952,
        -0.008_291_084,
        -0.003_972_216,
        0.000_346_652,
        -0.060_919_963,
        -0.067_853_66,
        -0.074_787_34,
        -0.081_721_04,
    ];
    assert_close(&grads[0], &expected, 1e-7);
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    // Every voxel of the implied signal is above ½, so that no count jumps.
    for (rows, voxels) in [(3, 17), (2, 300)] {
        testing::check_gradients(&[[rows, voxels].into()], |pass, e| {
            let values = |seed: u64, by: f32| -> Vec<f32> {
                filled(rows * voxels, seed).iter().map(|v| v + by).collect()
            };
            let (noised, clean) = (
                constant(pass, values(7, 4.0), rows),
                constant(pass, values(8, 2.0), rows),
            );
            physics(pass, &e[0], &noised, &clean, &[0.9, 0.5, 0.0][..rows], 0.1)
        });
    }
}

#[test]
fn a_batch_is_the_mean_of_its_samples() {
    let [estimate, noised, clean] = [1, 2, 3].map(|seed| filled(40, seed));
    let alpha_bars = [0.9, 0.5, 0.2, 0.05];
    let value = |rows: std::ops::Range<usize>| {
        let count = rows.len();
        let part = |values: &[f32]| values[rows.start * 10..rows.end * 10].to_vec();
        let estimate = part(&estimate);
        testing::forward(&[(&estimate, [count, 10].into())], |pass, e| {
            let (noised, clean) = (
                constant(pass, part(&noised), count),
                constant(pass, part(&clean), count),
            );
            physics(pass, &e[0], &noised, &clean, &alpha_bars[rows.clone()], 0.1)
        })[0]
    };
    let samples: f32 = (0..4).map(|row| value(row..row + 1)).sum();
    assert_close(&[value(0..4)], &[samples / 4.0], 1e-5);
}

#[test]
fn unequal_shapes_are_refused() {
    let device = testing::device();
    let [e, x] = [[2, 3], [3, 2]].map(|shape| Var::constant(&device, vec![0.0; 6], shape).unwrap());
    let error = physics(&mut Pass::inference(&device), &e, &x, &x, &[0.5; 2], 0.1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "physics: an estimate (2, 3), noised signals (3, 2), signals (3, 2) and 2 times do not fit"
    );
}
