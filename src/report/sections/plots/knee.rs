//! Throughput against batch size, with the knee of each curve.

use crate::report::judged::plain;
use crate::report::measure::Measure;
use crate::report::plot::{Guide, LinePlot, Point, SERIES, ScaleKind, Series};
use crate::report::sections::batch_curve::{AXIS, knee, tolerance};
use crate::report::sections::speed::throughput;
use crate::report::sections::sweep::{Sweep, sweeps};
use crate::report::view::View;

use super::PlotContext;
use super::over_axis::whiskers;

pub(crate) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let mut found = sweeps(view, AXIS, &[]);
    found.retain(Sweep::is_curve);
    if found.is_empty() {
        return Vec::new();
    }
    let shown = &found[..found.len().min(SERIES)];
    let series: Vec<Series> = shown.iter().map(|sweep| series(view, sweep)).collect();
    let sizes = shown
        .iter()
        .flat_map(|sweep| sweep.cells.iter().map(|(_, size)| *size));
    let plot = LinePlot {
        about: "Throughput over batch size".to_owned(),
        x_label: "batch size".to_owned(),
        x_scale: ScaleKind::for_values(&sizes.collect::<Vec<f64>>()),
        x_settings: true,
        y_label: "throughput in samples/s".to_owned(),
        series,
        guides: guides(view, shown),
        ..LinePlot::default()
    };
    let cut = if found.len() > SERIES {
        format!(" The first {SERIES} of {} curves.", found.len())
    } else {
        String::new()
    };
    vec![PlotContext {
        id: "knee-batch-size".to_owned(),
        title: "Batch size and its knee".to_owned(),
        caption: format!(
            "Measured: medians over runs{}. Upright: the smallest batch size within {} % of the highest throughput of \
             its curve.{cut}",
            whiskers(view),
            plain(tolerance(view) * 100.0)
        ),
        svg: plot.draw(),
    }]
}

fn series(view: &View<'_>, sweep: &Sweep<'_, '_>) -> Series {
    let name = sweep.name(view);
    let measure = Measure::of("samples_per_s");
    let points = sweep.cells.iter().filter_map(|(cell, size)| {
        let speed = throughput(cell)?;
        Some(Point {
            x: *size,
            y: speed.value,
            interval: measure.ends(cell),
            runs: measure.values(cell),
            about: format!("{name}, batch size {size}: {} {}", speed.text, speed.unit),
            ..Point::default()
        })
    });
    let points = points.collect();
    let series = Series {
        name,
        points,
        is_band: false,
    };
    series.condensed()
}

/// One guide for each place where a curve has its knee.
fn guides(view: &View<'_>, shown: &[Sweep<'_, '_>]) -> Vec<Guide> {
    let mut places: Vec<(f64, Vec<String>)> = Vec::new();
    for sweep in shown {
        let Some(found) = knee(sweep, tolerance(view)) else {
            continue;
        };
        let at = sweep
            .cells
            .iter()
            .find(|(cell, _)| cell.info.key == found.cell.info.key);
        let Some((_, size)) = at else { continue };
        let name = sweep.name(view);
        // The same size in several curves is the same number.
        match places
            .iter_mut()
            .find(|(place, _)| place.total_cmp(size).is_eq())
        {
            Some((_, names)) => names.push(name),
            None => places.push((*size, vec![name])),
        }
    }
    let text = |names: &[String]| match names {
        _ if shown.len() == 1 || names.len() == shown.len() => "knee".to_owned(),
        [one] => format!("knee: {one}"),
        several => format!("knee of {} curves", several.len()),
    };
    places
        .iter()
        .map(|(place, names)| Guide::X(*place, text(names)))
        .collect()
}
