//! Where a profiled step's time goes, operation by operation: by operation and by layer.

mod profiled;
#[cfg(test)]
mod tests;

use crate::base::text::count;
use crate::base::units::{human, human_bytes, human_integer, human_si};
use crate::report::judged::first_names_text;
use crate::report::number::{fixed, round_to_sum_100};
use crate::report::section::Section;
use crate::report::table::{Entry, Table};
use crate::report::view::View;

use super::field::{self, Field};
use super::ranking::fastest_first;
use profiled::{Profiled, Total};

/// Largest number of rows of a table; the others are summed in one row.
const ROWS: usize = 9;

/// The profiled step of the fastest cell by operation and by layer; none if no cell has a profile.
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let all = Profiled::all(view);
    if all.is_empty() {
        return Vec::new();
    }
    let Some(fastest) = fastest(&all) else {
        return Vec::new();
    };
    let mut sections: Vec<Section> = detail(view, fastest).map(Section::table).into();
    sections[0].paragraphs.push(note(&all, fastest));
    sections
}

fn note(all: &[Profiled<'_, '_>], fastest: &Profiled<'_, '_>) -> String {
    let first = fastest.records.first();
    let steps = first.map_or(0, |record| record.profiled_steps);
    // The profile of an observed program is of its ordinary steps; other models run extra steps for it.
    let steps = if fastest.cell.is_of_command {
        count(steps, "step")
    } else {
        format!("{} after everything else", count(steps, "extra step"))
    };
    let which = if all.len() > 1 {
        " This is the fastest cell; all are in ops.csv."
    } else {
        ""
    };
    let step = fastest.step_ms();
    let ratio = fastest.unprofiled_step_ms().map(|ordinary| step / ordinary);
    let ratio = ratio.map(|ratio| {
        format!(
            ": a profiled step takes {}× an ordinary one of the same run",
            human(ratio, 3)
        )
    });
    format!(
        "Profiled in {steps} of a first-block run (n = 1), each operation timed by itself. \
         Timing costs something{}.{which}",
        ratio.unwrap_or_default()
    )
}

/// The profile of the fastest cell.
fn fastest<'p, 'v, 'a>(all: &'p [Profiled<'v, 'a>]) -> Option<&'p Profiled<'v, 'a>> {
    let cells: Vec<_> = all.iter().map(|profiled| profiled.cell).collect();
    let (fastest, _) = *fastest_first(&cells).first()?;
    let is_it = |profiled: &&Profiled<'_, '_>| profiled.cell.info.key == fastest.info.key;
    all.iter().find(is_it)
}

/// The tables of a profile: by operation, summed over layers, and by layer, summed over operations.
fn detail(view: &View<'_>, profiled: &Profiled<'_, '_>) -> [Table; 2] {
    let cell = view.name(profiled.cell, None);
    let first = profiled.records.first();
    let samples = count(first.map_or(0, |record| record.samples_per_step), "sample");
    let step = human(profiled.step_ms(), 4);
    let operations = profiled.totals(|record| &record.row.op, |record| &record.row.layer);
    let layers = profiled.totals(|record| &record.row.layer, |record| &record.row.op);
    let head = |id: &str, title: &str, what: &str| {
        let about = format!(
            "{what} a step of {samples} of {cell}, which takes {step} ms; the longest first. The residual is what lies \
             between operations."
        );
        (id.to_owned(), format!("{title}: {cell}"), about)
    };
    let of_operations = head("operations", "Operations", "Operations over all layers in");
    let of_layers = head("layers", "Layers", "Layers with all their operations in");
    [
        table(profiled, of_operations, "operation", operations),
        table(profiled, of_layers, "layer", layers),
    ]
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
    // A program without PyTorch's `DataLoader` has no time of waiting for data.
    let data = (data.time_ms() != 0.0).then_some(("waiting for data", data));
    let named = data.into_iter().chain([("residual", between)]);
    totals.extend(named.map(|(name, total)| Total {
        name: name.to_owned(),
        ..total
    }));
    let step_ms = profiled.step_ms();
    let shares = totals.iter().map(|total| 100.0 * total.time_ms() / step_ms);
    let mut shares = round_to_sum_100(&shares.collect::<Vec<f64>>());
    shares.push(shares.iter().sum());
    totals.push(Total::sum("sum".to_owned(), &totals));
    let rows = totals.into_iter().zip(shares);
    let rows = rows.map(|row| (String::new(), row));
    field::of_rows((&id, &title, about), &fields(what, profiled), rows)
}

/// A column of a table whose rows are totals, each with its percentage of the step.
type OfTotal<'f> = Field<'f, (Total, f64)>;

fn fields(what: &str, profiled: &Profiled<'_, '_>) -> Vec<OfTotal<'static>> {
    let first = profiled.records.first();
    let steps = first.map_or(0, |record| record.profiled_steps);
    let timed = format!("mean of {}", count(steps, "profiled step"));
    let counted = "counted by the operations' rules";
    let there =
        |value: f64, show: fn(f64) -> String| Entry::shown((value != 0.0).then_some(value), show);
    let ms: fn(f64) -> String = |ms| human(ms, 3);
    let flop: fn(f64) -> String = |flops| human_si(flops, "FLOP");
    let bytes: fn(f64) -> String = |bytes| human_bytes(bytes.round() as u64);
    let rate = "FLOPs ÷ time of both directions";
    let is_layer = what == "layer";
    let mut fields = vec![OfTotal::text(what, move |(total, _)| {
        if total.name.is_empty() && is_layer {
            "(no layer)".to_owned()
        } else {
            total.name.clone()
        }
    })];
    fields.extend(is_layer.then(|| OfTotal::text("operations", |(total, _)| listed(&total.parts))));
    fields.extend([
        OfTotal::derived("calls a step", "", counted, move |(total, _)| {
            there(total.calls, calls)
        }),
        OfTotal::measured("forward", "ms", &*timed, move |(total, _)| {
            there(total.forward_ms, ms)
        }),
        OfTotal::measured("backward", "ms", &*timed, move |(total, _)| {
            there(total.backward_ms, ms)
        }),
        OfTotal::derived("share", "%", "time ÷ profiled step", |(_, share)| {
            Entry::value(*share, fixed(*share, 1))
        }),
        OfTotal::derived("FLOPs a step", "", counted, move |(total, _)| {
            there(total.flops, flop)
        }),
        OfTotal::derived("achieved", "GFLOP/s", rate, move |(total, _)| {
            there(total.flops / total.time_ms() / 1e6, ms)
        }),
        OfTotal::derived("allocated", "", counted, move |(total, _)| {
            there(total.allocated_bytes, bytes)
        }),
        OfTotal::derived("held for backward", "", counted, move |(total, _)| {
            there(total.retained_bytes, bytes)
        }),
    ]);
    fields
}

/// Calls per step as text; an integer if all steps are equal.
fn calls(a_step: f64) -> String {
    if a_step.fract() == 0.0 {
        human_integer(a_step as u64)
    } else {
        fixed(a_step, 1)
    }
}

/// The first three names of a list and the number of the others, as text; a dash for an empty list.
fn listed(names: &[String]) -> String {
    match &*first_names_text(names, 3, ", ") {
        "" => "–".to_owned(),
        shown => shown.to_owned(),
    }
}
