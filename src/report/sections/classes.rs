//! Classes of cells side by side, with a ratio only between cells that do the same work, and treatments with all that
//! differs between them.

use std::collections::BTreeMap;

use crate::base::statistics::geometric_mean;
use crate::base::units::human;
use crate::report::number::times;
use crate::report::table::{Entry, Table, spread_entry};
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::complexity::sample_ms;
use super::difference;
use super::field::{self, Field};
use super::ranking::{measured_apart, not_comparable};
use super::speed::timing_value;

/// Cells of one class.
struct Class<'v, 'a> {
    /// Value of the axis.
    name: String,
    /// Its cells, in plan order.
    cells: Vec<&'v Cell<'a>>,
}

/// A class beside the first one of its dataset.
struct Line<'c, 'v, 'a> {
    class: &'c Class<'v, 'a>,
    first: &'c Class<'v, 'a>,
}

/// The table of classes with measured cells, the values of `report.classes`; `None` without it, where there is only one class, or
/// no ratio between any two.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let axis = named_axis(view)?;
    let dataset = |cell: &Cell<'_>| view.section(cell, "dataset").map(ToString::to_string);
    if classes(view, view.cells.iter(), axis).len() < 2 {
        return None;
    }
    let datasets = grouped(view.measured(), |cell| dataset(cell)).into_iter();
    let datasets: Vec<Vec<Class<'_, '_>>> = datasets
        .map(|cells| classes(view, cells.into_iter(), axis))
        .collect();
    let lines = datasets.iter().flat_map(|classes| {
        let first = &classes[0];
        let lines = classes.iter().map(move |class| Line { class, first });
        lines.map(|line| (String::new(), line))
    });
    // Without a ratio it would repeat the cells.
    let lines: Vec<_> = lines.collect();
    lines
        .iter()
        .find(|(_, line)| !comparable(view, line, axis).is_empty())?;
    let what = view.axis_name(axis);
    let about = format!(
        "Cells by {what}: medians over the measured cells of a class, below them the range of the cells. Classes whose \
         cells differ in dataset, loss, model shape or algorithm do other work per sample: a ratio of their times would \
         measure the choice of cells, and is not drawn."
    );
    let mut fields = fields(view, axis);
    if datasets.len() < 2 {
        fields.remove(1);
    }
    Some(field::of_rows(
        ("classes", &format!("By {what}"), about),
        &fields,
        lines,
    ))
}

/// Place of the axis that `report.classes` names.
fn named_axis(view: &View<'_>) -> Option<usize> {
    let plan = &view.set.plan;
    let name = plan.report.get("classes")?.as_str()?;
    plan.axes.iter().position(|axis| axis.is_called(name))
}

fn classes<'v, 'a: 'v>(
    view: &View<'a>,
    cells: impl Iterator<Item = &'v Cell<'a>>,
    axis: usize,
) -> Vec<Class<'v, 'a>> {
    let name = |cell: &Cell<'a>| view.words(axis, &cell.info.axes[axis]);
    let class = |cells: Vec<&'v Cell<'a>>| Class {
        name: name(cells[0]),
        cells,
    };
    grouped(cells, |cell| name(cell))
        .into_iter()
        .map(class)
        .collect()
}

fn fields<'f>(view: &'f View<'_>, axis: usize) -> Vec<Field<'f, Line<'f, 'f, 'f>>> {
    type OfLine<'f> = Field<'f, Line<'f, 'f, 'f>>;
    let over = |heading, unit, value: fn(&View<'_>, &Cell<'_>) -> Option<f64>| {
        OfLine::derived(heading, unit, "median over cells", move |line| {
            let values = line.class.cells.iter();
            let values = values.filter_map(|cell| value(view, cell));
            spread_entry(&values.collect::<Vec<f64>>(), |value| human(value, 3))
        })
    };
    vec![
        OfLine::text("class", |line| line.class.name.clone()),
        OfLine::text("dataset", |line| {
            let name = difference::part(view, line.class.cells[0], "dataset_name");
            name.map(difference::plain).unwrap_or_default()
        }),
        OfLine::count("cells", "cells with a median", |line| {
            line.class.cells.len()
        }),
        over("epoch", "s", |_, cell| timing_value(cell, "epoch_s")),
        over("step", "ms", |_, cell| timing_value(cell, "step_ms")),
        over("time per sample", "ms", sample_ms),
        OfLine::derived(
            "time ÷ first class",
            "",
            "geometric mean over pairs of cells, own time per sample ÷ that of the first class",
            move |line| {
                let pairs = comparable(view, line, axis);
                let ratio = ratio(&pairs, &|cell| sample_ms(view, cell));
                let detail = match (ratio.value, pairs.len()) {
                    (None, _) => String::new(),
                    (_, 1) => "1 pair".to_owned(),
                    (_, n) => format!("{n} pairs"),
                };
                Entry { detail, ..ratio }
            },
        ),
        OfLine::text("why no ratio", move |line| {
            if line.class.name == line.first.name {
                return "the first class".to_owned();
            }
            if !comparable(view, line, axis).is_empty() {
                return "–".to_owned();
            }
            let differs = difference::of_steps(view, &line.class.cells, &line.first.cells);
            match differs.join(", ") {
                none if none.is_empty() => {
                    "not comparable: no two cells share everything else".to_owned()
                }
                differs => format!("not comparable: different {differs}"),
            }
        }),
    ]
}

