//! Attention on the CPU. Forward has one task per chunk of a sequence's rows, backward one per sequence and head; the
//! tasks do not depend on the number of threads.
//!
//! A task holds the scores of one chunk of rows, or of one head, at a time. Backward recomputes the probabilities, so
//! that the `T²` values per head need not be kept between the passes. Keys, and in backward values too, are transposed
//! once per sequence; all other operands are read in place, with strides.
//!
//! Backward, with the probabilities p:
//! `dv = drop(p)ᵀ dy; dp = drop(dy vᵀ); ds = p (dp - Σ dp p) scale; dq = ds k; dk = dsᵀ q`.
//!
//! If causal, a chunk of rows is computed only up to the column of its last row, and a chunk of columns only from the
//! row of its first column on. Of the scores above the diagonal only those inside diagonal chunks are computed; their
//! probabilities are zero.

use std::ops::Range;

use dfdx::tensor::Cpu;
use pulp::{Simd, WithSimd};

use super::rows::{GROUP, multiply, transpose};
use super::{AttentionKernel, AttentionSize};
use crate::device::{Arithmetic, Backend, Buffer, cpu_arithmetic};
use crate::ops::dropout::cpu::mask_factors;
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, matmul_in_arithmetic};
use crate::ops::parallel::for_each_chunk_if;
use crate::ops::scratch::with_scratch;
use crate::ops::simd::{dispatch_simd, simd};
use crate::ops::{Mask, PooledBuffer, Result};

/// Largest number of positions for which keys and values are read in place instead of being transposed.
const FEW: usize = 16;

impl AttentionKernel for Cpu {
    fn attention(
        &self,
        qkv: &PooledBuffer<Self>,
        size: AttentionSize,
        mask: Option<Mask>,
    ) -> Result<(Buffer<Self>, PooledBuffer<Self>)> {
        let (large, c, len) = (size.is_large(), size.features, size.len());
        let arithmetic = cpu_arithmetic();
        let mut y = self.uninit_buffer(size.batch * len)?;
        for_each_chunk_if(large, &mut y, len, |start, y| {
            let sequence = Sequence::new(qkv, size, start / len, mask, arithmetic);
            sequence.with_transposed(1, |keys| {
                for_each_chunk_if(large, y, size.chunk() * c, |start, y| {
                    let first = start / c;
                    sequence.attend(first..first + y.len() / c, keys, y);
                });
            });
        });
        Ok((y, PooledBuffer::new(self.uninit_buffer(0)?)))
    }

    fn attention_backward(
        &self,
        qkv: &PooledBuffer<Self>,
        _: &PooledBuffer<Self>,
        size: AttentionSize,
        mask: Option<Mask>,
        grad_output: &PooledBuffer<Self>,
        (grad_qkv, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let (large, len, head_len) = (size.is_large(), size.len(), size.len() / size.heads);
        let arithmetic = cpu_arithmetic();
        for_each_chunk_if(large, grad_qkv, 3 * len, |start, joined| {
            let sequence = Sequence::new(qkv, size, start / (3 * len), mask, arithmetic);
            let dy = &grad_output[start / 3..start / 3 + len];
            sequence.with_transposed(2, |transposed| {
                // Gradients are first stored head by head: each task has memory of its own, whose rows are close
                // together.
                with_scratch(3 * len, |apart| {
                    for_each_chunk_if(large, apart, 3 * head_len, |start, grads| {
                        let head = start / (3 * head_len);
                        if accumulate.adds() {
                            for (values, place) in size.gradient_rows(grads, head) {
                                values.copy_from_slice(&joined[place]);
                            }
                        }
                        sequence.gradients(head, transposed, dy, (grads, accumulate));
                    });
                    for (head, grads) in apart.chunks_exact_mut(3 * head_len).enumerate() {
                        for (values, place) in size.gradient_rows(grads, head) {
                            joined[place].copy_from_slice(values);
                        }
                    }
                });
            });
        });
        Ok(())
    }
}

/// Queries, keys and values of one sequence.
#[derive(Clone, Copy)]
struct Sequence<'a> {
    qkv: &'a [f32],
    size: AttentionSize,
    index: usize,
    mask: Option<Mask>,
    arithmetic: Arithmetic,
}

