//! Softmax of rows of scores and its gradient on the CPU, and how a sequence is cut into rows.
//!
//! Only the first values of a row are used. The padding up to a multiple of [`LANES`], which lets loops process whole
//! vectors, may hold any values on entry and holds zeros on return. Several rows are processed together: a sum has a
//! fixed order, so each of its additions waits for the previous one, and sums of other rows keep the processor busy
//! meanwhile.

use std::ops::Range;

use pulp::{Simd, bytemuck};

use super::AttentionSize;
use crate::ops::gemm::even_chunk_len;
use crate::ops::math;
use crate::ops::parallel::MIN_PARALLEL_FLOP;

/// Number of partial sums of a row at every vector level, so that all levels give the same bits.
pub(super) const LANES: usize = 16;
/// Largest number of rows processed together.
pub(super) const GROUP: usize = 12;

/// Approximate number of positions (rows) of a chunk.
const ROWS: usize = 128;
/// Number of positions of a chunk if causal: few, so that little is computed above the diagonal; a multiple of the rows
/// of the matrix product's tile.
const CAUSAL_ROWS: usize = 30;

impl AttentionSize {
    pub(super) fn is_large(self) -> bool {
        self.work(false).forward >= MIN_PARALLEL_FLOP as u64
    }

    /// Number of values of a sequence's queries, `T · C`.
    pub(super) fn len(self) -> usize {
        self.positions * self.features
    }

    /// Number of positions (rows) of a chunk.
    pub(super) fn chunk(self) -> usize {
        if self.causal {
            CAUSAL_ROWS
        } else {
            even_chunk_len(self.positions, ROWS)
        }
    }

    pub(super) fn chunks(self) -> impl Iterator<Item = Range<usize>> {
        let starts = (0..self.positions).step_by(self.chunk());
        starts.map(move |start| start..self.positions.min(start + self.chunk()))
    }

    /// Number of positions that position `i` attends to.
    pub(super) fn attended(self, i: usize) -> usize {
        if self.causal { i + 1 } else { self.positions }
    }

    /// Distance in values between rows of scores: an odd number of cache lines, so that the values of a column fall
    /// into different sets of a cache.
    pub(super) fn stride(self) -> usize {
        (self.positions.div_ceil(LANES) | 1) * LANES
    }

    /// The [`Rows`] of scores from position `first` on.
    #[inline(always)]
    pub(super) fn rows<S>(self, simd: S, first: usize, columns: usize) -> Rows<S> {
        Rows {
            simd,
            stride: self.stride(),
            columns,
            len: (self.attended(first), usize::from(self.causal)),
            scale: self.scale(),
        }
    }

    /// Yields the rows of one head's gradients `(3, T, d)`, each with the range of its values in the gradients of the
    /// sequence, `(T, 3C)`.
    pub(super) fn gradient_rows(
        self,
        grads: &mut [f32],
        head: usize,
    ) -> impl Iterator<Item = (&mut [f32], Range<usize>)> {
        let (t, c, d) = (self.positions, self.features, self.head_width());
        let rows = grads.chunks_exact_mut(d).enumerate();
        rows.map(move |(row, values)| {
            let start = (row % t * 3 + row / t) * c + head * d;
            (values, start..start + d)
        })
    }
}

/// Rows of scores that are processed together, at most [`GROUP`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<S> {
    pub(super) simd: S,
    /// Distance between rows in values, a multiple of [`LANES`].
    pub(super) stride: usize,
    /// Number of values of a row that are written; values after the used ones become zero.
    pub(super) columns: usize,
    /// Number of used values of the first row, and by how many it grows from row to row (1 if causal, otherwise 0).
    pub(super) len: (usize, usize),
    /// Factor by which scores are multiplied before the softmax.
    pub(super) scale: f32,
}

impl<S: Simd> Rows<S> {
    /// Computes `softmax(scale · row)` of every row, in place.
    #[inline(always)]
    pub(super) fn softmax(self, rows: &mut [f32]) {
        let (simd, count) = (self.simd, rows.len() / self.stride);
        let (mut highest, mut sums) = ([0.0; GROUP], [[0.0; LANES]; GROUP]);
        for (i, highest) in highest.iter_mut().enumerate().take(count) {
            let (row, used) = self.row(rows, i);
            self.end_with(f32::NEG_INFINITY, i, row);
            let mut most = simd.splat_f32s(f32::NEG_INFINITY);
            for vector in &row[..used] {
                // This maximum ignores NaN, but a NaN in the row makes the sum, and so the results, NaN.
                most = simd.max_f32s(*vector, most);
            }
            *highest = simd.reduce_max_f32s(most) * self.scale;
        }
        for (i, sums) in sums.iter_mut().enumerate().take(count) {
            let (row, used) = self.row(rows, i);
            for value in bytemuck::cast_slice_mut(&mut row[..used]) {
                *value = math::exp(*value * self.scale - highest[i]);
            }
            self.end_with(0.0, i, row);
            *sums = self.in_lanes(used, |j| row[j]);
        }
        for (i, sums) in sums.iter().enumerate().take(count) {
            let (row, used) = self.row(rows, i);
            let inverse = simd.splat_f32s(1.0 / total(sums));
            for vector in &mut row[..used] {
                *vector = simd.mul_f32s(*vector, inverse);
            }
        }
    }

