//! The paired sign-flip test: whether differences within pairs tend to one sign.

use super::ranks::ranks;

/// Returns the two-sided p-value of differences over all `2^n` sign patterns; `None` without differences.
///
/// Uses Wilcoxon's statistic: each difference counts with the rank of its absolute value, so an outlier of twice the time
/// counts only as the largest rank, whereas it would dominate a sum. `p = 2 P(W ≤ min(W⁺, W⁻))`, at most 1. A difference of
/// 0 keeps its rank and counts for neither sign. The distribution is computed exactly, also with ties.
///
/// # Source
/// Wilcoxon 1945, Pratt 1959 (zeros); `scipy.stats.wilcoxon(zero_method="pratt")` over all patterns.
pub(in crate::compare) fn sign_flip(differences: &[f64]) -> Option<f64> {
    if differences.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = differences.iter().map(|d| rounded(d.abs())).collect();
    let ranks = ranks(&sizes).doubled;
    let signed = sizes.iter().zip(differences).zip(&ranks);
    let signed = signed.filter(|((size, _), _)| **size > 0.0);
    let signed = signed.map(|((_, d), rank)| (*d > 0.0, *rank as usize));
    let of_sign = |is_positive: bool| -> usize {
        let with = signed.clone().filter(|(sign, _)| *sign == is_positive);
        with.map(|(_, rank)| rank).sum()
    };
    let smaller = of_sign(true).min(of_sign(false));
    let flipped: Vec<usize> = signed.clone().map(|(_, rank)| rank).collect();
    let tail: f64 = shares(&flipped).iter().take(smaller + 1).sum();
    Some((2.0 * tail).min(1.0))
}

/// Returns the smallest p-value that `n` pairs can give: `2 / 2^n`.
pub(in crate::compare) fn smallest_sign_flip(n: usize) -> f64 {
    0.5_f64.powf(n as f64 - 1.0).min(1.0)
}

/// Returns the largest `min(W⁺, W⁻)` of `n` differences without ties whose two-sided p-value is at most `alpha`; `None` if
/// there is none.
pub(super) fn critical_sign_flip(n: usize, alpha: f64) -> Option<usize> {
    let ranks: Vec<usize> = (1..=n).collect();
    let mut tail = 0.0;
    let tails = shares(&ranks).into_iter().map(|share| {
        tail += share;
        2.0 * tail
    });
    tails.take_while(|&p| p <= alpha).count().checked_sub(1)
}

/// Rounds absolute values, so that differences from rounding of logarithms count as ties.
fn rounded(size: f64) -> f64 {
    (size * 1e12).round() / 1e12
}

/// Fraction of all sign patterns for which the ranks of one sign sum to each integer.
fn shares(ranks: &[usize]) -> Vec<f64> {
    let mut shares = vec![0.0; ranks.iter().sum::<usize>() + 1];
    shares[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        reached += rank;
        for sum in (0..=reached).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = 0.5 * (shares[sum] + with);
        }
    }
    shares
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn one_direction_gives_the_smallest_p() {
        assert_eq!(sign_flip(&[1.0, 2.0, 3.0, 4.0, 5.0]), Some(2.0 / 32.0));
        assert_eq!(sign_flip(&[-1.0, -2.0]), Some(0.5));
        assert_eq!(smallest_sign_flip(5), 2.0 / 32.0);
        assert_eq!(smallest_sign_flip(0), 1.0);
    }

    #[test]
    fn zeros_count_for_neither_sign() {
        assert_eq!(sign_flip(&[0.0, 0.0]), Some(1.0));
        assert_eq!(sign_flip(&[0.0, 1.0, 2.0]), Some(0.5));
        assert_eq!(sign_flip(&[]), None);
    }
}
