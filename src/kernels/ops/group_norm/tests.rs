use super::*;
use crate::ops::testing::{self, assert_close, parse_numbers};

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // x = torch.tensor([.5, -1., 2., 1., 0., 3., -2., 1.]).reshape(1, 4, 1, 2).requires_grad_()
    // g = torch.tensor([1., .5, -1., 2.], requires_grad=True); b = torch.tensor([0., 1., .5, -.5], requires_grad=True)
    // s = torch.tensor([[.1, -.2, .3, .4]], requires_grad=True)
    // y = F.silu(F.group_norm(x, 2, g, b) + s[:, :, None, None]); y.backward(torch.tensor([[1., -1.], [2., .5], [-.5, 1.], [1., 3.]])[None, :, None])
    // print(y[0, :, 0].t(), x.grad[0, :, 0].t(), g.grad, b.grad, s.grad)
    let (y, grads) = testing::backward(
        &[
            (
                &[0.5, 2.0, 0.0, -2.0, -1.0, 1.0, 3.0, 1.0],
                [1, 1, 2, 4].into(),
            ),
            (&[1.0, 0.5, -1.0, 2.0], [4].into()),
            (&[0.0, 1.0, 0.5, -0.5], [4].into()),
            (&[0.1, -0.2, 0.3, 0.4], [1, 4].into()),
        ],
        &[1.0, 2.0, -0.5, 1.0, -1.0, 0.5, 1.0, 3.0],
        |pass, v| group_norm(pass, &v[0], &v[1], &v[2], 2, Some(&v[3]), Activation::Silu),
    );
    assert_close(
        &y,
        &parse_numbers(
            "-0.007675 1.1591047 0.8036943 -0.1536728 -0.2769156 0.7063107 -0.2096929 0.278165",
        ),
        2e-6,
    );
    assert_close(
        &grads[0],
        &parse_numbers(
            "0.0788241 0.1617246 -0.3059104 -0.5157233 0.0611508 -0.3016995 -0.9265388 1.7481728",
        ),
        5e-6,
    );
    assert_close(
        &grads[1],
        &[-0.093_686, 2.777_311_3, 0.440_490_1, 0.726_415_2],
        5e-6,
    );
    assert_close(
        &grads[2],
        &[0.516_810_3, 2.520_923_1, -0.252_439_7, 2.067_280_5],
        5e-6,
    );
    assert_close(
        &grads[3],
        &[0.516_810_3, 2.520_923_1, -0.252_439_7, 2.067_280_5],
        5e-6,
    );
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for activation in [Activation::Identity, Activation::Silu, Activation::Tanh] {
        let shapes = [[3, 1, 5, 6].into(), [6].into(), [6].into(), [3, 6].into()];
        testing::check_gradients(&shapes, |pass, v| {
            group_norm(pass, &v[0], &v[1], &v[2], 3, Some(&v[3]), activation)
        });
    }
    testing::check_gradients(&[[1, 17].into(), [17].into(), [17].into()], |pass, v| {
        group_norm(pass, &v[0], &v[1], &v[2], 1, None, Activation::Silu)
    });
}

#[test]
fn a_large_mean_does_not_spoil_the_variance() {
    let x: Vec<f32> = testing::random_values(2000, 1)
        .iter()
        .map(|v| 1000.0 + v)
        .collect();
    let leaves: [(&[f32], _); 3] = [
        (&x, [1, 500, 4].into()),
        (&[1.0; 4], [4].into()),
        (&[0.0; 4], [4].into()),
    ];
    let y = testing::forward(&leaves, |pass, v| {
        group_norm(pass, &v[0], &v[1], &v[2], 1, None, Activation::Identity)
    });
    let variance = y.iter().map(|v| v * v).sum::<f32>() / 2000.0;
    assert!((variance - 1.0).abs() < 1e-3, "{variance}");
}

/// Reference results and gradients of a group norm with shift and SiLU, in double precision.
struct Host {
    y: Vec<f32>,
    x: Vec<f32>,
    gamma: Vec<f32>,
    beta: Vec<f32>,
    shift: Vec<f32>,
}

