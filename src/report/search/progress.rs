//! The best value so far, against trials and against the search's clock.

use crate::base::text::capitalised;
use crate::base::units::human_seconds;
use crate::report::plot::{Point, SERIES, ScatterPlot, Series};
use crate::report::sections::plots::PlotContext;

use super::objective::Objective;
use super::trials::{Ending, Search, Study, Trial};

/// Improvements that have a mark each.
const MARKED: usize = 60;
/// From this factor between the best and the worst value on, the worst are left out of a drawing.
const FAR: f64 = 20.0;

/// What the x axis is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Trials,
    Time,
}

/// The best value so far: where it improved, and where the curve ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct BestSoFar {
    /// Place, value and trial of every improvement.
    pub(crate) steps: Vec<(f64, f64, usize)>,
    /// Where the last trial ended.
    pub(crate) end: f64,
}

impl BestSoFar {
    /// From places and values in order of the places.
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

    /// Of a study over the search's clock, in seconds.
    pub(crate) fn over_time(
        search: &Search<'_, '_>,
        study: &Study<'_, '_>,
        objective: &Objective,
    ) -> Self {
        Self::of(objective, &values(search, study, objective, Over::Time))
    }

    /// The line of a drawing: level until the next improvement, then straight to it.
    pub(crate) fn staircase(&self) -> Vec<(f64, f64)> {
        let mut line: Vec<(f64, f64)> = Vec::new();
        for &(x, y, _) in &self.steps {
            if let Some(&(_, before)) = line.last() {
                line.push((x, before));
            }
            line.push((x, y));
        }
        if let Some(&(_, last)) = line.last() {
            line.push((self.end, last));
        }
        line
    }
}

/// Place, value and number of every trial, in order of the places.
fn values(
    search: &Search<'_, '_>,
    study: &Study<'_, '_>,
    objective: &Objective,
    over: Over,
) -> Vec<(f64, Option<f64>, usize)> {
    let place = |trial: &Trial<'_, '_>| match over {
        Over::Trials => Some(trial.info.number as f64),
        Over::Time => search.end_s(trial),
    };
    let value = |trial: &Trial<'_, '_>| {
        let is_done = trial.ending() == Ending::Done;
        objective.value(trial).filter(|_| is_done)
    };
    let trials = study.trials.iter();
    let found = trials.filter_map(|trial| Some((place(trial)?, value(trial), trial.info.number)));
    let mut found: Vec<(f64, Option<f64>, usize)> = found.collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.2.cmp(&b.2)));
    found
}

/// Over trials and over time, for every objective.
pub(crate) fn plots(search: &Search<'_, '_>) -> Vec<PlotContext> {
    let all = search
        .objectives
        .iter()
        .flat_map(|objective| [Over::Trials, Over::Time].map(|over| plot(search, objective, over)));
    all.flatten().collect()
}

impl Over {
    /// Label of the axis, words of the title, part of the id.
    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Trials => ("trial", "over trials", "trials"),
            Self::Time => ("seconds since the first trial began", "over time", "time"),
        }
    }
}

fn plot(search: &Search<'_, '_>, objective: &Objective, over: Over) -> Option<PlotContext> {
    let (mut series, mut lines, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    for study in search.studies.iter().take(SERIES) {
        let found = values(search, study, objective, over);
        let best = BestSoFar::of(objective, &found);
        let points = best.steps.iter().map(|&(x, y, number)| Point {
            x,
            y,
            about: format!("trial {number}: {} {}", objective.column, objective.show(y)),
            ..Point::default()
        });
        let mut points: Vec<Point> = points.collect();
        // Of very many improvements only the line is drawn.
        points.truncate(if points.len() > MARKED { 1 } else { MARKED });
        dots.push(
            found
                .iter()
                .filter_map(|(x, value, _)| Some((*x, (*value)?)))
                .collect(),
        );
        lines.push(best.staircase());
        series.push(Series {
            name: if study.name.is_empty() {
                "best so far".to_owned()
            } else {
                study.name.clone()
            },
            points,
            is_band: false,
        });
    }
    let left_out = without_far(objective, &lines, &mut dots);
    if lines.iter().all(|line| line.len() < 2) {
        return None;
    }
    let ys: Vec<f64> = lines
        .iter()
        .chain(&dots)
        .flatten()
        .map(|(_, y)| *y)
        .collect();
    let (x_label, words, id) = over.names();
    let drawing = ScatterPlot {
        about: format!("Best {} {words}", objective.name),
        x_label: x_label.to_owned(),
        y_label: objective.label(),
        y_scale: objective.scale(&ys),
        series,
        lines,
        dots,
        ..ScatterPlot::default()
    };
    Some(PlotContext {
        id: format!("search-{id}-{}", objective.place),
        title: capitalised(&format!("{} {words}", objective.name)),
        caption: caption(search, objective, over, left_out),
        svg: drawing.draw(),
    })
}

/// Leaves out dots that lie so far from the best that they would squeeze everything else; returns how many.
fn without_far(
    objective: &Objective,
    lines: &[Vec<(f64, f64)>],
    dots: &mut [Vec<(f64, f64)>],
) -> usize {
    let best = lines
        .iter()
        .flatten()
        .map(|(_, y)| objective.direction.as_loss(*y));
    let ends: Vec<f64> = best.collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let reach = (high - low).max(low.abs()) * FAR;
    let mut left_out = 0;
    for dots in dots {
        let before = dots.len();
        dots.retain(|(_, y)| objective.direction.as_loss(*y) <= low + reach);
        left_out += before - dots.len();
    }
    left_out
}

fn caption(search: &Search<'_, '_>, objective: &Objective, over: Over, left_out: usize) -> String {
    let mut text = "Line: the best value of done trials so far; marks: where it improved; dots: every done trial, n = 1. \
                    Pruned and failed trials have no value."
        .to_owned();
    if over == Over::Time {
        let end = search
            .trials()
            .filter_map(|trial| search.end_s(&trial))
            .fold(0.0, f64::max);
        text = format!(
            "{text} Measured: the end of each trial by start and wall time in blocks.csv; the clock stands still between \
             sessions and ends at {}.",
            human_seconds(end)
        );
    }
    if objective.is_clock {
        text += " Depends on the clock.";
    }
    if left_out > 0 {
        text = format!("{text} {left_out} dots of far worse values are left out.");
    }
    if search.studies.len() > SERIES {
        let all = search.studies.len();
        text = format!("{text} The first {SERIES} of {all} studies.");
    }
    text
}