impl<'a> Sequence<'a> {
    fn new(
        qkv: &'a [f32],
        size: AttentionSize,
        index: usize,
        mask: Option<Mask>,
        arithmetic: Arithmetic,
    ) -> Self {
        let len = 3 * size.len();
        Self {
            qkv: &qkv[index * len..(index + 1) * len],
            size,
            index,
            mask,
            arithmetic,
        }
    }

    /// One head's queries (part 0), keys (1) or values (2), `(T, d)`.
    fn part(&self, part: usize, head: usize) -> Matrix<'a> {
        let (c, d) = (self.size.features, self.size.head_width());
        let values = &self.qkv[part * c + head * d..];
        Matrix::strided(values, self.size.positions, d, 3 * c)
    }

    /// Calls `task` with the transposed keys of all heads and, if `parts` is 2, values, as [`Sequence::across`] reads
    /// them; with an empty slice if they are read in place.
    fn with_transposed(&self, parts: usize, task: impl FnOnce(&[f32])) {
        let (t, c) = (self.size.positions, self.size.features);
        if t <= FEW {
            return task(&[]);
        }
        with_scratch(parts * c * t, |transposed| {
            simd!(transpose(transposed, &self.qkv[c..], t, 3 * c));
            task(transposed);
        });
    }

    /// One head's keys (part 1) or values (2) transposed, `(d, T)`; `transposed` is from [`Sequence::with_transposed`].
    fn across<'b>(&self, part: usize, head: usize, transposed: &'b [f32]) -> Matrix<'b>
    where
        'a: 'b,
    {
        let (t, c, d) = (
            self.size.positions,
            self.size.features,
            self.size.head_width(),
        );
        if t <= FEW {
            return self.part(part, head).transposed();
        }
        Matrix::new(&transposed[((part - 1) * c + head * d) * t..], d, t)
    }

    /// Computes the attention results of the positions `rows`, for all heads.
    fn attend(&self, rows: Range<usize>, keys: &[f32], y: &mut [f32]) {
        let (size, stride) = (self.size, self.size.stride());
        let (c, d) = (size.features, size.head_width());
        let (count, columns) = (rows.len(), size.attended(rows.end - 1));
        with_scratch((count + GROUP) * stride, |scratch| {
            let (p, factors) = scratch.split_at_mut(count * stride);
            for head in 0..size.heads {
                self.scores(head, &rows, keys, p);
                dispatch_simd(Probabilities {
                    sequence: self,
                    head,
                    rows: rows.clone(),
                    p,
                    factors,
                });
                let p = Matrix::strided(p, count, columns, stride);
                let v = self.part(2, head).row_range(0, columns);
                let mut y = MatrixMut::strided(&mut y[head * d..], count, d, c);
                matmul_in_arithmetic(self.arithmetic, &mut y, Accumulate::Replace, p, v);
            }
        });
    }

    /// The gradients of one head's queries, keys and values, `(3, T, d)`.
    fn gradients(
        &self,
        head: usize,
        transposed: &[f32],
        dy: &[f32],
        (grads, accumulate): (&mut [f32], Accumulate),
    ) {
        let (size, stride) = (self.size, self.size.stride());
        let (t, c, d) = (size.positions, size.features, size.head_width());
        let (q, k) = (self.part(0, head), self.part(1, head));
        let dy = Matrix::strided(&dy[head * d..], t, d, c);
        let (dq, grads) = grads.split_at_mut(t * d);
        let (dk, dv) = grads.split_at_mut(t * d);
        let group = GROUP * stride;
        with_scratch(2 * t * stride + group, |scratch| {
            let (p, scratch) = scratch.split_at_mut(t * stride);
            let (ds, factors) = scratch.split_at_mut(t * stride);
            for rows in size.chunks() {
                let (count, columns) = (rows.len(), size.attended(rows.end - 1));
                let part = rows.start * stride..rows.end * stride;
                let (p, ds) = (&mut p[part.clone()], &mut ds[part]);
                self.scores(head, &rows, transposed, p);
                matmul_in_arithmetic(
                    self.arithmetic,
                    &mut MatrixMut::strided(ds, count, columns, stride),
                    Accumulate::Replace,
                    dy.row_range(rows.start, count),
                    self.across(2, head, transposed).column_range(0, columns),
                );
                dispatch_simd(Gradients {
                    sequence: self,
                    head,
                    rows: rows.clone(),
                    p,
                    ds,
                    factors,
                });
                matmul_in_arithmetic(
                    self.arithmetic,
                    &mut MatrixMut::new(&mut dq[rows.start * d..], count, d),
                    accumulate,
                    Matrix::strided(ds, count, columns, stride),
                    k.row_range(0, columns),
                );
            }
            for columns in size.chunks() {
                // The first row (query position) that attends to one of `columns`.
                let first = if size.causal { columns.start } else { 0 };
                for (grad, scores, values) in [(&mut *dk, &*ds, q), (&mut *dv, &*p, dy)] {
                    let scores = Matrix::strided(scores, t, t, stride)
                        .row_range(first, t - first)
                        .column_range(columns.start, columns.len());
                    let grad = &mut grad[columns.start * d..];
                    matmul_in_arithmetic(
                        self.arithmetic,
                        &mut MatrixMut::new(grad, columns.len(), d),
                        accumulate,
                        scores.transposed(),
                        values.row_range(first, t - first),
                    );
                }
            }
        });
    }

    /// Unscaled scores: products of the queries of `rows` with all keys to which the last of these rows attends.
    fn scores(&self, head: usize, rows: &Range<usize>, transposed: &[f32], scores: &mut [f32]) {
        let (count, columns) = (rows.len(), self.size.attended(rows.end - 1));
        matmul_in_arithmetic(
            self.arithmetic,
            &mut MatrixMut::strided(scores, count, columns, self.size.stride()),
            Accumulate::Replace,
            self.part(0, head).row_range(rows.start, count),
            self.across(1, head, transposed).column_range(0, columns),
        );
    }

    /// Dropout factors (0 or `1 / (1 - p)`) of the first `columns` columns of scores, for the rows from `first` on.
    #[inline(always)]
    fn factors(
        &self,
        (head, first, columns): (usize, usize, usize),
        mask: Mask,
        factors: &mut [f32],
    ) {
        let t = self.size.positions;
        let row = (self.index * self.size.heads + head) * t + first;
        for (i, factors) in factors.chunks_exact_mut(self.size.stride()).enumerate() {
            mask_factors(&mut factors[..columns], (row + i) * t, mask);
        }
    }
}

