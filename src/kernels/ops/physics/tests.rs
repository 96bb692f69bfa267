use super::*;
use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers, random_values};

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
            physics_terms(pass, &e[0], &noised, &clean, &[0.6, 0.001], 0.1)
        },
    );
    assert_close(&value, &[0.168_279_7], 1e-6);
    let expected = parse_numbers(
        "-0.012609952 -0.008291084 -0.003972216 0.000346652 -0.060919963 -0.06785366 -0.07478734
         -0.08172104",
    );
    assert_close(&grads[0], &expected, 1e-7);
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    // Every voxel of the implied signal is above ½, so that no count jumps.
    for (rows, voxels) in [(3, 17), (2, 300)] {
        testing::check_gradients(&[[rows, voxels].into()], |pass, e| {
            let values = |seed: u64, by: f32| -> Vec<f32> {
                random_values(rows * voxels, seed)
                    .iter()
                    .map(|v| v + by)
                    .collect()
            };
            let (noised, clean) = (
                constant(pass, values(7, 4.0), rows),
                constant(pass, values(8, 2.0), rows),
            );
            physics_terms(pass, &e[0], &noised, &clean, &[0.9, 0.5, 0.0][..rows], 0.1)
        });
    }
}

#[test]
fn unequal_shapes_are_refused() {
    let device = testing::device();
    let [e, x] = [[2, 3], [3, 2]].map(|shape| Var::constant(&device, vec![0.0; 6], shape).unwrap());
    let error =
        physics_terms(&mut Pass::inference(&device), &e, &x, &x, &[0.5; 2], 0.1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "physics: an estimate (2, 3), noised signals (3, 2), signals (3, 2) and 2 times do not fit"
    );
}