fn on_host(size: GroupNormSize, leaves: &[Vec<f32>], weights: &[f32]) -> Host {
    let (p, c, width) = (size.positions, size.channels, size.channels / size.groups);
    let [x, gamma, beta, shift] = [0, 1, 2, 3].map(|leaf| {
        let values = leaves[leaf].iter().map(|v| f64::from(*v));
        values.collect::<Vec<f64>>()
    });
    let mut y = vec![0.0; x.len()];
    let mut grads = [x.len(), c, c, shift.len()].map(|len| vec![0.0; len]);
    for (image, group) in (0..size.batch).flat_map(|b| (0..size.groups).map(move |g| (b, g))) {
        let channels = group * width..(group + 1) * width;
        let places = (0..p).flat_map(|position| channels.clone().map(move |k| (position, k)));
        let places: Vec<(usize, usize)> =
            places.map(|(i, k)| ((image * p + i) * c + k, k)).collect();
        let mean_of = |value: &dyn Fn(usize, usize) -> f64| {
            places.iter().map(|(i, k)| value(*i, *k)).sum::<f64>() / places.len() as f64
        };
        let mean = mean_of(&|i, _| x[i]);
        let rstd = 1.0 / (mean_of(&|i, _| (x[i] - mean).powi(2)) + 1e-5).sqrt();
        let along = |i: usize| (x[i] - mean) * rstd;
        let before = |i: usize, k: usize| along(i) * gamma[k] + beta[k] + shift[image * c + k];
        let sigmoid = |z: f64| 1.0 / (1.0 + (-z).exp());
        let dz = |i: usize, k: usize| {
            let (z, s) = (before(i, k), sigmoid(before(i, k)));
            f64::from(weights[i]) * s * (1.0 + z * (1.0 - s))
        };
        let plain_mean = mean_of(&|i, k| gamma[k] * dz(i, k));
        let along_mean = mean_of(&|i, k| gamma[k] * dz(i, k) * along(i));
        for &(i, k) in &places {
            y[i] = before(i, k) * sigmoid(before(i, k));
            grads[0][i] = rstd * (gamma[k] * dz(i, k) - plain_mean - along(i) * along_mean);
            grads[1][k] += dz(i, k) * along(i);
            grads[2][k] += dz(i, k);
            grads[3][image * c + k] += dz(i, k);
        }
    }
    let single = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
    let [x, gamma, beta, shift] = grads.map(single);
    Host {
        y: y.into_iter().map(|v| v as f32).collect(),
        x,
        gamma,
        beta,
        shift,
    }
}

/// Relative tolerance for sums over all positions; a GPU adds in a different order.
const SUMS: f32 = if cfg!(feature = "cuda") { 2e-4 } else { 1e-5 };

/// Compares results and gradients, for random values with x around `mean`, with those in double precision.
fn hold_against_host(size: GroupNormSize, mean: f32, tolerance: f32) {
    let GroupNormSize {
        batch,
        positions,
        channels,
        groups,
    } = size;
    let shapes: [crate::ops::Shape; 4] = [
        [batch, positions, channels].into(),
        [channels].into(),
        [channels].into(),
        [batch, channels].into(),
    ];
    let mut leaves: Vec<Vec<f32>> = (1..)
        .zip(shapes)
        .map(|(seed, shape)| testing::random_values(shape.len(), seed))
        .collect();
    leaves[0].iter_mut().for_each(|x| *x += mean);
    let weights = testing::random_values(leaves[0].len(), 9);
    let pairs: Vec<(&[f32], _)> = leaves.iter().map(Vec::as_slice).zip(shapes).collect();
    let (y, grads) = testing::backward(&pairs, &weights, |pass, v| {
        let (shift, act) = (Some(&v[3]), Activation::Silu);
        group_norm(pass, &v[0], &v[1], &v[2], groups, shift, act)
    });
    let host = on_host(size, &leaves, &weights);
    assert_close(&y, &host.y, tolerance);
    assert_close(&grads[0], &host.x, tolerance);
    assert_close(&grads[1], &host.gamma, SUMS);
    assert_close(&grads[2], &host.beta, SUMS);
    assert_close(&grads[3], &host.shift, SUMS);
}

#[test]
fn all_sizes_give_what_the_host_does() {
    // Groups of one channel, and of more channels than a block has threads; groups that a GPU cuts into equal pieces,
    // into pieces of which the last is shorter, and into pieces of a single position; batches larger than a block has
    // lanes.
    let sizes = [
        (1, 1, 3, 1),
        (3, 33, 31, 31),
        (2, 300, 33, 11),
        (1, 3, 2050, 1),
        (40, 2, 9, 3),
        (2, 9001, 4, 2),
        (1, 17_000, 1, 1),
        (1, 33, 1025, 1),
        (1, 2, 17_000, 1),
    ];
    for (batch, positions, channels, groups) in sizes {
        let size = GroupNormSize {
            batch,
            positions,
            channels,
            groups,
        };
        hold_against_host(size, 0.0, 1e-5);
    }
}

// Regression test for issue 6: sums of thousands of squares in single precision gave 0.15555 instead of 0.15546.
#[test]
#[cfg(not(feature = "cuda"))]
fn large_groups_around_a_large_mean_are_exact() {
    for mean in [-100.0, 4096.0] {
        for (positions, channels, groups) in [(70_001, 3, 1), (9001, 4, 2), (1600, 64, 8)] {
            let size = GroupNormSize {
                batch: 1,
                positions,
                channels,
                groups,
            };
            // The reference also uses x rounded to `f32`.
            hold_against_host(size, mean, 2e-6);
        }
    }
}

#[test]
fn one_value_may_play_several_parts() {
    let values = testing::random_values(8 * 5, 1);
    let leaves: [(&[f32], _); 2] = [(&values, [1, 5, 8].into()), (&values[..8], [1, 8].into())];
    let (_, apart) = testing::backward(
        &[leaves[0], leaves[1], leaves[1], leaves[1]],
        &values,
        |pass, v| group_norm(pass, &v[0], &v[1], &v[2], 2, Some(&v[3]), Activation::Silu),
    );
    let (_, shared) = testing::backward(&leaves, &values, |pass, v| {
        group_norm(pass, &v[0], &v[1], &v[1], 2, Some(&v[1]), Activation::Silu)
    });
    let sum = |k: usize| apart[1][k] + apart[2][k] + apart[3][k];
    let sums: Vec<f32> = (0..8).map(sum).collect();
    assert_close(&shared[1], &sums, 1e-6);
}