/// Pairs of a class' cells and those of the first class that have a ratio; none of the first class itself.
fn comparable<'v, 'a>(
    view: &View<'_>,
    line: &Line<'_, 'v, 'a>,
    axis: usize,
) -> Vec<(&'v Cell<'a>, &'v Cell<'a>)> {
    if line.class.name == line.first.name {
        return Vec::new();
    }
    let mut pairs = pairs(&line.class.cells, &line.first.cells, axis);
    pairs.retain(|(own, base)| not_comparable(view, own, base).is_none());
    pairs
}

/// Pairs of cells that agree on every axis but one.
fn pairs<'v, 'a>(
    own: &[&'v Cell<'a>],
    base: &[&'v Cell<'a>],
    without: usize,
) -> Vec<(&'v Cell<'a>, &'v Cell<'a>)> {
    let rest = |cell: &Cell<'_>| -> Vec<String> {
        let axes = cell.info.axes.iter().enumerate();
        axes.filter(|(place, _)| *place != without)
            .map(|(_, value)| value.clone())
            .collect()
    };
    let known: BTreeMap<Vec<String>, &Cell<'a>> =
        base.iter().map(|cell| (rest(cell), *cell)).collect();
    own.iter()
        .filter_map(|cell| Some((*cell, *known.get(&rest(cell))?)))
        .collect()
}

/// Those of two treatments that were both measured with the same code in the same environment.
fn measured_pairs<'v, 'a>(
    own: &Class<'v, 'a>,
    base: &Class<'v, 'a>,
    place: usize,
) -> Vec<(&'v Cell<'a>, &'v Cell<'a>)> {
    let mut pairs = pairs(&own.cells, &base.cells, place);
    pairs.retain(|(own, base)| {
        own.is_measured() && base.is_measured() && measured_apart(own, base).is_none()
    });
    pairs
}

/// Geometric mean over pairs of cells of a value ÷ that of the second; a dash without pairs.
fn ratio(pairs: &[(&Cell<'_>, &Cell<'_>)], value: &dyn Fn(&Cell<'_>) -> Option<f64>) -> Entry {
    let ratios = pairs.iter();
    let ratios = ratios.filter_map(|(own, base)| Some(value(own)? / value(base)?));
    let mean = geometric_mean(&ratios.collect::<Vec<f64>>());
    Entry::shown(mean, times)
}

/// The table of treatments; `None` where the manifest declares none.
pub(crate) fn treatments(view: &View<'_>) -> Option<Table> {
    type OfClass<'f, 'v, 'a> = Field<'f, &'f Class<'v, 'a>>;
    let compare = &view.set.plan.compare;
    let name = compare.get("treatment")?.as_str()?;
    let place = view.treatment()?;
    let all = classes(view, view.cells.iter(), place);
    let declared = view.baseline().map(|(_, value)| value);
    let is_declared = |class: &&Class<'_, '_>| Some(&*class.cells[0].info.axes[place]) == declared;
    let base = all.iter().find(is_declared).or(all.first())?;
    let pairs = |class| measured_pairs(class, base, place);
    let of_pairs = |heading, of: &str, value: fn(&View<'_>, &Cell<'_>) -> Option<f64>| {
        let formula = format!("{of} ÷ that of the baseline, geometric mean over pairs");
        OfClass::derived(heading, "", formula, move |class| {
            ratio(&pairs(class), &|cell| value(view, cell))
        })
    };
    let training = |_: &View<'_>, cell: &Cell<'_>| timing_value(cell, "train_s");
    let fields = [
        OfClass::text("treatment", |class| class.name.clone()),
        OfClass::count("pairs", "pairs with medians", |class| pairs(class).len()),
        of_pairs("time per sample, ratio", "time per sample", sample_ms),
        of_pairs("training time, ratio", "training time", training),
        OfClass::text("what differs", |class| {
            match difference::of_all(view, &class.cells, &base.cells).join("; ") {
                none if none.is_empty() => "nothing in the specifications".to_owned(),
                differs => differs,
            }
        }),
    ];
    let base_name = &base.name;
    let about = format!(
        "The manifest declares the axis {name} as the treatment: its values may differ in work, so that these are ratios of \
         whole treatments and no speed-ups. Each is own time ÷ time of {base_name}, the geometric mean over pairs of \
         cells that agree on all other axes; everything that differs stands beside it."
    );
    let others = all.iter().filter(|class| class.name != base.name);
    let rows: Vec<_> = others.map(|class| (String::new(), class)).collect();
    let head = ("treatments", "Ratios of treatments", about);
    (!rows.is_empty()).then(|| field::of_rows(head, &fields, rows))
}
