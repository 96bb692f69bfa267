//! Every section of a report, by theme: the one list in which a section has its place.

use std::path::Path;

use rayon::prelude::*;

use crate::plan::toml_text;

use super::measure::Measure;
use super::search;
use super::section::{Code, Section, Theme};
use super::sections::plots::{complexity as complexity_plot, curves, over_axis, phase_bars};
use super::sections::{
    batch_curve, cells, classes, complexity, configuration, cost, environment, estimate, findings,
    gpu, headroom, loader, memory, method, ops, phases, quality, ranking, reach, samples, scaling,
    sizes, speed, targets, tree, utilisation, worker_curve,
};
use super::view::{Cell, View};

/// What sections are made from.
pub(super) struct Source<'s, 'a> {
    /// The results.
    pub(super) view: &'s View<'a>,
    /// Their folder, for what lies in it and beside it; `None` for results in memory.
    pub(super) folder: Option<&'s Path>,
}

/// What makes the sections of a theme.
enum Make {
    /// From the results alone.
    View(fn(&View<'_>) -> Vec<Section>),
    /// From what lies in the folder and beside it, too.
    Folder(fn(&Source<'_, '_>) -> Vec<Section>),
}

/// The themes with their headings, in the order of a page.
const THEMES: [(&str, &str, Make); 15] = [
    ("search", "Search", Make::Folder(of_search)),
    ("speed", "Speed", Make::View(of_speed)),
    ("quality", "Quality and curves", Make::Folder(of_quality)),
    (
        "treatments",
        "Variants and treatments",
        Make::View(of_treatments),
    ),
    ("phases", "Where the time goes", Make::View(of_phases)),
    ("operations", "Operations", Make::View(ops::sections)),
    (
        "settings",
        "Batch size and workers",
        Make::View(of_settings),
    ),
    ("memory", "Memory", Make::View(of_memory)),
    (
        "complexity",
        "Parameters, FLOPs and use of the machine",
        Make::View(of_complexity),
    ),
    ("cost", "Cost and estimate", Make::View(of_cost)),
    (
        "failures",
        "Cells and runs without a result",
        Make::View(of_failures),
    ),
    ("method", "Method", Make::View(of_method)),
    (
        "environment",
        "Environment",
        Make::View(environment::sections),
    ),
    (
        "configuration",
        "Configuration of the cells",
        Make::View(configuration::sections),
    ),
    ("manifest", "Manifest", Make::View(of_manifest)),
];

/// The themes that have something to show.
pub(super) fn themes(source: &Source<'_, '_>) -> Vec<Theme> {
    // Sections know nothing of each other; those of ten thousand cells are a second of work.
    let made = THEMES.par_iter().map(|(id, title, make)| {
        let mut sections = match make {
            Make::View(make) => make(source.view),
            Make::Folder(make) => make(source),
        };
        for section in &mut sections {
            section.tables.retain(|table| !table.rows.is_empty());
        }
        sections.retain(|section| !section.is_empty());
        Theme {
            id: (*id).to_owned(),
            title: (*title).to_owned(),
            sections,
        }
    });
    let made: Vec<Theme> = made.collect();
    made.into_iter()
        .filter(|theme| !theme.sections.is_empty())
        .collect()
}

fn of_search(source: &Source<'_, '_>) -> Vec<Section> {
    search::sections(source.view, source.folder)
}

fn of_speed(view: &View<'_>) -> Vec<Section> {
    let mut all = ranking::by_speed(view);
    let throughput = Measure::of("samples_per_s");
    let plots = over_axis::plots(view, &throughput);
    all.push(Section::plots("throughput", plots));
    all.push(Section::table(speed::table(view)));
    all.extend(scaling::judged(view).map(Section::judged));
    all.extend(sizes::judged(view).map(Section::judged));
    all
}

fn of_quality(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    let all: Vec<&Cell<'_>> = view.cells.iter().collect();
    let measure = Measure::of(quality::column(&all));
    let mut plots = over_axis::plots(view, &measure);
    plots.extend(curves::plots(view));
    let mut sections = vec![
        Section::plots("curves", plots),
        Section::table(quality::table(view)),
    ];
    sections.extend(targets::judged(view).map(Section::judged));
    sections.extend(reach::tables(view).into_iter().map(Section::table));
    sections.extend(classes::table(view).map(Section::table));
    sections.extend(ranking::by_efficiency(view));
    sections.push(samples::section(view, source.folder));
    sections
}

fn of_treatments(view: &View<'_>) -> Vec<Section> {
    let variants = view.set.plan.variants.iter();
    let points = variants.map(|(name, sets)| {
        let sets = sets
            .iter()
            .map(|(path, value)| format!("{path} = {}", toml_text(value)));
        format!("{name}: {}", sets.collect::<Vec<_>>().join(", "))
    });
    let variants = Section {
        points: points.collect(),
        ..Section::titled("variants", "Variants")
    };
    let table = classes::treatments(view).map(Section::table);
    [variants].into_iter().chain(table).collect()
}

fn of_phases(view: &View<'_>) -> Vec<Section> {
    vec![
        Section::plots("phase-plots", phase_bars::plots(view)),
        Section::judged(phases::judged(view)),
        tree::section(view),
        Section::table(loader::table(view)),
    ]
}

fn of_settings(view: &View<'_>) -> Vec<Section> {
    vec![
        Section::judged(batch_curve::judged(view)),
        Section::judged(worker_curve::judged(view)),
    ]
}

fn of_memory(view: &View<'_>) -> Vec<Section> {
    let mut all = vec![
        Section::table(memory::table(view)),
        Section::judged(headroom::judged(view)),
    ];
    all.extend(gpu::judged(view).map(Section::judged));
    all
}

fn of_complexity(view: &View<'_>) -> Vec<Section> {
    vec![
        Section::table(complexity::table(view)),
        Section::plots("complexity-plots", complexity_plot::plots(view)),
        Section::judged(utilisation::judged(view)),
    ]
}

fn of_cost(view: &View<'_>) -> Vec<Section> {
    let cost = cost::judged(view).map(Section::judged);
    let estimate = estimate::table(view).map(Section::table);
    cost.into_iter().chain(estimate).collect()
}

fn of_failures(view: &View<'_>) -> Vec<Section> {
    vec![cells::without_result(view), cells::failed(view)]
}

fn of_method(view: &View<'_>) -> Vec<Section> {
    let measured = Section {
        points: method::sentences(view),
        ..Section::titled("measured", "How it was measured")
    };
    let checked = Section {
        points: findings::checked(),
        ..Section::titled("checked", "What was checked")
    };
    vec![measured, checked]
}

fn of_manifest(view: &View<'_>) -> Vec<Section> {
    let plan = &view.set.plan;
    vec![Section {
        paragraphs: vec![format!("{}, as run:", plan.manifest_path)],
        code: Some(Code::of("toml", &plan.manifest)),
        ..Section::titled("manifest-text", "")
    }]
}
