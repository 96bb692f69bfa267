//! The effect of a change: the ratio of two cells' medians over pairs of runs, and the verdict on its prediction.

use crate::compare::Ratio;
use crate::plan::{Claim, PredictedColumn, Verdict};
use crate::report::comparison::spread::{of_runs, ratio_of_medians, statistic_over_blocks};
use crate::report::view::Cell;
use crate::results::{IntervalKind, value};

/// Smallest number of pairs of runs for a verdict.
pub(super) const FEWEST_PAIRS: usize = 3;

/// The reason of a confirmed prediction whose measured interval is better than the predicted one.
pub(super) const BETTER_THAN_PREDICTED: &str = "better than predicted";

/// The measured ratio of a column of two cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// Ratio of the medians, with its interval over the pairs.
    pub(super) ratio: Ratio,
    /// Number of pairs of runs of equal block and seed.
    pub(super) pairs: usize,
}

impl Measured {
    /// The ratio, and the lower and upper end of its interval.
    pub(super) fn ends(&self) -> [f64; 3] {
        [self.ratio.value, self.ratio.low, self.ratio.high]
    }

    /// The ratio with the ends of its interval, inverted if lower is better, so that larger is better.
    pub(super) fn improvement(&self, column: PredictedColumn) -> [f64; 3] {
        improvement(column, self.ends())
    }

    /// Whether there are enough pairs of runs for a verdict.
    pub(super) fn decides(&self) -> bool {
        self.pairs >= FEWEST_PAIRS && self.ratio.kind != IntervalKind::Single
    }
}

/// The ratio of the median of `column` of `cell` to that of `against`, over pairs of runs of equal block and seed;
/// `None` without such pairs.
///
/// Runs of the same block are close in time, so that slow drift affects both alike.
pub(super) fn paired_ratio(
    cell: &Cell<'_>,
    against: &Cell<'_>,
    column: PredictedColumn,
) -> Option<Measured> {
    let runs = |cell: &Cell<'_>| of_runs(cell, &|run| value(run, column.name()));
    let (mut before, after) = (runs(against), runs(cell));
    before.retain(|run, value| *value > 0.0 && after.contains_key(run));
    let key = format!(
        "{} ÷ {}, {}",
        cell.info.key,
        against.info.key,
        column.name()
    );
    let pairs = before.len();
    let ratio = statistic_over_blocks(&key, &[before, after], &ratio_of_medians)?;
    Some(Measured { ratio, pairs })
}

/// A ratio as an improvement, larger is better: ratios of throughputs unchanged, ratios of times or bytes inverted.
pub(super) fn improvement(column: PredictedColumn, [middle, low, high]: [f64; 3]) -> [f64; 3] {
    if column.is_better_high() {
        [middle, low, high]
    } else {
        [1.0 / middle, 1.0 / high, 1.0 / low]
    }
}

