//! Every section of a report, by theme: this list determines where each section appears.

use rayon::prelude::*;

use crate::plan::toml_text;

use super::measure::Measure;
use super::quality::{all_are_commands, quality_column};
use super::search;
use super::section::{Section, Theme};
use super::sections::plots::{curves, over_axis, phase_bars};
use super::sections::{
    bottleneck, cells, complexity, confusion, cost, environment, gpu, memory, method, ops, quality,
    ranking, run_parts, samples, scaling, speed, targets, worker_curve,
};
use super::view::{Cell, View};

type Make = fn(&View<'_>) -> Vec<Section>;

/// The themes with their headings, in the order of a page.
const THEMES: [(&str, &str, Make); 11] = [
    ("search", "Search", search::sections),
    ("speed", "Speed", of_speed),
    ("quality", "Quality and curves", of_quality),
    ("treatments", "Variants and treatments", of_treatments),
    ("phases", "Where the time goes", of_phases),
    ("operations", "Operations", ops::sections),
    ("settings", "Loader workers", |view| {
        vec![worker_curve::section(view)]
    }),
    ("memory", "Memory, parameters and FLOPs", of_memory),
    ("cost", "Cost", |view| {
        cost::cost_section(view).into_iter().collect()
    }),
    ("failures", "Cells and runs without a result", |view| {
        vec![cells::without_result(view), cells::failed(view)]
    }),
    ("method", "Method", of_method),
];

/// The themes that have something to show.
pub(super) fn themes(view: &View<'_>) -> Vec<Theme> {
    // Sections are independent and made in parallel; for ten thousand cells they take a second.
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    let has_commands = cells.iter().any(|cell| cell.is_of_command);
    let are_all_commands = all_are_commands(&cells);
    let made = THEMES.par_iter().map(|(id, title, make)| {
        let mut sections = make(view);
        for section in &mut sections {
            if has_commands {
                let tables = section.tables.iter_mut();
                tables.for_each(|table| table.drop_empty_columns(are_all_commands));
            }
            let had_tables = !section.tables.is_empty();
            section.tables.retain(|table| !table.is_blank());
            // If a table is left out, so are the sentences about it.
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
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    let pace = match ranking::speed_column(&cells) {
        "total_s" => "total_s",
        _ => "samples_per_s",
    };
    let plots = over_axis::plots(view, &Measure::of(pace));
    let mut all = vec![
        Section::plots("throughput", plots),
        Section::table(speed::table(view)),
    ];
    all.extend(scaling::scaling_section(view));
    all
}

fn of_quality(view: &View<'_>) -> Vec<Section> {
    let all: Vec<&Cell<'_>> = view.cells.iter().collect();
    let measure = Measure::of_plan(&view.set.plan, &quality_column(view, &all));
    let mut plots = over_axis::plots(view, &measure);
    plots.extend(curves::plots(view));
    let mut sections = vec![
        Section::plots("curves", plots),
        Section::table(quality::table(view)),
    ];
    sections.extend(confusion::table(view).map(Section::table));
    sections.extend(targets::targets_section(view));
    sections.push(samples::section(view));
    sections
}

fn of_treatments(view: &View<'_>) -> Vec<Section> {
    let points = view.set.plan.variants.iter().map(|(name, sets)| {
        let sets = sets
            .iter()
            .map(|(path, value)| format!("{path} = {}", toml_text(value)));
        format!("{name}: {}", sets.collect::<Vec<_>>().join(", "))
    });
    vec![Section {
        points: points.collect(),
        ..Section::titled("variants", "Variants")
    }]
}

fn of_phases(view: &View<'_>) -> Vec<Section> {
    let mut all = vec![
        Section::plots("phase-plots", phase_bars::plots(view)),
        bottleneck::bottleneck_section(view),
    ];
    all.extend(run_parts::table(view).map(Section::table));
    all
}

fn of_memory(view: &View<'_>) -> Vec<Section> {
    let mut all = vec![memory::memory_section(view)];
    all.extend(complexity::table(view).map(Section::table));
    all.extend(gpu::gpu_section(view));
    all
}

fn of_method(view: &View<'_>) -> Vec<Section> {
    let environments = environment::environments(view);
    let mut points = method::sentences(view);
    points.extend(environment::build(&environments));
    let mut all = vec![Section {
        points,
        ..Section::titled("measured", "How it was measured")
    }];
    all.extend(environment::sections(environments));
    all
}
