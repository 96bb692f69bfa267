//! Prunes trials whose best value is worse than the median of earlier trials at the same step.

use crate::plan::search::{MedianSection, ObjectiveDirection, PrunedInfo};
use crate::search::{TrialRecord, TrialResult};

/// The median stopping rule.
///
/// A trial is never pruned while fewer than `startup_trials` trials (or none) are done, before step `warmup_steps`, or
/// at a report that is not the first in its interval of `interval_steps` steps (counted from `warmup_steps`). Otherwise
/// it is pruned if its best value so far is worse than the median of the values that done trials reported **at exactly
/// this step**, or if it has only reported NaN. It continues if no done trial has a number at this step. Pruned and
/// failed trials do not count.
///
/// # Source
/// Golovin et al. 2017 (Google Vizier), §3.2.2; agrees with Optuna's `MedianPruner` with `n_min_trials = 1`, decision
/// by decision (`tests/reference/search`).
///
/// All values here are losses. `direction`, that of the original values, affects only the last bit of a median of an
/// even number of values.
pub(super) fn judge(
    settings: &MedianSection,
    direction: ObjectiveDirection,
    past: &[TrialRecord],
    curve: &[(usize, f64)],
) -> Option<PrunedInfo> {
    let done = past
        .iter()
        .filter(|one| matches!(one.ending, TrialResult::Done(_)));
    let count = done.clone().count();
    let (step, _) = *curve.last()?;
    if count == 0 || count < settings.startup_trials || !looks_at(settings, step, curve) {
        return None;
    }
    // `f64::min` ignores NaN.
    let best = curve
        .iter()
        .map(|(_, value)| *value)
        .fold(f64::NAN, f64::min);
    let (trials, values): (Vec<usize>, Vec<f64>) = done
        .filter_map(|record| Some((record.number, value_at(record, step)?)))
        .unzip();
    let median = median(values, direction);
    let is_worse = best.is_nan() || median.is_some_and(|median| best > median);
    is_worse.then(|| PrunedInfo {
        step,
        metric: String::new(),
        value: best,
        threshold: median.unwrap_or(f64::NAN),
        trials,
    })
}

/// Whether the report at `step`, the last of `curve`, is the first in its interval of `interval_steps` steps.
fn looks_at(settings: &MedianSection, step: usize, curve: &[(usize, f64)]) -> bool {
    let Some(since) = step.checked_sub(settings.warmup_steps) else {
        return false;
    };
    let begin = step - since % settings.interval_steps.max(1);
    let before = curve.iter().rev().nth(1);
    before.is_none_or(|(before, _)| *before < begin)
}

/// The median; for an even number of values the midpoint of two, rounded as `numpy.percentile` does.
///
/// `numpy.percentile` computes `high − (high − low) / 2`. Values to maximise are negated here, so low and high are
/// swapped. With accuracies (fractions of few samples) the midpoint of two is often equal to a third value, and a
/// rounding difference must not decide whether that one is worse.
fn median(mut values: Vec<f64>, direction: ObjectiveDirection) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let high = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(high);
    }
    let low = values[values.len() / 2 - 1];
    let half = (high - low) * 0.5;
    Some(match direction {
        ObjectiveDirection::Minimize => high - half,
        ObjectiveDirection::Maximize => low + half,
    })
}

/// The number that a trial reported at exactly this step.
fn value_at(record: &TrialRecord, step: usize) -> Option<f64> {
    let (_, value) = record.curve.iter().find(|(at, _)| *at == step)?;
    (!value.is_nan()).then_some(*value)
}
