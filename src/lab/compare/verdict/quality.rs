//! The verdict on a metric over seeds.

use crate::compare::QualityVerdict;
use crate::compare::statistics::{sign_flip, sign_flips, smallest_sign_flip};
use crate::results::Direction;

use super::{ALPHA, fewest};

/// A metric of two cells over the seeds that both have.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::compare) struct MetricOfSeeds {
    /// Whether higher or lower is better; without a direction the metric is never better or worse.
    pub direction: Direction,
    /// The largest relative difference that counts as equal.
    pub tolerance: f64,
    /// Seed, value before, value after.
    pub values: Vec<(u64, f64, f64)>,
}

/// Verdict on a metric of two cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct JudgedMetric {
    pub verdict: QualityVerdict,
    /// The p-value of the paired sign-flip test; `None` if no test was made.
    pub p: Option<f64>,
    /// `p` adjusted for all tests of the call to [`judge_quality`]; the verdict depends on this p-value.
    pub p_adjusted: Option<f64>,
}

impl MetricOfSeeds {
    fn differences(&self) -> Vec<(u64, f64)> {
        let values = self.values.iter();
        values
            .map(|(seed, before, after)| (*seed, after - before))
            .collect()
    }

    /// The verdict, if it needs no test; else `None`.
    fn untested(&self) -> Option<QualityVerdict> {
        let is_equal = |(_, before, after): &(u64, f64, f64)| {
            (after - before).abs() <= self.tolerance * before.abs()
        };
        let needed = fewest(|n| smallest_sign_flip(n) <= ALPHA);
        if self.values.iter().all(is_equal) {
            Some(QualityVerdict::Equal)
        } else {
            (self.values.len() < needed).then_some(QualityVerdict::TooFewSeeds(needed))
        }
    }

    /// The verdict by the adjusted p-value of the test and the direction of the differences.
    fn tested(&self, differences: &[f64], p_adjusted: f64) -> QualityVerdict {
        if p_adjusted > ALPHA || self.direction == Direction::None {
            return QualityVerdict::NotTold;
        }
        // The direction is the sign whose differences have the larger ranks, consistent with the test.
        if is_upward(differences) == (self.direction == Direction::Higher) {
            QualityVerdict::Better
        } else {
            QualityVerdict::Worse
        }
    }
}

/// Returns the verdicts on one metric of several pairs of cells, by paired sign-flip tests over the seeds. The probability of any
/// false *better* or *worse* among them is at most 5 %.
pub(in crate::compare) fn judge_quality(metrics: &[&MetricOfSeeds]) -> Vec<JudgedMetric> {
    let tested = metrics.iter().filter(|metric| metric.untested().is_none());
    let differences: Vec<Vec<(u64, f64)>> = tested.map(|metric| metric.differences()).collect();
    let mut tests = differences.iter().zip(sign_flips(&differences));
    let judged = metrics.iter().map(|metric| {
        if let Some(verdict) = metric.untested() {
            return JudgedMetric {
                verdict,
                p: None,
                p_adjusted: None,
            };
        }
        let (differences, p) = tests
            .next()
            .expect("a test for each metric without a verdict");
        let values: Vec<f64> = differences.iter().map(|(_, d)| *d).collect();
        JudgedMetric {
            verdict: metric.tested(&values, p),
            p: sign_flip(&values),
            p_adjusted: Some(p),
        }
    });
    judged.collect()
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

    fn metric(after: &[f64], direction: Direction, tolerance: f64) -> MetricOfSeeds {
        let values = SIX.into_iter().zip(after).zip(1..);
        MetricOfSeeds {
            direction,
            tolerance,
            values: values
                .map(|((before, after), seed)| (seed, before, *after))
                .collect(),
        }
    }

    fn shifted(by: f64) -> Vec<f64> {
        SIX.iter().map(|value| value + by).collect()
    }

    fn judged(
        after: &[f64],
        direction: Direction,
        tolerance: f64,
    ) -> (QualityVerdict, Option<f64>) {
        let found = judge_quality(&[&metric(after, direction, tolerance)])[0];
        assert_eq!(found.p, found.p_adjusted, "a single test");
        (found.verdict, found.p)
    }

    #[test]
    fn equal_seeds_are_equal_and_so_are_those_within_the_tolerance() {
        let found = judged(&SIX, Direction::Higher, 0.0);
        assert_eq!(found, (QualityVerdict::Equal, None));
        let found = judged(&shifted(0.001), Direction::Higher, 0.01);
        assert_eq!(found, (QualityVerdict::Equal, None));
    }

    #[test]
    fn six_seeds_of_one_direction_tell() {
        let p = Some(2.0 / 64.0);
        let up = shifted(0.01);
        let found = |direction| judged(&up, direction, 0.0);
        assert_eq!(found(Direction::Higher), (QualityVerdict::Better, p));
        assert_eq!(found(Direction::Lower), (QualityVerdict::Worse, p));
        assert_eq!(found(Direction::None), (QualityVerdict::NotTold, p));
    }

    #[test]
    fn five_seeds_do_not_and_neither_do_mixed_ones() {
        let found = judged(&shifted(0.1)[..5], Direction::Higher, 0.0);
        assert_eq!(found, (QualityVerdict::TooFewSeeds(6), None));
        let mut mixed = shifted(0.01);
        mixed[0] -= 0.05;
        let (verdict, p) = judged(&mixed, Direction::Higher, 0.0);
        assert_eq!(verdict, QualityVerdict::NotTold);
        assert!(p.expect("a test") > 0.05);
    }

    #[test]
    fn one_cell_of_many_that_differs_by_chance_is_not_told() {
        let up = metric(&shifted(0.01), Direction::Higher, 0.0);
        // In each of these six cells another seed falls, so that the family has six patterns of signs.
        let mixed = (0..6).map(|fallen| {
            let mut after = shifted(0.01);
            after[fallen] -= 0.011 + 0.001 * fallen as f64;
            metric(&after, Direction::Higher, 0.0)
        });
        let mixed: Vec<MetricOfSeeds> = mixed.collect();
        let all: Vec<&MetricOfSeeds> = [&up].into_iter().chain(&mixed).collect();
        let found = judge_quality(&all)[0];
        assert_eq!(
            (found.verdict, found.p),
            (QualityVerdict::NotTold, Some(2.0 / 64.0))
        );
        // Seven cells that rise together in every seed are called better.
        let alike = judge_quality(&[&up; 7]);
        assert!(
            alike
                .iter()
                .all(|one| one.verdict == QualityVerdict::Better)
        );
    }
}
