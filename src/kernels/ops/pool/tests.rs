use super::*;
use crate::ops::testing::{self, assert_close};

fn options(kernel: usize, stride: usize, padding: usize) -> PoolOptions {
    PoolOptions {
        kernel,
        stride,
        padding,
    }
}

const X: [f32; 12] = [
    1.0, -2.0, 3.0, 0.5, 4.0, -1.0, 2.0, 2.0, -3.0, 0.0, 5.0, 1.0,
];

#[test]
fn maxima_and_their_gradient_are_those_of_pytorch() {
    // x = torch.tensor(X).reshape(1, 1, 3, 4).requires_grad_(); y = F.max_pool2d(x, 2, 1, 1)
    // y.backward(torch.arange(20.).reshape(1, 1, 4, 5))
    let seed: Vec<f32> = (0..20).map(|value| value as f32).collect();
    let (y, grads) = testing::backward(&[(&X, [1, 3, 4, 1].into())], &seed, |pass, x| {
        pool(pass, &x[0], Pool::Max, options(2, 1, 1))
    });
    let expected = [
        1.0, 1.0, 3.0, 3.0, 0.5, 4.0, 4.0, 3.0, 3.0, 2.0, 4.0, 4.0, 5.0, 5.0, 2.0, -3.0, 0.0, 5.0,
        5.0, 1.0,
    ];
    assert_eq!(y, expected);
    let expected = [
        1.0, 0.0, 20.0, 4.0, 32.0, 0.0, 0.0, 23.0, 15.0, 16.0, 60.0, 19.0,
    ];
    assert_eq!(grads[0], expected);
}

#[test]
fn means_and_their_gradient_are_those_of_pytorch() {
    // x = torch.tensor(X).reshape(1, 1, 3, 4).requires_grad_(); y = F.avg_pool2d(x, 2, 2, 1)
    // y.backward(torch.arange(6.).reshape(1, 1, 2, 3))
    let seed: Vec<f32> = (0..6).map(|value| value as f32).collect();
    let (y, grads) = testing::backward(&[(&X, [1, 3, 4, 1].into())], &seed, |pass, x| {
        pool(pass, &x[0], Pool::Average, options(2, 2, 1))
    });
    assert_eq!(y, [0.25, 0.25, 0.125, 0.25, 1.5, 0.75]);
    let expected = [
        0.0, 0.25, 0.25, 0.5, 0.75, 1.0, 1.0, 1.25, 0.75, 1.0, 1.0, 1.25,
    ];
    assert_close(&grads[0], &expected, 1e-7);
}

#[test]
fn of_equal_maxima_the_first_has_the_gradient_and_nan_wins() {
    let ones = [1.0; 4];
    let (_, grads) = testing::backward(&[(&ones, [1, 2, 2, 1].into())], &[1.0], |pass, x| {
        pool(pass, &x[0], Pool::Max, options(2, 2, 0))
    });
    assert_eq!(grads[0], [1.0, 0.0, 0.0, 0.0]);
    let x = [1.0, f32::NAN, 2.0, 3.0];
    let y = testing::forward(&[(&x, [1, 2, 2, 1].into())], |pass, x| {
        pool(pass, &x[0], Pool::Max, options(2, 2, 0))
    });
    assert!(y[0].is_nan());
}

#[test]
fn windows_that_do_not_fit_are_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 6], [1, 2, 3, 1]).unwrap();
    for options in [
        options(3, 1, 0),
        options(2, 1, 2),
        options(0, 1, 0),
        options(1, 0, 0),
    ] {
        let error = pool(&mut Pass::inference(&device), &x, Pool::Max, options).unwrap_err();
        assert!(
            error.to_string().starts_with("max_pool2d: windows of"),
            "{error}"
        );
    }
}
