use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers};
use crate::ops::{Shape, add_silu, dropout, group_norm};

type Made = Result<Var<TestDevice>>;

fn switch_on(pass: &mut Pass<TestDevice>) {
    let empty = Pass::inference(pass.device());
    *pass = std::mem::replace(pass, empty).with_dropout(ChaCha8Rng::seed_from_u64(5));
}

/// The operation with dropout, or without it for p = 0.
fn fused(
    groups: usize,
    p: f32,
) -> impl Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Made + Sync {
    move |pass, v| {
        switch_on(pass);
        norm_residual(pass, &v[0], (&v[1], &v[2], groups), &v[3], p)
    }
}

/// The same computation as three separate operations: group norm, dropout, sum with SiLU.
fn apart(groups: usize, p: f32) -> impl Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Made {
    move |pass, v| {
        switch_on(pass);
        let h = group_norm(
            pass,
            &v[0],
            &v[1],
            &v[2],
            groups,
            None,
            Activation::Identity,
        )?;
        let h = dropout(pass, &h, p)?;
        add_silu(pass, &h, &v[3])
    }
}

fn shapes(batch: usize, positions: usize, channels: usize) -> [Shape; 4] {
    let x = [batch, positions, channels].into();
    [x, [channels].into(), [channels].into(), x]
}

const Y: &str =
    "-0.007675 1.6908965 0.1577832 -0.1823676 -0.2625163 1.3029907 -0.1229577 -0.2398721";
const GRAD_X: &str =
    "0.048635 0.1778555 0.0752919 -0.2179942 0.0767635 -0.3032539 -0.2893454 0.4320478";
const GRAD_GAMMA: [f32; 4] = [-0.158_441_5, 2.944_023_8, 0.585_566_2, 0.269_148_6];
const GRAD_BETA: [f32; 4] = [0.559_948_9, 2.700_388, 0.040_108, 0.378_947];
const GRAD_RESIDUAL: &str =
    "0.4922655 2.1743672 -0.3184586 -0.0985806 0.0676834 0.5260208 0.3585667 0.4775276";

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // x = torch.tensor([.5, -1., 2., 1., 0., 3., -2., 1.]).reshape(1, 4, 1, 2).requires_grad_()
    // g = torch.tensor([1., .5, -1., 2.], requires_grad=True); b = torch.tensor([0., 1., .5, -.5], requires_grad=True)
    // r = torch.tensor([.1, -.2, .3, .4, -.5, .6, .7, -.8]).reshape(1, 4, 1, 2).requires_grad_()
    // y = F.silu(F.group_norm(x, 2, g, b) + r); y.backward(torch.tensor([[1., -1.], [2., .5], [-.5, 1.], [1., 3.]])[None, :, None])
    // print(y[0, :, 0].t(), x.grad[0, :, 0].t(), g.grad, b.grad, r.grad[0, :, 0].t())
    let (y, grads) = testing::backward(
        &[
            (
                &[0.5, 2.0, 0.0, -2.0, -1.0, 1.0, 3.0, 1.0],
                [1, 2, 4].into(),
            ),
            (&[1.0, 0.5, -1.0, 2.0], [4].into()),
            (&[0.0, 1.0, 0.5, -0.5], [4].into()),
            (
                &[0.1, 0.3, -0.5, 0.7, -0.2, 0.4, 0.6, -0.8],
                [1, 2, 4].into(),
            ),
        ],
        &[1.0, 2.0, -0.5, 1.0, -1.0, 0.5, 1.0, 3.0],
        |pass, v| norm_residual(pass, &v[0], (&v[1], &v[2], 2), &v[3], 0.5),
    );
    assert_close(&y, &parse_numbers(Y), 2e-6);
    assert_close(&grads[0], &parse_numbers(GRAD_X), 5e-6);
    assert_close(&grads[1], &GRAD_GAMMA, 5e-6);
    assert_close(&grads[2], &GRAD_BETA, 5e-6);
    assert_close(&grads[3], &parse_numbers(GRAD_RESIDUAL), 5e-6);
}

#[test]
fn it_is_the_three_operations_that_it_is_made_of() {
    for (batch, positions, channels, groups) in [
        (1, 1, 4, 2),
        (3, 5, 17, 17),
        (2, 33, 31, 1),
        (5, 700, 24, 8),
    ] {
        for p in [0.0, 0.3] {
            let shapes = shapes(batch, positions, channels);
            let values = [1, 2, 3, 4]
                .map(|seed| testing::random_values(shapes[seed - 1].len(), seed as u64));
            let leaves: Vec<(&[f32], Shape)> =
                values.iter().map(Vec::as_slice).zip(shapes).collect();
            let weights = testing::random_values(shapes[0].len(), 9);
            let (y, grads) = testing::backward(&leaves, &weights, fused(groups, p));
            let (wanted, wanted_grads) = testing::backward(&leaves, &weights, apart(groups, p));
            assert_close(&y, &wanted, 2e-6);
            for (grad, wanted) in grads.iter().zip(&wanted_grads) {
                assert_close(grad, wanted, 1e-5);
            }
        }
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    testing::check_gradients(&shapes(3, 5, 6), fused(3, 0.3));
    testing::check_gradients(&shapes(1, 17, 3), fused(1, 0.0));
}

#[test]
fn a_batch_is_its_samples() {
    testing::check_batch_invariance(5, &shapes(5, 6, 8), |pass, v| {
        norm_residual(pass, &v[0], (&v[1], &v[2], 4), &v[3], 0.5)
    });
}

#[test]
fn the_norm_and_its_residual_may_be_one_value() {
    let values = testing::random_values(5 * 8, 1);
    let ones = [1.0; 8];
    let x = (&values[..], [1, 5, 8].into());
    let leaves: [(&[f32], _); 3] = [x, (&ones, [8].into()), (&ones, [8].into())];
    let apart = [leaves[0], leaves[1], leaves[2], leaves[0]];
    let (_, two) = testing::backward(&apart, &values, fused(2, 0.3));
    let (_, one) = testing::backward(&leaves, &values, |pass, v| {
        switch_on(pass);
        norm_residual(pass, &v[0], (&v[1], &v[2], 2), &v[0], 0.3)
    });
    let sums: Vec<f32> = two[0].iter().zip(&two[3]).map(|(a, b)| a + b).collect();
    assert_close(&one[0], &sums, 1e-6);
}

#[test]
fn unfitting_sizes_are_errors() {
    let device = testing::device();
    let var = |shape: Shape| Var::constant(&device, vec![0.0; shape.len()], shape).unwrap();
    let (x, gamma) = (var([2, 3, 4].into()), var([4].into()));
    let mut pass = Pass::inference(&device);
    let mut made =
        |residual, p| norm_residual(&mut pass, &x, (&gamma, &gamma, 2), &var(residual), p);
    assert!(made([2, 3, 4].into(), 0.5).is_ok());
    assert!(made([2, 4, 3].into(), 0.5).is_err(), "another shape");
    assert!(made([2, 3, 4].into(), 1.0).is_err(), "everything dropped");
}
