//! Other machines: threads by a fit with its error, devices as measured, nodes not at all.

use serde_json::Value;

use crate::base::statistics::{Line, fit_line};
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::sections::difference::part;
use crate::report::table::{Column, Entry, Row};

use super::figure::{At, Figure, Kind};
use super::rows::{has_many, interval, sides};

/// Values of an axis of threads from which on a fit is drawn.
const LEAST: usize = 3;

messages! {
    scenarios_title() = "Scenarios: threads, devices, nodes" | "Szenarien: Threads, Geräte, Knoten";
    scenarios_threads() = "Time per sample by threads" | "Zeit je Sample nach Threads";
    scenarios_about(fits) = "Fitted to the measured medians: time = serial + parallel ÷ threads (Amdahl). {fits} What is not measured is marked, and has twice the standard error of a single value." | "Angepasst an die gemessenen Mediane: Zeit = seriell + parallel ÷ Threads (Amdahl). {fits} Nicht Gemessenes ist gekennzeichnet und trägt den doppelten Standardfehler eines Einzelwerts.";
    scenarios_fit(side, serial, parallel, error) = "{side}: serial {serial}, parallel {parallel}, standard error {error}." | "{side}: seriell {serial}, parallel {parallel}, Standardfehler {error}.";
    scenarios_too_few(count) = "Threads: not measured. A fit with an error needs three values of “train.threads” on both sides, and these results have {count}; “threads = [1, 2, 4]” in “[matrix]” measures them on a machine with four cores." | "Threads: nicht gemessen. Eine Anpassung mit Fehlerangabe braucht auf beiden Seiten drei Werte von „train.threads“, diese Ergebnisse haben {count}; „threads = [1, 2, 4]“ in „[matrix]“ misst sie auf einer Maschine mit vier Kernen.";
    scenarios_devices(devices) = "Devices: measured on {devices} only. Another device is not measured: “device = [\"cpu\", \"cuda\"]” in “[matrix]” measures it where a build with CUDA and a GPU exist; no factor is assumed." | "Geräte: nur auf {devices} gemessen. Ein anderes Gerät ist nicht gemessen: „device = [\"cpu\", \"cuda\"]“ in „[matrix]“ misst es, wo ein Build mit CUDA und eine GPU vorhanden sind; ein Faktor wird nicht angenommen.";
    scenarios_devices_many(devices) = "Devices: measured on {devices}; each has its cells in the tables above." | "Geräte: gemessen auf {devices}; jedes hat seine Zellen in den Tabellen oben.";
    scenarios_nodes() = "Nodes: not measured. A run trains on one machine; runs of one experiment are not spread over several here, so that there is no figure to extrapolate from." | "Knoten: nicht gemessen. Ein Lauf trainiert auf einer Maschine; die Läufe eines Versuchs werden hier nicht auf mehrere verteilt, sodass es keine Zahl gibt, aus der sich hochrechnen ließe.";
    scenarios_threads_column() = "threads" | "Threads";
    scenarios_fitted(side) = "{side}, fit" | "{side}, Anpassung";
    scenarios_is() = "what it is" | "was es ist";
    scenarios_measured() = "measured" | "gemessen";
    scenarios_not_measured() = "not measured: from the fit" | "nicht gemessen: aus der Anpassung";
    scenarios_setting() = "“train.threads” of the cell" | "„train.threads“ der Zelle";
    scenarios_fit_how() = "serial + parallel ÷ threads, least squares" | "seriell + parallel ÷ Threads, kleinste Quadrate";
}

/// One side's times by threads, and the fit to them.
struct Curve<'v, 'a> {
    points: Vec<(f64, At<'v, 'a>)>,
    fit: Line,
}

/// The section.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let duo = scene.shown().next()?;
    let mut section = Section::titled("scenarios", words.scenarios_title());
    let (before, after) = sides(scene, &duo);
    let points = [before, after].map(|at| by_threads(at));
    let least = points.iter().map(Vec::len).min().unwrap_or(0);
    match curves(points) {
        Some(curves) => add_threads(scene, &duo, &curves, &mut section),
        None => section
            .points
            .push(words.scenarios_too_few(words.count(least))),
    }
    let devices = devices(scene);
    section.points.push(if devices.len() > 1 {
        words.scenarios_devices_many(words.listed(&devices, 8))
    } else {
        words.scenarios_devices(words.listed(&devices, 8))
    });
    section.points.push(words.scenarios_nodes());
    Some(section)
}

