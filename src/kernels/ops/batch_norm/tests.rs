use super::*;
use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers};

const X: [f32; 8] = [1.0, -2.0, 3.0, 0.5, 4.0, -1.0, 2.0, 2.0];
const GAMMA: [f32; 2] = [1.5, -0.5];
const BETA: [f32; 2] = [0.25, 1.0];
const SHIFT: [f32; 8] = [0.5, -1.0, 0.0, 1.0, -3.0, 2.0, 1.0, -0.5];
const SEED: [f32; 8] = [1.0, 2.0, -1.0, 0.5, 3.0, 1.0, -2.0, 1.0];

/// Result, and gradients of X, GAMMA, BETA and, if `is_shifted`, SHIFT.
fn trained(activation: Activation, is_shifted: bool) -> (Vec<f32>, Vec<Vec<f32>>) {
    let mut inputs: Vec<(&[f32], _)> = vec![
        (&X, [4, 2].into()),
        (&GAMMA, [2].into()),
        (&BETA, [2].into()),
    ];
    if is_shifted {
        inputs.push((&SHIFT, [4, 2].into()));
    }
    testing::backward(&inputs, &SEED, |pass, x| {
        Ok(batch_norm(pass, &x[0], &x[1], &x[2], x.get(3), 1e-5, activation)?.0)
    })
}

/// `F.batch_norm(x, mean, var, gamma, beta, True, 1.0, 1e-5)`, `+ shift`, the activation, `.backward(SEED)`.
#[test]
fn values_and_gradients_are_those_of_pytorch() {
    let (y, grads) = trained(Activation::Identity, false);
    let expected = parse_numbers(
        "-1.7624533 1.6185882 0.9208176 0.7938039 2.262453 1.2886746 -0.42081785 0.29893333",
    );
    assert_close(&y, &expected, 1e-6);
    let expected = parse_numbers(
        "2.4149325 -0.14139223 -2.146613 0.15710199 2.2807913 0.10997096 -2.549111 -0.12568071",
    );
    assert_close(&grads[0], &expected, 1e-5);
    assert_close(&grads[1], &[3.130_482_7, -1.443_372_6], 1e-5);
    assert_close(&grads[2], &[1.0, 4.5], 1e-6);

    let (y, grads) = trained(Activation::Relu, true);
    let expected = parse_numbers("0 0.6185882 0.9208176 1.7938039 0 3.2886746 0.57918215 0");
    assert_close(&y, &expected, 1e-6);
    let expected = parse_numbers(
        "1.2074702 -0.08079644 -0.40249008 0.02693215 0.8049829 0.09426049 -1.609963 -0.04039618",
    );
    assert_close(&grads[0], &expected, 1e-5);
    assert_close(&grads[1], &[0.447_211_8, -2.845_506], 1e-5);
    assert_close(&grads[2], &[-3.0, 3.5], 1e-6);
    assert_close(&grads[3], &[0.0, 2.0, -1.0, 0.5, 0.0, 1.0, -2.0, 0.0], 1e-6);

    let (y, grads) = trained(Activation::Silu, false);
    let expected = parse_numbers(
        "-0.25817007 1.3508743 0.6585767 0.54665107 2.0491474 1.0102214 -0.16677898 0.17164205",
    );
    assert_close(&y, &expected, 1e-6);
    let expected = parse_numbers(
        "1.2932892 -0.13662389 -2.448466 0.13248788 1.8709042 0.11591974 -0.7157272 -0.11178367",
    );
    assert_close(&grads[0], &expected, 1e-5);
    assert_close(&grads[1], &[4.382_832_5, -2.111_924_4], 1e-5);
    assert_close(&grads[2], &[1.728_828_2, 4.194_972], 1e-5);
}

