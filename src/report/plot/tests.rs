//! Tests: one drawing of every kind of plot, checked by rules that hold for all. `FIELDTRIAL_GALLERY=FOLDER` writes the
//! drawings into that folder.

use super::{Bar, BarPlot, DotPlot, DotRow, Point, PointPlot, ScaleKind, Segment, Series};
use crate::report::plot::standalone;
use crate::results::testing::assert_contains;

fn point(x: f64, y: f64) -> Point {
    Point {
        x,
        y,
        interval: Some((y * 0.95, y * 1.04)),
        runs: vec![y * 0.95, y, y * 1.04],
        label: format!("cell {x}"),
        about: format!("{x}: {y}"),
        ..Point::default()
    }
}

fn series(name: &str, points: &[(f64, f64)]) -> Series {
    Series {
        name: name.into(),
        points: points.iter().map(|&(x, y)| point(x, y)).collect(),
        is_band: false,
    }
}

fn batch_curve() -> PointPlot {
    let speeds = |factor: f64| {
        [(8.0, 8.9), (16.0, 9.6), (32.0, 9.9), (64.0, 10.0)].map(|(x, y)| (x, y * factor))
    };
    PointPlot {
        is_joined: true,
        about: "Throughput over batch size".into(),
        x_label: "batch-size".into(),
        x_scale: ScaleKind::Log2,
        x_settings: true,
        y_label: "throughput in samples/s".into(),
        series: vec![
            series("workers 0", &speeds(1.0)),
            series("workers 4", &speeds(1.1)),
            series("workers 8", &speeds(1.12)),
        ],
        guides: vec![(16.0, "knee: 16".into())],
        ..PointPlot::default()
    }
}

fn losses() -> PointPlot {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let lines = names.iter().enumerate().map(|(index, name)| {
        let y = |epoch: f64| (2.0 + index as f64) * (-epoch / 9.0).exp() + 0.002;
        let points = (0..40).map(|epoch| Point {
            x: f64::from(epoch),
            y: y(f64::from(epoch)),
            ..Point::default()
        });
        Series {
            name: format!("learning-rate {name}"),
            points: points.collect(),
            is_band: false,
        }
    });
    PointPlot {
        is_joined: true,
        about: "Loss over epochs".into(),
        x_label: "epoch".into(),
        y_label: "val loss".into(),
        y_scale: ScaleKind::Log10,
        series: lines.collect(),
        ..PointPlot::default()
    }
}

fn bands() -> PointPlot {
    let mut plot = batch_curve();
    let long: Vec<(f64, f64)> = (1..=10_000)
        .map(|x| (f64::from(x), 30.0 + (f64::from(x) * 0.37).sin() * 12.0))
        .collect();
    plot.x_scale = ScaleKind::Log10;
    plot.series = vec![series("all cells", &long).condensed()];
    plot.guides.clear();
    plot
}

fn scatter() -> PointPlot {
    let places = [(199.0, 7.1), (9027.0, 27.2), (9500.0, 29.0), (12e6, 900.0)];
    PointPlot {
        about: "Parameters and step time".into(),
        x_label: "parameters".into(),
        x_scale: ScaleKind::Log10,
        y_label: "step in ms".into(),
        y_scale: ScaleKind::Log10,
        series: vec![
            series("paths", &places[..3]),
            series("images", &places[3..]),
        ],
        ..PointPlot::default()
    }
}

fn segment(value: f64) -> Segment {
    let text = format!("{value:.1}");
    Segment { value, text }
}

fn stacked() -> BarPlot {
    let bar = |label: &str, shares: [f64; 4]| Bar {
        label: label.into(),
        segments: shares.map(segment).into(),
        end: "905 ms".into(),
    };
    BarPlot {
        about: "Share by category".into(),
        x_label: "share of the step in %".into(),
        parts: ["convolution", "normalisation", "attention", "other"]
            .map(String::from)
            .into(),
        bars: vec![
            bar("batch-size 8, workers 0", [62.0, 21.0, 12.5, 4.5]),
            bar(
                "a very long name of a cell that goes on, batch-size 16",
                [70.0, 15.0, 12.0, 3.0],
            ),
        ],
    }
}

fn intervals() -> DotPlot {
    let row = |(kind, value): (usize, f64)| DotRow {
        label: format!("batch-size {value}"),
        kind,
        value,
        interval: Some((value * 0.96, value * 1.05)),
        threshold: 0.02,
        end: format!("{value:.3}"),
        ..DotRow::default()
    };
    DotPlot {
        about: "Ratios by cell".into(),
        x_label: "after ÷ before".into(),
        kinds: vec![
            (0, "faster".into()),
            (1, "slower".into()),
            (7, "open".into()),
        ],
        rows: [(0, 0.7), (1, 1.2), (7, 1.0)].map(row).into(),
        is_ratio: true,
        ..DotPlot::default()
    }
}

fn gallery() -> Vec<(&'static str, String)> {
    vec![
        ("lines", batch_curve().draw()),
        ("curves", losses().draw()),
        ("band", bands().draw()),
        ("scatter", scatter().draw()),
        ("stacked", stacked().draw()),
        ("intervals", intervals().draw()),
    ]
}

#[test]
fn every_kind_has_words_units_scales_and_plain_numbers() {
    for (name, svg) in gallery() {
        assert_contains(&svg, "<title>");
        assert_contains(&svg, "<desc>");
        let notes = [", from 0", ", not from 0", "scale<", "logarithmic<"];
        assert!(
            notes.iter().any(|note| svg.contains(note)),
            "{name}: the scale is not told"
        );
        for bad in ["NaN", "inf", "\"-0\"", ">-0<"] {
            assert!(!svg.contains(bad), "{name}: {bad}");
        }
        assert!(svg.len() < 60_000, "{name}: {} bytes", svg.len());
    }
}

#[test]
fn nothing_is_drawn_outside_the_paper() {
    for (name, svg) in gallery() {
        for attribute in [" x=\"", " x1=\"", " x2=\"", " cx=\""] {
            for found in svg.split(attribute).skip(1) {
                let number: f64 = found
                    .split('"')
                    .next()
                    .expect("a number")
                    .parse()
                    .expect(name);
                assert!(
                    (0.0..=560.0).contains(&number),
                    "{name}:{attribute}{number}"
                );
            }
        }
    }
}

#[test]
fn the_same_value_gives_the_same_bytes() {
    assert_eq!(gallery(), gallery());
    let Some(folder) = std::env::var_os("FIELDTRIAL_GALLERY") else {
        return;
    };
    let folder = std::path::PathBuf::from(folder);
    std::fs::create_dir_all(&folder).expect("creates");
    let mut page = format!(
        "<!doctype html><meta charset=utf-8><meta name=color-scheme content='light dark'><style>body{{display:grid;grid-template-columns:1fr 1fr;gap:20px}}{}</style>",
        super::STYLE
    );
    for (name, svg) in gallery() {
        let file = folder.join(format!("{name}.svg"));
        std::fs::write(file, standalone(&svg)).expect("writes");
        page.push_str(&svg);
    }
    std::fs::write(folder.join("gallery.html"), page).expect("writes");
}
