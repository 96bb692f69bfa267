//! Arithmetic on groups of samples, one per lane of a vector: products with small matrices, layer norm, and their
//! backward passes. A group has as many samples as a vector of the vector level in use has lanes; the state may have
//! any width.
#![expect(
    clippy::needless_range_loop,
    reason = "parts of `zip` are no inline functions: without optimisation across code units they are calls"
)]

use pulp::{Simd, WithSimd, bytemuck};

use crate::ops::simd::f32_lanes;

/// The values as vectors of the vector level in use.
#[inline(always)]
pub(super) fn rows<S: Simd>(values: &[f32]) -> &[S::f32s] {
    S::as_simd_f32s(values).0
}

#[inline(always)]
pub(super) fn rows_mut<S: Simd>(values: &mut [f32]) -> &mut [S::f32s] {
    S::as_mut_simd_f32s(values).0
}

/// The vectors as values, for loops that the compiler vectorises.
#[inline(always)]
pub(super) fn values_mut<S: Simd>(rows: &mut [S::f32s]) -> &mut [f32] {
    bytemuck::cast_slice_mut(rows)
}

/// `y[j] += Σᵢ weight[i, j] x[i]`; the weight is row-major, `(length of x, length of y)`.
pub(super) struct AddProduct<'a, S: Simd> {
    pub(super) simd: S,
    pub(super) weight: &'a [f32],
    pub(super) x: &'a [S::f32s],
    pub(super) y: &'a mut [S::f32s],
}

impl<S: Simd> AddProduct<'_, S> {
    /// Adds the product in a function that the compiler may inline or not: always inlined, it would make the caller too
    /// large to be optimised well.
    #[inline(always)]
    pub(super) fn run(self) {
        self.simd.vectorize(self);
    }
}

impl<T: Simd> WithSimd for AddProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { simd, weight, x, y } = self;
        let outputs = y.len();
        let (eights, rest) = y.as_chunks_mut::<8>();
        let mut first = 0;
        for y in eights {
            tile(simd, weight, (outputs, first), x, y);
            first += 8;
        }
        let (fours, rest) = rest.as_chunks_mut::<4>();
        for y in fours {
            tile(simd, weight, (outputs, first), x, y);
            first += 4;
        }
        let (twos, ones) = rest.as_chunks_mut::<2>();
        for y in twos {
            tile(simd, weight, (outputs, first), x, y);
            first += 2;
        }
        for y in ones.as_chunks_mut::<1>().0 {
            tile(simd, weight, (outputs, first), x, y);
            first += 1;
        }
    }
}

/// Computes the `N` results from index `first` on, with their sums in registers.
#[inline(always)]
fn tile<S: Simd, const N: usize>(
    simd: S,
    weight: &[f32],
    (outputs, first): (usize, usize),
    x: &[S::f32s],
    y: &mut [S::f32s; N],
) {
    let mut sums = *y;
    for i in 0..x.len() {
        let weight = &weight[i * outputs + first..][..N];
        for j in 0..N {
            sums[j] = simd.mul_add_e_f32s(simd.splat_f32s(weight[j]), x[i], sums[j]);
        }
    }
    *y = sums;
}

/// Two parts of a record whose outer product is summed: x and y of [`AddOuter`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Outer {
    /// First row and number of rows of the first part.
    pub(super) x: (usize, usize),
    /// First row and number of rows of the second part.
    pub(super) y: (usize, usize),
}

/// `sums[i, j] += Σ x[i] y[j]` over all samples of all records; a record has `len` rows, x and y are the parts `at`.
pub(super) struct AddOuter<'a, S: Simd> {
    pub(super) simd: S,
    pub(super) records: &'a [S::f32s],
    pub(super) len: usize,
    pub(super) at: Outer,
    pub(super) sums: &'a mut [f32],
}

impl<T: Simd> WithSimd for AddOuter<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        let ((_, inputs), (_, outputs)) = (self.at.x, self.at.y);
        let (whole_i, whole_j) = (inputs / 4 * 4, outputs / 4 * 4);
        for i in (0..whole_i).step_by(4) {
            for j in (0..whole_j).step_by(4) {
                self.tile::<4, 4>(i, j);
            }
            for j in whole_j..outputs {
                self.tile::<4, 1>(i, j);
            }
        }
        for i in whole_i..inputs {
            for j in (0..whole_j).step_by(4) {
                self.tile::<1, 4>(i, j);
            }
            for j in whole_j..outputs {
                self.tile::<1, 1>(i, j);
            }
        }
    }
}

impl<S: Simd> AddOuter<'_, S> {
    #[inline(always)]
    fn tile<const I: usize, const J: usize>(&mut self, i: usize, j: usize) {
        let simd = self.simd;
        let mut tile = [[simd.splat_f32s(0.0); J]; I];
        for number in 0..self.records.len() / self.len {
            let record = &self.records[number * self.len..][..self.len];
            let x = &record[self.at.x.0 + i..][..I];
            let y = &record[self.at.y.0 + j..][..J];
            for row in 0..I {
                for column in 0..J {
                    tile[row][column] = simd.mul_add_e_f32s(x[row], y[column], tile[row][column]);
                }
            }
        }
        for row in 0..I {
            for column in 0..J {
                let sum = simd.reduce_sum_f32s(tile[row][column]);
                self.sums[(i + row) * self.at.y.1 + j + column] += sum;
            }
        }
    }
}

