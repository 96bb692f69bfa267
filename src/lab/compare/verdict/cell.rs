//! The verdict on one cell.

use crate::compare::statistics::{Dice, Sides, detectable};
use crate::compare::{Design, Doubt, Judgement, Ratio, Test, Threshold, Verdict};
use crate::results::IntervalKind;

use super::choice::CellTest;
use super::{ALPHA, SAME_AT_MOST, Samples};

pub(super) struct Evidence<'a> {
    pub cell: &'a Samples,
    pub ratio: Option<Ratio>,
    pub test: Option<CellTest>,
    pub p_holm: Option<f64>,
    /// Significance level of Holm's first step.
    pub alpha: f64,
    pub threshold: Threshold,
    pub needed_runs: usize,
}

impl Evidence<'_> {
    /// Log ratio that must be exceeded: the larger of the threshold and half the width of the interval.
    fn least_shift(&self) -> Option<f64> {
        let ratio = self.ratio?;
        let half_width = (ratio.high / ratio.low).ln() / 2.0;
        Some(half_width.max(self.threshold.value.ln_1p()))
    }
}

pub(super) fn judge(evidence: &Evidence<'_>) -> Judgement {
    let cell = evidence.cell;
    let detectable = evidence.test.and_then(|test| {
        let sides = Sides {
            is_paired: test.test == Test::SignFlip,
            ..cell.sides()
        };
        let mut dice = Dice::new(cell.stream());
        detectable(sides, evidence.alpha, evidence.least_shift()?, &mut dice)
    });
    Judgement {
        verdict: verdict(evidence, detectable),
        ratio: evidence.ratio,
        design: cell.design(),
        runs: (cell.before.len(), cell.after.len()),
        test: evidence.test.map(|test| test.test),
        p: evidence.test.map(|test| test.p),
        p_holm: evidence.p_holm,
        detectable,
        threshold: evidence.threshold,
    }
}

fn verdict(evidence: &Evidence<'_>, detectable: Option<f64>) -> Verdict {
    let cell = evidence.cell;
    if let Err(reasons) = &cell.comparable {
        return Verdict::NotComparable(reasons.clone());
    }
    let (Some(ratio), Some(p_holm)) = (evidence.ratio, evidence.p_holm) else {
        return Verdict::TooFewRuns(evidence.needed_runs);
    };
    let finding = Finding {
        ratio,
        is_significant: p_holm <= ALPHA && (ratio.low > 1.0 || ratio.high < 1.0),
        threshold: evidence.threshold.value,
        detectable,
    };
    match cell.design() {
        Design::Interleaved => finding.within_a_session(),
        Design::Sessions => finding.between_sessions(cell.floor.between),
    }
}

/// A ratio with its test result, threshold and detectable effect.
pub(super) struct Finding {
    pub ratio: Ratio,
    /// Whether both the test and the interval show that it differs from 1.
    pub is_significant: bool,
    pub threshold: f64,
    pub detectable: Option<f64>,
}

impl Finding {
    /// The verdict if the sides differ only by noise and the treatment.
    pub(super) fn within_a_session(&self) -> Verdict {
        if self.is_significant && self.exceeds(self.threshold) {
            return self.direction();
        }
        if self.lies_within(self.threshold) {
            return Verdict::Same;
        }
        if self.is_significant {
            return Verdict::Unclear(Doubt::AtThreshold(self.threshold));
        }
        if self.ratio.kind != IntervalKind::Bootstrap95 {
            return Verdict::Unclear(Doubt::FewRuns);
        }
        match self.detectable {
            Some(effect) if self.lies_within(effect.min(SAME_AT_MOST)) => Verdict::Same,
            _ => Verdict::Unclear(Doubt::WideInterval),
        }
    }

    /// The verdict if the sides also differ by session, by up to `between`.
    pub(super) fn between_sessions(&self, between: Option<f64>) -> Verdict {
        let Some(floor) = between else {
            return Verdict::Unclear(Doubt::NoSessionFloor);
        };
        if !self.exceeds(floor) {
            return Verdict::Unclear(Doubt::WithinSessionFloor(floor));
        }
        if !self.exceeds(self.threshold) {
            return Verdict::Unclear(Doubt::AtThreshold(self.threshold));
        }
        if self.is_significant {
            return self.direction();
        }
        Verdict::Unclear(Doubt::SessionNoise)
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
