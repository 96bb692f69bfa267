use super::*;
use crate::ops::Shape;
use crate::ops::testing::{self, assert_close, parse_numbers};

const KINDS: [AttentionKind; 2] = [AttentionKind::Softmax, AttentionKind::Linear];

/// Shapes for which linear attention multiplies queries and keys first (`SHORT`) and sums over keys first (`LONG`).
const SHORT: [[usize; 3]; 2] = [[2, 3, 8], [2, 1, 6]];
const LONG: [usize; 3] = [2, 9, 6];

/// A shape with more pairs of positions than a GPU computes in one warp.
const LONGER: [usize; 3] = [2, 17, 6];

fn shapes(q: [usize; 3], keys: usize) -> [Shape; 3] {
    let k = [q[0], keys, q[2]];
    [q.into(), k.into(), k.into()]
}

fn check_pytorch(kind: AttentionKind, y: &[f32], grads: [&[f32]; 3]) {
    // q = torch.tensor([[[.5, -1., 2., .1], [-.3, .8, .4, -1.2]]], requires_grad=True); heads = 2; k, v as below
    // q, k, v = (t.view(1, -1, 2, 2).transpose(1, 2) for t in (q, k, v))
    // softmax: out = F.scaled_dot_product_attention(q, k, v)
    // linear: q, k = F.elu(q) + 1, F.elu(k) + 1; out = q @ (k.mT @ v) / (q @ k.sum(2).unsqueeze(-1) + 1e-6)
    // out.transpose(1, 2).reshape(1, 2, 4).backward(torch.tensor([[[1., -1., .5, 2.], [.3, .7, -1.5, 1.]]]))
    let q = [0.5, -1.0, 2.0, 0.1, -0.3, 0.8, 0.4, -1.2];
    let k = parse_numbers("1.0 0.2 -0.5 0.3 -0.7 0.6 1.1 -0.4 0.9 -1.5 0.2 0.7");
    let v = parse_numbers("0.3 -0.2 1.0 0.4 0.8 0.5 -0.6 0.9 -1.0 0.7 0.2 -0.3");
    let (found, own) = testing::backward(
        &[
            (&q, [1, 2, 4].into()),
            (&k, [1, 3, 4].into()),
            (&v, [1, 3, 4].into()),
        ],
        &[1.0, -1.0, 0.5, 2.0, 0.3, 0.7, -1.5, 1.0],
        |pass, x| cross_attention(pass, &x[0], &x[1], &x[2], 2, kind),
    );
    assert_close(&found, y, 1e-6);
    for (own, expected) in own.iter().zip(grads) {
        assert_close(own, expected, 1e-6);
    }
}

#[test]
fn softmax_values_and_gradients_are_those_of_pytorch() {
    check_pytorch(
        AttentionKind::Softmax,
        &parse_numbers(
            "-0.55808085 0.48752165 -0.30460376 0.6040368 0.4228073 0.30497387 -0.113448754
             0.5730704",
        ),
        [
            &parse_numbers(
                "-0.11238012 0.5802646 0.19084846 -0.25004977 -0.16796196 0.061952267 0.59957355
                 -0.38580018",
            ),
            &parse_numbers(
                "0.14412679 -0.30556393 -0.083806284 0.3329948 0.012633845 -0.005354345 0.6254021
                 -0.51923007 -0.15676065 0.31091827 -0.5415956 0.18623546",
            ),
            &parse_numbers(
                "0.3103109 0.003281429 -0.2793581 0.36692625 0.25853175 0.3054334 -0.5516971
                 2.0202465 0.7311573 -0.6087148 -0.16894478 0.6128273",
            ),
        ],
    );
}

#[test]
fn linear_values_and_gradients_are_those_of_pytorch() {
    check_pytorch(
        AttentionKind::Linear,
        &parse_numbers(
            "-0.10806505 0.26351416 0.007690633 0.38030553 0.21630867 0.24854782 -0.031338133
             0.4055557",
        ),
        [
            &parse_numbers(
                "-0.05804372 0.08706552 0.022346824 -0.06094581 -0.042263057 0.023479491 0.095042
                 -0.13305873",
            ),
            &parse_numbers(
                "0.14503148 -0.018173264 -0.13867679 -0.03373887 0.07975708 0.10471362 0.42696494
                 0.075797744 -0.26270983 -0.016405268 -0.46487537 -0.13649194",
            ),
            &parse_numbers(
                "0.5721271 -0.15348598 -0.17994842 0.6011744 0.28503448 0.088340476 -0.493514
                 1.3711203 0.4428382 -0.23485452 -0.32653734 1.0277047",
            ),
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
        testing::random_values(b * n * c, 1),
        testing::random_values(b * n * c, 2),
        testing::random_values(b * n * c, 3),
    );
    let weights = testing::random_values(b * n * c, 4);
    let whole = [
        (q.as_slice(), shape.into()),
        (&k, shape.into()),
        (&v, shape.into()),
    ];
    let (long, long_grads) = testing::backward(&whole, &weights, |pass, x| {
        cross_attention(pass, &x[0], &x[1], &x[2], 2, AttentionKind::Linear)
    });
    // With one query at a time the pairs of positions are few, so the other implementation is used.
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
                (&testing::random_values(24, 1), [3, 1, 8].into()),
                (&testing::random_values(24, 2), [3, 1, 8].into()),
                (&testing::random_values(24, 3), [3, 1, 8].into()),
            ],
            &testing::random_values(24, 4),
            |pass, x| cross_attention(pass, &x[0], &x[1], &x[2], 4, kind),
        );
        assert_close(&values, &testing::random_values(24, 3), 1e-5);
        assert_close(&grads[0], &[0.0; 24], 1e-6);
        assert_close(&grads[2], &testing::random_values(24, 4), 1e-5);
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
fn one_and_two_threads_give_the_same_bits() {
    // The GPU stand-in would take minutes for sizes that use several CPU threads.
    let large = [[9000, 1, 64], [3000, 12, 8]];
    let sizes = if cfg!(feature = "cuda") {
        [[9, 1, 64], [5, 20, 8]]
    } else {
        large
    };
    for kind in KINDS {
        for q in sizes {
            testing::check_thread_invariance(&shapes(q, q[1]), |pass, x| {
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
