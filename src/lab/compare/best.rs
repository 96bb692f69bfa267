//! Tests that tell whether the best of several cells differs from each of the others.

use super::statistics::{holm, mann_whitney, sign_flip, smallest_mann_whitney};
use super::verdict::{ALPHA, fewest};

/// P-values of the two-sided Mann–Whitney test within each pair, adjusted by Holm over all pairs; 1 where a test is impossible.
///
/// # Source
/// Mann & Whitney 1947; Holm 1979.
pub fn p_values_within_pairs(pairs: &[[Vec<f64>; 2]]) -> Vec<f64> {
    let test = |[one, other]: &[Vec<f64>; 2]| mann_whitney(one, other).unwrap_or(1.0);
    holm(&pairs.iter().map(test).collect::<Vec<f64>>())
}

/// Number of values per cell that [`p_values_within_pairs`] needs before the best cell can differ significantly (at
/// 5 %) from each of `others` cells.
pub fn min_runs_to_rank_best(others: usize) -> usize {
    let alpha = ALPHA / others.max(1) as f64;
    fewest(|n| smallest_mann_whitney(n, n) <= alpha)
}

/// P-value of the two-sided sign-flip test of pairs of positive values, on the logarithms of their ratios; `None` without a pair.
///
/// # Source
/// Fisher 1935 (randomisation test of paired differences).
pub fn paired_p_value(pairs: &[(f64, f64)]) -> Option<f64> {
    let differences = pairs.iter().map(|(before, after)| (after / before).ln());
    let finite = differences.filter(|difference| difference.is_finite());
    sign_flip(&finite.collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_told_from_what_is_apart_and_not_from_its_like() {
        let near = |at: f64| -> Vec<f64> { (0..8).map(|i| at + 0.01 * f64::from(i)).collect() };
        let p = p_values_within_pairs(&[2.0, 1.005].map(|other| [near(1.0), near(other)]));
        assert!(p[0] < 0.05 && p[1] > 0.05, "{p:?}");
    }

    #[test]
    fn more_cells_need_more_runs() {
        // The smallest n with 2 / C(2n, n) ≤ 0.05 / others.
        assert_eq!([1, 2, 7, 20].map(min_runs_to_rank_best), [4, 5, 6, 6]);
    }
}
