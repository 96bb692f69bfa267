//! The verification scores of generated signals, with the formulas of report 004 (`docs/founding-reports.md`). Every
//! mean is over events, unless stated otherwise.

use crate::ops::HIT_THRESHOLD;

/// Least number of hit voxels with which an event counts as detected.
pub(super) const MIN_HITS: usize = 6;
/// Scale of the energy violation in the physics score: at this violation its term is `1 - tanh 1`.
const VIOLATION: f64 = 0.2;
/// Scale of the spread in the physics score: at this spread, in voxels, the locality term is 1/e.
const SPREAD: f64 = 1000.0;

/// Fidelity of a generated signal to the true one: `0.3 (1 - tanh MSE) + 0.4 correlation + 0.3 F1`.
pub(super) fn fidelity(generated: &[f32], truth: &[f32]) -> f64 {
    let pairs = generated.iter().zip(truth);
    let squares = pairs.map(|(g, t)| (f64::from(*g) - f64::from(*t)).powi(2));
    let error = squares.sum::<f64>() / truth.len() as f64;
    0.3 * (1.0 - error.tanh()) + 0.4 * correlation(generated, truth) + 0.3 * f1(generated, truth)
}

/// Pearson correlation; 0 if `a` or `b` is constant.
pub(super) fn correlation(a: &[f32], b: &[f32]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let (mut product, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (f64::from(*a) - mean_a, f64::from(*b) - mean_b);
        product += a * b;
        square_a += a * a;
        square_b += b * b;
    }
    let scale = (square_a * square_b).sqrt();
    if scale > 0.0 { product / scale } else { 0.0 }
}

/// F1 of predicting which voxels are hit; 1 if neither signal has a hit voxel.
fn f1(generated: &[f32], truth: &[f32]) -> f64 {
    let (mut both, mut hits) = (0_usize, 0_usize);
    for (g, t) in generated.iter().zip(truth) {
        let (g, t) = (*g > HIT_THRESHOLD, *t > HIT_THRESHOLD);
        both += usize::from(g && t);
        hits += usize::from(g) + usize::from(t);
    }
    if hits == 0 {
        1.0
    } else {
        2.0 * both as f64 / hits as f64
    }
}

/// `0.7 correlation(mean of draws, truth) + 0.3 clip(v_hit / v_silent / 10, 0, 1)` for several `draws` of one event: v
/// is the variance over the draws, averaged over the voxels that are hit in `truth` and over the others. The ratio is 0
/// if no voxel is hit or `v_silent` is 0.
pub(super) fn consistency(draws: &[f32], truth: &[f32]) -> f64 {
    let voxels = truth.len();
    let count = (draws.len() / voxels) as f64;
    let (mut sums, mut squares) = (vec![0.0_f64; voxels], vec![0.0_f64; voxels]);
    for draw in draws.chunks_exact(voxels) {
        for ((sum, square), value) in sums.iter_mut().zip(&mut squares).zip(draw) {
            *sum += f64::from(*value);
            *square += f64::from(*value) * f64::from(*value);
        }
    }
    let means: Vec<f32> = sums.iter().map(|sum| (sum / count) as f32).collect();
    let (mut hit, mut silent) = (Mean::default(), Mean::default());
    for ((sum, square), truth) in sums.iter().zip(&squares).zip(truth) {
        let variance = (square / count - (sum / count).powi(2)).max(0.0);
        let group = if *truth > HIT_THRESHOLD {
            &mut hit
        } else {
            &mut silent
        };
        group.add(variance);
    }
    let ratio = hit.value() / silent.value();
    let ratio = if ratio.is_finite() { ratio } else { 0.0 };
    0.7 * correlation(&means, truth) + 0.3 * (ratio / 10.0).clamp(0.0, 1.0)
}

/// `clip(2 / L, 0, 1)`, where L is the length of the path through `points: (points, voxels)` divided by the distance
/// between its ends; 0 if the ends coincide.
pub(super) fn smoothness(points: &[f32], voxels: usize) -> f64 {
    let rows: Vec<&[f32]> = points.chunks_exact(voxels).collect();
    let path: f64 = rows.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
    let ends = match (rows.first(), rows.last()) {
        (Some(first), Some(last)) => distance(first, last),
        _ => 0.0,
    };
    if ends > 0.0 {
        (2.0 * ends / path).clamp(0.0, 1.0)
    } else {
        0.0
    }
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    let squares = a
        .iter()
        .zip(b)
        .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
    squares.sum::<f64>().sqrt()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Physics {
    /// Physics score `0.4 (1 - tanh(V / 0.2)) + 0.4 M + 0.2 mean exp(-spread / 1000)`.
    pub(super) score: f64,
    /// Energy violation V: mean of `|Σ generated - Σ true| / Σ true` over the events with a hit.
    pub(super) violation: f64,
    /// Multiplicity M: fraction of the generated signals that hit at least six voxels.
    pub(super) multiplicity: f64,
}

/// The physics scores of generated signals against true ones, both `(events, voxels)`.
pub(super) fn physics(generated: &[f32], truth: &[f32], voxels: usize) -> Physics {
    let (mut violation, mut multiplicity) = (Mean::default(), Mean::default());
    let mut narrow = Mean::default();
    for (generated, truth) in generated
        .chunks_exact(voxels)
        .zip(truth.chunks_exact(voxels))
    {
        let (own, wanted) = (sum(generated), sum(truth));
        if wanted > 0.0 {
            violation.add((own - wanted).abs() / wanted);
        }
        multiplicity.add(if hits(generated) >= MIN_HITS {
            1.0
        } else {
            0.0
        });
        narrow.add((-spread(generated) / SPREAD).exp());
    }
    let (violation, multiplicity) = (violation.value(), multiplicity.value());
    Physics {
        score: 0.4 * (1.0 - (violation / VIOLATION).tanh())
            + 0.4 * multiplicity
            + 0.2 * narrow.value(),
        violation,
        multiplicity,
    }
}

pub(super) fn hits(signal: &[f32]) -> usize {
    signal
        .iter()
        .filter(|value| **value > HIT_THRESHOLD)
        .count()
}

/// Standard deviation of the voxel index, weighted by the signal; negative signal values count as 0.
fn spread(signal: &[f32]) -> f64 {
    let (mut weight, mut first, mut second) = (0.0, 0.0, 0.0);
    for (index, value) in signal.iter().enumerate() {
        let (index, value) = (index as f64, f64::from(value.max(0.0)));
        weight += value;
        first += value * index;
        second += value * index * index;
    }
    if weight > 0.0 {
        (second / weight - (first / weight).powi(2)).max(0.0).sqrt()
    } else {
        0.0
    }
}

fn sum(values: &[f32]) -> f64 {
    values.iter().map(|value| f64::from(*value)).sum()
}

fn mean(values: &[f32]) -> f64 {
    sum(values) / values.len().max(1) as f64
}

/// A running mean; NaN if empty.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mean {
    sum: f64,
    count: usize,
}

