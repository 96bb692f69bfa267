//! `workers`: recommends more loader workers if training waits for data, fewer if they cost more than they save.

use crate::base::units::human;
use crate::plan::PredictedColumn;
use crate::report::advice::recommendation::Recommendation;
use crate::report::advice::study::WorkGroup;
use crate::report::timing::timing_value;
use crate::report::view::Cell;

use super::values::{amdahl, best_measured, percent, share};

pub(super) const ABOUT: &str = "Recommends more workers where training waits for data in 5 % of a step or more, and longer \
    than a worker takes to hand a batch over (0.01 ms): as many as make batches as fast as training takes them (work ÷ (training − waiting)), at least one more, at most one per \
    core. Prediction: Amdahl's bound of the waiting. Recommends fewer where fewer were measured to train in less time; \
    prediction: that measurement";

pub(super) const SETTING: &str = "loader.workers";
/// Smallest fraction of a step spent waiting for data for which more workers are recommended.
const WAITING: f64 = 0.05;
/// Waiting time in milliseconds per step below which no worker is recommended: with two workers that were fast enough,
/// training still waited for 0.009 to 0.013 ms until a batch was handed over (`reports/digits/blocks.csv`).
const HANDING_OVER_MS: f64 = 0.01;

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let anchor = study.anchor;
    let (workers, waiting) = (study.number(anchor, SETTING)?, share(anchor, 0)?);
    if waiting < WAITING {
        let others = study.along(SETTING).into_iter();
        let fewer = others.filter(|(value, _)| *value < workers);
        let fewer: Vec<&Cell<'_>> = fewer.map(|(_, cell)| cell).collect();
        let why = "These workers cost more than the waiting that they save.";
        return best_measured(study, SETTING, PredictedColumn::TrainS, &fewer, why);
    }
    // More workers cannot reduce a wait that is shorter than the handing over of a batch.
    if timing_value(anchor, "data_wait_ms").is_some_and(|ms| ms < HANDING_OVER_MS) {
        return None;
    }
    more(study, workers, waiting).map(|proposed| vec![proposed])
}

fn more(study: &WorkGroup<'_, '_>, workers: f64, waiting: f64) -> Option<Recommendation> {
    let anchor = study.anchor;
    let wait = timing_value(anchor, "loader_wait_s")?;
    // A program reports how long it waits for data, but not how long its workers compute. The waiting time is used
    // then; without workers the two are equal.
    let told = timing_value(anchor, "loader_work_s");
    let work = told.filter(|work| *work > 0.0).unwrap_or(wait);
    let training = timing_value(anchor, "train_s")?;
    let computing = (training - wait).max(f64::MIN_POSITIVE);
    let needed = (work / computing).ceil().max(workers + 1.0);
    let to = needed.min(study.cores().unwrap_or(needed));
    (to > workers).then(|| Recommendation {
        triggers: format!(
            "Training waits for data in {} of a step; over a run loading works {} s while training computes {} s.",
            percent(waiting),
            human(work, 3),
            human(computing, 3)
        ),
        formula: "Amdahl's bound: 1 ÷ (1 − share of waiting), at least 1.02".to_owned(),
        reasoning: "Workers load while training computes; what they take from it on a machine of few cores is not in the \
                    bound."
            .to_owned(),
        ..study.change(SETTING, to as u64, amdahl(waiting))
    })
}
