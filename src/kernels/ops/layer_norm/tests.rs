use super::*;
use crate::ops::testing::{self, assert_close, parse_numbers};

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // x = torch.tensor([[1., 2., 4.], [-1., .5, 3.]]); g = torch.tensor([1., .5, -2.]); b = torch.tensor([0., 1., .1])
    // y = F.layer_norm(x, (3,), g, b, 1e-5); y.backward(torch.tensor([[1., -2., 3.], [.5, 1., -1.]]))
    let (y, grads) = testing::backward(
        &[
            (&[1.0, 2.0, 4.0, -1.0, 0.5, 3.0], [2, 3].into()),
            (&[1.0, 0.5, -2.0], [3].into()),
            (&[0.0, 1.0, 0.1], [3].into()),
        ],
        &[1.0, -2.0, 3.0, 0.5, 1.0, -1.0],
        |pass, x| layer_norm(pass, &x[0], &x[1], &x[2], 1e-5),
    );
    let expected =
        parse_numbers("-1.0690414 0.86636984 -2.5726037 -1.1111658 0.8989849 -2.5263917");
    assert_close(&y, &expected, 1e-6);
    let dx = parse_numbers("-0.11452341 0.17181444 -0.057290554 0.13915181 -0.22264574 0.08349392");
    assert_close(&grads[0], &dx, 1e-6);
    assert_close(&grads[1], &[-1.624_624_3, 0.332_490_44, 2.695_709_5], 1e-6);
    assert_close(&grads[2], &[1.5, -1.0, 2.0], 1e-6);
}

#[test]
fn the_gradients_are_those_of_finite_differences() {
    for shape in [[3, 2, 21], [1, 3, 67], [1, 70, 5]] {
        let features = [shape[2]].into();
        testing::check_gradients(&[shape.into(), features, features], |pass, x| {
            layer_norm(pass, &x[0], &x[1], &x[2], 1e-5)
        });
    }
}
