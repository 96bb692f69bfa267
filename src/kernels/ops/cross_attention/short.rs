//! Attention through the scores of all pairs, in loops over a head's features. Used for few positions, where calls
//! of matrix products would cost more than the arithmetic itself.

use super::{AttentionKind, CrossAttentionSize, Gradients, LINEAR_EPS, Sequence};
use crate::ops::chunks::dot;
use crate::ops::math;

/// Adds the result of one sequence to `y`; `scratch` is working memory of M values.
#[inline(always)]
pub(super) fn forward(
    sequence: Sequence<'_>,
    size: CrossAttentionSize,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    let (c, d) = (size.features, size.head_width());
    for head in (0..c).step_by(d) {
        for (q, y) in sequence.q.chunks_exact(c).zip(y.chunks_exact_mut(c)) {
            let y = &mut y[head..head + d];
            weigh(&q[head..head + d], sequence.k, head, size, scratch);
            for (weight, v) in scratch.iter().zip(sequence.v.chunks_exact(c)) {
                add_scaled(y, *weight, &v[head..head + d]);
            }
        }
    }
}

/// Adds the gradients of one sequence; those of q and k are with respect to their features. `scratch` has 2 M values.
#[inline(always)]
pub(super) fn backward(
    sequence: Sequence<'_>,
    size: CrossAttentionSize,
    dy: &[f32],
    grads: &mut Gradients<'_>,
    scratch: &mut [f32],
) {
    let c = size.features;
    for query in 0..size.queries {
        let dy = &dy[query * c..][..c];
        backward_row(sequence, size, query, dy, grads, scratch);
    }
}

/// Backward for one query: with weights p and `g = dy · v`, the scores' gradients are `p (g - Σ p g) / √d` for softmax
/// and `(g - Σ p g) / (Σ scores + ε)` for linear attention.
#[inline(always)]
fn backward_row(
    sequence: Sequence<'_>,
    size: CrossAttentionSize,
    query: usize,
    dy: &[f32],
    grads: &mut Gradients<'_>,
    scratch: &mut [f32],
) {
    let (c, d, scale) = (size.features, size.head_width(), size.scale());
    let (weights, slopes) = scratch.split_at_mut(size.keys);
    let (q, dq) = (
        &sequence.q[query * c..][..c],
        &mut grads.q[query * c..][..c],
    );
    for head in (0..c).step_by(d) {
        let own = head..head + d;
        let (q, dy) = (&q[own.clone()], &dy[own.clone()]);
        let sum = weigh(q, sequence.k, head, size, weights);
        for (slope, v) in slopes.iter_mut().zip(sequence.v.chunks_exact(c)) {
            *slope = dot(dy, &v[own.clone()]);
        }
        center(slopes, weights, size.kind, sum);
        for (slope, weight) in slopes.iter_mut().zip(&*weights) {
            *slope *= match size.kind {
                AttentionKind::Softmax => weight * scale,
                AttentionKind::Linear => 1.0 / sum,
            };
        }
        let rows = grads.k.chunks_exact_mut(c).zip(grads.v.chunks_exact_mut(c));
        let keys = rows.zip(sequence.k.chunks_exact(c));
        for (((dk, dv), k), (weight, slope)) in keys.zip(weights.iter().zip(&*slopes)) {
            add_scaled(&mut dv[own.clone()], *weight, dy);
            add_scaled(&mut dk[own.clone()], *slope, q);
            add_scaled(&mut dq[own.clone()], *slope, &k[own.clone()]);
        }
    }
}

/// Subtracts `Σ p g` from every g, the values of `slopes`.
///
/// The sum is computed of differences from the first g: with a single key the result is then exactly the effect of ε,
/// not the difference of two nearly equal numbers.
#[inline(always)]
fn center(slopes: &mut [f32], weights: &[f32], kind: AttentionKind, sum: f32) {
    let first = slopes[0];
    for slope in slopes.iter_mut() {
        *slope -= first;
    }
    // `missing` is 1 - Σ p.
    let missing = match kind {
        AttentionKind::Softmax => 0.0,
        AttentionKind::Linear => LINEAR_EPS / sum,
    };
    let mean = dot(weights, slopes) - first * missing;
    for slope in slopes.iter_mut() {
        *slope -= mean;
    }
}

/// Writes the attention weights of the keys, for one query in one head; returns the divisor of the weights.
#[inline(always)]
fn weigh(
    q: &[f32],
    keys: &[f32],
    head: usize,
    size: CrossAttentionSize,
    weights: &mut [f32],
) -> f32 {
    let d = q.len();
    for (weight, k) in weights.iter_mut().zip(keys.chunks_exact(size.features)) {
        *weight = dot(q, &k[head..head + d]);
    }
    let sum = match size.kind {
        AttentionKind::Linear => weights.iter().sum::<f32>() + LINEAR_EPS,
        AttentionKind::Softmax => {
            let scale = size.scale();
            let highest = weights.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for weight in weights.iter_mut() {
                *weight = math::exp((*weight - highest) * scale);
            }
            weights.iter().sum()
        }
    };
    for weight in weights.iter_mut() {
        *weight /= sum;
    }
    sum
}

#[inline(always)]
fn add_scaled(y: &mut [f32], factor: f32, x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += factor * x;
    }
}
