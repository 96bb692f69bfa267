//! Attention on the CPU: one task per sequence and head, whatever the number of threads.
//!
//! A head's q, k and v are read in place through strides, transposed ones too. Tasks write to memory of their own,
//! from which rows are then put together.
#![expect(
    clippy::inline_always,
    reason = "compiled anew for each vector level inside `simd`"
)]

use dfdx::tensor::Cpu;
use rayon::prelude::*;

use super::{AttentionKernel, AttentionSize};
use crate::device::{Backend, Buffer};
use crate::ops::chunks::for_rows;
use crate::ops::gemm::{Into, Matrix, MatrixMut, product};
use crate::ops::parallel::PRODUCT_FLOP;
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{OpError, math};

impl AttentionKernel for Cpu {
    fn attention(
        &self,
        qkv: &Buffer<Self>,
        size: AttentionSize,
    ) -> Result<(Buffer<Self>, Buffer<Self>), OpError> {
        let (t, c, d) = (size.positions, size.features, size.head_width());
        let mut probabilities = self.zeros_buffer(size.batch * size.heads * t * t)?;
        let mut y = self.zeros_buffer(size.batch * t * c)?;
        with_scratch(y.len(), |heads| {
            each_head(size, heads, t * d, &mut probabilities, |index, y, p| {
                forward_head(Head::new(qkv, size, index), size, y, p);
            });
            for_rows(&mut y, c, |first, rows| {
                for (offset, row) in rows.chunks_exact_mut(c).enumerate() {
                    for (head, row) in row.chunks_exact_mut(d).enumerate() {
                        row.copy_from_slice(&heads[place(size, first + offset, head) * d..][..d]);
                    }
                }
            });
        });
        Ok((y, probabilities))
    }

    fn attention_backward(
        &self,
        qkv: &Buffer<Self>,
        probabilities: &Buffer<Self>,
        size: AttentionSize,
        grad_output: &Buffer<Self>,
        grad_qkv: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let (t, c, d) = (size.positions, size.features, size.head_width());
        let heads = size.batch * size.heads;
        with_scratch(grad_qkv.len() + heads * t * t, |scratch| {
            let (grads, scores) = scratch.split_at_mut(grad_qkv.len());
            each_head(size, grads, 3 * t * d, scores, |index, grads, scores| {
                let p = &probabilities[index * t * t..][..t * t];
                let (sequence, head) = (index / size.heads, index % size.heads);
                let dy = &grad_output[sequence * t * c + head * d..];
                let dy = Matrix::strided(dy, t, d, c);
                backward_head(Head::new(qkv, size, index), size, p, dy, grads, scores);
            });
            for_rows(grad_qkv, 3 * c, |first, rows| {
                for (offset, row) in rows.chunks_exact_mut(3 * c).enumerate() {
                    let (row_index, position) = (first + offset, (first + offset) % t);
                    for (block, row) in row.chunks_exact_mut(d).enumerate() {
                        let (part, head) = (block / size.heads, block % size.heads);
                        // A head's gradients are (3, T, d).
                        let from = 3 * (place(size, row_index, head) - position) + part * t;
                        let grads = &grads[(from + position) * d..][..d];
                        row.iter_mut().zip(grads).for_each(|(row, g)| *row += g);
                    }
                }
            });
        });
        Ok(())
    }
}

/// Calls `task` for every sequence and head with its chunk of two arrays; on several threads when it is worth it.
fn each_head(
    size: AttentionSize,
    results: &mut [f32],
    result_len: usize,
    scores: &mut [f32],
    task: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) {
    let score_len = size.positions * size.positions;
    if size.work().forward < PRODUCT_FLOP as u64 {
        let pairs = results
            .chunks_exact_mut(result_len)
            .zip(scores.chunks_exact_mut(score_len));
        pairs
            .enumerate()
            .for_each(|(index, (results, scores))| task(index, results, scores));
    } else {
        let pairs = results
            .par_chunks_exact_mut(result_len)
            .zip(scores.par_chunks_exact_mut(score_len));
        pairs
            .enumerate()
            .for_each(|(index, (results, scores))| task(index, results, scores));
    }
}

/// Where row `row` of `(B, T)` of a head stands among the rows of `(B, heads, T)`.
fn place(size: AttentionSize, row: usize, head: usize) -> usize {
    let (sequence, position) = (row / size.positions, row % size.positions);
    (sequence * size.heads + head) * size.positions + position
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

fn forward_head(head: Head<'_>, size: AttentionSize, y: &mut [f32], p: &mut [f32]) {
    let (t, d) = (size.positions, size.head_width());
    let mut scores = MatrixMut::new(p, t, t);
    product(&mut scores, Into::Replace, head.q, head.k.transposed());
    simd(
        #[inline(always)]
        || softmax_rows(p, t, size.scale()),
    );
    let probabilities = Matrix::new(p, t, t);
    product(
        &mut MatrixMut::new(y, t, d),
        Into::Replace,
        probabilities,
        head.v,
    );
}

/// `dv = pᵀ dy; dp = dy vᵀ; ds = p (dp - Σ dp p) scale; dq = ds k; dk = dsᵀ q`; `grads` are dq, dk, dv.
fn backward_head(
    head: Head<'_>,
    size: AttentionSize,
    p: &[f32],
    dy: Matrix<'_>,
    grads: &mut [f32],
    scores: &mut [f32],
) {
    let (t, d) = (size.positions, size.head_width());
    let (dq, rest) = grads.split_at_mut(t * d);
    let (dk, dv) = rest.split_at_mut(t * d);
    let probabilities = Matrix::new(p, t, t);
    product(
        &mut MatrixMut::new(dv, t, d),
        Into::Replace,
        probabilities.transposed(),
        dy,
    );
    let mut dp = MatrixMut::new(scores, t, t);
    product(&mut dp, Into::Replace, dy, head.v.transposed());
    simd(
        #[inline(always)]
        || softmax_rows_backward(scores, p, t, size.scale()),
    );
    let ds = Matrix::new(scores, t, t);
    product(&mut MatrixMut::new(dq, t, d), Into::Replace, ds, head.k);
    product(
        &mut MatrixMut::new(dk, t, d),
        Into::Replace,
        ds.transposed(),
        head.q,
    );
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

/// From gradients of probabilities `p` to gradients of unscaled scores, in place.
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

/// Folds a row in sixteen lanes, an order that vectorises and is always the same.
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
