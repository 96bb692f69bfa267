use super::*;
use crate::ops::Shape;
use crate::ops::testing::{self, assert_close};

const KINDS: [AttentionKind; 2] = [AttentionKind::Softmax, AttentionKind::Linear];

/// Sizes for both orders of linear attention: pairs first, and sums first.
const SHORT: [[usize; 3]; 2] = [[2, 3, 8], [2, 1, 6]];
const LONG: [usize; 3] = [2, 9, 6];

/// More pairs than one warp computes on a GPU.
const LONGER: [usize; 3] = [2, 17, 6];

fn shapes(q: [usize; 3], keys: usize) -> [Shape; 3] {
    let k = [q[0], keys, q[2]];
    [q.into(), k.into(), k.into()]
}

fn check_pytorch(kind: AttentionKind, y: [f32; 8], grads: [&[f32]; 3]) {
    // q = torch.tensor([[[.5, -1., 2., .1], [-.3, .8, .4, -1.2]]], requires_grad=True); heads = 2; k, v as below
    // q, k, v = (t.view(1, -1, 2, 2).transpose(1, 2) for t in (q, k, v))
    // softmax: out = F.scaled_dot_product_attention(q, k, v)
    // linear: q, k = F.elu(q) + 1, F.elu(k) + 1; out = q @ (k.mT @ v) / (q @ k.sum(2).unsqueeze(-1) + 1e-6)
    // out.transpose(1, 2).reshape(1, 2, 4).backward(torch.tensor([[[1., -1., .5, 2.], [.3, .7, -1.5, 1.]]]))
    let q = [0.5, -1.0, 2.0, 0.1, -0.3, 0.8, 0.4, -1.2];
    let k = [
        1.0, 0.2, -0.5, 0.3, -0.7, 0.6, 1.1, -0.4, 0.9, -1.5, 0.2, 0.7,
    ];
    let v = [
        0.3, -0.2, 1.0, 0.4, 0.8, 0.5, -0.6, 0.9, -1.0, 0.7, 0.2, -0.3,
    ];
    let (found, own) = testing::backward(
        &[
            (&q, [1, 2, 4].into()),
            (&k, [1, 3, 4].into()),
            (&v, [1, 3, 4].into()),
        ],
        &[1.0, -1.0, 0.5, 2.0, 0.3, 0.7, -1.5, 1.0],
        |pass, x| cross_attention(pass, &x[0], &x[1], &x[2], 2, kind),
    );
    assert_close(&found, &y, 1e-6);
    for (own, expected) in own.iter().zip(grads) {
        assert_close(own, expected, 1e-6);
    }
}

#[test]
fn softmax_values_and_gradients_are_those_of_pytorch() {
    check_pytorch(
        AttentionKind::Softmax,
        [
            -0.558_080_85,
            0.487_521_65,
            -0.304_603_76,
            0.604_036_8,
            0.422_807_3,
            0.304_973_87,
            -0.113_448_754,
            0.573_070_4,
        ],
        [
            &[
                -0.112_380_12,
                0.580_264_6,
                0.190_848_46,
                -0.250_049_77,
                -0.167_961_96,
                0.061_952_267,
                0.599_573_55,
                -0.385_800_18,
            ],
            &[
                0.144_126_79,
                -0.305_563_93,
                -0.083_806_284,
                0.332_994_8,
                0.012_633_845,
                -0.005_354_345,
                0.625_402_1,
                -0.519_230_07,
                -0.156_760_65,
                0.310_918_27,
                -0.541_595_6,
                0.186_235_46,
            ],
            &[
                0.310_310_9,
                0.003_281_429,
                -0.279_358_1,
                0.366_926_25,
                0.258_531_75,
                0.305_433_4,
                -0.551_697_1,
                2.020_246_5,
                0.731_157_3,
                -0.608_714_8,
                -0.168_944_78,
                0.612_827_3,
            ],
        ],
    );
}

#[test]
fn linear_values_and_gradients_are_those_of_pytorch() {
    check_pytorch(
        AttentionKind::Linear,
        [
            -0.108_065_05,
            0.263_514_16,
            0.007_690_633,
            0.380_305_53,
            0.216_308_67,
            0.248_547_82,
            -0.031_338_133,
            0.405_555_7,
        ],
        [
            &[
                -0.058_043_72,
                0.087_065_52,
                0.022_346_824,
                -0.060_945_81,
                -0.042_263_057,
                0.023_479_491,
                0.095_042,
                -0.133_058_73,
            ],
            &[
                0.145_031_48,
                -0.018_173_264,
                -0.138_676_79,
                -0.033_738_87,
                0.079_757_08,
                0.104_713_62,
                0.426_964_94,
                0.075_797_744,
                -0.262_709_83,
                -0.016_405_268,
                -0.464_875_37,
                -0.136_491_94,
            ],
            &[
                0.572_127_1,
                -0.153_485_98,
                -0.179_948_42,
                0.601_174_4,
                0.285_034_48,
                0.088_340_476,
                -0.493_514,
                1.371_120_3,
                0.442_838_2,
                -0.234_854_52,
                -0.326_537_34,
                1.027_704_7,
            ],
        ],
    );
}

