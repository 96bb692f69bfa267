use super::*;
use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers};

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // x = torch.tensor([[1., 2., 4.], [-1., .5, 3.]]); g = torch.tensor([1., .5, -2.])
    // y = F.rms_norm(x, (3,), g, 1e-5); y.backward(torch.tensor([[1., -2., 3.], [.5, 1., -1.]]))
    let (y, grads) = testing::backward(
        &[
            (&[1.0, 2.0, 4.0, -1.0, 0.5, 3.0], [2, 3].into()),
            (&[1.0, 0.5, -2.0], [3].into()),
        ],
        &[1.0, -2.0, 3.0, 0.5, 1.0, -1.0],
        |pass, x| rms_norm(pass, &x[0], &x[1], 1e-5),
    );
    let expected =
        parse_numbers("0.3779642 0.3779642 -3.0237136 -0.54100096 0.13525024 -3.2460058");
    assert_close(&y, &expected, 1e-6);
    let dx = parse_numbers("0.8279209 0.5219493 -0.4679581 0.57398796 0.118756756 0.17153955");
    assert_close(&grads[0], &dx, 1e-6);
    assert_close(&grads[1], &[0.107_463_72, -1.241_356_4, 2.912_567_1], 1e-6);
}

#[test]
fn a_row_of_zeros_is_divided_by_the_root_of_eps() {
    // y = F.rms_norm(torch.zeros(1, 2), (2,), torch.tensor([1., 2.]), 1e-4); y.backward(torch.ones(1, 2))
    let (y, grads) = testing::backward(
        &[(&[0.0, 0.0], [1, 2].into()), (&[1.0, 2.0], [2].into())],
        &[1.0, 1.0],
        |pass, x| rms_norm(pass, &x[0], &x[1], 1e-4),
    );
    assert_eq!(y, [0.0, 0.0]);
    assert_close(&grads[0], &[100.0, 200.0], 1e-6);
    assert_eq!(grads[1], [0.0, 0.0]);
}

#[test]
fn the_gradients_are_those_of_finite_differences() {
    for shape in [[3, 2, 21], [1, 3, 67], [1, 70, 5], [2, 2, 32]] {
        testing::check_gradients(&[shape.into(), [shape[2]].into()], |pass, x| {
            rms_norm(pass, &x[0], &x[1], 1e-5)
        });
    }
}

/// Not compiled for GPUs, for which the case in `conformance` is enough.
#[cfg(not(feature = "cuda"))]
#[test]
fn one_and_two_threads_give_the_same_bits() {
    // One row to a group, few groups, and the most groups.
    for (rows, features) in [(5, 20_001), (130, 513), (400_001, 3)] {
        testing::check_thread_invariance(
            &[[rows, features].into(), [features].into()],
            |pass, x| rms_norm(pass, &x[0], &x[1], 1e-5),
        );
    }
}

#[test]
fn an_input_without_gradient_leaves_that_of_the_scale() {
    let (rows, features) = (37, 19);
    let (x, gamma) = (
        testing::random_values(rows * features, 1),
        testing::random_values(features, 2),
    );
    let weights = testing::random_values(rows * features, 3);
    let leaves: [(&[f32], _); 2] = [(&x, [rows, features].into()), (&gamma, [features].into())];
    let run = |is_constant: bool| {
        testing::backward(&leaves, &weights, |pass, v| {
            let x = if is_constant {
                v[0].detach(pass.device())?
            } else {
                v[0].clone()
            };
            rms_norm(pass, &x, &v[1], 1e-5)
        })
    };
    let ((y, grads), (same_y, same_grads)) = (run(true), run(false));
    assert_eq!(y, same_y);
    assert_eq!(grads[1], same_grads[1]);
    assert!(grads[0].iter().all(|grad| *grad == 0.0));
}

#[test]
fn a_scale_that_does_not_fit_is_refused() {
    let device = testing::device();
    let x = Var::<TestDevice>::constant(&device, vec![1.0; 6], [2, 3]).unwrap();
    let gamma = Var::constant(&device, vec![1.0; 2], [2]).unwrap();
    let error = rms_norm(&mut Pass::inference(&device), &x, &gamma, 1e-5).unwrap_err();
    assert!(matches!(error, OpError::Shape { op: "rms_norm", .. }));
}
