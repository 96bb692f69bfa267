//! `loss-bound` and `optimizer-bound`: recommend larger batches if the loss or the optimizer takes much of a step's
//! time.

use crate::base::units::human;
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::timing::timing_value;
use crate::report::view::Cell;

use super::MIN_GAIN;
use super::batch_size::{SETTING, fits};
use super::values::{over_runs, percent, share};

pub(super) const ABOUT_LOSS: &str = "Where the loss takes 15 % of a step or more: recommends the measured batch size at \
    which it takes the least time per sample. Prediction: at most 1 ÷ (1 − share × (1 − time per sample there ÷ here))";
pub(super) const ABOUT_OPTIMIZER: &str = "Where the optimizer takes 10 % of a step or more: recommends twice the batch \
    size, or twice `train.accumulate` where the peak memory is above half of the machine's or the data have no such \
    batch. Prediction: at most 1 ÷ (1 − share ÷ 2): half as many updates a sample";

const ACCUMULATE: &str = "train.accumulate";
/// Smallest fraction of a step's time spent in the loss for which `loss-bound` applies.
const LOSS: f64 = 0.15;
/// Smallest fraction of a step's time spent in the optimizer for which `optimizer-bound` applies.
const OPTIMIZER: f64 = 0.1;
/// Index of the loss in the table of phases.
const LOSS_PHASE: usize = 3;
const OPTIMIZER_PHASE: usize = 5;

pub(super) fn find_loss(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let share = share(study.anchor, LOSS_PHASE)?;
    if share < LOSS {
        return None;
    }
    let along = study.along(SETTING);
    let costs = along
        .iter()
        .filter_map(|(size, cell)| Some((*size, loss_ms(cell)? / size)));
    let cheapest = costs.min_by(|a, b| a.1.total_cmp(&b.1));
    let own = study.number(study.anchor, SETTING);
    let (Some((size, cost)), Some(own), Some(here)) = (cheapest, own, loss_ms(study.anchor)) else {
        return None;
    };
    let here = here / own;
    let bound = 1.0 / (1.0 - share * (1.0 - cost / here));
    if bound < MIN_GAIN {
        return None;
    }
    Some(vec![Recommendation {
        triggers: format!(
            "The loss takes {} of a step: {} ms a sample at batch size {own}, {} ms at {size}.",
            percent(share),
            human(here, 3),
            human(cost, 3)
        ),
        formula: "at most 1 ÷ (1 − share × (1 − time per sample there ÷ here)), at least 1.02".to_owned(),
        reasoning: "The cost of the loss does not follow the number of samples; it changes the optimisation too: compare \
                    the losses."
            .to_owned(),
        ..study.change(SETTING, size as u64, Predicted::bound(MIN_GAIN, bound))
    }])
}

fn loss_ms(cell: &Cell<'_>) -> Option<f64> {
    over_runs(cell, |times| Some(times.phases.loss_ms))
}

pub(super) fn find_optimizer(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
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
