//! Three statistics ("rules") on the Gaussian kernel (RBF) of signatures.

use super::signatures::ENTRIES;
use crate::ops::math::exp_f64;
use crate::ops::simd::simd;

/// How a loss combines the kernels of generated paths g and real paths r.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RbfStatistic {
    /// Kernel scoring rule `Σ_{i≠j} k(gᵢ, gⱼ)/(b(b−1)) − 2 mean k(gᵢ, rⱼ)`, with all real paths.
    Scoring,
    /// `√max(mean K_GG + mean K_RR − 2 mean K_GR, 1e-8)`, with the diagonals, and with as many real paths as generated
    /// ones.
    TruncatedMmd,
    /// `−ln(mean k(gᵢ, rⱼ) + 1e-8)`, with as many real paths as generated ones.
    SimplifiedScoring,
}

/// Lower bound under the square root of the truncated MMD; added to the argument of the logarithm.
pub(super) const FLOOR: f64 = 1e-8;
const LANES: usize = 8;

/// A kernel statistic with its σ and the signatures of the real paths.
#[derive(Debug, Clone)]
pub(super) struct Rbf {
    pub(super) statistic: RbfStatistic,
    pub(super) sigma: f64,
    pub(super) real: Columns,
}

/// Signatures by entry, `(30, count)`, so that a loop over paths reads contiguous values.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    pub(super) count: usize,
    pub(super) values: Vec<f64>,
}

/// The kernel values of a batch, and the means of them that the statistic uses.
#[derive(Debug)]
pub(super) struct Similarities {
    /// Kernels of two generated paths, `(b, b)`; empty if the rule does not need them.
    own: Vec<f64>,
    /// Kernels of a generated and a real path, `(b, r)`.
    cross: Vec<f64>,
    /// Number of generated paths (b) and of real paths (r) in the kernels.
    b: usize,
    r: usize,
    own_mean: f64,
    cross_mean: f64,
    real_mean: f64,
}

impl Rbf {
    pub(super) fn new(statistic: RbfStatistic, sigma: f64, real: &[f64]) -> Self {
        Self {
            statistic,
            sigma,
            real: Columns::of(real),
        }
    }

    /// Numbers of kernels of a batch: generated–generated, generated–real, real–real.
    pub(super) fn pairs(&self, b: usize) -> (usize, usize, usize) {
        let r = self.real_count(b);
        match self.statistic {
            RbfStatistic::Scoring => (b * b, b * r, 0),
            RbfStatistic::TruncatedMmd => (b * b, b * r, r * r),
            RbfStatistic::SimplifiedScoring => (0, b * r, 0),
        }
    }

    fn real_count(&self, b: usize) -> usize {
        match self.statistic {
            RbfStatistic::Scoring => self.real.count,
            _ => b.min(self.real.count),
        }
    }

    pub(super) fn similarities(&self, generated: &[f64]) -> Similarities {
        let b = generated.len() / ENTRIES;
        let r = self.real_count(b);
        let cross = self.kernels(generated, &self.real, r);
        let mut found = Similarities {
            own: Vec::new(),
            b,
            r,
            own_mean: 0.0,
            cross_mean: cross.iter().sum::<f64>() / cross.len() as f64,
            real_mean: 0.0,
            cross,
        };
        if self.statistic == RbfStatistic::SimplifiedScoring {
            return found;
        }
        found.own = self.kernels(generated, &Columns::of(generated), b);
        let sum: f64 = found.own.iter().sum();
        if self.statistic == RbfStatistic::TruncatedMmd {
            found.own_mean = sum / (b * b) as f64;
            let real = self.kernels(&self.real.rows(r), &self.real, r);
            found.real_mean = real.iter().sum::<f64>() / real.len() as f64;
        } else if b > 1 {
            let diagonal: f64 = found.own.iter().step_by(b + 1).sum();
            found.own_mean = (sum - diagonal) / (b * (b - 1)) as f64;
        }
        found
    }

    pub(super) fn value(&self, found: &Similarities) -> f64 {
        match self.statistic {
            RbfStatistic::Scoring => found.own_mean - 2.0 * found.cross_mean,
            RbfStatistic::TruncatedMmd => {
                let square = found.squared_mmd();
                // Not `max`: it would turn NaN into `FLOOR`.
                if square < FLOOR { FLOOR } else { square }.sqrt()
            }
            RbfStatistic::SimplifiedScoring => -(found.cross_mean + FLOOR).ln(),
        }
    }

