use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::ops::dropout;
use crate::ops::testing::{self, TestDevice, assert_close};

/// Attention of some heads; with `causal`; with dropout of probability `p`, whose generator begins at 3.
fn attend(
    heads: usize,
    causal: bool,
    p: f32,
) -> impl Fn(&mut Pass<TestDevice>, &[Var<TestDevice>]) -> Result<Var<TestDevice>> + Sync {
    move |pass, x| {
        if p > 0.0 {
            switch_on(pass);
        }
        let options = AttentionOptions {
            heads,
            causal,
            dropout: p,
        };
        attention(pass, &x[0], options)
    }
}

fn switch_on(pass: &mut Pass<TestDevice>) {
    let empty = Pass::inference(pass.device());
    *pass = std::mem::replace(pass, empty).with_dropout(ChaCha8Rng::seed_from_u64(3));
}

#[test]
fn values_and_gradient_are_those_of_pytorch() {
    // x = torch.arange(24.).sin().reshape(1, 2, 12)
    // q, k, v = x.reshape(1, 2, 3, 2, 2).permute(2, 0, 3, 1, 4)
    // y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 2, 4)
    // y.backward(torch.tensor([[[1., -2., .5, 3.], [0., 1., -1., 2.]]]))
    let x: Vec<f32> = (0..24).map(|index| (index as f32).sin()).collect();
    let seed = [1.0, -2.0, 0.5, 3.0, 0.0, 1.0, -1.0, 2.0];
    let (y, grads) = testing::backward(&[(&x, [1, 2, 12].into())], &seed, attend(2, false, 0.0));
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
fn causal_values_and_gradient_are_those_of_pytorch() {
    // x = torch.arange(36.).sin().reshape(1, 3, 12)
    // q, k, v = x.reshape(1, 3, 3, 2, 2).permute(2, 0, 3, 1, 4)
    // y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(1, 3, 4)
    // y.backward(torch.tensor([[[1., -2., .5, 3.], [0., 1., -1., 2.], [-1., .5, 2., -.5]]]))
    let x: Vec<f32> = (0..36).map(|index| (index as f32).sin()).collect();
    let seed = [
        1.0, -2.0, 0.5, 3.0, 0.0, 1.0, -1.0, 2.0, -1.0, 0.5, 2.0, -0.5,
    ];
    let leaf: [(&[f32], _); 1] = [(&x, [1, 3, 12].into())];
    let (y, grads) = testing::backward(&leaf, &seed, attend(2, true, 0.0));
    let expected = [
        0.989_358_2,
        0.412_118_5,
        -0.544_021_1,
        -0.999_990_2,
        0.954_555_4,
        0.605_477_3,
        -0.349_894_7,
        -0.944_212_1,
        0.865_855_6,
        0.684_151_3,
        -0.197_898_1,
        -0.853_953_6,
    ];
    assert_close(&y, &expected, 1e-6);
    let expected = [
        0.0,
        0.0,
        0.0,
        0.0,
        0.113_987_3,
        -0.020_461_78,
        -0.140_430_6,
        -0.198_153_8,
        0.554_472_2,
        -1.232_694,
        0.924_681_1,
        4.009_038,
        0.034_910_8,
        -0.000_184_141_1,
        0.017_545_82,
        0.018_868_06,
        -0.046_112_58,
        0.030_381_79,
        0.022_107_82,
        0.049_757_22,
        -0.330_047_2,
        0.620_481_6,
        0.221_694_8,
        0.579_367_8,
        0.080_219_92,
        0.022_115_72,
        -0.146_417_5,
        -0.203_847,
        -0.067_874_77,
        -0.009_920_009,
        0.118_322_8,
        0.148_396_6,
        -0.224_424_9,
        0.112_212_4,
        0.353_624_1,
        -0.088_406_03,
    ];
    assert_close(&grads[0], &expected, 1e-6);
}

#[test]
fn equal_keys_give_the_mean_of_the_values() {
    let x = [9.0, 0.5, 1.0, -3.0, 0.5, 5.0];
    let y = testing::forward(&[(&x, [1, 2, 3].into())], attend(1, false, 0.0));
    assert_close(&y, &[3.0, 3.0], 1e-6);
}

#[test]
fn heads_that_do_not_divide_the_features_are_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 30], [1, 2, 15]).unwrap();
    let error = attend(2, false, 0.0)(&mut Pass::inference(&device), &[x]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "attention: (1, 2, 15) cannot be q, k and v of 2 heads"
    );
}

