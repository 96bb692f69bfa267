//! Losses and metrics: what training achieved.

use std::collections::BTreeSet;

use crate::base::statistics::{median, range};
use crate::base::text::count;
use crate::base::units::{human, human_integer};
use crate::event::RunFacts;
use crate::report::measure::column_words;
use crate::report::number::{Number, between};
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::Direction;

use super::field::{self, OfCell};
use super::leak;
use super::reach::{Target, equal_loss};

/// Significant digits of losses and metrics.
const DIGITS: usize = 4;

/// Metrics that the table shows at most; all of them are in `runs.csv`.
const METRICS: usize = 3;

/// The table of losses and metrics.
pub(crate) fn table(view: &View<'_>) -> Table {
    type Get = fn(&RunFacts) -> Option<f64>;
    let targets = Target::all(view);
    let (metrics, equal, seeds) = (metric_names(view), equal_loss(view), seeds_in_words(view));
    let (shown, left) = shown_metrics(view, &metrics);
    let of_seeds = |heading, get: Get| {
        OfCell::measured(heading, "", &*seeds, move |cell| {
            Entry::number(over_seeds(cell, &get).as_ref())
        })
    };
    let mut fields = vec![
        of_seeds("best loss", |facts| facts.best_loss),
        of_seeds("eval loss before", |facts| facts.eval_loss_before),
        of_seeds("eval loss after", |facts| facts.eval_loss_after),
        OfCell::timed("time to the best epoch", "best_epoch_s"),
    ];
    fields.extend(shown.into_iter().map(|name| {
        OfCell::measured(&with_direction(view, name), "", &*seeds, move |cell| {
            let get = |facts: &RunFacts| facts.metrics.get(name).copied().flatten();
            Entry::number(over_seeds(cell, &get).as_ref())
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
    let eval = if are_of_commands(&cells) {
        ""
    } else {
        " Eval: one fixed batch with fixed noise, before and after training."
    };
    let mut facts = cells
        .iter()
        .flat_map(|cell| &cell.runs)
        .filter_map(|row| row.facts.as_ref());
    let best = if facts.any(|facts| facts.best_loss.is_some()) {
        let loss = loss_name(view);
        format!("Best: {loss} over epochs, optimistic as the same data chose the epoch.")
    } else {
        String::new()
    };
    let floor = leak::floor_sentence(view).unwrap_or_default();
    let about = format!("{best}{eval}{reached}{left}{floor}");
    let about = about.trim_start().to_owned();
    let has_facts = |cell: &Cell<'_>| cell.runs.iter().any(|row| row.facts.is_some());
    field::of_cells(view, ("quality", "Quality", about), &fields, has_facts)
}

/// The metrics that tell most: the one that decides and its value on the test split, then others of the test split; and how
/// many are left out.
fn shown_metrics<'n>(view: &View<'_>, names: &'n [String]) -> (Vec<&'n str>, usize) {
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let deciding = column(view, &cells);
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

/// Column of the loss that `best_loss` is the best value of.
pub(crate) fn loss_column(view: &View<'_>) -> &'static str {
    let has = |name: &&str| {
        let mut rows = view.set.epochs.iter();
        rows.any(|row| row.epoch.validation.contains_key(*name))
    };
    let found = ["val_loss", "test_loss"].into_iter().find(has);
    found.unwrap_or("train_loss")
}

/// The loss's name in words.
pub(crate) fn loss_name(view: &View<'_>) -> &'static str {
    match loss_column(view) {
        "val_loss" => "validation loss",
        "test_loss" => "test loss",
        _ => "training loss",
    }
}

/// Metrics that say how good a model is: the first that all cells have is their quality. The validation split chooses, so that
/// the test split tells how good the choice is.
const QUALITIES: [&str; 4] = ["val_accuracy", "test_accuracy", "val_r2", "test_r2"];

/// The column that says how good cells are: a metric that all of those with facts have, also one that a command declares, else
/// the best loss.
pub(crate) fn column(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let facts = || cells.iter().flat_map(|cell| cell.facts());
    let has = |name: &str| {
        facts().next().is_some()
            && facts().all(|facts| facts.metrics.get(name).is_some_and(Option::is_some))
    };
    let found = QUALITIES.into_iter().find(|metric| has(metric));
    let declared = || {
        let columns = view.set.plan.columns.iter();
        let judged =
            columns.filter(|column| !column.is_time && column.direction != Direction::None);
        let names = judged.map(|column| &*column.name);
        names
            .filter(|_| are_of_commands(cells))
            .find(|name| !name.starts_with("best_") && has(name))
    };
    found.or_else(declared).unwrap_or("best_loss").to_owned()
}

/// Whether programs of the user train the cells, which report what they like.
pub(crate) fn are_of_commands(cells: &[&Cell<'_>]) -> bool {
    !cells.is_empty() && cells.iter().all(|cell| cell.is_of_command)
}

/// Whether the runs of cells report only times.
pub(crate) fn are_silent(cells: &[&Cell<'_>]) -> bool {
    let rows = cells.iter().flat_map(|cell| &cell.runs);
    let mut facts = rows.filter_map(|row| row.facts.as_ref());
    facts.all(|facts| facts.metrics.is_empty() && facts.best_loss.is_none())
}

/// Sentence: the quality of the best of several choices is optimistic, since its data made the choice; and what untouched data
/// say of the best. `None` for a column that is no quality.
pub(crate) fn optimistic(
    view: &View<'_>,
    choices: &str,
    (best, others): (&Cell<'_>, &[(&str, &Cell<'_>)]),
    column: &str,
) -> Option<String> {
    let (metric, is_over_epochs) = match column.strip_prefix("best_") {
        Some("loss") => (loss_column(view), true),
        Some(metric) => (metric, true),
        None => (column, false),
    };
    let (split, name) = metric.split_once('_')?;
    let words = match split {
        "val" => "validation",
        "test" => "test",
        "train" => "training",
        _ => return None,
    };
    let epochs = over_seeds(best, &|facts: &RunFacts| Some(facts.epochs as f64));
    let epochs = epochs.filter(|epochs| is_over_epochs && epochs.value > 1.0);
    let epochs = epochs.map_or(String::new(), |epochs| {
        format!(" of up to {} epochs each", epochs.text)
    });
    let fresh = format!("test_{name}");
    let get = |facts: &RunFacts| facts.metrics.get(&fresh).copied().flatten();
    let fresh = over_seeds(best, &get).filter(|_| split == "val");
    let fresh = fresh.map_or(String::new(), |value| {
        let (value, name) = (value.shown(), column_words(name));
        let of_others = others.iter().filter_map(|(which, cell)| {
            Some(format!(
                ", that of {which} {}",
                over_seeds(cell, &get)?.shown()
            ))
        });
        let of_others: String = of_others.collect();
        format!("; on the test split, which chose nothing, its {name} is {value}{of_others}")
    });
    Some(format!(
        "Optimistic: it is the best of {choices}{epochs} on the {words} split, which chose it{fresh}."
    ))
}

/// Share of the loss before training by which it must fall for a run to have learned.
const LEARNED: f64 = 0.01;
/// Share of its first training loss below which a run fits its training data.
const FITS: f64 = 0.5;

/// Whether a run learned: its loss on the evaluation batch fell by more than 1 %, or it [`overfits`]. `None` where the former was not
/// evaluated.
pub(crate) fn has_learned(facts: &RunFacts) -> Option<bool> {
    Some(has_fallen(facts)? || overfits(facts))
}

/// Whether a run fits its training data, and nothing shows that it fits others: its training loss fell to less than half, and its loss
/// on the evaluation batch did not fall.
pub(crate) fn overfits(facts: &RunFacts) -> bool {
    let losses = facts.first_loss.zip(facts.final_loss);
    let fits = losses.is_some_and(|(first, last)| first > 0.0 && last < FITS * first);
    fits && has_fallen(facts) == Some(false)
}

fn has_fallen(facts: &RunFacts) -> Option<bool> {
    let (before, after) = (facts.eval_loss_before?, facts.eval_loss_after?);
    Some(after < before - LEARNED * before.abs())
}

/// Why quality does not tell which cell is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Untold {
    /// Some run did not learn, or was not evaluated before and after.
    NotLearned,
    /// The runs saw different numbers of samples.
    OtherSamples,
}

/// Whether cells can be compared by quality.
pub(crate) fn told(cells: &[&Cell<'_>]) -> Result<(), Untold> {
    if are_of_commands(cells) && !are_silent(cells) {
        // A command is judged by what it declares.
        return Ok(());
    }
    let own = cells.iter().filter(|cell| !cell.is_of_command);
    let facts: Vec<&RunFacts> = own.flat_map(|cell| cell.facts()).collect();
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
    let facts = cells.iter().flat_map(|cell| cell.facts());
    let mut before = facts.filter_map(|facts| facts.eval_loss_before);
    before.all(|before| loss < before - LEARNED * before.abs())
}

/// Median over the seeds that have the value, with their range.
pub(crate) fn over_seeds(
    cell: &Cell<'_>,
    get: &dyn Fn(&RunFacts) -> Option<f64>,
) -> Option<Number> {
    of_seeds(&cell.facts().filter_map(get).collect::<Vec<f64>>())
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
        unit: String::new(),
        value: middle,
    })
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
        name,
        known.map_or(Direction::None, |column| column.direction),
    )
}

/// A name with an arrow to what is better.
pub(crate) fn arrowed(name: &str, better: Direction) -> String {
    match better {
        Direction::Lower => format!("{name} ↓"),
        Direction::Higher => format!("{name} ↑"),
        Direction::None => name.to_owned(),
    }
}

pub(crate) fn seeds_in_words(view: &View<'_>) -> String {
    let most = view.cells.iter().map(|cell| cell.runs.len()).max();
    match most.unwrap_or(0) {
        0 | 1 => "1 seed".to_owned(),
        n => format!("median and range of {n} seeds"),
    }
}