/// `F.relu(F.batch_norm(x, torch.tensor([1., -1.]), torch.tensor([4., .25]), gamma, beta, False, 0.1, 1e-5)).backward(SEED)`.
#[test]
fn given_statistics_are_used_as_in_pytorch() {
    let inputs: [(&[f32], _); 3] = [
        (&X, [4, 2].into()),
        (&GAMMA, [2].into()),
        (&BETA, [2].into()),
    ];
    let (y, grads) = testing::backward(&inputs, &SEED, |pass, x| {
        let mean = Var::constant(pass.device(), vec![1.0, -1.0], [2])?;
        let variance = Var::constant(pass.device(), vec![4.0, 0.25], [2])?;
        batch_norm_inference(
            pass,
            &x[0],
            &x[1],
            &x[2],
            &mean,
            &variance,
            1e-5,
            Activation::Relu,
        )
    });
    let expected = parse_numbers("0.25 1.99998 1.7499982 0 2.4999974 1 0.9999991 0");
    assert_close(&y, &expected, 1e-6);
    let expected = parse_numbers("0.74999905 -1.99996 -0.74999905 0 2.249997 -0.99998 -1.499998 0");
    assert_close(&grads[0], &expected, 1e-6);
    assert_close(&grads[1], &[2.499_997, -3.999_92], 1e-6);
    assert_close(&grads[2], &[1.0, 3.0], 1e-6);
}

fn moments(values: Vec<f32>, channels: usize) -> [Vec<f32>; 2] {
    let device = testing::device();
    let shape = [values.len() / channels, channels];
    let x = Var::<TestDevice>::constant(&device, values, shape).unwrap();
    let row = |value| Var::constant(&device, vec![value; channels], [channels]).unwrap();
    let mut pass = Pass::inference(&device);
    let (_, moments) = batch_norm(
        &mut pass,
        &x,
        &row(1.0),
        &row(0.0),
        None,
        1e-5,
        Activation::Identity,
    )
    .unwrap();
    [moments.mean, moments.variance].map(|moment| device.download(&moment).unwrap())
}

#[test]
fn moments_for_running_statistics_are_those_of_pytorch() {
    // In PyTorch: running_mean and running_var with momentum 1.
    let [mean, variance] = moments(X.to_vec(), 2);
    assert_close(&mean, &[2.5, -0.125], 1e-6);
    assert_close(&variance, &[1.666_666_6, 3.062_5], 1e-6);
}

#[test]
fn a_large_mean_does_not_hide_the_variance() {
    let (rows, channels) = (20_000, 3);
    let values: Vec<f32> = testing::random_values(rows * channels, 3)
        .iter()
        .map(|x| 1000.0 + x)
        .collect();
    for channel in 0..channels {
        let own = values
            .iter()
            .skip(channel)
            .step_by(channels)
            .map(|x| f64::from(*x));
        let exact = own.clone().sum::<f64>() / rows as f64;
        let spread = own.map(|x| (x - exact).powi(2)).sum::<f64>() / (rows as f64 - 1.0);
        let [mean, variance] = moments(values.clone(), channels);
        let error = (f64::from(mean[channel]) - exact).abs();
        assert!(error < 1e-4, "{} and {exact}", mean[channel]);
        let error = (f64::from(variance[channel]) / spread - 1.0).abs();
        assert!(error < 1e-5, "{} and {spread}", variance[channel]);
    }
}

