//! [`SuccessiveHalving`]: lets only the best share of trials pass each rung.

use crate::search::{Ending, Record};

use super::{Pruner, Verdict};

/// Asynchronous successive halving.
///
/// Rung `k` lies at step `min_resource · reduction^(early_stopping_rate + k)`. With the first report at or after that step
/// a trial reaches the rung, with the value of that report; one report may reach several rungs. The trial passes when its
/// value is among the best `⌊n / reduction⌋` (at least one) of the `n` values of the rung: its own and those of all
/// earlier trials that reached it, whether they passed or not, and however they ended. Else it ends. A NaN at a rung ends
/// a trial, and is no value of the rung.
///
/// Steps count from 0: with `min_resource = 1` the first rung is after the second epoch. As every asynchronous rule it
/// depends on the order of the trials: the first to reach a rung always passes, since it has only itself to beat.
///
/// # Source
/// Li et al. 2020 (ASHA), §3.2; agrees with Optuna's `SuccessiveHalvingPruner` with a given `min_resource` and
/// `bootstrap_count = 0`, decision by decision for trials one after another (`tests/reference/search`). Two things differ
/// where trials run side by side. Optuna holds a trial against all that have reached the rung by then, those still
/// running too; here it is held against those that it may know (`search.lag`). And Optuna notes the rungs that a trial
/// reached, while here they follow from its curve: where a pruned trial's last report came to several rungs, it counts at
/// those up to the first that it does not pass among the trials known now.
#[derive(Debug, Clone)]
pub(super) struct SuccessiveHalving {
    pub(super) min_resource: usize,
    pub(super) reduction: usize,
    pub(super) early_stopping_rate: usize,
}

/// Values of the trials that reached a rung, with the trials' numbers.
type Rung = Vec<(usize, f64)>;

impl Pruner for SuccessiveHalving {
    fn judge(&self, past: &[Record], curve: &[(usize, f64)]) -> Option<Verdict> {
        let rungs = self.rungs(past);
        let ((step, value), before) = curve.split_last()?;
        let first = self.passed(before);
        let mut competitors = (first..).take_while(|rung| *step >= self.step_of(*rung));
        if value.is_nan() {
            return competitors.next().map(|_| Verdict {
                step: *step,
                value: *value,
                threshold: f64::NAN,
                trials: Vec::new(),
            });
        }
        competitors.find_map(|rung| {
            let others = rungs.get(rung).map_or(&[][..], Vec::as_slice);
            let threshold = self.threshold(others, *value);
            (*value > threshold).then(|| Verdict {
                step: *step,
                value: *value,
                threshold,
                trials: others.iter().map(|(number, _)| *number).collect(),
            })
        })
    }
}

impl SuccessiveHalving {
    /// The step at which a rung lies.
    fn step_of(&self, rung: usize) -> usize {
        let power = u32::try_from(self.early_stopping_rate + rung).unwrap_or(u32::MAX);
        // With a reduction of 1 all rungs would lie at one step, and there would be no end to them.
        let factor = self.reduction.max(2).saturating_pow(power);
        self.min_resource.max(1).saturating_mul(factor)
    }

    /// Rungs that a trial with this curve has passed: those at or before its last step.
    fn passed(&self, curve: &[(usize, f64)]) -> usize {
        let mut rungs = 0;
        while curve
            .last()
            .is_some_and(|(last, _)| *last >= self.step_of(rungs))
        {
            rungs += 1;
        }
        rungs
    }

    /// The values of every rung, by the curves of the trials.
    fn rungs(&self, past: &[Record]) -> Vec<Rung> {
        let mut rungs: Vec<Rung> = Vec::new();
        for record in past {
            let last = record.curve.len().saturating_sub(1);
            let mut rung = 0;
            for (index, (step, value)) in record.curve.iter().enumerate() {
                while *step >= self.step_of(rung) && !value.is_nan() {
                    if rungs.len() == rung {
                        rungs.push(Rung::new());
                    }
                    let passes = *value <= self.threshold(&rungs[rung], *value);
                    rungs[rung].push((record.number, *value));
                    rung += 1;
                    if !passes && index == last && record.ending == Ending::Pruned {
                        break;
                    }
                }
            }
        }
        rungs
    }

    /// The worst value that passes a rung which `others` and a trial with `value` have reached.
    fn threshold(&self, others: &[(usize, f64)], value: f64) -> f64 {
        let mut values: Vec<f64> = others.iter().map(|(_, value)| *value).collect();
        values.push(value);
        values.sort_by(f64::total_cmp);
        values[(values.len() / self.reduction.max(2)).saturating_sub(1)]
    }
}
