//! Successive halving: only the best fraction of trials passes each rung.

use crate::plan::search::{HalvingSection, PrunedInfo};
use crate::search::{TrialRecord, TrialResult};

/// `(trial number, value)` of each trial that reached a rung.
type Rung = Vec<(usize, f64)>;

/// Asynchronous successive halving.
///
/// Rung `k` is at step `min_resource · reduction^(early_stopping_rate + k)`. A trial reaches the rung with its first
/// report at or after that step, with the reported value; one report may reach several rungs. The trial passes if its
/// value is among the best `⌊n / reduction⌋` (at least one) of the rung's `n` values: its own and those of all earlier
/// trials that reached the rung, regardless of whether they passed and how they ended. Otherwise it is pruned. NaN at a
/// rung prunes the trial, and is not added to the rung's values.
///
/// Steps count from 0: with `min_resource = 1` the first rung is after the second epoch. Like every asynchronous rule
/// it depends on the order of the trials: the first to reach a rung always passes, since it is compared only with
/// itself.
///
/// # Source
/// Li et al. 2020 (ASHA), §3.2; makes the same decisions as Optuna's `SuccessiveHalvingPruner` with a given
/// `min_resource` and `bootstrap_count = 0` for trials one after another (`tests/reference/search`). With parallel
/// trials there are two differences. Optuna compares a trial with all that have reached the rung at that time,
/// including running ones; here it is compared only with the earlier trials that `search.lag` allows. And Optuna stores
/// the rungs that a trial reached, while here they follow from its curve: if a pruned trial's last report reached
/// several rungs, its value is added to these rungs up to the first that it does not pass.
pub(super) fn judge(
    settings: &HalvingSection,
    past: &[TrialRecord],
    curve: &[(usize, f64)],
) -> Option<PrunedInfo> {
    let rungs = rungs(settings, past);
    let ((step, value), before) = curve.split_last()?;
    let first = passed(settings, before);
    let mut competitors = (first..).take_while(|rung| *step >= step_of(settings, *rung));
    let verdict = |threshold: f64, others: &[(usize, f64)]| PrunedInfo {
        step: *step,
        metric: String::new(),
        value: *value,
        threshold,
        trials: others.iter().map(|(number, _)| *number).collect(),
    };
    if value.is_nan() {
        return competitors.next().map(|_| verdict(f64::NAN, &[]));
    }
    competitors.find_map(|rung| {
        let others = rungs.get(rung).map_or(&[][..], Vec::as_slice);
        let threshold = threshold(settings, others, *value);
        (*value > threshold).then(|| verdict(threshold, others))
    })
}

fn step_of(settings: &HalvingSection, rung: usize) -> usize {
    let power = u32::try_from(settings.early_stopping_rate + rung).unwrap_or(u32::MAX);
    // A reduction of 1 would put infinitely many rungs at one step, so the smallest is 2.
    let factor = settings.reduction.max(2).saturating_pow(power);
    settings.min_resource.max(1).saturating_mul(factor)
}

/// Number of rungs reached by this curve: those whose step is at or before the curve's last step.
fn passed(settings: &HalvingSection, curve: &[(usize, f64)]) -> usize {
    let Some((last, _)) = curve.last() else {
        return 0;
    };
    // `step_of(rung) > rung`, so no rung above number `last` is reached.
    let is_reached = |rung: &usize| *last >= step_of(settings, *rung);
    (0..=*last).take_while(is_reached).count()
}

/// The values of every rung, from the curves of the trials.
fn rungs(settings: &HalvingSection, past: &[TrialRecord]) -> Vec<Rung> {
    let mut rungs: Vec<Rung> = Vec::new();
    for record in past {
        let last = record.curve.len().saturating_sub(1);
        let mut rung = 0;
        for (index, (step, value)) in record.curve.iter().enumerate() {
            while *step >= step_of(settings, rung) && !value.is_nan() {
                if rungs.len() == rung {
                    rungs.push(Rung::new());
                }
                let passes = *value <= threshold(settings, &rungs[rung], *value);
                rungs[rung].push((record.number, *value));
                rung += 1;
                if !passes && index == last && record.ending == TrialResult::Pruned {
                    break;
                }
            }
        }
    }
    rungs
}

/// The worst value that passes a rung reached by `others` and a trial with `value`.
fn threshold(settings: &HalvingSection, others: &[(usize, f64)], value: f64) -> f64 {
    let others = others.iter().map(|(_, value)| *value);
    let mut values: Vec<f64> = others.chain([value]).collect();
    values.sort_by(f64::total_cmp);
    values[(values.len() / settings.reduction.max(2)).saturating_sub(1)]
}
