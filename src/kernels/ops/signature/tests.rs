use pulp::{Simd, WithSimd};

use super::*;
use crate::ops::simd::dispatch_simd;
use crate::ops::testing::{self, assert_close, parse_numbers};

/// The reference path P (`path_batch::golden`) as (t, x) pairs.
const P: [f32; 10] = [0.0, 0.0, 0.25, 0.5, 0.5, -0.2, 0.75, 0.3, 1.0, 1.0];

/// Signatures of all prefixes of one path in double precision.
fn prefixes(path: &[f32], channels: usize, depth: usize) -> Vec<Vec<f64>> {
    let path: Vec<f64> = path.iter().map(|value| f64::from(*value)).collect();
    dispatch_simd(Prefixes(&path, channels, depth))
}

struct Prefixes<'a>(&'a [f64], usize, usize);

impl WithSimd for Prefixes<'_> {
    type Output = Vec<Vec<f64>>;

    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self(path, channels, depth) = self;
        let (with, algebra) = (Doubles(simd), TruncatedTensorAlgebra::new(channels, depth));
        let size = (path.len() / channels, channels);
        let d = increments(with, path, size, 0);
        let mut signature = vec![with.splat(0.0); algebra.len()];
        let mut chain = signature.clone();
        d.chunks(channels)
            .map(|d| {
                algebra.extend(with, &mut signature, d, &mut chain);
                rows_of::<Doubles<S>>(&signature, 1)
            })
            .collect()
    }
}

#[test]
fn the_signature_of_p_is_the_golden_one() {
    let golden: Vec<f64> = parse_numbers(
        "1 1 0.5 0.725 0.275 0.5 0.1666666667 0.3229166667 0.0791666667 0.3041666667 0.0979166667
         0.1166666667 0.0791666667 0.1666666667",
    );
    let found = prefixes(&P, 2, 3).pop().unwrap();
    // The reference values use P in double precision, this test rounds P to single precision.
    for (found, golden) in found.iter().zip(&golden) {
        assert!((found - golden).abs() < 1e-7, "{found} instead of {golden}");
    }
    let float = testing::forward(
        &[
            (&P, [1, 5, 2].into()),
            (&[1.0; 14], [14, 1].into()),
            (&[0.0], [1].into()),
        ],
        |pass, v| signature_projection(pass, &v[0], &v[1], &v[2], 3),
    );
    let sum: f64 = golden.iter().sum();
    assert_close(&float[3..], &[sum as f32], 1e-6);
}

#[test]
fn levels_are_iterated_integrals_of_a_straight_line() {
    // The signature of a straight line is exp(d): an entry of level k is the product of its letters' increments over
    // k!.
    let found = prefixes(&[0.0, 0.0, 0.0, 0.5, -1.0, 2.0], 3, 4)
        .pop()
        .unwrap();
    let d = [0.5, -1.0, 2.0];
    let mut expected = Vec::new();
    let mut level = vec![1.0];
    for k in 1..=4 {
        level = level
            .iter()
            .flat_map(|a: &f64| d.map(|d| a * d / f64::from(k)))
            .collect();
        expected.extend(level.clone());
    }
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    }
}

