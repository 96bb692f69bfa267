//! Plots of Pareto fronts: the first objective over each further one.

use crate::report::plot::{MAX_SERIES, Point, PointPlot};
use crate::report::sections::plots::{self, PlotContext};

use super::front::sides;
use super::objective::Objective;
use super::progress::staircase;
use super::trial::{Ending, Trial};
use super::trials::Search;

/// Largest number of labels; more would hide the points.
const LABELS: usize = 12;

/// Plots of the fronts: the first objective over each further one, all studies in one plot.
pub(crate) fn plots(search: &Search<'_, '_>) -> Vec<PlotContext> {
    let Some((first, others)) = search.objectives.split_first() else {
        return Vec::new();
    };
    let drawings = others.iter().filter_map(|other| plot(search, first, other));
    drawings.collect()
}

fn plot(search: &Search<'_, '_>, first: &Objective, other: &Objective) -> Option<PlotContext> {
    let sides = sides(search);
    let labelled = sides.iter().map(|side| side.front.len()).sum::<usize>() <= LABELS;
    let place = |trial: &Trial<'_, '_>| Some((other.value(trial)?, first.value(trial)?));
    let (mut series, mut lines, mut dots) = (Vec::new(), Vec::new(), Vec::new());
    for side in sides.iter().take(MAX_SERIES) {
        let points = side.front.iter().filter_map(|trial| {
            let (x, y) = place(trial)?;
            let (name, other_y, first_y) = (search.trial_name(trial), other.show(x), first.show(y));
            Some(Point {
                x,
                y,
                label: if labelled {
                    trial.info.number.to_string()
                } else {
                    String::new()
                },
                about: format!(
                    "{name}: {} {other_y}, {} {first_y}",
                    other.column, first.column
                ),
                ..Point::default()
            })
        });
        let points: Vec<Point> = points.collect();
        lines.push(if search.objectives.len() == 2 {
            // Points sorted from the best value of the second objective on: between two points the staircase keeps the
            // first one's value.
            let mut front: Vec<(f64, f64)> = points.iter().map(|one| (one.x, one.y)).collect();
            let loss = |x: f64| other.direction.as_loss(x);
            front.sort_by(|a, b| loss(a.0).total_cmp(&loss(b.0)));
            staircase(front)
        } else {
            Vec::new()
        });
        let done = side.study.trials_that_ended(Ending::Done);
        dots.push(done.filter_map(|trial| place(&trial)).collect());
        series.push(side.study.series("Pareto front", points));
    }
    let (xs, ys): (Vec<f64>, Vec<f64>) = dots.iter().flatten().copied().unzip();
    if xs.len() < 2 {
        return None;
    }
    let drawn = PointPlot {
        series,
        lines,
        dots,
        ..PointPlot::default()
    };
    let axis = |one: &Objective, values: &[f64]| (one.name.clone(), one.label(), one.scale(values));
    let caption = caption(search, first.is_per_run || other.is_per_run, labelled);
    let id = format!("search-front-{}", other.place);
    Some(plots::front(
        id,
        [axis(first, &ys), axis(other, &xs)],
        caption,
        drawn,
    ))
}

fn caption(search: &Search<'_, '_>, is_per_run: bool, labelled: bool) -> String {
    let with_numbers = if labelled {
        ", with the number of the trial"
    } else {
        ""
    };
    let clock = if is_per_run {
        " Depends on the clock."
    } else {
        ""
    };
    format!(
        "A dot is a done trial, n = 1; larger marks are the Pareto front of their study over all \
         objectives{with_numbers}.{}{clock}",
        search.not_drawn()
    )
}
