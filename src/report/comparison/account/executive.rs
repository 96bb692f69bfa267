//! The lines of the summary that only a comparison of one pair of cells has: a validation, the time to a loss.

use crate::compare::Ratio;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::comparison::sections::summary::{Line, change};
use crate::results::{Direction, interval_over_runs};

use super::figure::{At, Figure, Kind};
use super::rows::{interval, ratio, sides};
use super::spread::Runs;
use super::until;

/// The lines; none of several pairs, of which each has rows in the sections below.
pub(crate) fn lines(scene: &Scene<'_>) -> Vec<Line> {
    let mut duos = scene.duos();
    let (Some(duo), None) = (duos.next(), duos.next()) else {
        return Vec::new();
    };
    let pass = pass(scene, &duo).into_iter();
    pass.chain(equal_loss(scene, &duo)).collect()
}

fn pass(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Option<Line> {
    let figure = Figure::Pass;
    let name = figure.name(scene.words);
    let runs = sides(scene, duo);
    let runs = (figure.runs(runs.0), figure.runs(runs.1));
    line(scene, duo, name, runs, ratio(scene, duo, figure)?)
}

fn equal_loss(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Option<Line> {
    let (goal, ratio) = until::equal_loss(scene, duo)?;
    let (before, after) = sides(scene, duo);
    let runs = (goal.runs(before), goal.runs(after));
    line(scene, duo, goal.name(scene.words), runs, ratio)
}

fn line(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    name: String,
    (before, after): (Runs, Runs),
    ratio: Ratio,
) -> Option<Line> {
    let words = scene.words;
    let (old, new) = sides(scene, duo);
    let entry = |at: At<'_, '_>, runs: Runs| {
        let values: Vec<f64> = runs.into_values().collect();
        let found = interval_over_runs(&at.cell.info.key, &values)?;
        Some(interval(words, Kind::Seconds, &found))
    };
    let is_open = ratio.low <= 1.0 && ratio.high >= 1.0;
    let direction = if is_open {
        Direction::None
    } else {
        Direction::Lower
    };
    let mut changed = change(words, ratio.value, direction);
    changed.detail = words.direction(&ratio);
    Some(Line {
        name,
        unit: "",
        direction: Direction::Lower,
        cells: 1,
        before: entry(old, before)?,
        after: entry(new, after)?,
        change: changed,
    })
}