/// Writes `(x - mean) / √(variance + eps)` of every sample to `normed`; returns `1 / √(variance + eps)`.
#[inline(always)]
pub(super) fn normalise<S: Simd>(
    simd: S,
    x: &[S::f32s],
    eps: f32,
    normed: &mut [S::f32s],
) -> S::f32s {
    let share = simd.splat_f32s(1.0 / x.len() as f32);
    let (mut mean, mut variance) = (simd.splat_f32s(0.0), simd.splat_f32s(0.0));
    for x in x {
        mean = simd.add_f32s(mean, *x);
    }
    mean = simd.mul_f32s(mean, share);
    for i in 0..x.len() {
        normed[i] = simd.sub_f32s(x[i], mean);
        variance = simd.mul_add_e_f32s(normed[i], normed[i], variance);
    }
    let deviation = simd.sqrt_f32s(simd.mul_add_e_f32s(variance, share, simd.splat_f32s(eps)));
    let rstd = simd.div_f32s(simd.splat_f32s(1.0), deviation);
    for normed in normed {
        *normed = simd.mul_f32s(*normed, rstd);
    }
    rstd
}

/// `y = gamma normed + beta`.
#[inline(always)]
pub(super) fn scale<S: Simd>(
    simd: S,
    normed: &[S::f32s],
    [gamma, beta]: [&[f32]; 2],
    y: &mut [S::f32s],
) {
    for i in 0..y.len() {
        let (gamma, beta) = (simd.splat_f32s(gamma[i]), simd.splat_f32s(beta[i]));
        y[i] = simd.mul_add_e_f32s(normed[i], gamma, beta);
    }
}

/// Backward of [`scale`] and [`normalise`]: `dx += rstd (g - mean g - normed · mean(g normed))` with
/// `g = gamma dy`; adds the gradients of gamma and beta to `sums`.
#[inline(always)]
pub(super) fn norm_backward<S: Simd>(
    simd: S,
    (normed, rstd): (&[S::f32s], S::f32s),
    gamma: &[f32],
    dy: &[S::f32s],
    [dgamma, dbeta]: &mut [&mut [S::f32s]; 2],
    dx: &mut [S::f32s],
) {
    let share = simd.splat_f32s(1.0 / normed.len() as f32);
    let (mut mean, mut product) = (simd.splat_f32s(0.0), simd.splat_f32s(0.0));
    for i in 0..dy.len() {
        let slope = simd.mul_f32s(dy[i], simd.splat_f32s(gamma[i]));
        mean = simd.add_f32s(mean, slope);
        product = simd.mul_add_e_f32s(slope, normed[i], product);
        dgamma[i] = simd.mul_add_e_f32s(dy[i], normed[i], dgamma[i]);
        dbeta[i] = simd.add_f32s(dbeta[i], dy[i]);
    }
    mean = simd.mul_f32s(mean, share);
    product = simd.mul_f32s(product, share);
    for i in 0..dx.len() {
        let slope = simd.sub_f32s(simd.mul_f32s(dy[i], simd.splat_f32s(gamma[i])), mean);
        let slope = simd.sub_f32s(slope, simd.mul_f32s(normed[i], product));
        dx[i] = simd.mul_add_e_f32s(rstd, slope, dx[i]);
    }
}

/// `sums += values`.
#[inline(always)]
pub(super) fn add<S: Simd>(simd: S, sums: &mut [S::f32s], values: &[S::f32s]) {
    for i in 0..sums.len() {
        sums[i] = simd.add_f32s(sums[i], values[i]);
    }
}

/// Broadcasts one number per row to all lanes.
#[inline(always)]
pub(super) fn set<S: Simd>(simd: S, rows: &mut [S::f32s], values: &[f32]) {
    for i in 0..rows.len() {
        rows[i] = simd.splat_f32s(values[i]);
    }
}

/// Copies samples `(samples, width)` to groups `(groups, width, lanes)`; lanes without a sample stay unchanged.
pub(super) fn to_lanes(samples: &[f32], width: usize, rows: &mut [f32]) {
    let lanes = f32_lanes();
    let groups = samples.chunks(lanes * width);
    for (group, rows) in groups.zip(rows.chunks_exact_mut(lanes * width)) {
        for (lane, sample) in group.chunks_exact(width).enumerate() {
            let own = rows.iter_mut().skip(lane).step_by(lanes);
            own.zip(sample).for_each(|(row, value)| *row = *value);
        }
    }
}

/// The inverse of [`to_lanes`]: copies groups back to `samples`.
pub(super) fn from_lanes(rows: &[f32], width: usize, samples: &mut [f32]) {
    let lanes = f32_lanes();
    let groups = samples.chunks_mut(lanes * width);
    for (group, rows) in groups.zip(rows.chunks_exact(lanes * width)) {
        for (lane, sample) in group.chunks_exact_mut(width).enumerate() {
            let own = rows.iter().skip(lane).step_by(lanes);
            sample
                .iter_mut()
                .zip(own)
                .for_each(|(value, row)| *value = *row);
        }
    }
}

/// The transposed copy of a row-major matrix with `columns` columns.
pub(super) fn transposed(matrix: &[f32], columns: usize) -> Vec<f32> {
    (0..columns)
        .flat_map(|column| matrix.iter().skip(column).step_by(columns))
        .copied()
        .collect()
}
