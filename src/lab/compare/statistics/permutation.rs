//! A stratified permutation test: labels are exchanged only within strata.

use super::Dice;

/// Largest number of label patterns that is enumerated.
const EXACT_MOST: f64 = 20_000.0;
/// Sums that differ by less than this count as equal: they differ only by summation order.
const ROUNDING: f64 = 1e-12;

/// Values among which labels are exchanged: a pair of runs, or all runs of a cell. The label marks the runs of one
/// side.
#[derive(Debug, Clone)]
pub(in crate::compare) struct Stratum {
    /// What each value adds to the statistic if it has the label, minus the mean of that over all labellings.
    pub scores: Vec<f64>,
    /// Number of values with the label.
    pub labelled: usize,
}

/// How many label patterns are drawn at random if there are too many to enumerate.
#[derive(Debug, Clone, Copy)]
pub(in crate::compare) struct Draws {
    /// Maximum number of draws.
    pub most: u64,
    /// Drawing stops after this number of patterns as extreme as the observed one: the test will not be significant.
    pub enough: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct Permuted {
    /// Two-sided p-value.
    pub p: f64,
    /// Number of evaluated patterns.
    pub patterns: u64,
    /// Whether all possible patterns were computed.
    pub is_exact: bool,
}

/// Returns the p-value: how often the sum of labelled scores is at least as far from 0 as `observed` when labels are
/// exchanged within strata.
///
/// Up to 20,000 patterns are enumerated. Otherwise patterns are drawn: `p = (hits + 1) / (draws + 1)`, or `hits /
/// draws` if drawing stopped early because of enough hits; both are valid p-values.
///
/// # Source
/// Good 2005, §3; Phipson & Smyth 2010 (drawn patterns); Besag & Clifford 1991 (stopping).
pub(in crate::compare) fn permute(
    strata: &[Stratum],
    observed: f64,
    draws: Draws,
    dice: &mut Dice,
) -> Permuted {
    let limit = observed.abs() - ROUNDING;
    let patterns: f64 = strata.iter().map(patterns_of).product();
    if patterns > EXACT_MOST {
        return draw(strata, limit, draws, dice);
    }
    let sums = strata.iter().fold(vec![0.0], |sums, stratum| {
        let mut own = Vec::new();
        subset_sums(&stratum.scores, stratum.labelled, 0.0, &mut own);
        let all = sums
            .iter()
            .flat_map(|sum| own.iter().map(move |own| sum + own));
        all.collect::<Vec<f64>>()
    });
    let hits = sums.iter().filter(|sum| sum.abs() >= limit).count();
    Permuted {
        p: hits as f64 / sums.len() as f64,
        patterns: sums.len() as u64,
        is_exact: true,
    }
}

/// Number of label patterns of a stratum: `C(values, labelled)`.
fn patterns_of(stratum: &Stratum) -> f64 {
    let rest = stratum.scores.len() - stratum.labelled;
    (1..=stratum.labelled).fold(1.0, |product, i| product * (rest + i) as f64 / i as f64)
}

/// Appends the sums of all choices of `count` scores to `sums`.
fn subset_sums(scores: &[f64], count: usize, sum: f64, sums: &mut Vec<f64>) {
    if count == 0 {
        sums.push(sum);
        return;
    }
    for first in 0..=scores.len() - count {
        subset_sums(&scores[first + 1..], count - 1, sum + scores[first], sums);
    }
}

fn draw(strata: &[Stratum], limit: f64, draws: Draws, dice: &mut Dice) -> Permuted {
    let mut strata = strata.to_vec();
    let mut hits = 0;
    for drawn in 1..=draws.most {
        let sums = strata.iter_mut().map(|stratum| relabel(stratum, dice));
        let sum: f64 = sums.sum();
        hits += u64::from(sum.abs() >= limit);
        if hits >= draws.enough {
            return Permuted {
                p: hits as f64 / drawn as f64,
                patterns: drawn,
                is_exact: false,
            };
        }
    }
    Permuted {
        p: (hits + 1) as f64 / (draws.most + 1) as f64,
        patterns: draws.most,
        is_exact: false,
    }
}

/// Labels a random subset of a stratum's values, and returns the sum of their scores.
fn relabel(stratum: &mut Stratum, dice: &mut Dice) -> f64 {
    let scores = &mut stratum.scores;
    let mut sum = 0.0;
    for place in 0..stratum.labelled {
        let chosen = place + dice.below(scores.len() - place);
        scores.swap(place, chosen);
        sum += scores[place];
    }
    sum
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};

    const DRAWS: Draws = Draws {
        most: 9_999,
        enough: 10_000,
    };

    fn run(strata: &[Stratum], observed: f64) -> Permuted {
        let mut dice = Dice(Seed(1).stream(Purpose::Bootstrap));
        permute(strata, observed, DRAWS, &mut dice)
    }

    fn pairs(count: usize) -> Vec<Stratum> {
        let pair = Stratum {
            scores: vec![-0.5, 0.5],
            labelled: 1,
        };
        vec![pair; count]
    }

    #[test]
    fn few_patterns_are_all_gone_through() {
        let found = run(&pairs(6), 3.0);
        assert_eq!(
            (found.p, found.patterns, found.is_exact),
            (2.0 / 64.0, 64, true)
        );
        let cell = Stratum {
            scores: vec![-1.5, -0.5, 0.5, 1.5],
            labelled: 2,
        };
        // Sums of two of the four scores: −2, −1, 0, 0, 1, 2.
        assert_eq!(run(std::slice::from_ref(&cell), 2.0).p, 2.0 / 6.0);
        assert_eq!(run(&[cell.clone(), cell], 4.0).p, 2.0 / 36.0);
    }

    #[test]
    fn many_patterns_are_drawn_and_agree_with_the_binomial_distribution() {
        // 20 fair signs of which 15 or more agree: 2 Σ C(20, k) / 2^20, k = 15 … 20, is 0.041389.
        let found = run(&pairs(20), 5.0);
        assert!(!found.is_exact && found.patterns == 9_999);
        assert!((found.p - 0.041_389).abs() < 0.006, "{found:?}");
    }

    #[test]
    fn drawing_ends_when_nothing_will_be_significant() {
        let draws = Draws {
            most: 9_999,
            enough: 20,
        };
        let mut dice = Dice(Seed(1).stream(Purpose::Bootstrap));
        let found = permute(&pairs(40), 0.0, draws, &mut dice);
        assert_eq!((found.p, found.patterns), (1.0, 20));
    }
}
