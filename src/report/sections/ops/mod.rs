//! Where a profiled step's time goes, operation by operation: by category for every cell, by operation and layer for a few.

mod categories;
mod profiled;
#[cfg(test)]
mod tests;

use crate::base::text::count;
use crate::base::units::{human, human_bytes, human_integer, human_si};
use crate::report::number::{Provenance, fixed, to_hundred};
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table, sources};
use crate::report::view::View;

use super::ranking::{baseline, fastest_first, is_baseline};
use profiled::{Profiled, Total};

/// Profiles whose operations and layers are shown.
const SHOWN: usize = 2;
/// Rows of a table; the others are summed up in one.
const ROWS: usize = 12;

/// Shares of the profiled step by category for every cell, then by operation and layer: all profiles of few, of many the
/// baseline's and the fastest cell's. None where no cell has a profile.
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let all = Profiled::all(view);
    if all.is_empty() {
        return Vec::new();
    }
    let shown = shown(view, &all);
    let categories = Section {
        paragraphs: vec![note(view, &all, shown.len())],
        plots: categories::plots(view, &all),
        ..Section::table(categories::table(view, &all))
    };
    let details = shown
        .iter()
        .zip(1..)
        .flat_map(|(profiled, number)| detail(view, profiled, number));
    [categories]
        .into_iter()
        .chain(details.map(Section::table))
        .collect()
}

fn note(view: &View<'_>, all: &[Profiled<'_, '_>], shown: usize) -> String {
    let has_baseline = all.iter().any(|one| is_baseline(view, one.cell));
    let first = all.first().and_then(|one| one.records.first());
    let steps = count(
        first.map_or(0, |record| record.profiled_steps),
        "extra step",
    );
    let first_shown = if has_baseline { "baseline" } else { "slowest" };
    let which = if shown < all.len() {
        format!(
            " In detail: the {first_shown} and the fastest of {}; all are in ops.csv.",
            count(all.len(), "profiled cell")
        )
    } else {
        String::new()
    };
    format!(
        "Profiled in {steps} after everything else of a first-block run (n = 1), each operation timed by itself. \
         Timing costs something: the ratio of a profiled to an ordinary step of the same run says how much.{which}"
    )
}

/// All of few; of many the baseline's and the fastest cell's, as far as they are profiled.
fn shown<'p, 'v, 'a>(view: &'v View<'a>, all: &'p [Profiled<'v, 'a>]) -> Vec<&'p Profiled<'v, 'a>> {
    if all.len() <= SHOWN {
        return all.iter().collect();
    }
    let cells: Vec<_> = all.iter().map(|profiled| profiled.cell).collect();
    let fastest = fastest_first(&cells).first().map(|(cell, _)| *cell);
    let mut wanted: Vec<_> = baseline(view, &cells).into_iter().chain(fastest).collect();
    wanted.dedup_by_key(|cell| cell.info.key.as_str());
    let find = |key: &str| all.iter().find(|profiled| profiled.cell.info.key == key);
    wanted
        .iter()
        .filter_map(|cell| find(&cell.info.key))
        .collect()
}

/// By operation over the layers, and by layer over its operations.
fn detail(view: &View<'_>, profiled: &Profiled<'_, '_>, number: usize) -> [Table; 2] {
    let cell = view.name(profiled.cell, None);
    let about = |what: &str| {
        let step = human(profiled.step_ms(), 4);
        format!(
            "{what} a step of {} of {cell}, which takes {step} ms; the longest first. The residual is what lies between \
             operations.",
            count(samples(profiled), "sample")
        )
    };
    let operations = profiled.totals(|record| &record.row.op, |record| &record.row.layer);
    let layers = profiled.totals(|record| &record.row.layer, |record| &record.row.op);
    let head = |id: &str, title: &str, what: &str| {
        (
            format!("{id}-{number}"),
            format!("{title}: {cell}"),
            about(what),
        )
    };
    [
        table(
            profiled,
            head("operations", "Operations", "Operations over all layers in"),
            "operation",
            operations,
        ),
        table(
            profiled,
            head("layers", "Layers", "Layers with all their operations in"),
            "layer",
            layers,
        ),
    ]
}

