//! `threads`: recommends the number of threads that measurements, or a fit to them, show to be best.

use crate::base::units::human;
use crate::plan::{Claim, PredictedColumn};
use crate::report::advice::effect::paired_ratio;
use crate::report::advice::line::FittedLine;
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::view::Cell;

use super::values::{best_measured, measured_effect_text, over_runs};

pub(super) const ABOUT: &str = "Where two numbers of threads or more were measured: recommends the fastest of them, where \
    it gave 2 % more throughput or better (prediction: that measurement); else all cores, where no cell had so many and \
    the fit predicts 5 % more (prediction: step time = a + b ÷ threads, fitted to the runs); else the fewest that keep \
    95 % of the throughput (prediction: that measurement). Of a number of threads alone nothing is predicted";

const SETTING: &str = "train.threads";
const COLUMN: PredictedColumn = PredictedColumn::SamplesPerS;
/// Smallest predicted gain (ratio of throughputs) of a number of threads that was not measured.
const NEXT: f64 = 1.05;
/// Smallest fraction of the throughput that must remain for fewer threads to be recommended.
const KEPT: f64 = 0.95;

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let others = study.others(SETTING);
    let all = others.iter().copied().chain([study.anchor]);
    let mut measured: Vec<(f64, &Cell<'_>)> = all
        .filter_map(|cell| Some((threads(cell)?, cell)))
        .collect();
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut numbers: Vec<f64> = measured.iter().map(|(threads, _)| *threads).collect();
    numbers.dedup();
    let own = threads(study.anchor)?;
    // The effect of another number of threads can be predicted only from two measured numbers.
    if numbers.len() < 2 {
        return None;
    }
    let why = "The best number of threads among those measured.";
    best_measured(study, SETTING, COLUMN, &others, why)
        .or_else(|| all_cores(study, &measured, own).map(|proposed| vec![proposed]))
        .or_else(|| fewer(study, &measured, own).map(|proposed| vec![proposed]))
}

/// Number of threads that the runs of a cell computed with.
fn threads(cell: &Cell<'_>) -> Option<f64> {
    over_runs(cell, |times| Some(times.threads as f64)).filter(|threads| *threads > 0.0)
}

/// Proposes as many threads as the machine has cores, if that is more than was measured.
fn all_cores(
    study: &WorkGroup<'_, '_>,
    measured: &[(f64, &Cell<'_>)],
    own: f64,
) -> Option<Recommendation> {
    let cores = study.cores()?;
    let (most, _) = measured.last().filter(|(most, _)| *most < cores)?;
    let points = measured.iter().flat_map(|(threads, cell)| {
        cell.times()
            .map(|times| (1.0 / *threads, times.step_mean_ms))
    });
    let line = FittedLine::fit(&points.collect::<Vec<_>>())?;
    let runs = study.anchor.counted.len().max(3);
    let predicted = line.growth(1.0 / cores, 1.0 / own, runs)?;
    (predicted[0] >= NEXT).then(|| Recommendation {
        triggers: format!("At most {most} threads were measured, on {cores} cores."),
        formula: format!(
            "step time t(p) = {} ms + {} ms ÷ p, fitted to the runs; ratio = t({own}) ÷ t({cores}), with its 95 % prediction \
             interval; no such number was measured",
            human(line.fixed, 3),
            human(line.each, 3)
        ),
        reasoning: "Steps still get shorter at the largest measured number of threads.".to_owned(),
        ..study.change(SETTING, cores as u64, Predicted::estimate(predicted))
    })
}

/// Proposes the smallest measured number of threads that keeps the throughput.
fn fewer(
    study: &WorkGroup<'_, '_>,
    measured: &[(f64, &Cell<'_>)],
    own: f64,
) -> Option<Recommendation> {
    let mut less = measured.iter().filter(|(threads, _)| *threads < own);
    let (cell, found) = less.find_map(|(_, cell)| {
        let found = paired_ratio(cell, study.anchor, COLUMN)?;
        (found.ratio.low >= KEPT).then_some((*cell, found))
    })?;
    let ratio = found.ratio;
    Some(Recommendation {
        claim: Claim::NoWorse,
        triggers: measured_effect_text(&found, COLUMN),
        formula: "ratio of the medians over these pairs; at least 0.95".to_owned(),
        reasoning: "What the threads do fits on fewer cores, which are then free for other runs."
            .to_owned(),
        ..study.change(
            SETTING,
            study.setting(cell, SETTING).clone(),
            Predicted::estimate([ratio.value, KEPT, ratio.high]),
        )
    })
}