    /// Gradient of the loss with respect to the signatures of the generated paths, `(b, 30)`.
    pub(super) fn slopes(&self, generated: &[f64], found: &Similarities) -> Vec<f64> {
        let (own, cross) = self.weights(found);
        let columns = Columns::of(generated);
        let mut slopes = vec![0.0; generated.len()];
        // A generated path is the first of some of its pairs with generated paths and the second of others: hence
        // `2.0 * own`.
        let scale = -1.0 / (self.sigma * self.sigma);
        simd!({
            if !found.own.is_empty() {
                let kernels = (found.own.as_slice(), found.b);
                add_slopes(&mut slopes, generated, &columns, kernels, 2.0 * own * scale);
            }
            let kernels = (found.cross.as_slice(), found.r);
            add_slopes(&mut slopes, generated, &self.real, kernels, cross * scale);
        });
        slopes
    }

    /// Derivatives of the loss with respect to a kernel of two generated paths, and to one of a generated and a real
    /// path.
    fn weights(&self, found: &Similarities) -> (f64, f64) {
        let (b, pairs) = (found.b as f64, (found.b * found.r) as f64);
        match self.statistic {
            RbfStatistic::Scoring if found.b < 2 => (0.0, -2.0 / pairs),
            RbfStatistic::Scoring => (1.0 / (b * (b - 1.0)), -2.0 / pairs),
            RbfStatistic::TruncatedMmd => {
                let square = found.squared_mmd();
                let slope = if square < FLOOR {
                    0.0
                } else {
                    0.5 / square.sqrt()
                };
                (slope / (b * b), -2.0 * slope / pairs)
            }
            RbfStatistic::SimplifiedScoring => (0.0, -1.0 / ((found.cross_mean + FLOOR) * pairs)),
        }
    }

    /// Kernels of the signatures `rows: (rows, 30)` with the first `count` of `columns`, `(rows, count)`.
    fn kernels(&self, rows: &[f64], columns: &Columns, count: usize) -> Vec<f64> {
        let scale = -0.5 / (self.sigma * self.sigma);
        let mut kernels = vec![0.0; rows.len() / ENTRIES * count];
        simd!({
            let both = kernels.chunks_exact_mut(count.max(1));
            for (kernels, row) in both.zip(rows.chunks_exact(ENTRIES)) {
                for (entry, value) in row.iter().enumerate() {
                    let column = &columns.values[entry * columns.count..][..count];
                    for (kernel, other) in kernels.iter_mut().zip(column) {
                        *kernel += (value - other) * (value - other);
                    }
                }
                for kernel in kernels {
                    *kernel = exp_f64(*kernel * scale);
                }
            }
        });
        kernels
    }
}

impl Similarities {
    fn squared_mmd(&self) -> f64 {
        self.own_mean + self.real_mean - 2.0 * self.cross_mean
    }
}

impl Columns {
    fn of(rows: &[f64]) -> Self {
        let count = rows.len() / ENTRIES;
        let entries = (0..ENTRIES).flat_map(|entry| rows.iter().skip(entry).step_by(ENTRIES));
        Self {
            count,
            values: entries.copied().collect(),
        }
    }

    /// The first `count` signatures as rows, `(count, 30)`.
    fn rows(&self, count: usize) -> Vec<f64> {
        let entry = |at: usize, path: usize| self.values[at * self.count + path];
        let rows = (0..count).flat_map(|path| (0..ENTRIES).map(move |at| entry(at, path)));
        rows.collect()
    }
}

/// `slopes[i] += scale · Σⱼ k[i, j] (uᵢ − wⱼ)`, with u the signatures in `rows` and w those in `columns`.
#[inline(always)]
fn add_slopes(
    slopes: &mut [f64],
    rows: &[f64],
    columns: &Columns,
    (kernels, count): (&[f64], usize),
    scale: f64,
) {
    let paths = slopes
        .chunks_exact_mut(ENTRIES)
        .zip(rows.chunks_exact(ENTRIES));
    for ((slopes, row), kernels) in paths.zip(kernels.chunks_exact(count.max(1))) {
        for (entry, (slope, value)) in slopes.iter_mut().zip(row).enumerate() {
            let column = &columns.values[entry * columns.count..][..count];
            *slope += scale * weighted_distance(kernels, *value, column);
        }
    }
}

/// `Σⱼ weights[j] (value − others[j])`, in eight partial sums: an order of additions that the compiler can vectorise.
#[inline(always)]
fn weighted_distance(weights: &[f64], value: f64, others: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (weights, rest) = weights.as_chunks::<LANES>();
    let (others, other_rest) = others.as_chunks::<LANES>();
    for (weights, others) in weights.iter().zip(others) {
        for lane in 0..LANES {
            sums[lane] += weights[lane] * (value - others[lane]);
        }
    }
    let rest = rest.iter().zip(other_rest);
    let rest: f64 = rest.map(|(weight, other)| weight * (value - other)).sum();
    sums.iter().sum::<f64>() + rest
}
