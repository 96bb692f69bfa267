//! Losses and metrics: what training achieved.

use std::collections::BTreeSet;

use crate::base::text::count;
use crate::event::RunFacts;
use crate::report::measure::column_words;
use crate::report::quality::{
    all_are_commands, arrowed, loss_column, median_over_seeds, quality_column,
};
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::Direction;

use super::field::{self, CellColumn};
use super::leak;
use super::reach::{Target, equal_loss};

/// Largest number of metrics in the table; all of them are in `runs.csv`.
const METRICS: usize = 3;

/// The table of losses and metrics.
pub(crate) fn table(view: &View<'_>) -> Table {
    type Get = fn(&RunFacts) -> Option<f64>;
    let targets = Target::all(view);
    let (metrics, equal, seeds) = (metric_names(view), equal_loss(view), seeds_in_words(view));
    let (shown, left) = shown_metrics(view, &metrics);
    let of_seeds = |heading, get: Get| {
        CellColumn::measured(heading, "", &*seeds, move |cell| {
            Entry::number(median_over_seeds(cell, &get).as_ref())
        })
    };
    let mut fields = vec![
        of_seeds("best loss", |facts| facts.best_loss),
        of_seeds("eval loss before", |facts| facts.eval_loss_before),
        of_seeds("eval loss after", |facts| facts.eval_loss_after),
        CellColumn::timed("time to the best epoch", "best_epoch_s"),
    ];
    fields.extend(shown.into_iter().map(|name| {
        CellColumn::measured(&with_direction(view, name), "", &*seeds, move |cell| {
            let get = |facts: &RunFacts| facts.metrics.get(name).copied().flatten();
            Entry::number(median_over_seeds(cell, &get).as_ref())
        })
    }));
    let equal = equal.as_ref();
    fields.extend(equal.map(|target| target.field("time to equal loss")));
    fields.extend(
        targets
            .iter()
            .map(|target| target.field(&format!("time to {}", target.words()))),
    );
    let reached = equal.map_or_else(String::new, |target| {
        format!(" Equal loss: {}, which all cells reach.", target.words())
    });
    let left = match left {
        0 => String::new(),
        left => format!(" In runs.csv: {}.", count(left, "more metric")),
    };
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    let eval = if all_are_commands(&cells) {
        ""
    } else {
        " Eval: one fixed batch with fixed noise, before and after training."
    };
    let mut facts = cells.iter().flat_map(|cell| cell.facts());
    let best = if facts.any(|facts| facts.best_loss.is_some()) {
        let loss = column_words(loss_column(view));
        format!("Best: lowest {loss} of an epoch, optimistic: chosen on the same data.")
    } else {
        String::new()
    };
    let floor = leak::floor_sentence(view).unwrap_or_default();
    let about = format!("{best}{eval}{reached}{left}{floor}");
    let about = about.trim_start().to_owned();
    let has_facts = |cell: &Cell<'_>| cell.facts().next().is_some();
    field::of_cells(view, ("quality", "Quality", about), &fields, has_facts)
}

/// The most important metrics: the deciding one and its value on the test split, then others of the test split. Also
/// returns how many are left out.
fn shown_metrics<'n>(view: &View<'_>, names: &'n [String]) -> (Vec<&'n str>, usize) {
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let deciding = quality_column(view, &cells);
    let is_of = |name: &str, split: &str| name.split_once('_').is_some_and(|(own, _)| own == split);
    let on_test = deciding
        .split_once('_')
        .map(|(_, metric)| format!("test_{metric}"));
    let rank = |name: &&str| match *name {
        name if name == deciding => 0,
        name if Some(name) == on_test.as_deref() => 1,
        name if !["val", "test", "train", "fresh"]
            .iter()
            .any(|split| is_of(name, split)) =>
        {
            2
        }
        name if is_of(name, "test") => 3,
        _ => 4,
    };
    let mut shown: Vec<&str> = names.iter().map(String::as_str).collect();
    shown.sort_by_key(rank);
    shown.truncate(METRICS);
    let left = names.len() - shown.len();
    (shown, left)
}

pub(crate) fn metric_names(view: &View<'_>) -> Vec<String> {
    let facts = view.set.runs.iter().filter_map(|row| row.facts.as_ref());
    let names: BTreeSet<&String> = facts.flat_map(|facts| facts.metrics.keys()).collect();
    names.into_iter().cloned().collect()
}

pub(crate) fn with_direction(view: &View<'_>, name: &str) -> String {
    let mut known = view.set.plan.columns.iter();
    let known = known.find(|column| column.name == name);
    arrowed(
        &column_words(name),
        known.map_or(Direction::None, |column| column.direction),
    )
}

pub(crate) fn seeds_in_words(view: &View<'_>) -> String {
    let most = view.cells.iter().map(|cell| cell.runs.len()).max();
    match most.unwrap_or(0) {
        0 | 1 => "1 seed".to_owned(),
        n => format!("median and range of {n} seeds"),
    }
}
