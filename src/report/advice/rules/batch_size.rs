//! `batch-size`: recommends the size at which the measured throughput levels off, or a larger size if it still rises.

use crate::base::units::human;
use crate::report::advice::line::FittedLine;
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::judged::plain_number_text;
use crate::report::timing::timing_value;
use crate::report::view::Cell;

use super::MIN_GAIN;

pub(super) const ABOUT: &str = "Recommends the knee of the measured batch sizes (the smallest whose throughput is \
    at most `report.knee` below the best) where it is larger than the cell's and the fit predicts 2 % more throughput or better; and twice \
    the largest measured size where the fit predicts 5 % more for it. Prediction: step time = a + b × batch size, fitted \
    to the runs";

pub(super) const SETTING: &str = "train.batch-size";
/// Smallest predicted gain (ratio of throughputs) for which a size above the largest measured one is recommended.
const NEXT: f64 = 1.05;

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let along = study.along(SETTING);
    let speeds: Vec<(f64, f64)> = along
        .iter()
        .filter_map(|(size, cell)| Some((*size, timing_value(cell, "samples_per_s")?)))
        .collect();
    let tolerance = study.view.set.plan.knee();
    let best = speeds.iter().map(|point| point.1).fold(0.0, f64::max);
    let knee = speeds
        .iter()
        .find(|point| point.1 >= (1.0 - tolerance) * best);
    let size = study.number(study.anchor, SETTING);
    let (Some(size), Some(knee), Some(&largest)) = (size, knee, speeds.last()) else {
        return None;
    };
    let line = fit(&along)?;
    let next = 2.0 * largest.0;
    let grows = line.gain(largest.0, next, 1).map_or(1.0, |gain| gain[0]);
    let more = human((grows - 1.0) * 100.0, 2);
    let mut proposals = Vec::new();
    if knee.0 > size {
        let why = format!(
            "A step costs {} whatever its size, so that larger batches spread it over more samples; beyond {} the measured \
             gain is below {} %. It changes the optimisation too: compare the losses.",
            milliseconds(line.fixed),
            knee.0,
            plain_number_text(100.0 * tolerance)
        );
        proposals.extend(proposed(
            study,
            &line,
            &speeds,
            (size, knee.0),
            MIN_GAIN,
            why,
        ));
    }
    if grows >= NEXT && fits(study, next) {
        let why = format!(
            "Throughput still grows at the largest measured size, {}: the fit gives {more} % more for twice of it. No such \
             size was measured.",
            largest.0
        );
        proposals.extend(proposed(study, &line, &speeds, (size, next), NEXT, why));
    }
    Some(proposals)
}

/// Fits a line to step time over batch size, with one point for every run of the cells.
pub(super) fn fit(along: &[(f64, &Cell<'_>)]) -> Option<FittedLine> {
    let points = along
        .iter()
        .flat_map(|(size, cell)| cell.times().map(|times| (*size, times.step_mean_ms)));
    FittedLine::fit(&points.collect::<Vec<_>>())
}

/// Whether a batch of `size` samples is possible: an epoch must have at least as many.
pub(super) fn fits(study: &WorkGroup<'_, '_>, size: f64) -> bool {
    let facts = study.cells.iter().flat_map(|cell| cell.facts());
    let most = facts.map(|facts| facts.samples / facts.epochs.max(1) as u64);
    most.max().is_some_and(|most| most as f64 >= size)
}

fn proposed(
    study: &WorkGroup<'_, '_>,
    line: &FittedLine,
    speeds: &[(f64, f64)],
    (from, to): (f64, f64),
    smallest: f64,
    reasoning: String,
) -> Option<Recommendation> {
    let runs = study.anchor.counted.len().max(3);
    let predicted = line.gain(from, to, runs)?;
    let curve: Vec<String> = speeds
        .iter()
        .map(|(size, speed)| format!("{} at {size}", human(*speed, 3)))
        .collect();
    (predicted[0] >= smallest).then(|| Recommendation {
        triggers: format!("Median throughput in samples/s: {}.", curve.join(", ")),
        formula: format!(
            "step time t(n) = {} + {} × n, fitted to the runs; ratio = (t({from}) ÷ {from}) ÷ (t({to}) ÷ {to}), with its 95 % \
             prediction interval",
            milliseconds(line.fixed),
            milliseconds(line.each),
        ),
        reasoning,
        ..study.change(SETTING, to as u64, Predicted::estimate(predicted))
    })
}

fn milliseconds(value: f64) -> String {
    format!("{} ms", human(value, 3))
}
