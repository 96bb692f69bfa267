//! Verdicts on pairs of runs that were stopped as soon as a verdict was significant, by anytime-valid tests.

use crate::base::statistics::median;
use crate::compare::statistics::{Evidence, Sides, anytime_interval};
use crate::compare::{Design, Judgement, Ratio, Test, UnclearReason, Verdict};
use crate::results::IntervalKind;

use super::samples::{ALPHA, Samples, Verdicts, fewest, threshold};

/// Result of the pairs of one cell so far.
#[derive(Debug, Clone, Copy)]
struct TestedRatio {
    /// Ratio of the medians.
    ratio: f64,
    /// Anytime-valid p-value: the probability of evidence at least as strong, at any look, if there is no effect.
    p: f64,
    /// The p-value corrected for the number of cells.
    p_family: f64,
    threshold: f64,
    /// Whether the effect is shown to lie within the threshold on both sides.
    is_within: bool,
}

impl TestedRatio {
    fn of(sides: Sides<'_>, cells: usize, threshold: f64) -> Option<Self> {
        let usable = Some(sides).filter(Sides::is_usable)?;
        let evidence = Evidence::of(&usable.differences(), threshold.ln_1p());
        let p = 1.0 / evidence.effect;
        let (above, below) = evidence.within;
        Some(Self {
            ratio: median(usable.after)? / median(usable.before)?,
            p,
            p_family: (cells as f64 * p).min(1.0),
            threshold,
            is_within: above.min(below) >= 1.0 / ALPHA,
        })
    }

    /// The verdict; a shown effect beyond the threshold takes precedence over "same".
    fn verdict(&self) -> Verdict {
        let is_shown = self.p_family <= ALPHA;
        let is_beyond = self.ratio.ln().abs() > self.threshold.ln_1p();
        match (is_shown, is_beyond) {
            (true, true) if self.ratio > 1.0 => Verdict::Slower,
            (true, true) => Verdict::Faster,
            _ if self.is_within => Verdict::Same,
            (true, false) => Verdict::Unclear(UnclearReason::AtThreshold(self.threshold)),
            (false, _) => Verdict::Unclear(UnclearReason::NotSure),
        }
    }
}

/// Whether the pairs so far suffice for a verdict: faster, slower or the same. The pairs are in the order in which they
/// ran, `cells` of them are compared, and `threshold` is the effect that matters (0.02 is 2 %).
pub fn has_sequential_verdict(before: &[f64], after: &[f64], cells: usize, threshold: f64) -> bool {
    let sides = Sides {
        before,
        after,
        is_paired: true,
    };
    let verdict = TestedRatio::of(sides, cells, threshold).map(|found| found.verdict());
    verdict.is_some_and(|verdict| !matches!(verdict, Verdict::Unclear(_)))
}

/// Returns the verdict on each cell. All cells together get none: the permutation test for it is valid only if the
/// number of pairs was chosen in advance.
pub(super) fn judge(samples: &[Samples], manifest: Option<f64>) -> Verdicts {
    let cells = samples
        .iter()
        .filter(|cell| cell.has_usable_values())
        .count();
    let needed_runs = fewest_pairs(cells);
    let judged = samples.iter();
    let judged = judged.map(|cell| cell.judged(cells, needed_runs, manifest));
    Verdicts {
        cells: judged.collect(),
        matrix: None,
        needed_runs,
    }
}

/// The fewest pairs that can show an effect in one of `cells` cells: the number if every pair multiplies the capital as
/// much as possible.
pub(super) fn fewest_pairs(cells: usize) -> usize {
    let equal = |n: usize| -> Vec<f64> { (0..n as i32).map(|n| 1e3_f64.powi(n)).collect() };
    fewest(|n| Evidence::of(&equal(n), 0.0).effect >= cells.max(1) as f64 / ALPHA)
}

impl Samples {
    /// The ratio `value` with its interval; with too few pairs for an interval, the range of their ratios.
    fn interval(&self, value: f64) -> Ratio {
        let log_ratios = self.sides().differences();
        let all = || log_ratios.iter().copied();
        let range = (
            all().fold(f64::MAX, f64::min),
            all().fold(f64::MIN, f64::max),
        );
        let (kind, (low, high)) = match anytime_interval(&log_ratios, ALPHA) {
            Some(ends) => (IntervalKind::Anytime95, ends),
            None if log_ratios.len() == 1 => (IntervalKind::Single, range),
            None => (IntervalKind::Range, range),
        };
        Ratio {
            value,
            low: low.exp().min(value),
            high: high.exp().max(value),
            kind,
        }
    }

    fn judged(&self, cells: usize, needed: usize, manifest: Option<f64>) -> Judgement {
        let threshold = threshold(Design::Interleaved, manifest, self.floor);
        let found = Some(self).filter(|cell| cell.has_usable_values());
        let found = found.and_then(|cell| TestedRatio::of(cell.sides(), cells, threshold.value));
        let verdict = match (&self.comparable, found) {
            (Err(reasons), _) => Verdict::NotComparable(reasons.clone()),
            (Ok(()), None) => Verdict::TooFewRuns(needed),
            (Ok(()), Some(found)) => match found.verdict() {
                Verdict::Unclear(_) if self.before.len() < needed => Verdict::TooFewRuns(needed),
                verdict => verdict,
            },
        };
        let ratio = found.map(|found| self.interval(found.ratio));
        let bounded = ratio.filter(|ratio| ratio.kind == IntervalKind::Anytime95);
        let farthest = |ratio: Ratio| ratio.low.ln().abs().max(ratio.high.ln().abs()).exp_m1();
        let detectable = match verdict {
            Verdict::Same => Some(threshold.value),
            _ => bounded.map(farthest),
        };
        Judgement {
            verdict,
            ratio,
            design: self.design,
            runs: (self.before.len(), self.after.len()),
            test: found.map(|_| Test::SignBets),
            p: found.map(|found| found.p),
            p_holm: found.map(|found| found.p_family),
            detectable,
            threshold,
        }
    }
}
