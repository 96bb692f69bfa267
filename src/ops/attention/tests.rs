use super::*;
use crate::ops::testing::{self, assert_close};

#[test]
fn values_and_gradient_are_those_of_pytorch() {
    // x = torch.arange(24.).sin().reshape(1, 2, 12)
    // q, k, v = x.reshape(1, 2, 3, 2, 2).permute(2, 0, 3, 1, 4)
    // y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 2, 4)
    // y.backward(torch.tensor([[[1., -2., .5, 3.], [0., 1., -1., 2.]]]))
    let x: Vec<f32> = (0..24).map(|index| (index as f32).sin()).collect();
    let seed = [1.0, -2.0, 0.5, 3.0, 0.0, 1.0, -1.0, 2.0];
    let (y, grads) = testing::backward(&[(&x, [1, 2, 12].into())], &seed, |pass, x| {
        attention(pass, &x[0], 2)
    });
    let expected = [
        0.951_18,
        0.624_230_9,
        -0.323_285_55,
        -0.936_566_4,
        0.954_555_4,
        0.605_477_3,
        -0.349_894_7,
        -0.944_212_1,
    ];
    assert_close(&y, &expected, 1e-6);
    let expected = [
        -0.076_714_024,
        0.000_404_626,
        -0.058_900_096,
        -0.063_338_9,
        0.039_949_294,
        0.106_385_87,
        -0.076_715_28,
        0.006_569_177,
        0.500_367_94,
        -0.456_193_8,
        -0.343_491_52,
        3.037_147,
        0.034_910_8,
        -0.000_184_14,
        0.017_545_82,
        0.018_868_065,
        -0.039_949_3,
        -0.106_385_86,
        0.076_715_2,
        -0.006_569_196,
        0.499_632_15,
        -0.543_806_4,
        -0.156_508_5,
        1.962_852_6,
    ];
    assert_close(&grads[0], &expected, 1e-6);
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    testing::check_gradients(&[[2, 5, 18].into()], |pass, x| attention(pass, &x[0], 2));
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    testing::check_threads(&[[3, 90, 48].into()], |pass, x| attention(pass, &x[0], 4));
}

#[test]
fn a_batch_is_its_samples() {
    testing::check_batch(3, &[[3, 7, 24].into()], |pass, x| attention(pass, &x[0], 4));
}

#[test]
fn equal_keys_give_the_mean_of_the_values() {
    let x = [9.0, 0.5, 1.0, -3.0, 0.5, 5.0];
    let y = testing::forward(&[(&x, [1, 2, 3].into())], |pass, x| {
        attention(pass, &x[0], 1)
    });
    assert_close(&y, &[3.0, 3.0], 1e-6);
}

#[test]
fn heads_that_do_not_divide_the_features_are_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 30], [1, 2, 15]).unwrap();
    let error = attention(&mut Pass::inference(&device), &x, 2).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attention: (1, 2, 15) cannot be q, k and v of 2 heads"
    );
}
