//! Normalised signatures and the T-statistic.
//!
//! `φ(x) = l^level · v` of `v = [1, s(x)]`, 31 numbers, with a factor l per path, the dilation, that bounds the norm.
//! Means of inner products are inner products of means, so that `T1 − 2 T2 + T3 = ‖mean φ_R − mean φ_G‖²`, computed
//! without the cancellation between the three terms.

use super::signatures::ENTRIES;

/// Length of `[1, s(x)]`.
const LEN: usize = ENTRIES + 1;

/// Tensor level of every entry of `[1, s(x)]`.
const LEVELS: [i32; LEN] = {
    let mut levels = [4; LEN];
    let (mut level, mut at) = (0, 0);
    while level < 4 {
        // Level k has 2ᵏ entries.
        let end = at + (1 << level);
        while at < end {
            levels[at] = level;
            at += 1;
        }
        level += 1;
    }
    levels
};

/// Mean of the normalised signatures φ of all paths, 31 numbers.
pub(super) fn mean(signatures: &[f64]) -> Vec<f64> {
    let count = (signatures.len() / ENTRIES) as f64;
    let mut mean = vec![0.0; LEN];
    for signature in signatures.chunks_exact(ENTRIES) {
        for (mean, phi) in mean.iter_mut().zip(phi(signature)) {
            *mean += phi / count;
        }
    }
    mean
}

/// The T-statistic `log(T1 − 2 T2 + T3)`; `real` is the mean φ of the real paths, `signatures` are those of the
/// generated ones.
pub(super) fn t_statistic(real: &[f64], signatures: &[f64]) -> f64 {
    distance(real, &mean(signatures)).ln()
}

/// Gradient of the T-statistic with respect to the signatures, with the dilation treated as a constant.
pub(super) fn slopes(real: &[f64], signatures: &[f64]) -> Vec<f64> {
    let generated = mean(signatures);
    let count = (signatures.len() / ENTRIES) as f64;
    let scale = 2.0 / (distance(real, &generated) * count);
    let mut slopes = Vec::with_capacity(signatures.len());
    for signature in signatures.chunks_exact(ENTRIES) {
        let dilation = dilation(signature);
        slopes.extend(
            (1..LEN).map(|at| scale * (generated[at] - real[at]) * dilation.powi(LEVELS[at])),
        );
    }
    slopes
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn phi(signature: &[f64]) -> impl Iterator<Item = f64> {
    let dilation = dilation(signature);
    let v = std::iter::once(1.0).chain(signature.iter().copied());
    v.zip(LEVELS)
        .map(move |(v, level)| dilation.powi(level) * v)
}

/// The dilation l: one Newton step, from l = 1, towards the solution of `Σ l^(2 level) v² = ψ(‖v‖)`, where ψ(u) = u up
/// to 4, then 8 − 16/u; 1 if the step leads below 0.2. The derivative of the Newton step uses the index of an entry
/// in place of its level, as `benches/peers/paths.py` does.
fn dilation(signature: &[f64]) -> f64 {
    let squares = || signature.iter().map(|s| s * s);
    let norm = (1.0 + squares().sum::<f64>()).sqrt();
    let psi = if norm <= 4.0 { norm } else { 8.0 - 16.0 / norm };
    let p = 1.0 - psi + squares().sum::<f64>();
    let slope: f64 = squares()
        .zip(1..)
        .map(|(square, index)| 2.0 * f64::from(index) * square)
        .sum();
    let dilation = 1.0 - p / slope;
    if dilation < 0.2 { 1.0 } else { dilation }
}

#[cfg(test)]
mod tests {
    use super::super::signatures::signatures;
    use super::*;
    use crate::ops::PathBatch;
    use crate::ops::path_batch::golden::{G2, P, Q, R2};
    use crate::ops::testing::parse_numbers;

    #[track_caller]
    fn assert_golden(found: f64, golden: f64) {
        assert!((found - golden).abs() < 1e-9, "{found} instead of {golden}");
    }

    #[test]
    fn dilations_and_phi_are_the_golden_ones() {
        let signatures = signatures(&PathBatch::reference_paths(&[P, Q]));
        assert_golden(dilation(&signatures[..ENTRIES]), 0.898_090_271_8);
        assert_golden(dilation(&signatures[ENTRIES..]), 0.880_122_176_4);
        let golden = parse_numbers::<f64>(
            "1.0 0.8980902718 0.8980902718 0.4032830682 0.5847604488 0.2218056875 0.4032830682",
        );
        for (found, golden) in phi(&signatures[..ENTRIES]).zip(golden) {
            assert_golden(found, golden);
        }
    }

    #[test]
    fn the_three_terms_are_the_golden_ones() {
        let [real, generated] =
            [[P, R2], [Q, G2]].map(|paths| mean(&signatures(&PathBatch::reference_paths(&paths))));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum();
        assert_golden(product(&real, &real), 2.553_159_586_8);
        assert_golden(product(&real, &generated), 1.826_158_962_0);
        assert_golden(product(&generated, &generated), 1.969_123_189_7);
    }

    #[test]
    fn levels_have_twice_the_entries_of_the_one_before() {
        let count = |level| LEVELS.iter().filter(|own| **own == level).count();
        assert_eq!([0, 1, 2, 3, 4].map(count), [1, 2, 4, 8, 16]);
    }
}
