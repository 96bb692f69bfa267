//! `optimizer-bound`: recommends larger batches if the optimizer takes much of a step's time.

use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::timing::timing_value;

use super::MIN_GAIN;
use super::batch_size::{SETTING, fits};
use super::values::{percent, share};

pub(super) const ABOUT: &str = "Where the optimizer takes 10 % of a step or more: recommends twice the batch \
    size, or twice `train.accumulate` where the peak memory is above half of the machine's or the data have no such \
    batch. Prediction: at most 1 ÷ (1 − share ÷ 2): half as many updates a sample";

const ACCUMULATE: &str = "train.accumulate";
/// Smallest fraction of a step's time spent in the optimizer for which `optimizer-bound` applies.
const OPTIMIZER: f64 = 0.1;
/// Index of the optimizer in the table of phases.
const OPTIMIZER_PHASE: usize = 5;

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let share = share(study.anchor, OPTIMIZER_PHASE)?;
    if share < OPTIMIZER {
        return None;
    }
    let twice = 2.0 * study.number(study.anchor, SETTING).unwrap_or(0.0);
    let peak = timing_value(study.anchor, "peak_rss_bytes").unwrap_or(0.0);
    let is_roomy = study.memory().is_some_and(|memory| peak < memory / 2.0);
    let setting = if is_roomy && twice > 0.0 && fits(study, twice) {
        SETTING
    } else {
        ACCUMULATE
    };
    let from = study.number(study.anchor, setting)?;
    Some(vec![Recommendation {
        triggers: format!("The optimizer takes {} of a step.", percent(share)),
        formula: "at most 1 ÷ (1 − share of the optimizer ÷ 2), at least 1.02".to_owned(),
        reasoning: "An update costs the same for every batch, so that half as many updates a sample halve it; it changes \
                    the optimisation too: compare the losses."
            .to_owned(),
        ..study.change(
            setting,
            2 * from as u64,
            Predicted::bound(MIN_GAIN, 1.0 / (1.0 - share / 2.0)),
        )
    }])
}
