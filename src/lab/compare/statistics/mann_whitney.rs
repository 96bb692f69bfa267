//! The Mann–Whitney U test: whether the values of one side tend to be larger than those of the other.

use super::ranks::{Ranks, ranks};
use super::student::normal_tail;

/// Largest number of arrangements that is counted exactly: `f64` represents integers exactly up to here.
const COUNTED: f64 = 9_007_199_254_740_992.0;

/// Returns the two-sided p-value; `None` if a side is empty.
///
/// `U = Σ ranks(after) − n (n + 1) / 2`. `p = 2 min(P(U' ≤ U), P(U' ≥ U))` over all arrangements of the ranks, at most 1; ranks
/// that are tied share their mean. With too many arrangements to count (from 29 per side on) the normal approximation: `z =
/// (max(U, n m − U) − n m / 2 − ½) / s`, `s² = n m / 12 · (N + 1 − Σ (t³ − t) / (N (N − 1)))`.
///
/// # Source
/// Mann & Whitney 1947; `scipy.stats.mannwhitneyu` with `method="exact"` and `method="asymptotic"`, with ties
/// `scipy.stats.permutation_test`.
pub(crate) fn mann_whitney(before: &[f64], after: &[f64]) -> Option<f64> {
    let (n, m) = (after.len(), before.len());
    if n == 0 || m == 0 {
        return None;
    }
    let Ranks { doubled, ties } = ranks(&[after, before].concat());
    let doubled_u = doubled[..n].iter().sum::<u64>() - (n * (n + 1)) as u64;
    let larger = doubled_u.max(2 * (n * m) as u64 - doubled_u);
    if arrangements(n, m) > COUNTED {
        return Some(normal_p(n, m, larger as f64 / 2.0, ties));
    }
    if ties > 0.0 {
        return Some(tied_p(&doubled, n));
    }
    let counts = counts(n, m);
    // The counts are symmetric in U and n m − U.
    let at_most = n * m - (larger / 2) as usize;
    let tail: f64 = counts[..=at_most].iter().sum();
    Some((2.0 * tail / arrangements(n, m)).min(1.0))
}

/// Returns the smallest p-value that the exact test can give: `2 / C(n + m, n)`.
pub(in crate::compare) fn smallest_mann_whitney(n: usize, m: usize) -> f64 {
    (2.0 / arrangements(n, m)).min(1.0)
}

/// Returns the largest `min(U, n m − U)` whose two-sided p-value is at most `alpha`; `None` if there is none.
pub(super) fn critical_mann_whitney(n: usize, m: usize, alpha: f64) -> Option<usize> {
    if arrangements(n, m) > COUNTED {
        let pairs = n * m;
        return (0..pairs / 2).rfind(|&u| normal_p(n, m, (pairs - u) as f64, 0.0) <= alpha);
    }
    let mut tail = 0.0;
    let all = arrangements(n, m);
    let tails = counts(n, m).into_iter().map(|count| {
        tail += count;
        2.0 * tail / all
    });
    tails.take_while(|&p| p <= alpha).count().checked_sub(1)
}

/// Number of arrangements: `C(n + m, n)`.
fn arrangements(n: usize, m: usize) -> f64 {
    // Each partial product is an integer, which `f64` represents exactly as far as arrangements are counted.
    (1..=n.min(m)).fold(1.0, |product, i| {
        (product * (n.max(m) + i) as f64 / i as f64).round()
    })
}

/// Number of arrangements for each `U` from 0 to `n m`: the coefficients of the Gaussian binomial `Π (1 − q^(m + i)) / (1 −
/// q^i)`, `i = 1 … n`.
fn counts(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n.min(m), n.max(m));
    let mut counts = vec![0.0; n * m + 1];
    counts[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..counts.len()).rev() {
            counts[u] -= counts[u - m - i];
        }
        for u in i..counts.len() {
            counts[u] += counts[u - i];
        }
    }
    counts
}

/// Exact two-sided p-value of doubled ranks with ties, of which the first `n` belong to one side: twice the smaller
/// share of the choices of `n` ranks whose sum is at most, or at least, the sum of that side. For few runs the normal
/// approximation would be too small: with four runs a side, all equal within each side, it gives 0.013, although 2 of
/// 70 arrangements are as extreme.
fn tied_p(doubled: &[u64], n: usize) -> f64 {
    let all = doubled.len();
    // The sums of one side determine those of the other, so the smaller side is counted.
    let (few, own) = if n <= all - n {
        (n, &doubled[..n])
    } else {
        (all - n, &doubled[n..])
    };
    let most = all * (all + 1);
    // `choices[k][s]`: number of choices of `k` ranks whose sum is `s`.
    let mut choices = vec![vec![0.0_f64; most + 1]; few + 1];
    choices[0][0] = 1.0;
    for &rank in doubled {
        for k in (1..=few).rev() {
            let (fewer, more) = choices.split_at_mut(k);
            let added = fewer[k - 1].iter();
            let places = more[0][rank as usize..].iter_mut();
            places.zip(added).for_each(|(place, added)| *place += added);
        }
    }
    let observed = own.iter().sum::<u64>() as usize;
    let below: f64 = choices[few][..=observed].iter().sum();
    let above: f64 = choices[few][observed..].iter().sum();
    (2.0 * below.min(above) / arrangements(few, all - few)).min(1.0)
}

fn normal_p(n: usize, m: usize, u: f64, ties: f64) -> f64 {
    let product = (n * m) as f64;
    let all = (n + m) as f64;
    let variance = product / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = (u - product / 2.0 - 0.5) / variance.sqrt();
    (2.0 * normal_tail(z)).min(1.0)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "these values are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_counts_are_those_of_two_by_three() {
        assert_eq!(counts(2, 3), [1.0, 1.0, 2.0, 2.0, 2.0, 1.0, 1.0]);
        assert_eq!(arrangements(20, 20), 137_846_528_820.0);
        assert_eq!(counts(20, 20).iter().sum::<f64>(), arrangements(20, 20));
        assert_eq!(counts(28, 28).iter().sum::<f64>(), arrangements(28, 28));
    }

    #[test]
    fn complete_separation_gives_the_smallest_p() {
        let p = mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0, 7.0]);
        assert_eq!(p, Some(2.0 / 35.0));
        assert_eq!(smallest_mann_whitney(4, 3), 2.0 / 35.0);
        assert_eq!(smallest_mann_whitney(0, 3), 1.0);
    }

    #[test]
    fn equal_values_show_nothing_and_no_values_have_no_p() {
        assert_eq!(mann_whitney(&[1.0; 5], &[1.0; 5]), Some(1.0));
        assert_eq!(mann_whitney(&[], &[1.0]), None);
    }
}
