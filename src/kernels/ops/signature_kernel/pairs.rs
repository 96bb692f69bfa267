//! Signature kernels of many pairs of paths, and their gradients with respect to the points, in groups of eight pairs.

use super::goursat::{Grid, LANES, Lanes};
use crate::ops::chunks::map_chunks;
use crate::ops::math::exp_f64;
use crate::ops::simd::simd;

/// Two paths, `(points, 2)` each; all pairs of a call have the same numbers of points.
pub(super) type Pair<'a> = (&'a [f64], &'a [f64]);

/// Number of coordinates of a point: time and value.
const CHANNELS: usize = 2;

/// Parameters of the signature kernel: σ of the static kernel `κ(x, y) = exp(−‖x − y‖²/σ)`, and the dyadic order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Kernel {
    pub(super) sigma: f64,
    pub(super) order: u32,
}

impl Kernel {
    /// The signature kernel k(X, Y) of every pair.
    pub(super) fn values(self, pairs: &[Pair<'_>]) -> Vec<f64> {
        let work = pairs.len() * self.cells(pairs);
        let groups = map_chunks(pairs.len(), LANES, work, |group| {
            let pairs = &pairs[group];
            let values = simd!({
                let group = Group::gather(pairs, self);
                group.grid.solve(&group.increments())
            });
            values[..pairs.len()].to_vec()
        });
        groups.concat()
    }

    /// The gradients of `seed · k(X, Y)` with respect to the points of X and of Y, for every pair.
    pub(super) fn slopes(self, pairs: &[Pair<'_>], seeds: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        let work = pairs.len() * self.cells(pairs);
        let groups = map_chunks(pairs.len(), LANES, work, |group| {
            let (pairs, seeds) = (&pairs[group.clone()], &seeds[group]);
            let (x, y) = simd!({
                let mut seed = [0.0; LANES];
                seed[..seeds.len()].copy_from_slice(seeds);
                let group = Group::gather(pairs, self);
                group.points(&group.grid.adjoint(&group.increments(), seed))
            });
            let of = |all: &[Lanes], lane: usize| all.iter().map(|one| one[lane]).collect();
            (0..pairs.len())
                .map(|lane| (of(&x, lane), of(&y, lane)))
                .collect::<Vec<_>>()
        });
        groups.concat()
    }

    fn cells(self, pairs: &[Pair<'_>]) -> usize {
        pairs.first().map_or(0, |pair| self.grid(*pair).cells())
    }

    fn grid(self, (x, y): Pair<'_>) -> Grid {
        Grid {
            rows: (x.len() / CHANNELS).saturating_sub(1),
            columns: (y.len() / CHANNELS).saturating_sub(1),
            order: self.order,
        }
    }
}

/// Up to eight pairs, one per lane; spare lanes repeat the last pair.
struct Group {
    grid: Grid,
    sigma: f64,
    /// Points of the first and of the second paths, `(points, 2)`.
    x: Vec<Lanes>,
    y: Vec<Lanes>,
    /// κ of all pairs of points, `(points of x, points of y)`.
    kappa: Vec<Lanes>,
}

impl Group {
    #[inline(always)]
    fn gather(pairs: &[Pair<'_>], kernel: Kernel) -> Self {
        let (x, y) = (lanes(pairs, |pair| pair.0), lanes(pairs, |pair| pair.1));
        let mut kappa = Vec::with_capacity(x.len() * y.len() / (CHANNELS * CHANNELS));
        let scale = -1.0 / kernel.sigma;
        for x in x.chunks_exact(CHANNELS) {
            for y in y.chunks_exact(CHANNELS) {
                let mut value = [0.0; LANES];
                for lane in 0..LANES {
                    let (t, v) = (x[0][lane] - y[0][lane], x[1][lane] - y[1][lane]);
                    value[lane] = (t * t + v * v) * scale;
                }
                kappa.push(value);
            }
        }
        // A separate loop over all values, which the compiler vectorises.
        for value in kappa.as_flattened_mut() {
            *value = exp_f64(*value);
        }
        Self {
            grid: kernel.grid(pairs[0]),
            sigma: kernel.sigma,
            x,
            y,
            kappa,
        }
    }

    /// The increments of κ over all pairs of pieces: `κ(i+1, j+1) + κ(i, j) − κ(i+1, j) − κ(i, j+1)`.
    #[inline(always)]
    fn increments(&self) -> Vec<Lanes> {
        let width = self.grid.columns + 1;
        let mut increments = Vec::with_capacity(self.grid.rows * self.grid.columns);
        for row in 0..self.grid.rows {
            let above = &self.kappa[row * width..][..width];
            let below = &self.kappa[(row + 1) * width..][..width];
            for column in 0..self.grid.columns {
                let mut value = [0.0; LANES];
                for lane in 0..LANES {
                    value[lane] = (below[column + 1][lane] - below[column][lane])
                        + (above[column][lane] - above[column + 1][lane]);
                }
                increments.push(value);
            }
        }
        increments
    }

    /// Gradients of the points of x and y from those of the increments: `∂κ/∂x = −2 (x − y) κ / σ = −∂κ/∂y`.
    #[inline(always)]
    fn points(&self, slopes: &[Lanes]) -> (Vec<Lanes>, Vec<Lanes>) {
        let (rows, columns) = (self.grid.rows, self.grid.columns);
        let mut dx = vec![[0.0; LANES]; self.x.len()];
        let mut dy = vec![[0.0; LANES]; self.y.len()];
        // The gradient of each value of κ is the sum over the four increments that contain it, with their signs.
        let mut by_kappa = vec![[0.0; LANES]; self.kappa.len()];
        for row in 0..rows {
            for column in 0..columns {
                let slope = &slopes[row * columns + column];
                let corner = row * (columns + 1) + column;
                for (at, sign) in [
                    (corner, 1.0),
                    (corner + 1, -1.0),
                    (corner + columns + 1, -1.0),
                    (corner + columns + 2, 1.0),
                ] {
                    for lane in 0..LANES {
                        by_kappa[at][lane] += sign * slope[lane];
                    }
                }
            }
        }
        let scale = -2.0 / self.sigma;
        let points = self
            .x
            .chunks_exact(CHANNELS)
            .zip(dx.chunks_exact_mut(CHANNELS));
        let rows = self
            .kappa
            .chunks_exact(columns + 1)
            .zip(by_kappa.chunks_exact(columns + 1));
        for ((x, dx), (kappa, by_kappa)) in points.zip(rows) {
            let points = self
                .y
                .chunks_exact(CHANNELS)
                .zip(dy.chunks_exact_mut(CHANNELS));
            for ((y, dy), (kappa, by_kappa)) in points.zip(kappa.iter().zip(by_kappa)) {
                for channel in 0..CHANNELS {
                    for lane in 0..LANES {
                        let slope = scale
                            * kappa[lane]
                            * by_kappa[lane]
                            * (x[channel][lane] - y[channel][lane]);
                        dx[channel][lane] += slope;
                        dy[channel][lane] -= slope;
                    }
                }
            }
        }
        (dx, dy)
    }
}

/// For each pair the path that `path` selects, one per lane, `(points, 2)`; spare lanes repeat the last pair.
#[inline(always)]
fn lanes<'a>(pairs: &[Pair<'a>], path: impl Fn(&Pair<'a>) -> &'a [f64]) -> Vec<Lanes> {
    let mut points = vec![[0.0; LANES]; path(&pairs[0]).len()];
    for lane in 0..LANES {
        let values = path(&pairs[lane.min(pairs.len() - 1)]);
        for (point, value) in points.iter_mut().zip(values) {
            point[lane] = *value;
        }
    }
    points
}
