use super::*;
use crate::ops::add;
use crate::ops::testing::{self, TestDevice};

const ALL: [Activation; 7] = [
    Activation::Silu,
    Activation::Relu,
    Activation::Tanh,
    Activation::Gelu,
    Activation::Sigmoid,
    Activation::LeakyRelu,
    Activation::Softplus,
];

/// Values and gradients that PyTorch gives:
///
/// `x = torch.tensor([-30., -3., -.5, 0., 1., 4., 25.], requires_grad=True)`
///
/// `y = F.NAME(x); y.backward(torch.tensor([1., 1., -2., 3., .5, 1., -1.]))`
const EXPECTED: [(Activation, [f32; 7], [f32; 7]); 7] = [
    (
        Activation::Silu,
        [
            -2.807_287e-12,
            -0.142_277_61,
            -0.188_770_34,
            0.0,
            0.731_058_6,
            3.928_055,
            25.0,
        ],
        [
            -2.713_710_8e-12,
            -0.088_104_11,
            -0.520_077_65,
            1.5,
            0.463_835_27,
            1.052_664_6,
            -1.0,
        ],
    ),
    (
        Activation::Relu,
        [0.0, 0.0, 0.0, 0.0, 1.0, 4.0, 25.0],
        [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, -1.0],
    ),
    (
        Activation::Tanh,
        [
            -1.0,
            -0.995_054_8,
            -0.462_117_16,
            0.0,
            0.761_594_2,
            0.999_329_3,
            1.0,
        ],
        [
            0.0,
            0.009_865_981_5,
            -1.572_895_4,
            3.0,
            0.209_987_15,
            0.001_340_893_1,
            0.0,
        ],
    ),
    (
        Activation::Gelu,
        [
            0.0,
            -0.004_050_225,
            -0.154_268_77,
            0.0,
            0.841_344_7,
            3.999_873_6,
            25.0,
        ],
        [
            0.0,
            -0.011_945_605,
            -0.265_009_82,
            1.5,
            0.541_657_7,
            1.000_503_7,
            -1.0,
        ],
    ),
    (
        Activation::Sigmoid,
        [
            9.357_623_6e-14,
            0.047_425_874,
            0.377_540_68,
            0.5,
            0.731_058_6,
            0.982_013_76,
            1.0,
        ],
        [
            9.357_623_6e-14,
            0.045_176_66,
            -0.470_007_42,
            0.75,
            0.098_305_96,
            0.017_662_734,
            0.0,
        ],
    ),
    (
        Activation::LeakyRelu,
        [-0.299_999_98, -0.03, -0.005, 0.0, 1.0, 4.0, 25.0],
        [0.01, 0.01, -0.02, 0.03, 0.5, 1.0, -1.0],
    ),
    (
        Activation::Softplus,
        [
            9.357_623e-14,
            0.048_587_352,
            0.474_077,
            std::f32::consts::LN_2,
            1.313_261_6,
            4.018_15,
            25.0,
        ],
        [
            9.357_623e-14,
            0.047_425_874,
            -0.755_081_36,
            1.5,
            0.365_529_3,
            0.982_013_76,
            -1.0,
        ],
    ),
];

/// Panics unless the values agree to the last places, also where they are tiny.
#[track_caller]
fn assert_near(activation: Activation, actual: &[f32], expected: &[f32]) {
    for (actual, expected) in actual.iter().zip(expected) {
        let error = (actual - expected).abs();
        // GELU is a difference of numbers near 1 at -3, where PyTorch is 5e-7 off, and far below underflows to 0.
        let tolerance = match expected.abs() {
            size if size > 1e-3 => 6e-7_f32.max(1e-6 * size),
            size if size > 0.0 => 1e-6 * size,
            _ => 1e-12,
        };
        assert!(
            error <= tolerance,
            "{activation:?}: {actual} instead of {expected}"
        );
    }
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    assert_eq!(EXPECTED.map(|(activation, ..)| activation), ALL);
    for (activation, values, gradient) in EXPECTED {
        let (y, grads) = testing::backward(
            &[(&[-30.0, -3.0, -0.5, 0.0, 1.0, 4.0, 25.0], [7].into())],
            &[1.0, 1.0, -2.0, 3.0, 0.5, 1.0, -1.0],
            |pass, x| activate(pass, &x[0], activation),
        );
        assert_near(activation, &y, &values);
        assert_near(activation, &grads[0], &gradient);
    }
}

#[test]
fn numbers_beyond_the_range_of_exp_are_as_in_pytorch() {
    // F.NAME(torch.tensor([-200., 200., float('inf')])), where tiny values are 0
    for (activation, expected) in [
        (Activation::Relu, [0.0, 200.0, f32::INFINITY]),
        (Activation::Tanh, [-1.0, 1.0, 1.0]),
        (Activation::Sigmoid, [0.0, 1.0, 1.0]),
        (Activation::LeakyRelu, [-2.0, 200.0, f32::INFINITY]),
        (Activation::Softplus, [0.0, 200.0, f32::INFINITY]),
    ] {
        let x: &[f32] = &[-200.0, 200.0, f32::INFINITY];
        let y = testing::forward(&[(x, [3].into())], |pass, x| {
            activate(pass, &x[0], activation)
        });
        let is_close =
            |(y, e): (&f32, &f32)| (y - e).abs() < 1e-37 || y.is_infinite() && e.is_infinite();
        assert!(
            y.iter().zip(&expected).all(is_close),
            "{activation:?}: {y:?}"
        );
    }
}

#[test]
fn not_a_number_stays_one() {
    for activation in ALL {
        let x: &[f32] = &[1.0, f32::NAN, -1.0];
        let y = testing::forward(&[(x, [3].into())], |pass, x| {
            activate(pass, &x[0], activation)
        });
        let found: Vec<bool> = y.iter().map(|y| y.is_nan()).collect();
        assert_eq!(found, [false, true, false], "{activation:?}");
    }
}

#[test]
fn a_value_that_is_used_twice_gets_the_gradients_of_both() {
    for activation in ALL {
        testing::check_gradients(&[[3, 35].into()], |pass, x| {
            let first = activate(pass, &x[0], activation)?;
            let second = activate(pass, &x[0], Activation::Tanh)?;
            add(pass, &first, &second)
        });
    }
}

/// Bytes that a pass holds after `activate(x + x)`, nothing else holding the sum.
fn held(activation: Activation, len: usize) -> u64 {
    let device = testing::device();
    let x = Var::<TestDevice>::constant(&device, testing::filled(len, 1), [len]).unwrap();
    let x = x.leaf(&device).unwrap();
    let mut pass = Pass::recording(&device);
    let sum = add(&mut pass, &x, &x).unwrap();
    let y = activate(&mut pass, &sum, activation).unwrap();
    drop((sum, y));
    pass.held_bytes()
}

#[test]
fn backward_holds_one_of_input_and_result() {
    for activation in ALL {
        assert_eq!(held(activation, 1000), 4000, "{activation:?}");
    }
}

#[test]
fn the_identity_records_nothing() {
    let device = testing::device();
    let x = Var::<TestDevice>::constant(&device, vec![1.0, 2.0], [2]).unwrap();
    let mut pass = Pass::recording(&device);
    let y = activate(&mut pass, &x.leaf(&device).unwrap(), Activation::Identity).unwrap();
    assert_eq!(y.to_host(&device).unwrap(), [1.0, 2.0]);
    assert_eq!(pass.work(), Work::default());
}