#[test]
fn a_probability_of_one_is_refused() {
    let device = testing::device();
    let x = Var::constant(&device, vec![0.0; 12], [1, 1, 12]).unwrap();
    let error = attend(2, false, 1.0)(&mut Pass::inference(&device), &[x]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "dropout: the probability 1 is not in [0, 1)"
    );
}

#[test]
fn causal_work_is_that_of_half_the_pairs() {
    let size = AttentionSize {
        batch: 2,
        positions: 4,
        features: 6,
        heads: 3,
        causal: true,
    };
    let pairs = 2 * (4 * 5 / 2);
    assert_eq!(
        size.work(false),
        Work::new(pairs * (4 * 6 + 5 * 3), pairs * (8 * 6 + 5 * 3))
    );
    assert_eq!(
        size.work(true),
        Work::new(pairs * (4 * 6 + 6 * 3), pairs * (8 * 6 + 6 * 3))
    );
}

#[test]
fn a_causal_row_does_not_depend_on_later_positions() {
    const CHANGED: usize = 40;
    let x = testing::filled(70 * 3 * 10, 1);
    let mut other = x.clone();
    for value in &mut other[CHANGED * 30..] {
        *value = 7.0 - *value;
    }
    let [y, other] =
        [x, other].map(|x| testing::forward(&[(&x, [1, 70, 30].into())], attend(2, true, 0.0)));
    assert_eq!(y[..CHANGED * 10], other[..CHANGED * 10]);
    assert!(y[CHANGED * 10..] != other[CHANGED * 10..]);
}

#[test]
fn dropout_keeps_the_mean_and_is_off_in_evaluation() {
    // With values of 1 a result is the sum of its weights, which is 1 without dropout.
    let mut x = testing::filled(4 * 64 * 48, 1);
    for row in x.chunks_exact_mut(48) {
        row[32..].fill(1.0);
    }
    for causal in [false, true] {
        let leaf: [(&[f32], _); 1] = [(&x, [4, 64, 48].into())];
        let y = testing::forward(&leaf, attend(4, causal, 0.25));
        let mean = y.iter().sum::<f32>() / y.len() as f32;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        assert!(y.iter().any(|value| (value - 1.0).abs() > 0.05));
        let options = AttentionOptions {
            heads: 4,
            causal,
            dropout: 0.25,
        };
        let y = testing::forward(&leaf, |pass, x| attention(pass, &x[0], options));
        assert_close(&y, &[1.0; 4 * 64 * 16], 1e-5);
    }
}