/// Converts scores of some rows to probabilities and applies dropout to them.
struct Probabilities<'a> {
    sequence: &'a Sequence<'a>,
    head: usize,
    rows: Range<usize>,
    p: &'a mut [f32],
    factors: &'a mut [f32],
}

impl WithSimd for Probabilities<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let group = GROUP * self.sequence.size.stride();
        for (p, first) in self
            .p
            .chunks_mut(group)
            .zip(self.rows.clone().step_by(GROUP))
        {
            let columns = self.sequence.size.attended(self.rows.end - 1);
            self.sequence.size.rows(simd, first, columns).softmax(p);
            if let Some(mask) = self.sequence.mask {
                let factors = &mut self.factors[..p.len()];
                self.sequence
                    .factors((self.head, first, columns), mask, factors);
                multiply(p, factors);
            }
        }
    }
}

/// For some rows, converts scores to probabilities with dropout, and gradients of probabilities to gradients of scores.
struct Gradients<'a> {
    sequence: &'a Sequence<'a>,
    head: usize,
    rows: Range<usize>,
    p: &'a mut [f32],
    ds: &'a mut [f32],
    factors: &'a mut [f32],
}

impl WithSimd for Gradients<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let group = GROUP * self.sequence.size.stride();
        let pairs = self.p.chunks_mut(group).zip(self.ds.chunks_mut(group));
        let columns = self.sequence.size.attended(self.rows.end - 1);
        for ((p, ds), first) in pairs.zip(self.rows.clone().step_by(GROUP)) {
            let rows = self.sequence.size.rows(simd, first, columns);
            rows.softmax(p);
            let factors = &mut self.factors[..p.len()];
            if let Some(mask) = self.sequence.mask {
                self.sequence
                    .factors((self.head, first, columns), mask, factors);
                multiply(ds, factors);
            }
            rows.softmax_backward(ds, p);
            if self.sequence.mask.is_some() {
                multiply(p, factors);
            }
        }
    }
}
