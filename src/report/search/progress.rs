//! The best value so far over the search's time.

use crate::base::text::capitalised;
use crate::base::units::human_seconds;
use crate::report::plot::{MAX_SERIES, Point, PointPlot};
use crate::report::sections::plots::PlotContext;

use super::objective::Objective;
use super::trial::{Ending, Trial};
use super::trials::{Search, Study};

/// The best value so far: where it improved, and where the curve ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct BestSoFar {
    /// Position on the axis, value and trial number of every improvement.
    pub(crate) steps: Vec<(f64, f64, usize)>,
    /// Position on the axis at which the last trial ended.
    pub(crate) end: f64,
}

impl BestSoFar {
    /// Computes the curve from positions, values and numbers of trials, sorted by position.
    fn of(objective: &Objective, values: &[(f64, Option<f64>, usize)]) -> Self {
        let mut best = Self::default();
        for &(at, value, number) in values {
            best.end = best.end.max(at);
            let Some(value) = value else {
                continue;
            };
            let loss = |value: f64| objective.direction.as_loss(value);
            let is_better = |last: &(f64, f64, usize)| loss(value) < loss(last.1);
            if best.steps.last().is_none_or(is_better) {
                best.steps.push((at, value, number));
            }
        }
        best
    }

    /// A study's best value over the search's time, in seconds.
    pub(crate) fn over_time(
        search: &Search<'_, '_>,
        study: &Study<'_, '_>,
        objective: &Objective,
    ) -> Self {
        Self::of(objective, &values(search, study, objective))
    }

    /// The improvements as points of a plot; `about` gives the tooltip from position and trial number.
    pub(crate) fn points(&self, about: impl Fn(f64, usize) -> String) -> Vec<Point> {
        let point = |&(x, y, number): &(f64, f64, usize)| Point {
            x,
            y,
            about: about(y, number),
            ..Point::default()
        };
        self.steps.iter().map(point).collect()
    }

    /// The curve as a staircase: constant until the next improvement.
    pub(crate) fn staircase(&self) -> Vec<(f64, f64)> {
        let mut line = staircase(self.steps.iter().map(|&(x, y, _)| (x, y)));
        line.extend(self.steps.last().map(|&(_, last, _)| (self.end, last)));
        line
    }
}

/// Points joined by steps: each value holds until the next point.
pub(super) fn staircase(points: impl IntoIterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut line: Vec<(f64, f64)> = Vec::new();
    for (x, y) in points {
        line.extend(line.last().map(|&(_, before)| (x, before)));
        line.push((x, y));
    }
    line
}

/// Position, value and number of every trial, sorted by position.
fn values(
    search: &Search<'_, '_>,
    study: &Study<'_, '_>,
    objective: &Objective,
) -> Vec<(f64, Option<f64>, usize)> {
    let value = |trial: &Trial<'_, '_>| {
        let is_done = trial.ending() == Ending::Done;
        objective.value(trial).filter(|_| is_done)
    };
    let trials = study.trials.iter();
    let found =
        trials.filter_map(|trial| Some((search.end_s(trial)?, value(trial), trial.info.number)));
    let mut found: Vec<(f64, Option<f64>, usize)> = found.collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
    found
}

/// Plot of the best value of the first objective over time; `None` if no times were recorded.
pub(crate) fn plot(search: &Search<'_, '_>) -> Option<PlotContext> {
    let objective = search.first_objective();
    let limit = limit(search, objective);
    let mut left_out = 0;
    let (mut series, mut lines, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    for study in search.studies.iter().take(MAX_SERIES) {
        let found = values(search, study, objective);
        let best = BestSoFar::of(objective, &found);
        let points = best.points(|y, number| {
            format!("trial {number}: {} {}", objective.column, objective.show(y))
        });
        let values = found.iter().filter_map(|(x, y, _)| Some((*x, (*y)?)));
        let is_near = |&(_, y): &(f64, f64)| objective.direction.as_loss(y) <= limit;
        let (near, far): (Vec<_>, Vec<_>) = values.partition(is_near);
        left_out += far.len();
        dots.push(near);
        lines.push(best.staircase());
        series.push(study.series("best so far", points));
    }
    if lines.iter().all(|line| line.len() < 2) {
        return None;
    }
    let drawn = lines.iter().chain(&dots).flatten();
    let ys: Vec<f64> = drawn.map(|(_, y)| *y).collect();
    let drawing = PointPlot {
        about: format!("{} over time", objective.best_in_words()),
        x_label: "seconds since the first trial began".to_owned(),
        y_label: objective.label(),
        y_scale: objective.scale(&ys),
        series,
        lines,
        dots,
        ..PointPlot::default()
    };
    let ends = search.trials().filter_map(|trial| search.end_s(&trial));
    let end = human_seconds(ends.fold(0.0, f64::max));
    let mut caption = format!(
        "Line: the best value of done trials so far; marks: where it improved; dots: every done trial, n = 1. Pruned and failed \
         trials have no value. Measured: the end of each trial by start and wall time in blocks.csv; the clock stands still \
         between sessions and ends at {end}."
    );
    if objective.is_per_run {
        caption += " Depends on the clock.";
    }
    if left_out > 0 {
        caption = format!("{caption} {left_out} dots of far worse values are left out.");
    }
    Some(PlotContext {
        id: format!("search-time-{}", objective.place),
        title: capitalised(&format!("{} over time", objective.name)),
        caption: caption + &search.not_drawn(),
        svg: drawing.draw(),
    })
}

/// The largest loss that is drawn, since larger ones would make the others indistinguishable:
/// `best + 10 max(median − best, |best|)` over the done trials. Infinite for objectives that are not computed from
/// data.
fn limit(search: &Search<'_, '_>, objective: &Objective) -> f64 {
    let done = search
        .trials()
        .filter(|trial| trial.ending() == Ending::Done);
    let losses = done.filter_map(|trial| objective.loss(&trial));
    let mut losses: Vec<f64> = losses.collect();
    losses.sort_by(f64::total_cmp);
    let ends = losses.first().zip(losses.get(losses.len() / 2));
    // Only losses and metrics can have extreme values; sizes and counts are always shown.
    let ends = ends.filter(|_| objective.is_of_data());
    ends.map_or(f64::INFINITY, |(best, middle)| {
        best + 10.0 * (middle - best).max(best.abs())
    })
}
