//! Losses and metrics: what training achieved.

use crate::base::statistics::{median, range};
use crate::base::units::{human, human_integer};
use crate::event::RunFacts;
use crate::report::number::{Number, Provenance, between};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::Direction;

use super::speed::timing;
use super::{equal_loss, leak};

/// Significant digits of losses and metrics.
const DIGITS: usize = 4;

/// Columns of a run's facts before its metrics.
const FACTS: [fn(&RunFacts) -> Option<f64>; 7] = [
    |facts| facts.first_loss,
    |facts| facts.first_steps_loss,
    |facts| facts.final_loss,
    final_over_first,
    |facts| facts.best_loss,
    |facts| facts.eval_loss_before,
    |facts| facts.eval_loss_after,
];

/// Times beside them.
const TIMES: [&str; 2] = ["best_epoch_s", "improvement_per_s"];

/// The table of losses and metrics.
pub(crate) fn table(view: &View<'_>) -> Table {
    let (metrics, target) = (metric_names(view), equal_loss::target(view));
    let about = format!(
        "First: loss of the first step; first 10 steps: their mean. Final: mean training loss of the last epoch. Best: {} over epochs. \
         Eval: one fixed batch with fixed noise, before and after training. Improvement rate: first less best loss, by \
         the time to the best epoch (which need not be where training converges).{}",
        loss_name(view),
        leak::floor_sentence(view).unwrap_or_default()
    );
    let mut columns = columns(view, &metrics);
    columns.extend(target.map(equal_loss::column));
    Table::of_cells(view, ("quality", "Quality", about), columns, |cell| {
        if cell.runs.iter().all(|row| row.facts.is_none()) {
            return None;
        }
        let facts = FACTS
            .iter()
            .map(|get| Entry::number(over_seeds(cell, get).as_ref()));
        let mut fields: Vec<Entry> = facts.collect();
        fields.push(change(cell));
        fields.extend(TIMES.map(|name| Entry::number(timing(cell, name).as_ref())));
        for name in &metrics {
            let get = |facts: &RunFacts| facts.metrics.get(name).copied().flatten();
            fields.push(Entry::number(over_seeds(cell, &get).as_ref()));
        }
        fields.extend(target.map(|target| equal_loss::entry(cell, target)));
        Some(fields)
    })
}

fn columns(view: &View<'_>, metrics: &[String]) -> Vec<Column> {
    let how = Provenance::Measured(seeds_in_words(view));
    let timed = Provenance::Measured("median of n runs".into());
    let ratio = Provenance::Derived("final loss ÷ first 10 steps".into());
    let change = Provenance::Derived("after ÷ before − 1".into());
    let mut columns = vec![
        Column::number("first loss", "", &how),
        Column::number("first 10 steps", "", &how),
        Column::number("final loss", "", &how),
        Column::number("final ÷ first 10", "", &ratio),
        Column::number("best loss", "", &how),
        Column::number("eval loss before", "", &how),
        Column::number("eval loss after", "", &how),
        Column::number("change", "%", &change),
        Column::number("time to the best epoch", "s", &timed),
        Column::number("improvement rate ↑", "1/s", &timed),
    ];
    let metrics = metrics.iter();
    columns.extend(metrics.map(|name| Column::number(&with_direction(view, name), "", &how)));
    columns
}

/// The best loss of a cell: the one value that headline and table show.
pub(crate) fn best_loss(cell: &Cell<'_>) -> Option<Number> {
    over_seeds(cell, &|facts: &RunFacts| facts.best_loss)
}

/// The loss of the first step of a cell.
pub(crate) fn first_loss(cell: &Cell<'_>) -> Option<Number> {
    over_seeds(cell, &|facts: &RunFacts| facts.first_loss)
}

