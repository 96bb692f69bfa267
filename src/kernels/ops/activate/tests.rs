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
const EXPECTED: [(Activation, &str, &str); 7] = [
    (
        Activation::Silu,
        "-2.807287e-12 -0.14227761 -0.18877034 0.0 0.7310586 3.928055 25.0",
        "-2.7137108e-12 -0.08810411 -0.52007765 1.5 0.46383527 1.0526646 -1.0",
    ),
    (
        Activation::Relu,
        "0.0 0.0 0.0 0.0 1.0 4.0 25.0",
        "0.0 0.0 0.0 0.0 0.5 1.0 -1.0",
    ),
    (
        Activation::Tanh,
        "-1.0 -0.9950548 -0.46211716 0.0 0.7615942 0.9993293 1.0",
        "0.0 0.0098659815 -1.5728954 3.0 0.20998715 0.0013408931 0.0",
    ),
    (
        Activation::Gelu,
        "0.0 -0.004050225 -0.15426877 0.0 0.8413447 3.9998736 25.0",
        "0.0 -0.011945605 -0.26500982 1.5 0.5416577 1.0005037 -1.0",
    ),
    (
        Activation::Sigmoid,
        "9.3576236e-14 0.047425874 0.37754068 0.5 0.7310586 0.98201376 1.0",
        "9.3576236e-14 0.04517666 -0.47000742 0.75 0.09830596 0.017662734 0.0",
    ),
    (
        Activation::LeakyRelu,
        "-0.29999998 -0.03 -0.005 0.0 1.0 4.0 25.0",
        "0.01 0.01 -0.02 0.03 0.5 1.0 -1.0",
    ),
    (
        Activation::Softplus,
        "9.357623e-14 0.048587352 0.474077 0.6931472 1.3132616 4.01815 25.0",
        "9.357623e-14 0.047425874 -0.75508136 1.5 0.3655293 0.98201376 -1.0",
    ),
];

/// Panics unless the values agree to the last places, also where they are tiny.
#[track_caller]
fn assert_near(activation: Activation, actual: &[f32], expected: &[f32]) {
    for (actual, expected) in actual.iter().zip(expected) {
        let error = (actual - expected).abs();
        // PyTorch's GELU at -3 is off by 5e-7, because it computes a difference of numbers near 1; far below it is 0.
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
        assert_near(activation, &y, &testing::parse_numbers(values));
        assert_near(activation, &grads[0], &testing::parse_numbers(gradient));
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

/// Bytes that a pass holds after `activate(x + x)` if nothing else holds the sum.
fn held(activation: Activation, len: usize) -> u64 {
    let device = testing::device();
    let x = Var::<TestDevice>::constant(&device, testing::random_values(len, 1), [len]).unwrap();
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
    assert_eq!(pass.work(), Flops::default());
}
