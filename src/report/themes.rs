//! Every section of a report, by theme: the one list in which a section has its place.

use std::path::Path;

use rayon::prelude::*;

use crate::plan::toml_text;

use super::measure::Measure;
use super::search;
use super::section::{Code, Section, Theme};
use super::sections::plots::{complexity as complexity_plot, curves, knee, over_axis, phase_bars};
use super::sections::{
    batch_curve, bottleneck, cells, classes, complexity, compute, configuration, cost, efficiency,
    environment, estimate, findings, gpu, headroom, loader, memory, method, ops, phases, quality,
    ranking, samples, scaling, sizes, speed, target, targets, treatments, tree, utilisation,
    worker_curve,
};
use super::table::Table;
use super::view::{Cell, View};

/// What sections are made from.
pub(super) struct Source<'s, 'a> {
    /// The results.
    pub(super) view: &'s View<'a>,
    /// Their folder, for what lies in it and beside it; `None` for results in memory.
    pub(super) folder: Option<&'s Path>,
}

type Make = fn(&Source<'_, '_>) -> Vec<Section>;

/// The themes with their headings, in the order of a page.
const THEMES: [(&str, &str, Make); 15] = [
    ("search", "Search", of_search),
    ("speed", "Speed", of_speed),
    ("quality", "Quality and curves", of_quality),
    ("treatments", "Variants and treatments", of_treatments),
    ("phases", "Where the time goes", of_phases),
    ("operations", "Operations", |source| {
        ops::sections(source.view)
    }),
    ("settings", "Batch size and workers", of_settings),
    ("memory", "Memory", of_memory),
    (
        "complexity",
        "Parameters, FLOPs and use of the machine",
        of_complexity,
    ),
    ("cost", "Cost and estimate", of_cost),
    ("failures", "Cells and runs without a result", of_failures),
    ("method", "Method", of_method),
    ("environment", "Environment", |source| {
        environment::sections(source.view)
    }),
    ("configuration", "Configuration of the cells", |source| {
        configuration::sections(source.view)
    }),
    ("manifest", "Manifest", of_manifest),
];

/// The themes that have something to show.
pub(super) fn themes(source: &Source<'_, '_>) -> Vec<Theme> {
    // Sections know nothing of each other; those of ten thousand cells are a second of work.
    let made = THEMES.par_iter().map(|(id, title, make)| {
        let mut sections = make(source);
        for section in &mut sections {
            section.tables.retain(|table| !table.is_blank());
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

fn tables(tables: impl IntoIterator<Item = Table>) -> impl Iterator<Item = Section> {
    tables.into_iter().map(Section::table)
}

fn of_search(source: &Source<'_, '_>) -> Vec<Section> {
    search::sections(source.view, source.folder)
}

fn of_speed(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    let rankings = ranking::rankings(view);
    let mut all: Vec<Section> = tables(rankings).collect();
    all.extend(ranking::unranked(view).map(|why| Section {
        id: "unranked".to_owned(),
        paragraphs: vec![why],
        ..Section::default()
    }));
    let throughput = Measure::of("samples_per_s");
    all.push(Section::plots(
        "throughput",
        over_axis::plots(view, &throughput),
    ));
    all.push(Section::table(speed::table(view)));
    all.extend(tables(scaling::table(view)));
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
    sections.extend(tables(target::tables(view)));
    sections.extend(tables(classes::table(view)));
    sections.push(Section::table(efficiency::table(view)));
    sections.push(samples::section(view, source.folder));
    sections
}

fn of_treatments(source: &Source<'_, '_>) -> Vec<Section> {
    let variants = source.view.set.plan.variants.iter();
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
    let table = treatments::table(source.view);
    [variants].into_iter().chain(tables(table)).collect()
}

fn of_phases(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    vec![
        Section::judged(bottleneck::judged(view)),
        Section::plots("phase-plots", phase_bars::plots(view)),
        Section::table(phases::table(view)),
        tree::section(view),
        Section::table(loader::table(view)),
    ]
}

fn of_settings(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    vec![
        Section::judged(batch_curve::judged(view)),
        Section::plots("knee", knee::plots(view)),
        Section::judged(worker_curve::judged(view)),
    ]
}

fn of_memory(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    let mut all = vec![
        Section::table(memory::table(view)),
        Section::judged(headroom::judged(view)),
    ];
    all.extend(gpu::judged(view).map(Section::judged));
    all
}

fn of_complexity(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    vec![
        Section::table(complexity::table(view)),
        Section::plots("complexity-plots", complexity_plot::plots(view)),
        Section::table(compute::table(view)),
        Section::judged(utilisation::judged(view)),
    ]
}

fn of_cost(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    let mut all: Vec<Section> = cost::judged(view)
        .map(Section::judged)
        .into_iter()
        .collect();
    all.extend(tables(estimate::table(view)));
    all
}

fn of_failures(source: &Source<'_, '_>) -> Vec<Section> {
    vec![
        cells::without_result(source.view),
        cells::failed(source.view),
    ]
}

fn of_method(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
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

fn of_manifest(source: &Source<'_, '_>) -> Vec<Section> {
    let plan = &source.view.set.plan;
    vec![Section {
        paragraphs: vec![format!("{}, as run:", plan.manifest_path)],
        code: Some(Code::of("toml", &plan.manifest)),
        ..Section::titled("manifest-text", "")
    }]
}
