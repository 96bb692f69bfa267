//! Linear attention for many positions, through sums over the keys: `φ(q) (φ(k)ᵀ [v, 1])`, whose cost grows with
//! `N + M`.
//!
//! The last column of `[v, 1]` gives the sums of weights, so that numerators and denominators are one product.

use super::{CrossAttentionSize, Gradients, LINEAR_EPS, Sequence};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, product};
use crate::ops::scratch::with_scratch;

/// Writes the result of one sequence to `y`.
pub(super) fn forward(sequence: Sequence<'_>, size: CrossAttentionSize, y: &mut [f32]) {
    each_head(sequence, size, |head, _, quotients| {
        let d = size.head_width();
        for (y, row) in y
            .chunks_exact_mut(size.features)
            .zip(quotients.chunks_exact(d + 1))
        {
            let sum = row[d] + LINEAR_EPS;
            for (y, value) in y[head.start..head.start + d].iter_mut().zip(row) {
                *y = value / sum;
            }
        }
    });
}

/// Writes the gradients of one sequence; those of q and k are with respect to their features φ.
///
/// With `s = φ(k)ᵀ [v, 1]`, `[a, w] = φ(q) s`, `y = a / (w + ε)`: `da = dy / (w + ε)`, `dw = -(dy · y) / (w + ε)`,
/// `dφ(q) = [da, dw] sᵀ`, `ds = φ(q)ᵀ [da, dw]`, `dφ(k) = [v, 1] dsᵀ`, `dv = φ(k) ds` without its last column.
pub(super) fn backward(
    sequence: Sequence<'_>,
    size: CrossAttentionSize,
    dy: &[f32],
    grads: &mut Gradients<'_>,
) {
    let (n, m, c, d) = (size.queries, size.keys, size.features, size.head_width());
    each_head(sequence, size, |head, sums, quotients| {
        to_gradients(quotients, dy, head.start, size);
        let slopes = Matrix::new(quotients, n, d + 1);
        let into = |grad| MatrixMut::strided(grad, n, d, c);
        let sums = Matrix::new(sums, d, d + 1);
        product(
            &mut into(&mut grads.q[head.start..]),
            Accumulate::Replace,
            slopes,
            sums.transposed(),
        );
        with_scratch(d * (d + 1), |dsums| {
            let mut target = MatrixMut::new(dsums, d, d + 1);
            product(
                &mut target,
                Accumulate::Replace,
                head.q.transposed(),
                slopes,
            );
            let whole = Matrix::new(dsums, d, d + 1);
            let mut dk = MatrixMut::strided(&mut grads.k[head.start..], m, d, c);
            product(
                &mut dk,
                Accumulate::Replace,
                head.values,
                whole.transposed(),
            );
            let mut dv = MatrixMut::strided(&mut grads.v[head.start..], m, d, c);
            let without_last = Matrix::strided(dsums, d, d, d + 1);
            product(&mut dv, Accumulate::Replace, head.k, without_last);
        });
    });
}

/// One head: index of its first feature, and its matrices of queries, keys and values.
struct Head<'a> {
    start: usize,
    q: Matrix<'a>,
    k: Matrix<'a>,
    /// `[v, 1]`, `(M, d + 1)`.
    values: Matrix<'a>,
}

/// Calls `work(head, s, [a, w])` for every head, with s = `φ(k)ᵀ [v, 1]` and `[a, w]` = `φ(q) s`.
fn each_head(
    sequence: Sequence<'_>,
    size: CrossAttentionSize,
    mut work: impl FnMut(&Head<'_>, &[f32], &mut [f32]),
) {
    let (n, m, c, d) = (size.queries, size.keys, size.features, size.head_width());
    let lengths = [m * (d + 1), d * (d + 1), n * (d + 1)];
    with_scratch(lengths.iter().sum(), |scratch| {
        let (values, rest) = scratch.split_at_mut(lengths[0]);
        let (sums, quotients) = rest.split_at_mut(lengths[1]);
        for start in (0..c).step_by(d) {
            let rows = values
                .chunks_exact_mut(d + 1)
                .zip(sequence.v.chunks_exact(c));
            for (row, v) in rows {
                row[..d].copy_from_slice(&v[start..start + d]);
                row[d] = 1.0;
            }
            let head = Head {
                start,
                q: Matrix::strided(&sequence.q[start..], n, d, c),
                k: Matrix::strided(&sequence.k[start..], m, d, c),
                values: Matrix::new(values, m, d + 1),
            };
            let mut target = MatrixMut::new(sums, d, d + 1);
            product(
                &mut target,
                Accumulate::Replace,
                head.k.transposed(),
                head.values,
            );
            let mut target = MatrixMut::new(quotients, n, d + 1);
            product(
                &mut target,
                Accumulate::Replace,
                head.q,
                Matrix::new(sums, d, d + 1),
            );
            work(&head, sums, quotients);
        }
    });
}

/// Replaces `[a, w]` by its gradient `[da, dw]`; see [`backward`].
fn to_gradients(quotients: &mut [f32], dy: &[f32], start: usize, size: CrossAttentionSize) {
    let d = size.head_width();
    let rows = quotients
        .chunks_exact_mut(d + 1)
        .zip(dy.chunks_exact(size.features));
    for (row, dy) in rows {
        let dy = &dy[start..start + d];
        let sum = row[d] + LINEAR_EPS;
        let product: f32 = row.iter().zip(dy).map(|(a, dy)| a * dy).sum();
        for (value, dy) in row.iter_mut().zip(dy) {
            *value = dy / sum;
        }
        row[d] = -product / (sum * sum);
    }
}
