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

/// Reference values and gradient of attention, pair by pair in double precision.
fn on_host(x: &[f32], weights: &[f32], size: AttentionSize) -> (Vec<f32>, Vec<f32>) {
    let (t, c, d) = (size.positions, size.features, size.head_width());
    let (mut y, mut grad) = (vec![0.0_f64; weights.len()], vec![0.0_f64; x.len()]);
    for (b, head) in (0..size.batch).flat_map(|b| (0..size.heads).map(move |head| (b, head))) {
        let place = |i: usize, part: usize| (b * t + i) * 3 * c + part * c + head * d;
        let row = |i: usize| (b * t + i) * c + head * d;
        let value = |i: usize, part: usize, f: usize| f64::from(x[place(i, part) + f]);
        for i in 0..t {
            let score = |j| (0..d).map(|f| value(i, 0, f) * value(j, 1, f)).sum::<f64>();
            let p: Vec<f64> = (0..t)
                .map(|j| (score(j) / (d as f64).sqrt()).exp())
                .collect();
            let sum: f64 = p.iter().sum();
            let p: Vec<f64> = p.iter().map(|p| p / sum).collect();
            let dy = |f: usize| f64::from(weights[row(i) + f]);
            let dp: Vec<f64> = (0..t)
                .map(|j| (0..d).map(|f| dy(f) * value(j, 2, f)).sum())
                .collect();
            let mean: f64 = p.iter().zip(&dp).map(|(p, dp)| p * dp).sum();
            for j in 0..t {
                let ds = p[j] * (dp[j] - mean) / (d as f64).sqrt();
                for f in 0..d {
                    y[row(i) + f] += p[j] * value(j, 2, f);
                    grad[place(i, 0) + f] += ds * value(j, 1, f);
                    grad[place(j, 1) + f] += ds * value(i, 0, f);
                    grad[place(j, 2) + f] += p[j] * dy(f);
                }
            }
        }
    }
    let single = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
    (single(y), single(grad))
}

#[test]
fn all_sizes_give_what_the_host_does() {
    // One sequence of many heads, one head of many sequences, many of both, one position, and rows longer than the threads
    // of a GPU hold.
    for (batch, positions, heads, width) in [
        (1, 33, 3, 5),
        (3, 31, 1, 7),
        (2, 65, 3, 33),
        (2, 1, 2, 1),
        (1, 1025, 1, 1),
    ] {
        let size = AttentionSize {
            batch,
            positions,
            features: heads * width,
            heads,
        };
        let x = testing::filled(3 * batch * positions * size.features, 1);
        let weights = testing::filled(x.len() / 3, 2);
        let leaf: [(&[f32], _); 1] = [(&x, [batch, positions, 3 * size.features].into())];
        let (y, grads) =
            testing::backward(&leaf, &weights, |pass, x| attention(pass, &x[0], heads));
        let (host_y, host_grad) = on_host(&x, &weights, size);
        assert_close(&y, &host_y, 1e-5);
        assert_close(&grads[0], &host_grad, 1e-5);
    }
}
