use super::*;
use crate::ops::testing::{self, assert_close};

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
fn a_batch_is_the_mean_of_its_samples() {
    let (x, t) = (testing::filled(12, 1), testing::filled(12, 2));
    let loss = |x: &[f32], t: &[f32]| {
        let shape = [x.len() / 4, 4].into();
        testing::forward(&[(x, shape), (t, shape)], |pass, x| mse(pass, &x[0], &x[1]))[0]
    };
    let samples: f32 = x.chunks(4).zip(t.chunks(4)).map(|(x, t)| loss(x, t)).sum();
    assert_close(&[loss(&x, &t)], &[samples / 3.0], 1e-6);
}

#[test]
fn unequal_shapes_are_refused() {
    let device = testing::device();
    let [x, t] = [[2, 3], [3, 2]].map(|shape| Var::constant(&device, vec![0.0; 6], shape).unwrap());
    let error = mse(&mut Pass::inference(&device), &x, &t).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mse: x (2, 3) and target (3, 2) do not fit"
    );
}

#[test]
fn any_number_of_values_gives_their_mean_and_slopes() {
    for n in [1, 3, 31, 33, 1025, 300_001] {
        let (x, t) = (testing::filled(n, 1), testing::filled(n, 2));
        let leaves = [(x.as_slice(), [n].into()), (t.as_slice(), [n].into())];
        let (loss, grads) =
            testing::backward(&leaves, &[n as f32], |pass, x| mse(pass, &x[0], &x[1]));
        let squares = x.iter().zip(&t).map(|(x, t)| f64::from(x - t).powi(2));
        assert_close(&loss, &[(squares.sum::<f64>() / n as f64) as f32], 1e-6);
        let slopes: Vec<f32> = x.iter().zip(&t).map(|(x, t)| 2.0 * (x - t)).collect();
        assert_close(&grads[0], &slopes, 1e-6);
    }
}
