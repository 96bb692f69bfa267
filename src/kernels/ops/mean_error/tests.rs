use super::*;
use crate::ops::testing::{self, assert_close};

const HUBER: ErrorTerm = ErrorTerm::Huber { delta: 0.75 };

/// `(3 * loss(x, t)).backward()` gives `loss` and the gradient of x; that of t is its negative.
#[track_caller]
fn assert_pytorch(term: ErrorTerm, loss: f32, gradient: [f32; 6]) {
    // x = torch.tensor([[1., 2., .25], [4., -1., 0.]]); t = torch.tensor([[0., 2.5, .25], [1., 1., .3]])
    let (found, grads) = testing::backward(
        &[
            (&[1.0, 2.0, 0.25, 4.0, -1.0, 0.0], [2, 3].into()),
            (&[0.0, 2.5, 0.25, 1.0, 1.0, 0.3], [2, 3].into()),
        ],
        &[3.0],
        |pass, x| mean_error(pass, term, &x[0], &x[1]),
    );
    assert_close(&found, &[loss], 1e-7);
    assert_close(&grads[0], &gradient, 1e-7);
    assert_close(&grads[1], &gradient.map(|slope| -slope), 1e-7);
}

#[test]
fn value_and_gradients_are_those_of_pytorch() {
    // x = torch.tensor([[1., 2.], [4., -1.]]); t = torch.tensor([[0., 2.5], [1., 1.]])
    // (3 * F.mse_loss(x, t)).backward()
    let (loss, grads) = testing::backward(
        &[
            (&[1.0, 2.0, 4.0, -1.0], [2, 2].into()),
            (&[0.0, 2.5, 1.0, 1.0], [2, 2].into()),
        ],
        &[3.0],
        |pass, x| mse(pass, &x[0], &x[1]),
    );
    assert_close(&loss, &[3.5625], 1e-7);
    assert_close(&grads[0], &[1.5, -0.75, 4.5, -3.0], 1e-7);
    assert_close(&grads[1], &[-1.5, 0.75, -4.5, 3.0], 1e-7);
}

#[test]
fn absolute_errors_are_those_of_pytorch() {
    // F.l1_loss(x, t)
    let gradient = [0.5, -0.5, 0.0, 0.5, -0.5, -0.5];
    assert_pytorch(ErrorTerm::Absolute, 1.133_333_3, gradient);
}

#[test]
fn errors_of_huber_are_those_of_pytorch() {
    // F.huber_loss(x, t), then with delta=.75 and with delta=3.; a difference is 1, another 3
    let one = ErrorTerm::Huber { delta: 1.0 };
    assert_pytorch(one, 0.778_333_37, [0.5, -0.25, 0.0, 0.5, -0.5, -0.15]);
    let gradient = [0.375, -0.25, 0.0, 0.375, -0.375, -0.15];
    assert_pytorch(HUBER, 0.637_708_37, gradient);
    let three = ErrorTerm::Huber { delta: 3.0 };
    assert_pytorch(three, 1.195, [0.5, -0.25, 0.0, 1.5, -1.0, -0.15]);
}

#[test]
fn not_a_number_stays_one() {
    for term in [ErrorTerm::Squared, ErrorTerm::Absolute, HUBER] {
        let leaves: [(&[f32], _); 2] = [(&[f32::NAN, 0.0], [2].into()), (&[0.0; 2], [2].into())];
        let loss = testing::forward(&leaves, |pass, x| mean_error(pass, term, &x[0], &x[1]));
        assert!(loss[0].is_nan(), "{term:?}");
    }
}

#[test]
fn unequal_shapes_are_refused() {
    let device = testing::device();
    let [x, t] = [[2, 3], [3, 2]].map(|shape| Var::constant(&device, vec![0.0; 6], shape).unwrap());
    let refused = |term| mean_error(&mut Pass::inference(&device), term, &x, &t).unwrap_err();
    assert_eq!(
        refused(ErrorTerm::Squared).to_string(),
        "mse: x (2, 3) and target (3, 2) do not fit"
    );
    assert!(refused(HUBER).to_string().starts_with("huber: x (2, 3)"));
}

/// The error of a difference and its slope, in f64.
fn expected(term: ErrorTerm, difference: f64) -> (f64, f64) {
    match term {
        ErrorTerm::Squared => (difference * difference, 2.0 * difference),
        ErrorTerm::Absolute => (difference.abs(), difference.signum()),
        ErrorTerm::Huber { delta } => {
            let delta = f64::from(delta);
            let slope = difference.clamp(-delta, delta);
            (slope * (difference - 0.5 * slope), slope)
        }
    }
}

#[test]
fn any_number_of_values_gives_their_mean_and_slopes() {
    for n in [1, 3, 31, 33, 1025, 300_001] {
        let (x, t) = (testing::random_values(n, 1), testing::random_values(n, 2));
        let leaves = [(x.as_slice(), [n].into()), (t.as_slice(), [n].into())];
        for term in [ErrorTerm::Squared, ErrorTerm::Absolute, HUBER] {
            let (loss, grads) = testing::backward(&leaves, &[n as f32], |pass, x| {
                mean_error(pass, term, &x[0], &x[1])
            });
            let differences = x.iter().zip(&t).map(|(x, t)| f64::from(x - t));
            let (errors, slopes): (Vec<f64>, Vec<f32>) = differences
                .map(|difference| expected(term, difference))
                .map(|(error, slope)| (error, slope as f32))
                .unzip();
            let mean = errors.iter().sum::<f64>() / n as f64;
            assert_close(&loss, &[mean as f32], 1e-6);
            assert_close(&grads[0], &slopes, 1e-6);
        }
    }
}