fn samples(profiled: &Profiled<'_, '_>) -> usize {
    profiled
        .records
        .first()
        .map_or(0, |record| record.samples_per_step)
}

fn table(
    profiled: &Profiled<'_, '_>,
    (id, title, about): (String, String, String),
    what: &str,
    mut totals: Vec<Total>,
) -> Table {
    if totals.len() > ROWS {
        let rest = totals.split_off(ROWS - 1);
        totals.push(Total::sum(format!("{} more", rest.len()), &rest));
    }
    let [data, between] = profiled.residuals();
    totals.push(Total {
        name: "waiting for data".to_owned(),
        ..data
    });
    totals.push(Total {
        name: "residual".to_owned(),
        ..between
    });
    let step_ms = profiled.step_ms();
    let shares = totals.iter().map(|total| 100.0 * total.time_ms() / step_ms);
    let shares = to_hundred(&shares.collect::<Vec<f64>>());
    let mut rows: Vec<Row> = totals
        .iter()
        .zip(&shares)
        .map(|(total, share)| row(what, total, *share))
        .collect();
    let sum = Total::sum("sum".to_owned(), &totals);
    rows.push(row(what, &sum, shares.iter().sum()));
    let columns = columns(what, profiled);
    Table {
        id,
        title,
        about,
        sources: sources(&columns),
        columns,
        rows,
        cut: None,
    }
}

fn columns(what: &str, profiled: &Profiled<'_, '_>) -> Vec<Column> {
    let steps = profiled
        .records
        .first()
        .map_or(0, |record| record.profiled_steps);
    let timed = Provenance::Measured(format!("mean of {}", count(steps, "profiled step")));
    let counted = Provenance::Derived("counted by the operations' rules".into());
    let share = Provenance::Derived("time ÷ profiled step".into());
    let rate = Provenance::Derived("FLOPs ÷ time of both directions".into());
    let mut columns = vec![Column::text(what)];
    if what == "layer" {
        columns.push(Column::text("operations"));
    }
    columns.extend([
        Column::number("calls a step", "", &counted),
        Column::number("forward", "ms", &timed),
        Column::number("backward", "ms", &timed),
        Column::number("share", "%", &share),
        Column::number("FLOPs a step", "", &counted),
        Column::number("achieved", "GFLOP/s", &rate),
        Column::number("allocated", "", &counted),
        Column::number("held for backward", "", &counted),
    ]);
    columns
}

fn row(what: &str, total: &Total, share: f64) -> Row {
    let there = |value: f64, text: String| {
        if value == 0.0 {
            Entry::text("–")
        } else {
            Entry::value(value, text)
        }
    };
    let ms = |value: f64| there(value, human(value, 3));
    let bytes = |value: f64| there(value, human_bytes(value.round() as u64));
    let rate = total.flops / total.time_ms() / 1e6;
    let is_named = !(total.name.is_empty() && what == "layer");
    let name = if is_named { &total.name } else { "(no layer)" };
    let mut fields = vec![Entry::text(name)];
    if what == "layer" {
        fields.push(Entry::text(listed(&total.parts)));
    }
    fields.extend([
        there(total.calls, calls(total.calls)),
        ms(total.forward_ms),
        ms(total.backward_ms),
        Entry::value(share, fixed(share, 1)),
        there(total.flops, human_si(total.flops, "FLOP")),
        there(rate, human(rate, 3)),
        bytes(total.allocated_bytes),
        bytes(total.retained_bytes),
    ]);
    Row {
        key: String::new(),
        fields,
        missing: None,
    }
}

/// Calls are whole where every step does the same.
fn calls(a_step: f64) -> String {
    if a_step.fract() == 0.0 {
        human_integer(a_step as u64)
    } else {
        fixed(a_step, 1)
    }
}

/// The first names of a list.
fn listed(names: &[String]) -> String {
    const FEW: usize = 3;
    let text = names[..names.len().min(FEW)].join(", ");
    match names.len() {
        0 => "–".to_owned(),
        n if n > FEW => format!("{text} and {} more", n - FEW),
        _ => text,
    }
}
