//! The best value so far over the search's time.

use crate::report::plot::Point;

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

/// A study's best value of the first objective over the search's time in seconds, and time and value of every done trial.
pub(crate) fn best_over_time(
    search: &Search<'_, '_>,
    study: &Study<'_, '_>,
) -> (BestSoFar, Vec<(f64, f64)>) {
    let objective = search.first_objective();
    let found = values(search, study, objective);
    let done = found
        .iter()
        .filter_map(|(at, value, _)| Some((*at, (*value)?)));
    (BestSoFar::of(objective, &found), done.collect())
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

/// The largest loss that is drawn, since larger ones would make the others indistinguishable:
/// `best + 10 max(median − best, |best|)` over the done trials. Infinite for objectives that are not computed from
/// data.
pub(crate) fn drawn_loss_limit(search: &Search<'_, '_>) -> f64 {
    let objective = search.first_objective();
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
