use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::ops::dropout;
use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers};

/// Attention with some heads, causal or not, and with dropout of probability `p` from a generator with seed 3.
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
    let expected = parse_numbers(
        "0.95118 0.6242309 -0.32328555 -0.9365664 0.9545554 0.6054773 -0.3498947 -0.9442121",
    );
    assert_close(&y, &expected, 1e-6);
    let expected = parse_numbers(
        "-0.076714024 0.000404626 -0.058900096 -0.0633389 0.039949294 0.10638587 -0.07671528
         0.006569177 0.50036794 -0.4561938 -0.34349152 3.037147 0.0349108 -0.00018414 0.01754582
         0.018868065 -0.0399493 -0.10638586 0.0767152 -0.006569196 0.49963215 -0.5438064 -0.1565085
         1.9628526",
    );
    assert_close(&grads[0], &expected, 1e-6);
}

#[test]
fn causal_values_and_gradient_are_those_of_pytorch() {
    // x = torch.arange(36.).sin().reshape(1, 3, 12)
    // q, k, v = x.reshape(1, 3, 3, 2, 2).permute(2, 0, 3, 1, 4)
    // y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(1, 3, 4)
    // y.backward(torch.tensor([[[1., -2., .5, 3.], [0., 1., -1., 2.], [-1., .5, 2., -.5]]]))
    let x: Vec<f32> = (0..36).map(|index| (index as f32).sin()).collect();
    let seed = parse_numbers("1.0 -2.0 0.5 3.0 0.0 1.0 -1.0 2.0 -1.0 0.5 2.0 -0.5");
    let leaf: [(&[f32], _); 1] = [(&x, [1, 3, 12].into())];
    let (y, grads) = testing::backward(&leaf, &seed, attend(2, true, 0.0));
    let expected = parse_numbers(
        "0.9893582 0.4121185 -0.5440211 -0.9999902 0.9545554 0.6054773 -0.3498947 -0.9442121
         0.8658556 0.6841513 -0.1978981 -0.8539536",
    );
    assert_close(&y, &expected, 1e-6);
    let expected = parse_numbers(
        "0.0 0.0 0.0 0.0 0.1139873 -0.02046178 -0.1404306 -0.1981538 0.5544722 -1.232694 0.9246811
         4.009038 0.0349108 -0.0001841411 0.01754582 0.01886806 -0.04611258 0.03038179 0.02210782
         0.04975722 -0.3300472 0.6204816 0.2216948 0.5793678 0.08021992 0.02211572 -0.1464175
         -0.203847 -0.06787477 -0.009920009 0.1183228 0.1483966 -0.2244249 0.1122124 0.3536241
         -0.08840603",
    );
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
        Flops::new(pairs * (4 * 6 + 5 * 3), pairs * (8 * 6 + 5 * 3))
    );
    assert_eq!(
        size.work(true),
        Flops::new(pairs * (4 * 6 + 6 * 3), pairs * (8 * 6 + 6 * 3))
    );
}

#[test]
fn a_causal_row_does_not_depend_on_later_positions() {
    const CHANGED: usize = 40;
    let x = testing::random_values(70 * 3 * 10, 1);
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
    // With values of 1 a result is the sum of its attention weights, which is 1 without dropout.
    let mut x = testing::random_values(4 * 64 * 48, 1);
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

/// Reference results and gradient of attention, pair by pair in double precision; `factors` are those of dropout.
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
    // One sequence of many heads, one head of many sequences, many heads and sequences, one position, and rows longer
    // than a GPU's threads keep in registers; without and with dropout, causal and not.
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
            let x = testing::random_values(3 * batch * positions * size.features, 1);
            let weights = testing::random_values(x.len() / 3, 2);
            // The operation uses the mask that dropout would use on an array of all its probabilities.
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
    // The second size has rows longer than a GPU's threads keep in registers.
    for (batch, positions, heads, width) in [(2, 5, 2, 4), (1, 1025, 1, 1)] {
        let size = AttentionSize {
            batch,
            positions,
            features: heads * width,
            heads,
            causal: true,
        };
        let scores = batch * heads * positions * positions;
        let x = testing::random_values(3 * batch * positions * size.features, 1);
        let weights = testing::random_values(x.len() / 3, 2);
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
