//! `small-data-loader`: recommends no workers, or persistent ones, if starting workers costs more time than they save.

use serde_json::Value;

use crate::base::text::count;
use crate::base::units::human;
use crate::plan::PredictedColumn;
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::timing::timing_value;

use super::MIN_GAIN;
use super::values::{epochs, over_runs};

pub(super) const ABOUT: &str = "Where starting and stopping workers every epoch takes as long as loading itself or \
    longer, and 2 % of the training: recommends `loader.workers = 0`, or `loader.persistent = true` where training would \
    wait longer without workers. Prediction: (training − waiting − starts and stops + work) ÷ training without workers; \
    1 − (starts and stops but the first) ÷ training with workers that stay";

const WORKERS: &str = "loader.workers";
const PERSISTENT: &str = "loader.persistent";

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let anchor = study.anchor;
    let workers = study.number(anchor, WORKERS).unwrap_or(0.0);
    if workers == 0.0 || study.setting(anchor, PERSISTENT) == true {
        return None;
    }
    let each = over_runs(anchor, |times| {
        Some((times.loader.start_ms + times.loader.stop_ms) / 1e3)
    });
    let (each, epochs) = (each?, epochs(anchor)?);
    let training = timing_value(anchor, "train_s")?;
    // A program reports how long it waits for data, but not how long its workers compute.
    let work = timing_value(anchor, "loader_work_s").filter(|work| *work > 0.0)?;
    let wait = timing_value(anchor, "loader_wait_s").unwrap_or(0.0);
    let starts = each * epochs as f64;
    let triggers = format!(
        "Starting and stopping {} takes {} s of {} s of training, loading itself {} s.",
        count(workers as usize, "worker"),
        human(starts, 3),
        human(training, 3),
        human(work, 3)
    );
    let without = (training - wait - starts + work) / training;
    let stay = 1.0 - starts * (1.0 - 1.0 / epochs as f64) / training;
    let is_better = |ratio: f64| ratio <= 1.0 / MIN_GAIN;
    if starts < work || !(is_better(without) || is_better(stay)) {
        return None;
    }
    let (setting, to, ratio, formula) = if without <= stay {
        let formula = "(training − waiting − starts and stops + work) ÷ training, each as measured";
        (WORKERS, Value::from(0), without, formula)
    } else {
        let formula = "1 − (starts and stops but the first) ÷ training, each as measured";
        (PERSISTENT, Value::from(true), stay, formula)
    };
    Some(vec![Recommendation {
        triggers,
        formula: format!("{formula}, as the best case"),
        reasoning: "The data are so small that loader threads cost more time than they save."
            .to_owned(),
        column: PredictedColumn::TrainS,
        ..study.change(setting, to, Predicted::bound(1.0 / MIN_GAIN, ratio))
    }])
}