    /// Converts gradients of the probabilities `p`, which [`Rows::softmax`] computed, to gradients of unscaled scores,
    /// in place.
    #[inline(always)]
    pub(super) fn softmax_backward(self, rows: &mut [f32], p: &[f32]) {
        let (simd, count) = (self.simd, rows.len() / self.stride);
        let scale = simd.splat_f32s(self.scale);
        let mut sums = [[0.0; LANES]; GROUP];
        for (i, sums) in sums.iter_mut().enumerate().take(count) {
            let (row, used) = self.row(rows, i);
            self.end_with(0.0, i, row);
            let (p, _) = S::as_simd_f32s(&p[i * self.stride..]);
            *sums = self.in_lanes(used, |j| simd.mul_f32s(row[j], p[j]));
        }
        for (i, sums) in sums.iter().enumerate().take(count) {
            let (row, used) = self.row(rows, i);
            let (p, _) = S::as_simd_f32s(&p[i * self.stride..]);
            let sum = simd.splat_f32s(total(sums));
            for (grad, p) in row[..used].iter_mut().zip(p) {
                let shifted = simd.sub_f32s(simd.mul_f32s(*grad, *p), simd.mul_f32s(*p, sum));
                *grad = simd.mul_f32s(shifted, scale);
            }
        }
    }

    /// The vectors of row `i`, and how many of them contain at least one used value.
    #[inline(always)]
    fn row(self, rows: &mut [f32], i: usize) -> (&mut [S::f32s], usize) {
        let row = &mut rows[i * self.stride..][..self.columns.next_multiple_of(LANES)];
        (
            S::as_mut_simd_f32s(row).0,
            self.len(i).div_ceil(S::F32_LANES),
        )
    }

    #[inline(always)]
    fn len(self, i: usize) -> usize {
        self.len.0 + i * self.len.1
    }

    /// Sets the values of row `i` that are not used to `filler`.
    #[inline(always)]
    fn end_with(self, filler: f32, i: usize, row: &mut [S::f32s]) {
        let (simd, rest) = (self.simd, self.len(i) % S::F32_LANES);
        let (first, filler) = (self.len(i) / S::F32_LANES, simd.splat_f32s(filler));
        if rest > 0 {
            let counts = simd.mask_between_m32s(0, rest as u32).mask();
            row[first] = simd.select_f32s(counts, row[first], filler);
        }
        for vector in &mut row[first + usize::from(rest > 0)..] {
            *vector = filler;
        }
    }

    /// Sums `count` vectors into [`LANES`] partial sums.
    #[inline(always)]
    fn in_lanes(self, count: usize, vector: impl Fn(usize) -> S::f32s) -> [f32; LANES] {
        let each = LANES / S::F32_LANES;
        let mut sums = [self.simd.splat_f32s(0.0); LANES];
        for first in (0..count).step_by(each) {
            for (j, sum) in sums[..each].iter_mut().enumerate() {
                *sum = self.simd.add_f32s(*sum, vector(first + j));
            }
        }
        let mut lanes = [0.0; LANES];
        for (to, sum) in S::as_mut_simd_f32s(&mut lanes).0.iter_mut().zip(sums) {
            *to = sum;
        }
        lanes
    }
}

/// The sum of all lanes, in order.
#[inline(always)]
fn total(lanes: &[f32; LANES]) -> f32 {
    lanes.iter().fold(0.0, |sum, lane| sum + lane)
}

/// `row[i] *= factors[i]` for as many values as there are factors.
#[inline(always)]
pub(super) fn multiply(row: &mut [f32], factors: &[f32]) {
    for (value, factor) in row.iter_mut().zip(factors) {
        *value *= factor;
    }
}

/// Transposes: writes the first columns of `from: (rows, row_stride)` as the rows of `to`, as many as fit.
#[inline(always)]
pub(super) fn transpose(to: &mut [f32], from: &[f32], rows: usize, row_stride: usize) {
    for (block, to) in to.chunks_mut(LANES * rows).enumerate() {
        let columns = to.len() / rows;
        for first in (0..rows).step_by(LANES) {
            let count = LANES.min(rows - first);
            let start = first * row_stride + block * LANES;
            if columns == LANES && count == LANES {
                let mut values = [0.0; LANES * LANES];
                for (i, row) in values.chunks_exact_mut(LANES).enumerate() {
                    row.copy_from_slice(&from[start + i * row_stride..][..LANES]);
                }
                let values = shuffle(&shuffle(&shuffle(&shuffle(&values))));
                for (j, column) in values.chunks_exact(LANES).enumerate() {
                    to[j * rows + first..][..LANES].copy_from_slice(column);
                }
            } else {
                for j in 0..columns {
                    for i in 0..count {
                        to[j * rows + first + i] = from[start + i * row_stride + j];
                    }
                }
            }
        }
    }
}

/// Interleaves the two halves of `values`, which rotates the bits of the indices by one. Done four times, it transposes
/// a 16 × 16 matrix.
#[inline(always)]
fn shuffle(values: &[f32; LANES * LANES]) -> [f32; LANES * LANES] {
    let (first, second) = values.split_at(LANES * LANES / 2);
    let mut shuffled = [0.0; LANES * LANES];
    for ((pair, a), b) in shuffled.chunks_exact_mut(2).zip(first).zip(second) {
        pair[0] = *a;
        pair[1] = *b;
    }
    shuffled
}