#[test]
fn both_orders_of_linear_attention_give_the_same() {
    for shape in [LONG, LONGER] {
        check_orders(shape);
    }
}

fn check_orders(shape: [usize; 3]) {
    let [b, n, c] = shape;
    let (q, k, v) = (
        testing::filled(b * n * c, 1),
        testing::filled(b * n * c, 2),
        testing::filled(b * n * c, 3),
    );
    let weights = testing::filled(b * n * c, 4);
    let whole = [
        (q.as_slice(), shape.into()),
        (&k, shape.into()),
        (&v, shape.into()),
    ];
    let (long, long_grads) = testing::backward(&whole, &weights, |pass, x| {
        cross_attention(pass, &x[0], &x[1], &x[2], 2, AttentionKind::Linear)
    });
    // One query at a time is short: N = 1.
    let mut key_grads = vec![0.0; b * n * c];
    for row in 0..b * n {
        let (own, sequence) = (
            row * c..(row + 1) * c,
            row / n * n * c..(row / n + 1) * n * c,
        );
        let leaves = [
            (&q[own.clone()], [1, 1, c].into()),
            (&k[sequence.clone()], [1, n, c].into()),
            (&v[sequence.clone()], [1, n, c].into()),
        ];
        let (y, grads) = testing::backward(&leaves, &weights[own.clone()], |pass, x| {
            cross_attention(pass, &x[0], &x[1], &x[2], 2, AttentionKind::Linear)
        });
        assert_close(&long[own.clone()], &y, 1e-5);
        assert_close(&long_grads[0][own], &grads[0], 1e-5);
        key_grads[sequence]
            .iter_mut()
            .zip(&grads[1])
            .for_each(|(sum, g)| *sum += g);
    }
    assert_close(&long_grads[1], &key_grads, 1e-5);
}

#[test]
fn long_sequences_sum_their_keys_first() {
    let size = |queries, keys, kind| CrossAttentionSize {
        batch: 1,
        queries,
        keys,
        features: 8,
        heads: 2,
        kind,
    };
    assert!(!size(1, 1, AttentionKind::Linear).sums_keys_first());
    assert!(!size(1, 100, AttentionKind::Linear).sums_keys_first());
    assert!(size(100, 100, AttentionKind::Linear).sums_keys_first());
    assert!(!size(100, 100, AttentionKind::Softmax).sums_keys_first());
}

#[test]
fn with_one_position_the_values_come_back() {
    for kind in KINDS {
        let (values, grads) = testing::backward(
            &[
                (&testing::filled(24, 1), [3, 1, 8].into()),
                (&testing::filled(24, 2), [3, 1, 8].into()),
                (&testing::filled(24, 3), [3, 1, 8].into()),
            ],
            &testing::filled(24, 4),
            |pass, x| cross_attention(pass, &x[0], &x[1], &x[2], 4, kind),
        );
        assert_close(&values, &testing::filled(24, 3), 1e-5);
        assert_close(&grads[0], &[0.0; 24], 1e-6);
        assert_close(&grads[2], &testing::filled(24, 4), 1e-5);
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for kind in KINDS {
        for q in SHORT.into_iter().chain([LONG, LONGER]) {
            testing::check_gradients(&shapes(q, q[1] + 2), |pass, x| {
                cross_attention(pass, &x[0], &x[1], &x[2], 2, kind)
            });
        }
    }
}

#[test]
fn one_value_as_keys_and_values_gets_both_gradients() {
    testing::check_gradients(&[[2, 3, 4].into(), [2, 2, 4].into()], |pass, x| {
        cross_attention(pass, &x[0], &x[1], &x[1], 2, AttentionKind::Linear)
    });
}

#[test]
fn a_batch_is_its_samples() {
    for kind in KINDS {
        for q in [[4, 3, 8], [4, 9, 6], [4, 20, 66]] {
            testing::check_batch(4, &shapes(q, q[1]), |pass, x| {
                cross_attention(pass, &x[0], &x[1], &x[2], 2, kind)
            });
        }
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    // The GPU stand-in takes minutes for sizes that use several CPU threads.
    let large = [[9000, 1, 64], [3000, 12, 8]];
    let sizes = if cfg!(feature = "cuda") {
        [[9, 1, 64], [5, 20, 8]]
    } else {
        large
    };
    for kind in KINDS {
        for q in sizes {
            testing::check_threads(&shapes(q, q[1]), |pass, x| {
                cross_attention(pass, &x[0], &x[1], &x[2], 4, kind)
            });
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = testing::device();
    let var = |shape: [usize; 3]| {
        Var::constant(&device, vec![0.0; shape.iter().product()], shape).unwrap()
    };
    let (q, k) = (var([2, 3, 6]), var([2, 1, 6]));
    let mut pass = Pass::inference(&device);
    let error = cross_attention(&mut pass, &q, &k, &k, 4, AttentionKind::Softmax).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cross_attention: q (2, 3, 6), k (2, 1, 6) and v (2, 1, 6) do not fit 4 heads"
    );
    assert!(cross_attention(&mut pass, &q, &k, &q, 2, AttentionKind::Linear).is_err());
}