/// Reference values and gradient of attention, pair by pair in double precision; `factors` are those of dropout.
fn on_host(
    x: &[f32],
    weights: &[f32],
    factors: &[f32],
    size: AttentionSize,
) -> (Vec<f32>, Vec<f32>) {
    let (t, c, d) = (size.positions, size.features, size.head_width());
    let (mut y, mut grad) = (vec![0.0_f64; weights.len()], vec![0.0_f64; x.len()]);
    for (b, head) in (0..size.batch).flat_map(|b| (0..size.heads).map(move |head| (b, head))) {
        let place = |i: usize, part: usize| (b * t + i) * 3 * c + part * c + head * d;
        let row = |i: usize| (b * t + i) * c + head * d;
        let value = |i: usize, part: usize, f: usize| f64::from(x[place(i, part) + f]);
        for i in 0..t {
            let score = |j| (0..d).map(|f| value(i, 0, f) * value(j, 1, f)).sum::<f64>();
            let used = if size.causal { i + 1 } else { t };
            let factor = |j: usize| f64::from(factors[((b * size.heads + head) * t + i) * t + j]);
            let p: Vec<f64> = (0..used)
                .map(|j| (score(j) / (d as f64).sqrt()).exp())
                .collect();
            let sum: f64 = p.iter().sum();
            let p: Vec<f64> = p.iter().map(|p| p / sum).collect();
            let dy = |f: usize| f64::from(weights[row(i) + f]);
            let dp: Vec<f64> = (0..used)
                .map(|j| factor(j) * (0..d).map(|f| dy(f) * value(j, 2, f)).sum::<f64>())
                .collect();
            let mean: f64 = p.iter().zip(&dp).map(|(p, dp)| p * dp).sum();
            for j in 0..used {
                let ds = p[j] * (dp[j] - mean) / (d as f64).sqrt();
                for f in 0..d {
                    y[row(i) + f] += factor(j) * p[j] * value(j, 2, f);
                    grad[place(i, 0) + f] += ds * value(j, 1, f);
                    grad[place(j, 1) + f] += ds * value(i, 0, f);
                    grad[place(j, 2) + f] += factor(j) * p[j] * dy(f);
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
    // of a GPU hold; without and with dropout, causal and not.
    for (batch, positions, heads, width) in [
        (1, 33, 3, 5),
        (3, 31, 1, 7),
        (2, 65, 3, 33),
        (2, 1, 2, 1),
        (1, 1025, 1, 1),
    ] {
        for (causal, p) in [(false, 0.0), (true, 0.0), (false, 0.3), (true, 0.3)] {
            let size = AttentionSize {
                batch,
                positions,
                features: heads * width,
                heads,
                causal,
            };
            let x = testing::filled(3 * batch * positions * size.features, 1);
            let weights = testing::filled(x.len() / 3, 2);
            // The mask of the operation is that of dropout of all its probabilities.
            let ones = vec![1.0; batch * heads * positions * positions];
            let factors = testing::forward(&[(&ones, [ones.len()].into())], |pass, x| {
                switch_on(pass);
                dropout(pass, &x[0], p)
            });
            let leaf: [(&[f32], _); 1] = [(&x, [batch, positions, 3 * size.features].into())];
            let (y, grads) = testing::backward(&leaf, &weights, attend(heads, causal, p));
            let (host_y, host_grad) = on_host(&x, &weights, &factors, size);
            assert_close(&y, &host_y, 1e-5);
            assert_close(&grads[0], &host_grad, 1e-5);
        }
    }
}

#[cfg(feature = "cuda-stand-in")]
#[test]
fn in_mixed_precision_probabilities_are_kept_in_half_their_memory() {
    use crate::device::Arithmetic;

    let device = testing::device();
    // The second size has rows longer than the threads of a GPU hold.
    for (batch, positions, heads, width) in [(2, 5, 2, 4), (1, 1025, 1, 1)] {
        let size = AttentionSize {
            batch,
            positions,
            features: heads * width,
            heads,
            causal: true,
        };
        let scores = batch * heads * positions * positions;
        let x = testing::filled(3 * batch * positions * size.features, 1);
        let weights = testing::filled(x.len() / 3, 2);
        let kept_bytes = || {
            let qkv = PooledBuffer::<TestDevice>::new(device.upload(x.clone()).unwrap());
            let (_, p) = device.attention(&qkv, size, None).unwrap();
            let half = p.only_half().unwrap();
            let half_len = half.map_or(0, |half| cudarc::driver::DeviceSlice::len(&*half));
            4 * device.buffer_len(&p) + 2 * half_len
        };
        for dropout in [0.0, 0.3] {
            let leaf: [(&[f32], _); 1] = [(&x, [batch, positions, 3 * size.features].into())];
            let trained = || testing::backward(&leaf, &weights, attend(heads, true, dropout));
            assert_eq!(kept_bytes(), 4 * scores);
            let (y, grads) = trained();
            for (arithmetic, tolerance) in [(Arithmetic::Half, 2e-3), (Arithmetic::Bfloat, 1.6e-2)]
            {
                device.set_arithmetic(arithmetic).unwrap();
                assert_eq!(kept_bytes(), 2 * scores);
                let (y_half, grads_half) = trained();
                device.set_arithmetic(Arithmetic::Single).unwrap();
                assert_close(&y_half, &y, tolerance);
                assert_close(&grads_half[0], &grads[0], tolerance);
            }
        }
    }
}