/// Measured cells that differ from `at` in threads only, by threads.
fn by_threads<'v, 'a>(at: At<'v, 'a>) -> Vec<(f64, At<'v, 'a>)> {
    let axes = &at.view.set.plan.axes;
    let Some(place) = axes.iter().position(|axis| axis.path == "train.threads") else {
        let own = threads(at).filter(|_| at.cell.is_measured());
        return own.map(|threads| (threads, at)).into_iter().collect();
    };
    let is_alike = |other: &[String]| {
        let pairs = at.cell.info.axes.iter().zip(other).enumerate();
        let mut others = pairs.filter(|(axis, _)| *axis != place);
        others.all(|(_, (own, other))| own == other)
    };
    let cells = at.view.cells.iter().filter(|cell| cell.is_measured());
    let alike = cells.filter(|cell| is_alike(&cell.info.axes));
    let found = alike.map(|cell| At {
        view: at.view,
        cell,
    });
    let mut points: Vec<(f64, At<'v, 'a>)> =
        found.filter_map(|at| Some((threads(at)?, at))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.dedup_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    points
}

/// Threads that a cell's runs computed with.
fn threads(at: At<'_, '_>) -> Option<f64> {
    Some(at.cell.counted.first()?.times.as_ref()?.threads as f64)
}

fn curves<'v, 'a>(both: [Vec<(f64, At<'v, 'a>)>; 2]) -> Option<[Curve<'v, 'a>; 2]> {
    let [before, after] = both.map(|points| {
        let fit = fit(&points)?;
        Some(Curve { points, fit })
    });
    Some([before?, after?])
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

fn add_threads(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    curves: &[Curve<'_, '_>; 2],
    section: &mut Section,
) {
    let words = scene.words;
    let names = [words.before(), words.after()];
    let fits = names.iter().zip(curves).map(|(name, curve)| {
        let show = |value: f64| Kind::Milliseconds.show(words, value);
        let fit = &curve.fit;
        words.scenarios_fit(name, show(fit.offset), show(fit.slope), show(fit.residual))
    });
    let fits: Vec<String> = fits.collect();
    let mut about = words.scenarios_about(fits.join(" "));
    if has_many(scene) {
        about = format!("{}: {about}", scene.name(duo));
    }
    let naming = ("threads", words.scenarios_threads(), about);
    section.tables.push(super::rows::plain(
        naming,
        columns(words),
        rows(words, curves),
    ));
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

/// Measured threads, and twice the most of them.
fn rows(words: Words, curves: &[Curve<'_, '_>; 2]) -> Vec<Row> {
    let mut all: Vec<f64> = curves
        .iter()
        .flat_map(|c| c.points.iter().map(|p| p.0))
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let most = all.last().copied().unwrap_or(1.0);
    all.push(most * 2.0);
    let row = |threads: f64| {
        let measured = |curve: &Curve<'_, '_>| {
            let at = curve
                .points
                .iter()
                .find(|point| point.0.total_cmp(&threads).is_eq())?
                .1;
            Figure::SampleTime.over_runs(at)
        };
        let both = [measured(&curves[0]), measured(&curves[1])];
        let is_measured = both.iter().any(Option::is_some);
        let mut fields = vec![Entry::value(threads, words.count(threads as usize))];
        fields.extend(both.map(|found| {
            found.map_or_else(
                || Entry::text("–"),
                |found| interval(words, Kind::Milliseconds, &found),
            )
        }));
        fields.extend(
            curves
                .iter()
                .map(|curve| fitted(words, &curve.fit, threads)),
        );
        fields.push(Entry::text(if is_measured {
            words.scenarios_measured()
        } else {
            words.scenarios_not_measured()
        }));
        Row {
            key: String::new(),
            fields,
            missing: None,
        }
    };
    all.into_iter().map(row).collect()
}

fn fitted(words: Words, fit: &Line, threads: f64) -> Entry {
    let show = |value: f64| Kind::Milliseconds.show(words, value);
    let value = fit.at(1.0 / threads);
    let error = fit.prediction_error(1.0 / threads);
    Entry {
        detail: error.map_or_else(String::new, |error| format!("± {}", show(2.0 * error))),
        interval: error.map(|error| (value - 2.0 * error, value + 2.0 * error)),
        ..Entry::value(value, show(value))
    }
}

/// Devices of all measured cells.
fn devices(scene: &Scene<'_>) -> Vec<String> {
    let views = [&scene.before, &scene.after];
    let of = |view| {
        let view: &crate::report::view::View<'_> = view;
        let cells = view.cells.iter().filter(|cell| cell.is_measured());
        let names =
            cells.filter_map(|cell| part(view, cell, "train.device").and_then(Value::as_str));
        names.map(str::to_owned).collect::<Vec<String>>()
    };
    let mut names: Vec<String> = views.into_iter().flat_map(of).collect();
    names.sort_unstable();
    names.dedup();
    names
}
