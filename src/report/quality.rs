//! What training achieved: the metric that measures the quality of cells, whether runs learned, and medians over seeds.

use crate::event::RunFacts;
use crate::plan::search::objective::varies_between_runs;
use crate::results::Direction;

use super::measure::column_words;
use super::number::{Number, number_over_seeds};
use super::view::{Cell, View};

/// The loss column of `epochs.csv` from which the best loss is taken: that of the validation, else the test, else the
/// training split.
pub(crate) fn loss_column(view: &View<'_>) -> &'static str {
    let has = |name: &&str| {
        let mut rows = view.set.epochs.iter();
        rows.any(|row| row.epoch.validation.contains_key(*name))
    };
    let found = ["val_loss", "test_loss"].into_iter().find(has);
    found.unwrap_or("train_loss")
}

/// The metric in `epochs.csv` for a column with its best value: `val_accuracy` for `best_val_accuracy`; other columns
/// are returned unchanged.
pub(crate) fn column_of_epochs<'c>(view: &View<'_>, column: &'c str) -> &'c str {
    match column.strip_prefix("best_") {
        Some("loss") => loss_column(view),
        metric => metric.unwrap_or(column),
    }
}

/// Metrics that measure quality: the first one that all cells have is used. Validation comes first, so that the test
/// split remains an unbiased estimate for the chosen cell.
const QUALITIES: [&str; 4] = ["val_accuracy", "test_accuracy", "val_r2", "test_r2"];

/// The column that measures the quality of cells: a metric that all cells with facts have (possibly one declared by a
/// command), else the best loss.
pub(crate) fn quality_column(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
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
            .filter(|_| all_are_commands(cells))
            .find(|name| !name.starts_with("best_") && has(name))
    };
    found.or_else(declared).unwrap_or("best_loss").to_owned()
}

/// Whether programs of the user train the cells, which may report any subset of facts.
pub(crate) fn all_are_commands(cells: &[&Cell<'_>]) -> bool {
    !cells.is_empty() && cells.iter().all(|cell| cell.is_of_command)
}

/// Whether the runs of cells report nothing but times.
pub(crate) fn report_only_times(cells: &[&Cell<'_>]) -> bool {
    let mut facts = cells.iter().flat_map(|cell| cell.facts());
    facts.all(|facts| facts.metrics.is_empty() && facts.best_loss.is_none())
}

/// Sentence: the best value of a quality is optimistic, since it was chosen on the data that it is computed from;
/// states the value on the test split too. `None` if the column is not a quality.
pub(crate) fn optimism_sentence(
    view: &View<'_>,
    choices: &str,
    (best, others): (&Cell<'_>, &[(&str, &Cell<'_>)]),
    column: &str,
) -> Option<String> {
    let (metric, is_over_epochs) = (column_of_epochs(view, column), column.starts_with("best_"));
    let (split, name) = metric.split_once('_')?;
    if !["val", "test", "train"].contains(&split) || varies_between_runs(metric) {
        return None;
    }
    let words = column_words(split);
    let epochs = median_over_seeds(best, &|facts: &RunFacts| Some(facts.epochs as f64));
    let epochs = epochs.filter(|epochs| is_over_epochs && epochs.value > 1.0);
    let epochs = epochs.map_or(String::new(), |epochs| {
        format!(" of up to {} epochs each", epochs.text)
    });
    let fresh = format!("test_{name}");
    let get = |facts: &RunFacts| facts.metrics.get(&fresh).copied().flatten();
    let fresh = median_over_seeds(best, &get).filter(|_| split == "val");
    let fresh = fresh.map_or(String::new(), |value| {
        let (value, name) = (value.text_with_interval(), column_words(name));
        let of_others = others.iter().filter_map(|(which, cell)| {
            Some(format!(
                ", that of {which} {}",
                median_over_seeds(cell, &get)?.text_with_interval()
            ))
        });
        let of_others: String = of_others.collect();
        format!(
            "; on the test split, which was used for no choice, its {name} is {value}{of_others}"
        )
    });
    Some(format!(
        "The best value is optimistic: it was chosen among {choices}{epochs} on the same {words} split{fresh}."
    ))
}

