//! The paired sign-flip test: whether differences within pairs tend to one sign.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{Purpose, Seed};

use super::dice::Dice;
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
    let places: Vec<(usize, f64)> = differences.iter().copied().enumerate().collect();
    (!places.is_empty()).then(|| SignedRanks::of(&places).p(|_| false))
}

/// Largest number of seeds for which all patterns of signs are computed.
const EXACT_SEEDS: usize = 13;
/// Number of drawn patterns for more seeds.
const DRAWN: usize = 4_999;

/// Returns the p-values of several sign-flip tests, each a list of (seed, difference), adjusted for one family-wise
/// error rate: step-down min-P.
///
/// A pattern flips the signs of a seed's differences in all tests together, since they may depend on each other.
/// `p̃₍ᵢ₎ = max over j ≤ i of the share of patterns in which min(pⱼ, …, pₘ) is at most the observed p₍ⱼ₎`, with the p
/// ascending. Tests that agree in all seeds need no correction; for unrelated tests the correction is as large as
/// Holm's. With more than 13 seeds, 4,999 patterns are drawn: `(hits + 1) / (draws + 1)`.
///
/// # Source
/// Westfall & Young 1993, algorithm 2.8; Phipson & Smyth 2010 (drawn patterns).
pub fn sign_flips(tests: &[Vec<(u64, f64)>]) -> Vec<f64> {
    let seeds: BTreeSet<u64> = tests.iter().flatten().map(|(seed, _)| *seed).collect();
    let places: BTreeMap<u64, usize> = seeds.into_iter().zip(0..).collect();
    let ranked = tests.iter().map(|test| {
        let differences = test
            .iter()
            .map(|(seed, difference)| (places[seed], *difference));
        SignedRanks::of(&differences.collect::<Vec<(usize, f64)>>())
    });
    let ranked: Vec<SignedRanks> = ranked.collect();
    let observed: Vec<f64> = ranked.iter().map(|test| test.p(|_| false)).collect();
    if observed.len() < 2 {
        return observed;
    }
    let mut order: Vec<usize> = (0..tests.len()).collect();
    order.sort_by(|&a, &b| observed[a].total_cmp(&observed[b]));
    let mut hits = vec![0_usize; tests.len()];
    let mut count = |flips: &dyn Fn(usize) -> bool| {
        let mut least = f64::INFINITY;
        for &index in order.iter().rev() {
            least = least.min(ranked[index].p(flips));
            hits[index] += usize::from(least <= observed[index] + ROUNDING);
        }
    };
    let (added, patterns) = if places.len() <= EXACT_SEEDS {
        // A pattern and its opposite give the same p-values: the first seed keeps its sign.
        let half = 1_usize << places.len().saturating_sub(1);
        (0..half).for_each(|pattern| count(&|place| ((pattern << 1) >> place) & 1 == 1));
        (0, half)
    } else {
        let mut dice = Dice(Seed(0).stream(Purpose::Bootstrap));
        for _ in 0..DRAWN {
            let flipped: Vec<bool> = places.iter().map(|_| dice.below(2) == 1).collect();
            count(&|place| flipped[place]);
        }
        (1, DRAWN + 1)
    };
    let mut adjusted = vec![1.0; tests.len()];
    let mut largest = 0.0_f64;
    for &index in &order {
        largest = largest.max((hits[index] + added) as f64 / patterns as f64);
        adjusted[index] = largest;
    }
    adjusted
}

/// Differences that differ by less than this count as equal.
const ROUNDING: f64 = 1e-12;

/// Differences by sign and rank, and the two-sided p-value of each rank sum.
struct SignedRanks {
    /// Index of the seed, whether the difference is positive, and its rank; differences of 0 are left out.
    signed: Vec<(usize, bool, usize)>,
    all: usize,
    /// Two-sided p-values, indexed by the smaller of the rank sums of both signs.
    p: Vec<f64>,
}

