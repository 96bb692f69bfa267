//! Other numbers of threads, by a fit with its error.

use crate::base::statistics::{Line, fit_line};
use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};

use super::figure::{Figure, Kind};
use super::rows::{Measure, interval_or_dash};

/// Values of an axis of threads from which on a fit is drawn.
const LEAST: usize = 3;

messages! {
    scenarios_title() = "Scenarios: threads" | "Szenarien: Threads";
    scenarios_threads() = "Time per sample by threads" | "Zeit je Sample nach Threads";
    scenarios_about(fits) = "Fitted to the measured medians: time = serial + parallel ÷ threads (Amdahl). {fits} What is not measured is marked, and has twice the standard error of a single value." | "Angepasst an die gemessenen Mediane: Zeit = seriell + parallel ÷ Threads (Amdahl). {fits} Nicht Gemessenes ist gekennzeichnet und trägt den doppelten Standardfehler eines Einzelwerts.";
    scenarios_fit(side, serial, parallel, error) = "{side}: serial {serial}, parallel {parallel}, standard error {error}." | "{side}: seriell {serial}, parallel {parallel}, Standardfehler {error}.";
    scenarios_threads_column() = "threads" | "Threads";
    scenarios_fitted(side) = "{side}, fit" | "{side}, Anpassung";
    scenarios_is() = "what it is" | "was es ist";
    scenarios_measured() = "measured" | "gemessen";
    scenarios_not_measured() = "not measured: from the fit" | "nicht gemessen: aus der Anpassung";
    scenarios_setting() = "“train.threads” of the cell" | "„train.threads“ der Zelle";
    scenarios_fit_how() = "serial + parallel ÷ threads, least squares" | "seriell + parallel ÷ Threads, kleinste Quadrate";
}

/// One side's measured cells by threads.
type Points<'v, 'a> = Vec<(f64, At<'v, 'a>)>;

/// The section; `None` where fewer than three numbers of threads were measured on a side.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let duo = scene.shown().next()?;
    let points = duo.both.map(by_threads);
    let [Some(before), Some(after)] = points.each_ref().map(|points| fit(points)) else {
        return None;
    };
    let table = threads_table(scene, &duo, &points, &[before, after]);
    Some(Section {
        tables: vec![table],
        ..Section::titled("scenarios", scene.words.scenarios_title())
    })
}

/// Measured cells that differ from `at` in threads only, by threads.
fn by_threads<'v, 'a>(at: At<'v, 'a>) -> Points<'v, 'a> {
    let axes = &at.view.set.plan.axes;
    let place = axes.iter().position(|axis| axis.path == "train.threads");
    let is_alike = |other: &[String]| {
        let pairs = at.cell.info.axes.iter().zip(other).enumerate();
        let mut others = pairs.filter(|(axis, _)| Some(*axis) != place);
        others.all(|(_, (own, other))| own == other)
    };
    let alike = at.view.measured().filter(|cell| is_alike(&cell.info.axes));
    let found = alike.map(|cell| At {
        view: at.view,
        cell,
    });
    let mut points: Points<'v, 'a> = found.filter_map(|at| Some((threads(at)?, at))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    points
}

/// Threads that a cell's runs computed with.
fn threads(at: At<'_, '_>) -> Option<f64> {
    Some(at.cell.counted.first()?.times.as_deref()?.threads as f64)
}

/// `time = serial + parallel ÷ threads`, from three values on.
fn fit(points: &[(f64, At<'_, '_>)]) -> Option<Line> {
    let xy = points.iter().filter_map(|(threads, at)| {
        let time = Figure::SampleTime.over_runs(*at)?;
        Some((1.0 / threads, time.median))
    });
    let xy: Vec<(f64, f64)> = xy.collect();
    if xy.len() < LEAST {
        return None;
    }
    fit_line(&xy)
}

/// Measured threads, and twice the most of them.
fn threads_table(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    points: &[Points<'_, '_>; 2],
    fits: &[Line; 2],
) -> Table {
    let words = scene.words;
    let show = |value: f64| Kind::Milliseconds.show(words, value);
    let named = [words.before(), words.after()].into_iter().zip(fits);
    let fitted: Vec<String> = named
        .map(|(name, fit)| {
            words.scenarios_fit(name, show(fit.offset), show(fit.slope), show(fit.residual))
        })
        .collect();
    let mut about = words.scenarios_about(fitted.join(" "));
    if scene.duos().nth(1).is_some() {
        about = format!("{}: {about}", scene.label(duo.pair));
    }
    let mut threads: Vec<f64> = points
        .iter()
        .flatten()
        .map(|(threads, _)| *threads)
        .collect();
    threads.sort_by(f64::total_cmp);
    threads.dedup();
    threads.extend(threads.last().map(|most| most * 2.0));
    let rows = threads
        .into_iter()
        .map(|threads| row(words, threads, points, fits));
    let naming = ("threads", &*words.scenarios_threads(), about);
    Table::of_rows(naming, columns(words), rows.collect())
}

fn columns(words: Words) -> Vec<Column> {
    let set = Provenance::Assumed(words.scenarios_setting());
    let measured = Provenance::Measured(words.median_of_runs());
    let fit = Provenance::Derived(words.scenarios_fit_how());
    vec![
        words.column(words.scenarios_threads_column(), "", &set),
        words.column(words.before(), "", &measured),
        words.column(words.after(), "", &measured),
        words.column(words.scenarios_fitted(words.before()), "", &fit),
        words.column(words.scenarios_fitted(words.after()), "", &fit),
        Column::text(&words.scenarios_is()),
    ]
}

fn row(words: Words, threads: f64, points: &[Points<'_, '_>; 2], fits: &[Line; 2]) -> Row {
    let measured = points.each_ref().map(|points| {
        let mut points = points.iter();
        let found = points.find(|point| point.0.total_cmp(&threads).is_eq())?;
        Figure::SampleTime.over_runs(found.1)
    });
    let mut fields = vec![Entry::value(threads, words.count(threads as usize))];
    let shown = |found: &Option<_>| interval_or_dash(words, Kind::Milliseconds, found.as_ref());
    fields.extend(measured.iter().map(shown));
    fields.extend(fits.iter().map(|fit| fitted(words, fit, threads)));
    fields.push(Entry::text(if measured == [None, None] {
        words.scenarios_not_measured()
    } else {
        words.scenarios_measured()
    }));
    Row::new("", fields)
}

fn fitted(words: Words, fit: &Line, threads: f64) -> Entry {
    let show = |value: f64| Kind::Milliseconds.show(words, value);
    let value = fit.at(1.0 / threads);
    let error = fit.prediction_error(1.0 / threads);
    let mut entry = Entry::value(value, show(value));
    if let Some(error) = error.map(|error| 2.0 * error) {
        entry.detail = format!("± {}", show(error));
        entry.interval = Some((value - error, value + error));
    }
    entry
}