impl Mean {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn value(self) -> f64 {
        self.sum / self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-9,
            "{found} instead of {expected}"
        );
    }

    const TRUTH: [f32; 5] = [0.0, 2.0, 1.0, 0.0, 3.0];

    #[test]
    fn a_perfect_signal_has_the_full_scores() {
        assert_near(fidelity(&TRUTH, &TRUTH), 1.0);
        assert_near(correlation(&TRUTH, &TRUTH), 1.0);
        assert_near(physics(&TRUTH, &TRUTH, 5).violation, 0.0);
    }

    #[test]
    fn fidelity_is_that_of_numpy_and_sklearn() {
        // g = np.array([.6, 1., 0., 0., 2.]); t = np.array([0., 2., 1., 0., 3.])
        // .3*(1-np.tanh(((g-t)**2).mean())) + .4*np.corrcoef(g, t)[0, 1] + .3*f1_score(t > .5, g > .5)
        let generated = [0.6, 1.0, 0.0, 0.0, 2.0];
        let error = (0.36 + 1.0 + 1.0 + 1.0) / 5.0_f64;
        // Deviations from the means .72 (generated) and 1.2 (truth).
        let product = 0.12 * 1.2 + 0.28 * 0.8 + 0.72 * 0.2 + 0.72 * 1.2 + 1.28 * 1.8;
        let squares = (0.12_f64.powi(2) + 0.28 * 0.28 + 2.0 * 0.72 * 0.72 + 1.28 * 1.28) * 6.8;
        let expected =
            0.3 * (1.0 - error.tanh()) + 0.4 * product / squares.sqrt() + 0.3 * 4.0 / 6.0;
        assert!((fidelity(&generated, &TRUTH) - expected).abs() < 1e-6);
    }

    #[test]
    fn constant_and_empty_signals_have_no_correlation() {
        assert_near(correlation(&[1.0; 5], &TRUTH), 0.0);
        assert_near(f1(&[0.0; 5], &[0.0; 5]), 1.0);
        assert_near(f1(&[0.0; 5], &TRUTH), 0.0);
    }

    #[test]
    fn draws_that_vary_where_the_event_is_are_consistent() {
        // Voxel 1 is hit and has variance 4, voxel 0 has variance 1: the ratio 4 contributes 0.3 · 0.4.
        let (draws, truth) = ([1.0, 4.0, -1.0, 0.0], [0.0, 2.0]);
        assert_near(consistency(&draws, &truth), 0.7 + 0.3 * 0.4);
        // The draws are equal, so the variance ratio counts as 0.
        assert_near(consistency(&[0.0, 2.0, 0.0, 2.0], &truth), 0.7);
    }

    #[test]
    fn a_straight_path_is_smooth_and_a_detour_is_not() {
        let straight = [0.0, 0.0, 1.0, 0.0, 2.0, 0.0];
        assert_near(smoothness(&straight, 2), 1.0);
        // Length 8 over distance 2: 2 / L = 0.5.
        let detour = [0.0, 0.0, 5.0, 0.0, 2.0, 0.0];
        assert_near(smoothness(&detour, 2), 0.5);
        assert_near(smoothness(&[1.0, 1.0, 3.0, 1.0, 1.0, 1.0], 2), 0.0);
    }

    #[test]
    fn physics_counts_energy_multiplicity_and_spread() {
        let mut generated = vec![0.0_f32; 20];
        generated[..6].fill(1.0);
        generated[10..12].fill(1.0);
        let mut truth = vec![0.0_f32; 20];
        truth[0] = 5.0;
        let found = physics(&generated, &truth, 10);
        // The second event has no true hit, so it has no violation; its generated signal has only two hits.
        assert_near(found.violation, 0.2);
        assert_near(found.multiplicity, 0.5);
        let spreads = [(35.0_f64 / 12.0).sqrt(), 0.5].map(|spread| (-spread / 1000.0).exp());
        let expected = 0.4 * (1.0 - 1.0_f64.tanh()) + 0.2 + 0.1 * (spreads[0] + spreads[1]);
        assert_near(found.score, expected);
    }
}
