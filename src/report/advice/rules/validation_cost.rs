//! `validation-cost`: recommends validation less often if it takes much of the run's time.

use crate::base::units::human;
use crate::plan::PredictedColumn;
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::timing::timing_value;

use super::MIN_GAIN;
use super::values::{epochs, over_runs, percent};

pub(super) const ABOUT: &str = "Recommends validating less often (`validation.every`) where validation takes 10 % of the \
    run or more, the run takes a second or more, there is no early stopping and no schedule `plateau`, and the metrics are over epochs: the smallest of 2, 5, 10, 20, 50 that \
    brings it below. Prediction: at best 1 − validation ÷ run × share of the validations left out";

const SETTING: &str = "validation.every";
/// Smallest fraction of the run's time spent in validation for which the rule applies.
const SHARE: f64 = 0.1;
/// Shortest run in seconds for which the rule applies.
const SHORTEST: f64 = 1.0;
/// Intervals between validations, in epochs, that are tried.
const EVERY: [usize; 5] = [2, 5, 10, 20, 50];

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let anchor = study.anchor;
    let validation = over_runs(anchor, |times| Some(times.validation_s));
    let (validation, epochs) = (validation?, epochs(anchor)?);
    let total = timing_value(anchor, "total_s")?;
    // `None` if a program's command line does not contain the setting: then the program decides when to validate.
    let every = study.number(anchor, SETTING);
    let every = every.or((!anchor.is_of_command).then_some(1.0))? as usize;
    let share = validation / total;
    let mut rows = anchor.epochs.iter();
    let has_none = rows.all(|row| row.epoch.validation.is_empty());
    // Early stopping and the schedule `plateau` need each validation.
    let needs_each = !study.setting(anchor, "train.early-stopping").is_null()
        || study.setting(anchor, "train.schedule.kind") == "plateau";
    if has_none || needs_each || total < SHORTEST || share < SHARE {
        return None;
    }
    let now = validations(epochs, every);
    let saved = |every: usize| validation * (1.0 - validations(epochs, every) / now);
    let useful: Vec<usize> = EVERY
        .into_iter()
        .filter(|to| *to > every && 2 * *to <= epochs)
        .collect();
    let is_enough = |to: &&usize| (validation - saved(**to)) / (total - saved(**to)) < SHARE;
    let chosen = useful.iter().find(is_enough).or(useful.last());
    let &to = chosen.filter(|to| 1.0 - saved(**to) / total <= 1.0 / MIN_GAIN)?;
    let left = validations(epochs, to);
    Some(vec![Recommendation {
        triggers: format!(
            "Validation takes {} s of {} s, {} of the run.",
            human(validation, 3),
            human(total, 3),
            percent(share)
        ),
        formula: format!(
            "1 − validation ÷ run × (1 − {left} ÷ {now}) as the best case: evaluations before and after training, which \
             stay, are in the validation's time"
        ),
        reasoning: "Every second that validation takes is measured; the best epoch is then chosen from fewer.".to_owned(),
        column: PredictedColumn::TotalS,
        ..study.change(
            SETTING,
            to,
            Predicted::bound(1.0 / MIN_GAIN, 1.0 - share * (1.0 - left / now)),
        )
    }])
}

/// Number of validations of a run: every `every` epochs, and after the last epoch.
fn validations(epochs: usize, every: usize) -> f64 {
    epochs.div_ceil(every.max(1)) as f64
}
