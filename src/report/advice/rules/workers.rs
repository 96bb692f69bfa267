//! `workers`: more of them where training waits for data, fewer where they cost more than they save.

use serde_json::Value;

use crate::base::text::count;
use crate::base::units::human;
use crate::plan::{Claim, PredictedColumn};
use crate::report::advice::recommendation::Draft;
use crate::report::advice::study::{Study, timing};

use super::Said;
use super::values::{amdahl, best_measured, percent, share};

pub(super) const ABOUT: &str = "Recommends more workers where training waits for data in 5 % of a step or more: as many \
    as make batches as fast as training takes them (work ÷ (training − waiting)), at least one more, at most one per \
    core. Prediction: Amdahl's bound of the waiting. Recommends fewer where fewer were measured to train in less time; \
    prediction: that measurement";

pub(super) const SETTING: &str = "loader.workers";
/// Share of a step from which on waiting is worth a worker.
const WAITING: f64 = 0.05;

pub(super) fn find(study: &Study<'_, '_>) -> Said {
    let (Some(workers), Some(waiting)) =
        (study.number(study.anchor, SETTING), share(study.anchor, 0))
    else {
        return Said::Nothing("the cell's workers and waiting are not known".to_owned());
    };
    if waiting < WAITING {
        return fewer(study, workers).map_or_else(
            || {
                Said::Nothing(format!(
                    "training waits for data in {} of a step with {}, below {}",
                    percent(waiting),
                    count(workers as usize, "worker"),
                    percent(WAITING)
                ))
            },
            |draft| Said::Recommended(vec![draft]),
        );
    }
    more(study, workers, waiting).map_or_else(
        || {
            Said::Nothing(format!(
                "training waits for data in {} of a step, with {} on {} cores already",
                percent(waiting),
                count(workers as usize, "worker"),
                study
                    .environment("logical_cores")
                    .unwrap_or("an unknown number of")
            ))
        },
        |draft| Said::Recommended(vec![draft]),
    )
}

fn more(study: &Study<'_, '_>, workers: f64, waiting: f64) -> Option<Draft> {
    let anchor = study.anchor;
    let (work, wait) = (
        timing(anchor, "loader_work_s")?,
        timing(anchor, "loader_wait_s")?,
    );
    let training = timing(anchor, "train_s")?;
    let computing = (training - wait).max(f64::MIN_POSITIVE);
    let needed = (work / computing).ceil().max(workers + 1.0);
    let to = needed.min(study.machine("logical_cores").unwrap_or(needed));
    (to > workers).then(|| Draft {
        setting: SETTING,
        from: study.setting(anchor, SETTING).clone(),
        to: Value::from(to as u64),
        column: PredictedColumn::SamplesPerS,
        claim: Claim::Gain,
        predicted: amdahl(waiting),
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
    })
}

fn fewer(study: &Study<'_, '_>, workers: f64) -> Option<Draft> {
    let less = |value: &f64| *value < workers;
    let others = study.along(SETTING).into_iter();
    let others = others
        .filter(|(value, _)| less(value))
        .map(|(_, cell)| cell);
    let reasoning = "These workers cost more than the waiting that they save.";
    best_measured(study, SETTING, PredictedColumn::TrainS, others, reasoning)
}
