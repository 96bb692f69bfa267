//! The verdict on one cell.

use crate::compare::statistics::{Dice, Sides, detectable, ratio_of_runs};
use crate::compare::{Design, Judgement, Ratio, Test, UnclearReason, Verdict};
use crate::results::{IntervalKind, bootstrap_stream};

use super::choice::CellTest;
use super::samples::{ALPHA, Family, SAME_AT_MOST, Samples, VERDICT_STREAM, threshold};

impl Family {
    pub(super) fn judge_cell(
        &self,
        cell: &Samples,
        resampled: &[f64],
        test: Option<CellTest>,
        p_holm: Option<f64>,
    ) -> Judgement {
        let sides = Some(cell.sides()).filter(|_| cell.has_usable_values());
        let ratio = sides.and_then(|sides| ratio_of_runs(sides, resampled));
        let threshold = threshold(cell.design(), self.manifest, cell.floor);
        let detectable = test.zip(ratio).and_then(|(test, ratio)| {
            let sides = Sides {
                is_paired: test.test == Test::SignFlip,
                ..cell.sides()
            };
            let half_width = (ratio.high / ratio.low).ln() / 2.0;
            let least = half_width.max(threshold.value.ln_1p());
            let mut dice = Dice(bootstrap_stream(&cell.key, VERDICT_STREAM + 1));
            detectable(sides, self.alpha, least, &mut dice)
        });
        let finding = ratio.zip(p_holm).map(|(ratio, p_holm)| TestedRatio {
            ratio,
            is_significant: p_holm <= ALPHA && (ratio.low > 1.0 || ratio.high < 1.0),
            threshold: threshold.value,
            detectable,
        });
        Judgement {
            verdict: match (&cell.comparable, finding) {
                (Err(reasons), _) => Verdict::NotComparable(reasons.clone()),
                (Ok(()), None) => Verdict::TooFewRuns(self.needed_runs),
                (Ok(()), Some(finding)) => finding.verdict(cell.ruled_as(), cell.floor.between),
            },
            ratio,
            design: cell.design(),
            runs: (cell.before.len(), cell.after.len()),
            test: test.map(|test| test.test),
            p: test.map(|test| test.p),
            p_holm,
            detectable,
            threshold,
        }
    }
}

/// The ratio of a cell's times, with the test result, threshold and detectable effect that decide its verdict.
pub(super) struct TestedRatio {
    pub ratio: Ratio,
    /// Whether both the test and the interval show that the ratio differs from 1.
    pub is_significant: bool,
    pub threshold: f64,
    pub detectable: Option<f64>,
}

impl TestedRatio {
    /// The verdict; `between` is the noise floor between sessions.
    pub(super) fn verdict(&self, design: Design, between: Option<f64>) -> Verdict {
        match design {
            Design::Interleaved | Design::UntilSure => self.within_a_session(),
            Design::Sessions => self.between_sessions(between),
        }
    }

    /// The verdict if both sides were measured in one session, and so differ only by noise and the treatment.
    fn within_a_session(&self) -> Verdict {
        if self.is_significant && self.exceeds(self.threshold) {
            return self.direction();
        }
        if self.lies_within(self.threshold) {
            return Verdict::Same;
        }
        if self.is_significant {
            return Verdict::Unclear(UnclearReason::AtThreshold(self.threshold));
        }
        if self.ratio.kind != IntervalKind::Bootstrap95 {
            return Verdict::Unclear(UnclearReason::FewRuns);
        }
        match self.detectable {
            Some(effect) if self.lies_within(effect.min(SAME_AT_MOST)) => Verdict::Same,
            _ => Verdict::Unclear(UnclearReason::WideInterval),
        }
    }

    /// The verdict if the sides also differ by session, by up to `between` (a relative difference).
    fn between_sessions(&self, between: Option<f64>) -> Verdict {
        let Some(floor) = between else {
            return Verdict::Unclear(UnclearReason::NoSessionFloor);
        };
        if !self.exceeds(floor) {
            return Verdict::Unclear(UnclearReason::WithinSessionFloor(floor));
        }
        if !self.exceeds(self.threshold) {
            return Verdict::Unclear(UnclearReason::AtThreshold(self.threshold));
        }
        if self.is_significant {
            return self.direction();
        }
        Verdict::Unclear(UnclearReason::SessionNoise)
    }

    fn direction(&self) -> Verdict {
        if self.ratio.value > 1.0 {
            Verdict::Slower
        } else {
            Verdict::Faster
        }
    }

    /// Whether the ratio differs from 1 by more than `size`, in either direction.
    fn exceeds(&self, size: f64) -> bool {
        self.ratio.value.ln().abs() > size.ln_1p()
    }

    /// Whether the 95 % interval lies within `size` of 1, in both directions.
    fn lies_within(&self, size: f64) -> bool {
        let farthest = self.ratio.low.ln().abs().max(self.ratio.high.ln().abs());
        self.ratio.kind == IntervalKind::Bootstrap95 && farthest <= size.ln_1p()
    }
}