/// The verdict on a prediction from the measured and the predicted interval, with its reason.
///
/// Both intervals are expressed so that larger is better. *Refuted*: the whole measured interval is worse than the
/// predicted one, or, if a gain was predicted, worse than no change (for a `value`: the two do not overlap).
/// *Confirmed*: not refuted, and the whole measured interval is better than no change (for `no-worse`: better than the
/// predicted interval's worse end; for a `value`: it does not contain the ratio 1). *Unclear*: otherwise, and with
/// fewer than three pairs.
pub(super) fn verdict(
    column: PredictedColumn,
    claim: Claim,
    [low, high]: [f64; 2],
    measured: &Measured,
) -> (Verdict, &'static str) {
    let [_, low, high] = improvement(column, [low, low, high]);
    let [_, worst, best] = measured.improvement(column);
    let (floor, low) = match claim {
        // A measured loss does not confirm a gain, even if the predicted interval reaches below 1.
        Claim::Gain => (1.0, low.max(1.0)),
        Claim::NoWorse | Claim::Value => (low, low),
    };
    let is_value = claim == Claim::Value;
    if !measured.decides() {
        (Verdict::Unclear, "fewer than three pairs of runs")
    } else if is_value && (best < low || worst > high) {
        let why = "the measured interval lies outside the predicted one";
        (Verdict::Refuted, why)
    } else if is_value && worst <= 1.0 && best >= 1.0 {
        let why = "the measured interval contains no change at all";
        (Verdict::Unclear, why)
    } else if is_value {
        let why = "the measured interval overlaps the predicted one";
        (Verdict::Confirmed, why)
    } else if best < low {
        let why = "all of the measured interval is worse than predicted";
        (Verdict::Refuted, why)
    } else if worst > floor && worst > high {
        (Verdict::Confirmed, BETTER_THAN_PREDICTED)
    } else if worst > floor {
        let why = "the measured interval overlaps the predicted one and excludes the opposite";
        (Verdict::Confirmed, why)
    } else {
        let why = "the measured interval allows both the predicted effect and the opposite one";
        (Verdict::Unclear, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(low: f64, high: f64, pairs: usize) -> Measured {
        let value = f64::midpoint(low, high);
        let kind = if pairs > 1 {
            IntervalKind::Range
        } else {
            IntervalKind::Single
        };
        Measured {
            ratio: Ratio {
                value,
                low,
                high,
                kind,
            },
            pairs,
        }
    }

    fn of_gain(low: f64, high: f64) -> Verdict {
        let predicted = [1.1, 1.3];
        verdict(
            PredictedColumn::SamplesPerS,
            Claim::Gain,
            predicted,
            &measured(low, high, 3),
        )
        .0
    }

    #[test]
    fn a_gain_is_confirmed_refuted_or_unclear_by_its_interval() {
        assert_eq!(of_gain(1.15, 1.25), Verdict::Confirmed);
        assert_eq!(of_gain(1.05, 1.12), Verdict::Confirmed);
        assert_eq!(of_gain(1.4, 1.5), Verdict::Confirmed);
        assert_eq!(of_gain(0.9, 1.05), Verdict::Refuted);
        assert_eq!(of_gain(1.02, 1.05), Verdict::Refuted);
        assert_eq!(of_gain(0.95, 1.15), Verdict::Unclear);
    }

    #[test]
    fn less_time_is_a_gain() {
        let of = |low, high| {
            let predicted = [0.7, 0.9];
            verdict(
                PredictedColumn::TrainS,
                Claim::Gain,
                predicted,
                &measured(low, high, 3),
            )
            .0
        };
        assert_eq!(of(0.75, 0.85), Verdict::Confirmed);
        assert_eq!(of(0.95, 1.02), Verdict::Refuted);
        assert_eq!(of(0.88, 1.02), Verdict::Unclear);
    }

    #[test]
    fn what_may_not_get_worse_may_stay_the_same() {
        let of = |low, high| {
            let predicted = [0.95, 1.0];
            let found = measured(low, high, 3);
            verdict(
                PredictedColumn::SamplesPerS,
                Claim::NoWorse,
                predicted,
                &found,
            )
            .0
        };
        assert_eq!(of(0.98, 1.01), Verdict::Confirmed);
        assert_eq!(of(0.8, 0.9), Verdict::Refuted);
        assert_eq!(of(0.9, 1.0), Verdict::Unclear);
    }

    #[test]
    fn a_value_has_two_sides_and_few_runs_decide_nothing() {
        let of = |low, high, pairs| {
            let predicted = [1.8, 2.0];
            verdict(
                PredictedColumn::PeakRssBytes,
                Claim::Value,
                predicted,
                &measured(low, high, pairs),
            )
            .0
        };
        assert_eq!(of(1.88, 1.92, 3), Verdict::Confirmed);
        assert_eq!(of(2.1, 2.2, 3), Verdict::Refuted);
        assert_eq!(of(1.5, 1.7, 3), Verdict::Refuted);
        assert_eq!(of(1.88, 1.92, 2), Verdict::Unclear);
    }
}