impl SignedRanks {
    fn of(differences: &[(usize, f64)]) -> Self {
        let sizes: Vec<f64> = differences.iter().map(|(_, d)| rounded(d.abs())).collect();
        let ranks = ranks(&sizes).doubled;
        let signed = sizes.iter().zip(differences).zip(&ranks);
        let signed = signed.filter(|((size, _), _)| **size > 0.0);
        let signed = signed.map(|((_, (place, d)), rank)| (*place, *d > 0.0, *rank as usize));
        let signed: Vec<(usize, bool, usize)> = signed.collect();
        let ranks: Vec<usize> = signed.iter().map(|(.., rank)| *rank).collect();
        let mut tail = 0.0;
        let tails = shares(&ranks).into_iter().map(|share| {
            tail += share;
            f64::min(2.0 * tail, 1.0)
        });
        Self {
            p: tails.collect(),
            all: ranks.iter().sum(),
            signed,
        }
    }

    /// The p-value after negating the differences of the seeds for whose index `is_flipped` is true.
    fn p(&self, is_flipped: impl Fn(usize) -> bool) -> f64 {
        let positive = self
            .signed
            .iter()
            .filter(|(place, sign, _)| *sign != is_flipped(*place));
        let positive: usize = positive.map(|(.., rank)| rank).sum();
        self.p[positive.min(self.all - positive)]
    }
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

    fn seeds(differences: &[f64]) -> Vec<(u64, f64)> {
        (1..).zip(differences.iter().copied()).collect()
    }

    #[test]
    fn tests_that_agree_keep_their_p_and_opposed_ones_share_it() {
        let up = seeds(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let down = seeds(&[-2.0, -1.0, -3.0, -4.0, -6.0, -5.0]);
        assert_eq!(sign_flips(std::slice::from_ref(&up)), [2.0 / 64.0]);
        assert_eq!(sign_flips(&[up.clone(), down, up.clone()]), [2.0 / 64.0; 3]);
        // Two of the 32 patterns give a p-value of 2 / 64, one in each test: the adjusted p-value is 2 / 32.
        let other = seeds(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(
            sign_flip(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            Some(4.0 / 64.0)
        );
        assert_eq!(sign_flips(&[up, other]), [4.0 / 64.0; 2]);
    }

    /// Twenty tests without an effect: at 5 %, Westfall and Young's correction finds one in at most 5 % of all draws.
    #[test]
    fn the_family_wise_error_rate_holds() {
        let mut dice = Dice(Seed(7).stream(Purpose::Noise));
        let mut found = [0; 2];
        for _ in 0..200 {
            let mut test = || -> Vec<(u64, f64)> {
                let differences = (0..8).map(|seed| (seed, dice.below(2001) as f64 - 1000.0));
                differences.collect()
            };
            let tests: Vec<_> = (0..20).map(|_| test()).collect();
            let raw = tests.iter().map(|test| {
                let differences: Vec<f64> = test.iter().map(|(_, d)| *d).collect();
                sign_flip(&differences).expect("differences")
            });
            found[0] += usize::from(raw.fold(1.0, f64::min) <= 0.05);
            let adjusted = sign_flips(&tests);
            found[1] += usize::from(adjusted.into_iter().fold(1.0, f64::min) <= 0.05);
        }
        assert!(found[0] > 60, "{found:?}");
        // Three standard deviations above 5 %.
        assert!(found[1] <= 19, "{found:?}");
    }

    #[test]
    fn more_seeds_are_drawn_and_a_clear_effect_is_found() {
        let clear: Vec<(u64, f64)> = (0..20).map(|seed| (seed, 1.0 + seed as f64)).collect();
        let noise: Vec<(u64, f64)> = (0..20)
            .map(|seed| (seed, if seed % 2 == 0 { 1.0 } else { -1.0 }))
            .collect();
        let [found, other] = sign_flips(&[clear, noise])[..] else {
            panic!("two tests");
        };
        assert!(found <= 0.001 && other > 0.5, "{found} {other}");
    }

    #[test]
    fn zeros_count_for_neither_sign() {
        assert_eq!(sign_flip(&[0.0, 0.0]), Some(1.0));
        assert_eq!(sign_flip(&[0.0, 1.0, 2.0]), Some(0.5));
        assert_eq!(sign_flip(&[]), None);
    }
}
