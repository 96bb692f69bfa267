//! Every section of a report, by theme: the one list in which a section has its place.

use std::path::Path;

use rayon::prelude::*;

use crate::plan::toml_text;

use super::measure::Measure;
use super::search;
use super::section::{Code, Section, Theme};
use super::sections::plots::{curves, over_axis, phase_bars};
use super::sections::quality::are_of_commands;
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

type Make = fn(&Source<'_, '_>) -> Vec<Section>;

/// The themes with their headings, in the order of a page.
const THEMES: [(&str, &str, Make); 15] = [
    ("search", "Search", |from| {
        search::sections(from.view, from.folder)
    }),
    ("speed", "Speed", |from| of_speed(from.view)),
    ("quality", "Quality and curves", of_quality),
    ("treatments", "Variants and treatments", |from| {
        of_treatments(from.view)
    }),
    ("phases", "Where the time goes", |from| of_phases(from.view)),
    ("operations", "Operations", |from| ops::sections(from.view)),
    ("settings", "Batch size and workers", |from| {
        vec![
            batch_curve::judged(from.view),
            worker_curve::judged(from.view),
        ]
    }),
    ("memory", "Memory", |from| of_memory(from.view)),
    (
        "complexity",
        "Parameters, FLOPs and use of the machine",
        |from| {
            let complexity = Section::table(complexity::table(from.view));
            vec![complexity, utilisation::judged(from.view)]
        },
    ),
    ("cost", "Cost and estimate", |from| {
        let estimate = estimate::table(from.view).map(Section::table);
        cost::judged(from.view)
            .into_iter()
            .chain(estimate)
            .collect()
    }),
    ("failures", "Cells and runs without a result", |from| {
        vec![cells::without_result(from.view), cells::failed(from.view)]
    }),
    ("method", "Method", |from| of_method(from.view)),
    ("environment", "Environment", |from| {
        environment::sections(from.view)
    }),
    ("configuration", "Configuration of the cells", |from| {
        configuration::sections(from.view)
    }),
    ("manifest", "Manifest", |from| of_manifest(from.view)),
];

/// The themes that have something to show.
pub(super) fn themes(source: &Source<'_, '_>) -> Vec<Theme> {
    // Sections know nothing of each other; those of ten thousand cells are a second of work.
    let cells: Vec<&Cell<'_>> = source.view.cells.iter().collect();
    let has_commands = cells.iter().any(|cell| cell.is_of_command);
    let are_all_commands = are_of_commands(&cells);
    let made = THEMES.par_iter().map(|(id, title, make)| {
        let mut sections = make(source);
        for section in &mut sections {
            if has_commands {
                let tables = section.tables.iter_mut();
                tables.for_each(|table| table.leave_out_untold(are_all_commands));
            }
            let had_tables = !section.tables.is_empty();
            section.tables.retain(|table| !table.is_blank());
            // What is said of a table without values says nothing.
            if had_tables && section.tables.is_empty() {
                section.points.clear();
            }
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

fn of_speed(view: &View<'_>) -> Vec<Section> {
    let mut all = ranking::by_speed(view);
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    let pace = match ranking::Pace::of(&cells) {
        ranking::Pace::Run => "total_s",
        ranking::Pace::Epoch | ranking::Pace::Throughput => "samples_per_s",
    };
    let plots = over_axis::plots(view, &Measure::of(pace));
    all.push(Section::plots("throughput", plots));
    all.push(Section::table(speed::table(view)));
    all.extend(scaling::judged(view));
    all.extend(sizes::table(view).map(Section::table));
    all
}

fn of_quality(source: &Source<'_, '_>) -> Vec<Section> {
    let view = source.view;
    let all: Vec<&Cell<'_>> = view.cells.iter().collect();
    let measure = Measure::of_plan(&view.set.plan, &quality::column(view, &all));
    let mut plots = over_axis::plots(view, &measure);
    plots.extend(curves::plots(view));
    let mut sections = vec![
        Section::plots("curves", plots),
        Section::table(quality::table(view)),
    ];
    sections.extend(targets::judged(view));
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
        phases::judged(view),
        tree::section(view),
        Section::table(loader::table(view)),
    ]
}

fn of_memory(view: &View<'_>) -> Vec<Section> {
    let mut all = vec![Section::table(memory::table(view)), headroom::judged(view)];
    all.extend(gpu::judged(view));
    all
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