/// Fraction of the loss before training by which it must fall for a run to have learned.
const LEARNED: f64 = 0.01;

/// Fraction of the first training loss below which a run counts as fitting its training data.
const FITS: f64 = 0.5;

/// Whether a run learned: its loss on the fixed batch fell by more than 1 %, or it [`overfits`]. `None` if that loss
/// was not evaluated.
pub(crate) fn has_learned(facts: &RunFacts) -> Option<bool> {
    Some(has_fallen(facts)? || overfits(facts))
}

/// Whether more than half of a cell's runs learned.
fn has_mostly_learned(cell: &Cell<'_>) -> bool {
    let runs: Vec<bool> = cell.facts().filter_map(has_learned).collect();
    2 * runs.iter().filter(|learned| **learned).count() > runs.len()
}

/// Whether a run fits its training data, but not other data: its training loss fell to less than half, and its loss on
/// the fixed batch did not fall.
pub(crate) fn overfits(facts: &RunFacts) -> bool {
    let losses = facts.first_loss.zip(facts.final_loss);
    let fits = losses.is_some_and(|(first, last)| first > 0.0 && last < FITS * first);
    fits && has_fallen(facts) == Some(false)
}

fn has_fallen(facts: &RunFacts) -> Option<bool> {
    let (before, after) = (facts.eval_loss_before?, facts.eval_loss_after?);
    Some(after < before - LEARNED * before.abs())
}

/// Why the quality of cells cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotComparableQuality {
    /// In no cell did more than half of the runs learn, or some run was not evaluated before and after training.
    NotLearned,
    /// The runs were trained on different numbers of samples.
    OtherSamples,
}

impl NotComparableQuality {
    /// The reason as a phrase.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::NotLearned => {
                "in each cell the evaluation loss fell by less than 1 % in at least half of the runs"
            }
            Self::OtherSamples => "the runs saw different numbers of samples",
        }
    }
}

/// Succeeds if the quality of cells can be compared; the error is the reason why it cannot.
pub(crate) fn check_quality_comparable(cells: &[&Cell<'_>]) -> Result<(), NotComparableQuality> {
    if all_are_commands(cells) && !report_only_times(cells) {
        // A metric that a command declares can always be compared.
        return Ok(());
    }
    let own = || cells.iter().filter(|cell| !cell.is_of_command);
    let facts: Vec<&RunFacts> = own().flat_map(|cell| cell.facts()).collect();
    // A run that did not learn is a bad result of its cell, so other cells may be better. If no cell learned,
    // differences are by chance.
    let is_unknown = facts.iter().any(|facts| has_learned(facts).is_none());
    if is_unknown || !own().any(|cell| has_mostly_learned(cell)) {
        return Err(NotComparableQuality::NotLearned);
    }
    let is_other = |own: &&RunFacts| own.samples != facts[0].samples;
    if facts.iter().any(is_other) {
        return Err(NotComparableQuality::OtherSamples);
    }
    Ok(())
}

/// Whether `loss` is more than 1 % below the initial loss of every run of the cells; otherwise an untrained model
/// reaches it. Runs without an evaluation before training are ignored.
pub(crate) fn is_worth_reaching(loss: f64, cells: &[&Cell<'_>]) -> bool {
    let facts = cells.iter().flat_map(|cell| cell.facts());
    let mut before = facts.filter_map(|facts| facts.eval_loss_before);
    before.all(|before| loss < before - LEARNED * before.abs())
}

/// Median over the seeds that have the value, with their range.
pub(crate) fn median_over_seeds(
    cell: &Cell<'_>,
    get: &dyn Fn(&RunFacts) -> Option<f64>,
) -> Option<Number> {
    number_over_seeds(&cell.facts().filter_map(get).collect::<Vec<f64>>())
}

/// A name with an arrow that shows which direction is better.
pub(crate) fn arrowed(name: &str, better: Direction) -> String {
    match better {
        Direction::Lower => format!("{name} ↓"),
        Direction::Higher => format!("{name} ↑"),
        Direction::None => name.to_owned(),
    }
}