/// With weight 1 and bias 0, the bias's gradient is the sum of the output's gradient over all rows, and the weight's
/// gradient is the sum of its products with the output.
#[test]
fn gradients_over_many_rows_are_their_sums() {
    let (rows, channels) = (20_000, 2);
    let values = testing::random_values(rows * channels, 3);
    let seed = testing::random_values(rows * channels, 5);
    let inputs: [(&[f32], _); 3] = [
        (&values, [rows, channels].into()),
        (&[1.0, 1.0], [channels].into()),
        (&[0.0, 0.0], [channels].into()),
    ];
    let (y, grads) = testing::backward(&inputs, &seed, |pass, x| {
        Ok(batch_norm(pass, &x[0], &x[1], &x[2], None, 1e-5, Activation::Identity)?.0)
    });
    let own = grads[1].iter().zip(&grads[2]).enumerate();
    for (channel, (of_gamma, of_beta)) in own {
        let of_channel = |all: &[f32]| -> Vec<f64> {
            let own = all.iter().skip(channel).step_by(channels);
            own.map(|value| f64::from(*value)).collect()
        };
        let (seed, y) = (of_channel(&seed), of_channel(&y));
        let products: f64 = seed.iter().zip(&y).map(|(seed, y)| seed * y).sum();
        let sum: f64 = seed.iter().sum();
        assert!((f64::from(*of_gamma) - products).abs() < 1e-2);
        assert!((f64::from(*of_beta) - sum).abs() < 1e-2);
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let var =
        |shape: [usize; 2]| Var::constant(&device, vec![0.0; shape[0] * shape[1]], shape).unwrap();
    let (row, pass) = (
        var([1, 2]).reshape([2]).unwrap(),
        &mut Pass::inference(&device),
    );
    let none = Activation::Identity;
    let mut message = |x: &Var<TestDevice>, shift: Option<&Var<TestDevice>>| {
        let error = batch_norm(pass, x, &row, &row, shift, 1e-5, none).unwrap_err();
        error.to_string()
    };
    assert_eq!(
        message(&var([4, 3]), None),
        "batch_norm: gamma (2) does not fit x (4, 3)"
    );
    assert_eq!(
        message(&var([4, 2]), Some(&var([2, 2]))),
        "batch_norm: shift (2, 2) does not fit x (4, 2)"
    );
    let expected = "batch_norm: (1, 2) has one value per channel; a variance needs at least two";
    assert_eq!(message(&var([1, 2]), None), expected);
}

#[cfg(feature = "cuda-stand-in")]
mod in_16_bits {
    use super::*;
    use crate::device::Arithmetic;
    use crate::ops::{Shape, add};

    const SHAPE: [usize; 2] = [12, 8];

    /// Bytes that a batch norm with a shift keeps for backward.
    fn kept_bytes(device: &TestDevice, activation: Activation) -> u64 {
        let mut pass = Pass::recording(device);
        let leaf = |values, shape: Shape| {
            let values = Var::constant(device, values, shape).unwrap();
            values.leaf(device).unwrap()
        };
        let own = leaf(testing::random_values(96, 1), SHAPE.into());
        let row = leaf(vec![1.0; 8], [8].into());
        // Results of operations, whose memory is counted as long as something holds them.
        let x = add(&mut pass, &own, &own).unwrap();
        let shift = add(&mut pass, &own, &own).unwrap();
        let y = batch_norm(&mut pass, &x, &row, &row, Some(&shift), 1e-5, activation).unwrap();
        drop((x, shift, y));
        pass.held_bytes()
    }

    fn trained(activation: Activation) -> (Vec<f32>, Vec<Vec<f32>>) {
        let [x, gamma, beta, shift, weights] = [(96, 1), (8, 2), (8, 3), (96, 4), (96, 5)]
            .map(|(n, seed)| testing::random_values(n, seed));
        let leaves: [(&[f32], _); 4] = [
            (&x, SHAPE.into()),
            (&gamma, [8].into()),
            (&beta, [8].into()),
            (&shift, SHAPE.into()),
        ];
        testing::backward(&leaves, &weights, |pass, x| {
            Ok(batch_norm(pass, &x[0], &x[1], &x[2], x.get(3), 1e-5, activation)?.0)
        })
    }

    #[test]
    fn half_the_memory_gives_the_same_gradients_but_for_their_rounding() {
        let device = testing::device();
        for (activation, arrays) in [
            (Activation::Identity, 1), // x
            (Activation::Relu, 2),     // x and y
            (Activation::Silu, 2),     // x and shift
        ] {
            let bytes = |size: u64| arrays * 96 * size;
            assert_eq!(kept_bytes(&device, activation), bytes(4));
            let (y, grads) = trained(activation);
            for (arithmetic, tolerance) in [(Arithmetic::Half, 2e-3), (Arithmetic::Bfloat, 1.6e-2)]
            {
                device.set_arithmetic(arithmetic).unwrap();
                assert_eq!(kept_bytes(&device, activation), bytes(2));
                let (y_half, grads_half) = trained(activation);
                device.set_arithmetic(Arithmetic::Single).unwrap();
                assert_eq!(y_half, y, "values are not rounded");
                assert_ne!(grads_half[1], grads[1], "what is kept is rounded");
                for (grad, expected) in grads_half.iter().zip(&grads) {
                    assert_close(grad, expected, tolerance);
                }
            }
        }
    }
}
