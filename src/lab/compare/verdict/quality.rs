//! The verdict on a metric over seeds.

use crate::compare::QualityVerdict;
use crate::compare::statistics::{sign_flip, smallest_sign_flip};
use crate::results::Direction;

use super::{ALPHA, fewest};

/// Returns the verdict on a metric over the seeds that both sides have (values at equal indices), and the p-value of the
/// paired sign-flip test; `tolerance` is the largest relative difference that counts as equal.
///
/// A metric without a direction is never better or worse.
pub(in crate::compare) fn judge_quality(
    before: &[f64],
    after: &[f64],
    direction: Direction,
    tolerance: f64,
) -> (QualityVerdict, Option<f64>) {
    let pairs = || before.iter().zip(after);
    let is_equal =
        |(before, after): (&f64, &f64)| (after - before).abs() <= tolerance * before.abs();
    if pairs().all(is_equal) {
        return (QualityVerdict::Equal, None);
    }
    let needed = fewest(|n| smallest_sign_flip(n) <= ALPHA);
    if pairs().count() < needed {
        return (QualityVerdict::TooFewSeeds(needed), None);
    }
    let differences: Vec<f64> = pairs().map(|(before, after)| after - before).collect();
    let Some(p) = sign_flip(&differences) else {
        return (QualityVerdict::NotTold, None);
    };
    if p > ALPHA || direction == Direction::None {
        return (QualityVerdict::NotTold, Some(p));
    }
    // The direction is the sign whose differences have the larger ranks, consistent with the test.
    let verdict = if is_upward(&differences) == (direction == Direction::Higher) {
        QualityVerdict::Better
    } else {
        QualityVerdict::Worse
    };
    (verdict, Some(p))
}

/// Whether differences tend upward: the median of all pairwise means (Hodges & Lehmann) is above 0. Its sign agrees with the
/// test.
fn is_upward(differences: &[f64]) -> bool {
    let mut means = Vec::new();
    for (index, a) in differences.iter().enumerate() {
        means.extend(differences[index..].iter().map(|b| a + b));
    }
    let above = means.iter().filter(|&&mean| mean > 0.0).count();
    let below = means.iter().filter(|&&mean| mean < 0.0).count();
    above > below
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIX: [f64; 6] = [0.5, 0.6, 0.55, 0.52, 0.58, 0.61];

    fn shifted(by: f64) -> Vec<f64> {
        SIX.iter().map(|value| value + by).collect()
    }

    #[test]
    fn equal_seeds_are_equal_and_so_are_those_within_the_tolerance() {
        let found = judge_quality(&SIX, &SIX, Direction::Higher, 0.0);
        assert_eq!(found, (QualityVerdict::Equal, None));
        let found = judge_quality(&SIX, &shifted(0.001), Direction::Higher, 0.01);
        assert_eq!(found, (QualityVerdict::Equal, None));
    }

    #[test]
    fn six_seeds_of_one_direction_tell() {
        let p = Some(2.0 / 64.0);
        let up = shifted(0.01);
        let found = |direction| judge_quality(&SIX, &up, direction, 0.0);
        assert_eq!(found(Direction::Higher), (QualityVerdict::Better, p));
        assert_eq!(found(Direction::Lower), (QualityVerdict::Worse, p));
        assert_eq!(found(Direction::None), (QualityVerdict::NotTold, p));
    }

    #[test]
    fn five_seeds_do_not_and_neither_do_mixed_ones() {
        let found = judge_quality(&SIX[..5], &shifted(0.1)[..5], Direction::Higher, 0.0);
        assert_eq!(found, (QualityVerdict::TooFewSeeds(6), None));
        let mut mixed = shifted(0.01);
        mixed[0] -= 0.05;
        let (verdict, p) = judge_quality(&SIX, &mixed, Direction::Higher, 0.0);
        assert_eq!(verdict, QualityVerdict::NotTold);
        assert!(p.expect("a test") > 0.05);
    }
}
