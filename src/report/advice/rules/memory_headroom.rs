//! `memory-headroom`: recommends a larger batch if it would be faster and still fits into memory.

use crate::base::units::{human, human_bytes};
use crate::plan::{Claim, PredictedColumn};
use crate::report::advice::line::FittedLine;
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::sections::cost::is_on_gpu;
use crate::report::timing::timing_value;

use super::MIN_GAIN;
use super::batch_size::{SETTING, fit, fits};

pub(super) const ABOUT: &str = "Recommends twice the largest measured batch size where the fit of the throughput gives 2 % \
    more for it and the fit of the peak memory stays, with its error, below 80 % of the machine's. Prediction: peak \
    memory = a + b × batch size, fitted to the runs";

/// Fraction of the machine's memory that a cell may use.
const USABLE: f64 = 0.8;

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    if is_on_gpu(study.view, study.anchor) {
        return None;
    }
    let along = study.along(SETTING);
    let points = along.iter().flat_map(|(size, cell)| {
        let runs = cell.counted.iter().filter_map(|run| run.peak_rss_bytes);
        runs.map(|bytes| (*size, bytes as f64))
    });
    let line = FittedLine::fit(&points.collect::<Vec<_>>());
    let memory = study.memory();
    let own = study.number(study.anchor, SETTING);
    let (Some(line), Some(memory), Some(own), Some((largest, cell))) =
        (line, memory, own, along.last())
    else {
        return None;
    };
    let next = 2.0 * largest;
    let runs = study.anchor.counted.len().max(3);
    let peak = timing_value(cell, "peak_rss_bytes").unwrap_or(0.0);
    let at_most = line
        .growth(*largest, next, 1)
        .map_or(f64::INFINITY, |growth| growth[2])
        * peak;
    let faster = fit(&along).and_then(|line| line.gain(*largest, next, runs));
    let faster = faster.map_or(1.0, |gain| gain[0]);
    let checked = format!(
        "{} of {} at batch size {largest}, {} at {next} by the fit, which gives {} % more throughput there",
        human_bytes(peak as u64),
        human_bytes(memory as u64),
        human_bytes(line.at(next).max(0.0) as u64),
        human((faster - 1.0) * 100.0, 2)
    );
    let predicted = line.growth(own, next, runs);
    let is_useful = at_most < USABLE * memory && faster >= MIN_GAIN && fits(study, next);
    let predicted = predicted.filter(|_| is_useful)?;
    Some(vec![Recommendation {
        claim: Claim::Value,
        triggers: format!("Peak memory {checked}."),
        formula: format!(
            "peak m(n) = {} + {} × n, fitted to the runs; ratio = m({next}) ÷ m({own}), with its 95 % prediction interval; no \
             such size was measured",
            human_bytes(line.fixed.max(0.0) as u64),
            human_bytes(line.each.max(0.0) as u64)
        ),
        reasoning: "There is memory for a larger batch, and throughput still grows.".to_owned(),
        column: PredictedColumn::PeakRssBytes,
        ..study.change(SETTING, next as u64, Predicted::estimate(predicted))
    }])
}