#[test]
fn every_prefix_is_the_signature_of_its_own_points() {
    let path = testing::random_values(7 * 4, 3);
    for (step, signature) in prefixes(&path, 4, 3).iter().enumerate() {
        let own = prefixes(&path[..(step + 2) * 4], 4, 3).pop().unwrap();
        assert_eq!(*signature, own);
    }
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // From benches/peers:
    // p = torch.tensor([[0, .5, -.2, .3, 1], [0, .25, .5, .75, 1]]).T.flip(1)[None].clone().requires_grad_()
    // conv = nn.Conv1d(14, 1, 1); conv.weight.data[0, :, 0] = torch.sin(torch.arange(14.) * .7 + 1)
    // conv.bias.data[0] = .25; y = conv(torch.cat(paths.signature_stream(p, 3), 2).transpose(1, 2)).flatten(1)
    // y.backward(torch.tensor([[1., -2., .5, 1.5]]))
    let weight: Vec<f32> = (0..14).map(|i| (i as f32 * 0.7 + 1.0).sin()).collect();
    let (y, grads) = testing::backward(
        &[
            (&P, [1, 5, 2].into()),
            (&weight, [14, 1].into()),
            (&[0.25], [1].into()),
        ],
        &[1.0, -2.0, 0.5, 1.5],
        |pass, v| signature_projection(pass, &v[0], &v[1], &v[2], 3),
    );
    assert_close(
        &y,
        &[0.825_002_8, 0.497_597_46, 1.234_180_6, 1.881_356_7],
        2e-6,
    );
    assert_close(
        &grads[0],
        &parse_numbers(
            "-1.234879 0.9321203 0.96375465 0.47942448 -2.3068628 -2.102069 0.85408974 0.25190127
             1.7238975 0.43862283",
        ),
        5e-6,
    );
    assert_close(
        &grads[1],
        &parse_numbers(
            "1.125 2.55 0.671875 1.60625 0.33125 0.8575 0.24609375 0.6078125 0.1296875 0.380625
             0.12031251 0.294375 0.103125 0.27575",
        ),
        2e-6,
    );
    assert_close(&grads[2], &[1.0], 1e-6);
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for (depth, channels, entries) in [(1, 2, 2), (3, 2, 14), (3, 4, 84), (4, 2, 30)] {
        testing::check_gradients(
            &[[2, 5, channels].into(), [entries, 1].into(), [1].into()],
            |pass, v| signature_projection(pass, &v[0], &v[1], &v[2], depth),
        );
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let constant = |shape: [usize; 3]| {
        let len = shape.iter().product();
        Var::constant(&device, vec![0.0; len], shape).unwrap()
    };
    let bias = Var::constant(&device, vec![0.0], [1]).unwrap();
    let weight = Var::constant(&device, vec![0.0; 14], [14, 1]).unwrap();
    let error = |path: [usize; 3], depth| {
        let mut pass = Pass::inference(&device);
        let result = signature_projection(&mut pass, &constant(path), &weight, &bias, depth);
        result.unwrap_err().to_string()
    };
    assert!(error([2, 1, 2], 3).contains("(2, 1, 2) has no piece"));
    assert!(error([2, 5, 2], 9).contains("depth 9 is not from 1 to 8"));
    assert!(error([2, 5, 3], 3).contains("do not fit 39 entries"));
}

/// More entries than a GPU block has threads, more pieces than the increments that it keeps, the largest depth, and the
/// smallest signature.
#[test]
fn large_and_small_signatures_are_those_of_the_cpu() {
    for (batch, points, channels, depth) in [
        (2, 25, 100, 2),
        (3, 4, 3, 6),
        (2, 3, 2, 8),
        (2, 2, 1, 1),
        (2, 3, 1, 8),
    ] {
        let size = SignatureSize {
            batch,
            points,
            channels,
            depth,
        };
        let path = testing::random_values(batch * points * channels, 1);
        let weight: Vec<f32> = testing::random_values(size.entries(), 2)
            .iter()
            .map(|w| 0.1 * w)
            .collect();
        let slopes = testing::random_values(batch * (points - 1), 3);
        let (y, grads) = testing::backward(
            &[
                (&path, [batch, points, channels].into()),
                (&weight, [size.entries(), 1].into()),
                (&[0.5], [1].into()),
            ],
            &slopes,
            |pass, v| signature_projection(pass, &v[0], &v[1], &v[2], depth),
        );
        let cpu = dfdx::tensor::Cpu::open(0).unwrap();
        let inputs = ProjectionInputs {
            path: Var::constant(&cpu, path.clone(), [batch, points, channels]).unwrap(),
            weight: Var::constant(&cpu, weight.clone(), [size.entries(), 1]).unwrap(),
            bias: Var::constant(&cpu, vec![0.5], [1]).unwrap(),
        };
        let (expected, saved) = cpu.signature_projection(&inputs, size).unwrap();
        let found = cpu::gradients(&path, &weight, &saved, size, &slopes);
        assert_close(&y, &expected, 1e-4);
        assert_close(&grads[0], &found.path, 2e-4);
        assert_close(&grads[1], &found.weight, 1e-4);
        assert_close(&grads[2], &[found.bias], 1e-5);
    }
}
