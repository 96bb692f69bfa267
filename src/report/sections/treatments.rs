//! Treatments compared in a table, with everything that differs between them.

use std::collections::BTreeMap;

use crate::base::statistics::geometric_mean;
use crate::report::number::times_text;
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::complexity::sample_ms;
use super::difference::{RESULT_PARTS, differing};
use super::field::{self, Field};
use super::ranking::different_conditions;
use crate::report::timing::timing_value;

/// Pairs of cells that have equal values on every axis except one, both measured with the same code in the same
/// environment.
fn measured_pairs<'v, 'a>(
    own: &[&'v Cell<'a>],
    base: &[&'v Cell<'a>],
    without: usize,
) -> Vec<(&'v Cell<'a>, &'v Cell<'a>)> {
    let known = base
        .iter()
        .map(|cell| (cell.axis_values_except(without), *cell));
    let known: BTreeMap<Vec<&str>, &Cell<'a>> = known.collect();
    let pairs = own.iter();
    let pairs =
        pairs.filter_map(|cell| Some((*cell, *known.get(&cell.axis_values_except(without))?)));
    let is_measured = |(own, base): &(&Cell<'a>, &Cell<'a>)| {
        own.is_measured() && base.is_measured() && different_conditions(own, base).is_none()
    };
    pairs.filter(is_measured).collect()
}

/// Geometric mean over pairs of the first cell's value ÷ the second's; a dash without pairs.
fn ratio(pairs: &[(&Cell<'_>, &Cell<'_>)], value: &dyn Fn(&Cell<'_>) -> Option<f64>) -> Entry {
    let ratios = pairs.iter();
    let ratios = ratios.filter_map(|(own, base)| Some(value(own)? / value(base)?));
    let mean = geometric_mean(&ratios.collect::<Vec<f64>>());
    Entry::shown(mean, times_text)
}

/// The table of treatments; `None` if the manifest declares none.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    type OfClass<'f, 'v, 'a> = Field<'f, &'f Vec<&'v Cell<'a>>>;
    let compare = &view.set.plan.compare;
    let name = compare.get("treatment")?.as_str()?;
    let place = view.treatment()?;
    let value = |cell: &Cell<'_>| view.axis_value_text(place, &cell.info.axes[place]);
    let all = grouped(view.cells.iter(), |cell| value(cell));
    let declared = view.baseline().map(|(_, value)| value);
    let is_declared = |class: &&Vec<&Cell<'_>>| Some(&*class[0].info.axes[place]) == declared;
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
        OfClass::text("treatment", |class| value(class[0])),
        OfClass::count("pairs", "pairs with medians", |class| pairs(class).len()),
        of_pairs("time per sample, ratio", "time per sample", sample_ms),
        of_pairs("training time, ratio", "training time", training),
        OfClass::text("what differs", |class| {
            match differing(view, class, base, &RESULT_PARTS).join("; ") {
                none if none.is_empty() => "nothing in the specifications".to_owned(),
                differs => differs,
            }
        }),
    ];
    let base_name = value(base[0]);
    let about = format!(
        "The manifest declares the axis {name} as the treatment: its values may differ in work, so that these are ratios of \
         whole treatments and no speed-ups. Each is own time ÷ time of {base_name}, the geometric mean over pairs of \
         cells that agree on all other axes; everything that differs stands beside it."
    );
    let others = all.iter().filter(|class| value(class[0]) != base_name);
    let rows: Vec<_> = others.map(|class| (String::new(), class)).collect();
    let head = ("treatments", "Ratios of treatments", about);
    (!rows.is_empty()).then(|| field::of_rows(head, &fields, rows))
}
