use super::*;
use crate::ops::testing::{self, assert_close};

#[test]
fn a_row_over_an_image_is_as_in_pytorch() {
    // x = torch.tensor([1., -2., 3., .5, 4., -1.]).reshape(1, 3, 2); y = torch.tensor([[2., -1.]])
    // z = x * y.unsqueeze(1); z.backward(torch.tensor([1., 2., 3., 4., 5., 6.]).reshape(1, 3, 2))
    let x: &[f32] = &[1.0, -2.0, 3.0, 0.5, 4.0, -1.0];
    let seed = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let inputs = [(x, [1, 3, 2].into()), (&[2.0, -1.0][..], [1, 2].into())];
    let (z, grads) = testing::backward(&inputs, &seed, |pass, x| {
        broadcast(pass, &x[0], &x[1], [1, 3, 2], Combine::Multiply)
    });
    assert_eq!(z, [2.0, 2.0, 6.0, -0.5, 8.0, 1.0]);
    assert_eq!(grads[0], [2.0, -2.0, 6.0, -4.0, 10.0, -6.0]);
    assert_eq!(grads[1], [30.0, -8.0]);
    let (z, grads) = testing::backward(&inputs, &seed, |pass, x| {
        broadcast(pass, &x[0], &x[1], [1, 3, 2], Combine::Add)
    });
    assert_eq!(z, [3.0, -3.0, 5.0, -0.5, 6.0, -2.0]);
    assert_eq!(grads[0], seed);
    assert_eq!(grads[1], [9.0, 12.0]);
}

#[test]
fn a_mean_over_positions_is_that_of_pytorch() {
    // x = torch.tensor([1., 2., 3., 5., -1., 0., 2., 2.]).reshape(2, 2, 2)
    // y = x.mean(1); y.backward(torch.tensor([[1., 2.], [3., 4.]]))
    let x: &[f32] = &[1.0, 2.0, 3.0, 5.0, -1.0, 0.0, 2.0, 2.0];
    let inputs = [(x, [2, 2, 2].into())];
    let (y, grads) = testing::backward(&inputs, &[1.0, 2.0, 3.0, 4.0], |pass, x| {
        mean_positions(pass, &x[0])
    });
    assert_eq!(y, [2.0, 3.5, 0.5, 1.0]);
    assert_eq!(grads[0], [0.5, 1.0, 0.5, 1.0, 1.5, 2.0, 1.5, 2.0]);
}

#[test]
fn a_sum_over_many_positions_keeps_its_digits() {
    let positions = 100_000;
    let x = vec![0.1; 3 * positions];
    let y = testing::forward(&[(&x, [1, positions, 3].into())], |pass, x| {
        mean_positions(pass, &x[0])
    });
    assert_close(&y, &[0.1; 3], 1e-6);
}

#[test]
fn a_product_with_itself_gets_both_gradients() {
    testing::check_gradients(&[[2, 9, 5].into()], |pass, x| {
        broadcast(pass, &x[0], &x[0], [1, 1, 90], Combine::Multiply)
    });
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
    let pass = &mut Pass::inference(&device);
    let error = broadcast(pass, &x, &x, [2, 3, 1], Combine::Add).unwrap_err();
    assert_eq!(
        error.to_string(),
        "add: (2, 3) and (2, 3) are not [2, 3, 1]"
    );
    let error = mean_positions(pass, &x).unwrap_err();
    let expected = "mean: expected (B, T, F) or (B, H, W, C), got (2, 3)";
    assert_eq!(error.to_string(), expected);
}
