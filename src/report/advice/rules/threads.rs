//! `threads`: as many as there is work for.

use serde_json::Value;

use crate::base::statistics::median;
use crate::base::units::human;
use crate::plan::{Claim, PredictedColumn};
use crate::report::advice::recommendation::Draft;
use crate::report::advice::study::Study;
use crate::report::view::Cell;

use super::values::{best_measured, over_runs, percent};
use super::{Said, WORTH};

pub(super) const ABOUT: &str = "Recommends another measured number of threads where it gave 2 % more throughput or \
    better; all cores where fewer threads keep 85 % of themselves busy (prediction: at most cores ÷ threads); and as \
    many threads as cores are busy where that is below 60 % of them (prediction: throughput no worse than 0.95 times, \
    at most threads × wall ÷ CPU seconds)";

const SETTING: &str = "train.threads";
/// Share of the threads that is busy from which on more of them may help.
const BUSY: f64 = 0.85;
/// Share below which fewer will do.
const IDLE: f64 = 0.6;
/// Throughput that fewer threads must keep.
const KEPT: f64 = 0.95;

pub(super) fn find(study: &Study<'_, '_>) -> Said {
    let others = study.others(SETTING).into_iter();
    let why = "The best number of threads among those measured.";
    if let Some(draft) = best_measured(study, SETTING, PredictedColumn::SamplesPerS, others, why) {
        return Said::Recommended(vec![draft]);
    }
    let threads = over_runs(study.anchor, |times| Some(times.threads as f64));
    let (Some(threads), Some(busy), Some(cores)) = (
        threads,
        cores_busy(study.anchor),
        study.machine("logical_cores"),
    ) else {
        return Said::Nothing("CPU seconds, threads or cores are not known".to_owned());
    };
    let used = format!(
        "{} of {threads} threads busy (CPU seconds ÷ seconds of the run) on {cores} cores",
        human(busy, 3)
    );
    let draft = |to: f64, claim, predicted, formula: &str, reasoning: &str| {
        Said::Recommended(vec![Draft {
            setting: SETTING,
            from: study.setting(study.anchor, SETTING).clone(),
            to: Value::from(to as u64),
            column: PredictedColumn::SamplesPerS,
            claim,
            predicted,
            triggers: format!("Measured: {used}."),
            formula: formula.to_owned(),
            reasoning: reasoning.to_owned(),
        }])
    };
    let needed = busy.ceil().max(1.0);
    if threads < cores && busy >= BUSY * threads {
        let bound = cores / threads;
        let formula = "at most cores ÷ threads, at least 1.02";
        let why = "The threads are busy, and there are cores without one.";
        draft(cores, Claim::Gain, [bound, WORTH, bound], formula, why)
    } else if busy < IDLE * threads && needed < threads {
        let formula = "the same; at least 0.95, at most threads × seconds of the run ÷ CPU seconds";
        let why = "What the threads do fits on fewer cores, which are then free for other runs.";
        let most = (needed / busy).max(1.0);
        draft(needed, Claim::NoWorse, [1.0, KEPT, most], formula, why)
    } else {
        Said::Nothing(format!(
            "{used}: more would help only from {} on, fewer would do below {}",
            percent(BUSY),
            percent(IDLE)
        ))
    }
}

/// CPU seconds over the seconds of the run, costly evaluation in both; median over runs.
fn cores_busy(cell: &Cell<'_>) -> Option<f64> {
    let runs = cell.counted.iter().filter_map(|run| {
        let times = run.times.as_ref()?;
        let seconds = times.total_s + times.assessment_s.unwrap_or(0.0);
        Some(run.cpu_s? / seconds).filter(|busy| busy.is_finite())
    });
    median(&runs.collect::<Vec<_>>())
}