/// Which loss the best one is.
pub(crate) fn loss_name(view: &View<'_>) -> &'static str {
    let has = |name| {
        let mut rows = view.set.epochs.iter();
        rows.any(|row| row.epoch.validation.contains_key(name))
    };
    if has("val_loss") {
        "validation loss"
    } else if has("test_loss") {
        "test loss"
    } else {
        "training loss"
    }
}

/// Metrics that say how good a model is, the best first: where all cells have one, it is their quality.
const QUALITIES: [&str; 4] = ["test_accuracy", "val_accuracy", "test_r2", "val_r2"];

/// The column that says how good cells are: a metric that all of those with facts have, else the best loss.
pub(crate) fn column(cells: &[&Cell<'_>]) -> &'static str {
    let facts = || {
        let rows = cells.iter().flat_map(|cell| &cell.runs);
        rows.filter_map(|row| row.facts.as_ref())
    };
    let has = |name: &str| {
        facts().next().is_some()
            && facts().all(|facts| facts.metrics.get(name).is_some_and(Option::is_some))
    };
    let found = QUALITIES.into_iter().find(|metric| has(metric));
    found.unwrap_or("best_loss")
}

/// Share of the loss before training by which it must fall for a run to have learned.
const LEARNED: f64 = 0.01;

/// Whether a run learned: its loss on the evaluation batch fell by more than 1 %. `None` where that was not evaluated.
pub(crate) fn has_learned(facts: &RunFacts) -> Option<bool> {
    let (before, after) = (facts.eval_loss_before?, facts.eval_loss_after?);
    Some(after < before - LEARNED * before.abs())
}

/// Why the quality of cells says nothing about which is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untold {
    /// Some run did not learn, or was not evaluated before and after.
    NotLearned,
    /// The runs saw different numbers of samples.
    OtherSamples,
}

/// Whether the quality of cells can be held against each other.
pub(crate) fn told(cells: &[&Cell<'_>]) -> Result<(), Untold> {
    let rows = cells.iter().flat_map(|cell| &cell.runs);
    let facts: Vec<&RunFacts> = rows.filter_map(|row| row.facts.as_ref()).collect();
    if facts.is_empty() || !facts.iter().all(|facts| has_learned(facts) == Some(true)) {
        return Err(Untold::NotLearned);
    }
    let is_other = |own: &&RunFacts| own.samples != facts[0].samples;
    if facts.iter().any(is_other) {
        return Err(Untold::OtherSamples);
    }
    Ok(())
}

/// Whether a loss lies below what every run of some cells had before training, by more than 1 %: only then does reaching it
/// tell anything. A run without an evaluation before training decides nothing.
pub(crate) fn is_worth_reaching(loss: f64, cells: &[&Cell<'_>]) -> bool {
    let rows = cells.iter().flat_map(|cell| &cell.runs);
    let mut before = rows.filter_map(|row| row.facts.as_ref()?.eval_loss_before);
    before.all(|before| loss < before - LEARNED * before.abs())
}

/// Final loss over that of the first steps; of losses that may fall below 0 a ratio says nothing.
fn final_over_first(facts: &RunFacts) -> Option<f64> {
    let (last, first) = (facts.final_loss?, facts.first_steps_loss?);
    (last >= 0.0 && first > 0.0).then(|| last / first)
}

/// Median over the seeds that have the value, with their range.
pub(crate) fn over_seeds(
    cell: &Cell<'_>,
    get: &dyn Fn(&RunFacts) -> Option<f64>,
) -> Option<Number> {
    let facts = cell.runs.iter().filter_map(|row| row.facts.as_ref());
    of_seeds(&facts.filter_map(get).collect::<Vec<f64>>())
}

/// Median and range of one value per seed.
pub(crate) fn of_seeds(values: &[f64]) -> Option<Number> {
    let middle = median(values)?;
    let (low, high) = range(values)?;
    let is_whole = values.iter().all(|value| value.fract() == 0.0);
    let text = |value: f64| {
        if is_whole && value.fract() == 0.0 && value >= 0.0 {
            human_integer(value as u64)
        } else {
            human(value, DIGITS)
        }
    };
    let interval = (values.len() > 1).then(|| between(&text(low), &text(high)));
    Some(Number {
        text: text(middle),
        interval,
        ends: (values.len() > 1).then_some((low, high)),
        interval_name: "range of the seeds",
        unit: String::new(),
        provenance: Provenance::Measured(format!("n = {} seeds", values.len()))
            .to_string()
            .replace("1 seeds", "1 seed"),
        value: middle,
    })
}

fn change(cell: &Cell<'_>) -> Entry {
    let before = over_seeds(cell, &|facts: &RunFacts| facts.eval_loss_before);
    let after = over_seeds(cell, &|facts: &RunFacts| facts.eval_loss_after);
    match (before, after) {
        (Some(before), Some(after)) if before.value > 0.0 => {
            let percent = (after.value / before.value - 1.0) * 100.0;
            let sign = if percent > 0.0 { "+" } else { "" };
            Entry::value(percent, format!("{sign}{}", human(percent, 3)))
        }
        _ => Entry::text("–"),
    }
}

pub(crate) fn metric_names(view: &View<'_>) -> Vec<String> {
    let facts = view.set.runs.iter().filter_map(|row| row.facts.as_ref());
    let mut names: Vec<String> = facts
        .flat_map(|facts| facts.metrics.keys().cloned())
        .collect();
    names.sort();
    names.dedup();
    names
}

pub(crate) fn with_direction(view: &View<'_>, name: &str) -> String {
    let known = view
        .set
        .plan
        .columns
        .iter()
        .find(|column| column.name == name);
    match known.map(|column| column.direction) {
        Some(Direction::Lower) => format!("{name} ↓"),
        Some(Direction::Higher) => format!("{name} ↑"),
        _ => name.to_owned(),
    }
}

pub(crate) fn seeds_in_words(view: &View<'_>) -> String {
    let most = view.cells.iter().map(|cell| cell.runs.len()).max();
    match most.unwrap_or(0) {
        0 | 1 => "1 seed".to_owned(),
        n => format!("median and range of {n} seeds"),
    }
}
