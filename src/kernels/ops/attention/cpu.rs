//! Attention on the CPU: one task per sequence and head for scores, one per chunk of a sequence's rows for results,
//! independent of the number of threads.
//!
//! A head's q, k and v are read, and its results written, in place through strides: nothing is copied or transposed.
//!
//! Backward: `dv = pᵀ dy; dp = dy vᵀ; ds = p (dp - Σ dp p) scale; dq = ds k; dk = dsᵀ q`.
#![expect(
    clippy::inline_always,
    reason = "compiled anew for each vector level inside `simd`"
)]

use std::ops::Range;

use dfdx::tensor::Cpu;

use super::{AttentionKernel, AttentionSize};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, even_chunk, product};
use crate::ops::parallel::{PRODUCT_FLOP, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{OpError, math};

/// Approximate number of positions in a chunk of results.
const ROWS: usize = 128;

impl AttentionKernel for Cpu {
    fn attention(
        &self,
        qkv: &Buffer<Self>,
        size: AttentionSize,
    ) -> Result<(Buffer<Self>, Buffer<Self>), OpError> {
        let (t, c, d) = (size.positions, size.features, size.head_width());
        let mut probabilities = self.spare_buffer(size.batch * size.heads * t * t)?;
        let mut y = self.spare_buffer(size.batch * t * c)?;
        let parallel = size.is_large();
        for_each_chunk_if(parallel, &mut probabilities, t * t, |start, p| {
            let Head { q, k, .. } = Head::new(qkv, size, start / (t * t));
            let mut scores = MatrixMut::new(p, t, t);
            product(&mut scores, Accumulate::Replace, q, k.transposed());
            simd(
                #[inline(always)]
                || softmax_rows(p, t, size.scale()),
            );
        });
        each_rows(size, &mut y, c, |sequence, rows, y| {
            for head in 0..size.heads {
                let index = sequence * size.heads + head;
                let p = Matrix::new(&probabilities[index * t * t..], t, t);
                let mut y = MatrixMut::strided(&mut y[head * d..], rows.len(), d, c);
                let p = p.row_range(rows.start, rows.len());
                product(
                    &mut y,
                    Accumulate::Replace,
                    p,
                    Head::new(qkv, size, index).v,
                );
            }
        });
        Ok((y, probabilities))
    }

    fn attention_backward(
        &self,
        qkv: &Buffer<Self>,
        probabilities: &Buffer<Self>,
        size: AttentionSize,
        grad_output: &Buffer<Self>,
        (grad_qkv, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        let (t, c, d) = (size.positions, size.features, size.head_width());
        with_scratch(probabilities.len(), |scores| {
            for_each_chunk_if(size.is_large(), scores, t * t, |start, scores| {
                let head = Head::new(qkv, size, start / (t * t));
                let dy = head_gradient(grad_output, size, start / (t * t));
                let mut dp = MatrixMut::new(scores, t, t);
                product(&mut dp, Accumulate::Replace, dy, head.v.transposed());
                let p = &probabilities[start..start + t * t];
                simd(
                    #[inline(always)]
                    || softmax_rows_backward(scores, p, t, size.scale()),
                );
            });
            each_rows(size, grad_qkv, 3 * c, |sequence, rows, grad| {
                for head in 0..size.heads {
                    let index = sequence * size.heads + head;
                    let Head { q, k, .. } = Head::new(qkv, size, index);
                    let dy = head_gradient(grad_output, size, index);
                    let ds = Matrix::new(&scores[index * t * t..], t, t);
                    let p = Matrix::new(&probabilities[index * t * t..], t, t);
                    let parts = [
                        (ds.row_range(rows.start, rows.len()), k),
                        (ds.column_range(rows.start, rows.len()).transposed(), q),
                        (p.column_range(rows.start, rows.len()).transposed(), dy),
                    ];
                    for (part, (a, b)) in parts.into_iter().enumerate() {
                        let grad = &mut grad[part * c + head * d..];
                        let mut grad = MatrixMut::strided(grad, rows.len(), d, 3 * c);
                        product(&mut grad, accumulate, a, b);
                    }
                }
            });
        });
        Ok(())
    }
}

impl AttentionSize {
    fn is_large(self) -> bool {
        self.work().forward >= PRODUCT_FLOP as u64
    }
}

/// Calls `task(sequence, positions, values)` for chunks of the rows of `values: (B, T, width)`.
fn each_rows(
    size: AttentionSize,
    values: &mut [f32],
    width: usize,
    task: impl Fn(usize, Range<usize>, &mut [f32]) + Sync,
) {
    let (large, rows) = (size.is_large(), even_chunk(size.positions, ROWS));
    let len = size.positions * width;
    for_each_chunk_if(large, values, len, |start, values| {
        for_each_chunk_if(large, values, rows * width, |place, values| {
            let first = place / width;
            task(start / len, first..first + values.len() / width, values);
        });
    });
}

/// The gradient of one head's result, `(T, d)`.
fn head_gradient(grad_output: &[f32], size: AttentionSize, index: usize) -> Matrix<'_> {
    let (t, c, d) = (size.positions, size.features, size.head_width());
    let (sequence, head) = (index / size.heads, index % size.heads);
    Matrix::strided(&grad_output[sequence * t * c + head * d..], t, d, c)
}

/// Queries, keys and values of one head, each `(T, d)`.
#[derive(Clone, Copy)]
struct Head<'a> {
    q: Matrix<'a>,
    k: Matrix<'a>,
    v: Matrix<'a>,
}

impl<'a> Head<'a> {
    fn new(qkv: &'a [f32], size: AttentionSize, index: usize) -> Self {
        let (sequence, head) = (index / size.heads, index % size.heads);
        let (t, c, d) = (size.positions, size.features, size.head_width());
        let start = sequence * t * 3 * c + head * d;
        let part = |part: usize| Matrix::strided(&qkv[start + part * c..], t, d, 3 * c);
        Self {
            q: part(0),
            k: part(1),
            v: part(2),
        }
    }
}

/// `softmax(scale · scores)` of every row, in place.
#[inline(always)]
fn softmax_rows(scores: &mut [f32], len: usize, scale: f32) {
    for row in scores.chunks_exact_mut(len) {
        let highest = lanes(row, f32::NEG_INFINITY, f32::max) * scale;
        for score in row.iter_mut() {
            *score = math::exp(*score * scale - highest);
        }
        let inverse = 1.0 / lanes(row, 0.0, |a, b| a + b);
        for score in row.iter_mut() {
            *score *= inverse;
        }
    }
}

/// Converts gradients of probabilities `p` to gradients of unscaled scores, in place.
#[inline(always)]
fn softmax_rows_backward(grads: &mut [f32], p: &[f32], len: usize, scale: f32) {
    for (grads, p) in grads.chunks_exact_mut(len).zip(p.chunks_exact(len)) {
        for (grad, p) in grads.iter_mut().zip(p) {
            *grad *= p;
        }
        let sum = lanes(grads, 0.0, |a, b| a + b);
        for (grad, p) in grads.iter_mut().zip(p) {
            *grad = (*grad - p * sum) * scale;
        }
    }
}

/// Folds a row in sixteen lanes: a fixed order that vectorises.
#[inline(always)]
fn lanes(row: &[f32], start: f32, fold: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [start; 16];
    for block in row.chunks(16) {
        for (lane, value) in lanes.iter_mut().zip(block) {
            *lane = fold(*lane, *value);
        }
    }
    lanes.into_iter().fold(start, fold)
}
