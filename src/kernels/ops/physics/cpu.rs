//! Physics terms of the loss on the CPU: one pass over each row, sums in f64 in a fixed number of lanes.

use dfdx::tensor::Cpu;

use super::{HIT_THRESHOLD, PhysicsKernel, SHARES, SMALL, SMALLEST_ALPHA_BAR};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::{for_rows, map_chunks, rows_per_chunk};
use crate::ops::simd::simd;

const LANES: usize = 8;

impl PhysicsKernel for Cpu {
    fn physics(
        &self,
        estimate: &Buffer<Self>,
        noised: &Buffer<Self>,
        clean: &Buffer<Self>,
        alpha_bars: &[f32],
        weight: f32,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let rows = alpha_bars.len();
        let voxels = estimate.len() / rows;
        let scale = f64::from(weight) / rows as f64;
        let terms = map_chunks(rows, rows_per_chunk(voxels), estimate.len(), |chunk| {
            let row = |row: usize| {
                let range = row * voxels..(row + 1) * voxels;
                let recovery = Recovery::at(alpha_bars[row]);
                let (estimate, noised) = (&estimate[range.clone()], &noised[range.clone()]);
                let own = simd!(sums(noised, estimate, recovery));
                let truth = &clean[range];
                let truth = simd!(sums(truth, truth, Recovery::NONE));
                terms(&own, &truth, scale, recovery)
            };
            chunk.map(row).collect::<Vec<_>>()
        });
        let terms = terms.concat();
        let value = terms.iter().fold(0.0, |sum, term| sum + term.value);
        let gradients = terms.iter().flat_map(|term| term.gradient).collect();
        Ok((self.upload(vec![value as f32])?, self.upload(gradients)?))
    }

    fn physics_backward(
        &self,
        gradients: &Buffer<Self>,
        dy: &Buffer<Self>,
        grad: &mut Buffer<Self>,
    ) -> Result<()> {
        let voxels = grad.len() / (gradients.len() / 2);
        for_rows(grad, voxels, |first, chunk| {
            let rows = chunk.chunks_exact_mut(voxels);
            for (grad, row) in rows.zip(gradients[2 * first..].as_chunks::<2>().0) {
                let [a, b] = row.map(|value| value * dy[0]);
                simd!({
                    for (index, grad) in grad.iter_mut().enumerate() {
                        *grad += a + b * index as f32;
                    }
                });
            }
        });
        Ok(())
    }
}

/// Coefficients by which the implied signal follows from the estimate: `x̂ = (noised - noise · estimate) / signal`.
#[derive(Debug, Clone, Copy)]
struct Recovery {
    noise: f64,
    signal: f64,
}

impl Recovery {
    /// The identity, `x̂ = noised`.
    const NONE: Self = Self {
        noise: 0.0,
        signal: 1.0,
    };

    fn at(alpha_bar: f32) -> Self {
        let alpha_bar = f64::from(alpha_bar.max(SMALLEST_ALPHA_BAR));
        Self {
            noise: (1.0 - alpha_bar).sqrt(),
            signal: alpha_bar.sqrt(),
        }
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    total: f64,
    /// `Σ i x_i`.
    moment: f64,
    hits: f64,
}

#[inline(always)]
fn sums(noised: &[f32], estimate: &[f32], recovery: Recovery) -> Sums {
    let (mut total, mut moment, mut hits) = ([0.0_f64; LANES], [0.0_f64; LANES], [0.0_f64; LANES]);
    let by_signal = 1.0 / recovery.signal;
    let chunks = noised.chunks(LANES).zip(estimate.chunks(LANES));
    for (chunk, (noised, estimate)) in chunks.enumerate() {
        for (lane, (noised, estimate)) in noised.iter().zip(estimate).enumerate() {
            // In f64: if a sum is near 0, its centre is sensitive to the last digit of every term.
            let x = (f64::from(*noised) - recovery.noise * f64::from(*estimate)) * by_signal;
            total[lane] += x;
            moment[lane] += (chunk * LANES + lane) as f64 * x;
            hits[lane] += if x > f64::from(HIT_THRESHOLD) {
                1.0
            } else {
                0.0
            };
        }
    }
    Sums {
        total: total.iter().sum(),
        moment: moment.iter().sum(),
        hits: hits.iter().sum(),
    }
}

/// A row's contribution to the loss, and the coefficients `(a, b)` of its gradient with respect to the estimated
/// noise: `a + b i` for voxel i.
#[derive(Debug, Clone, Copy)]
struct Term {
    value: f64,
    gradient: [f32; 2],
}

fn terms(own: &Sums, truth: &Sums, scale: f64, recovery: Recovery) -> Term {
    let [energy, multiplicity, locality] = SHARES;
    let (own_total, true_total) = (own.total + SMALL, truth.total + SMALL);
    let centre = own.moment / own_total;
    let excess = own.total - truth.total;
    let shift = centre - truth.moment / true_total;
    let value = energy * excess.abs() / true_total
        + multiplicity * (own.hits - truth.hits).abs()
        + locality * shift.abs();
    // With com the centre of mass: d com / d x̂_i = (i - com) / (Σ x̂ + 1e-6); d x̂ / d ε̂ = -noise / signal.
    let by_estimate = -scale * recovery.noise / recovery.signal;
    let slope = by_estimate * locality * sign(shift) / own_total;
    let level = by_estimate * energy * sign(excess) / true_total - slope * centre;
    Term {
        value: scale * value,
        gradient: [level as f32, slope as f32],
    }
}

/// The derivative of the absolute value, 0 at 0.
fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}
