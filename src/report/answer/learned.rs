//! Sentences on whether runs learned: their loss on a fixed batch before and after training.

use crate::base::statistics::median;
use crate::base::text::count;
use crate::base::units::human;
use crate::event::RunFacts;
use crate::report::quality::{has_learned, overfits};
use crate::report::view::{Cell, View};

use super::context::NAMED;

/// Note that a lower loss on the fixed batch may also be overfitting.
const OVERFITS: &str = "the loss on a fixed batch did not fall by 1 %, while the training loss fell to less than half: the training data are fitted, \
    and nothing shows that others are";

/// Sentence: whether the loss on a fixed batch fell in every run, with its medians for a single cell; `None` if it was
/// not evaluated.
pub(super) fn learned(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<String> {
    let runs = evaluated(cells);
    let facts = cells.iter().flat_map(|cell| cell.facts());
    let over = facts.filter(|facts| overfits(facts)).count();
    let told = not_learned(view, cells).or_else(|| {
        let figures = in_brackets(cells).unwrap_or_default();
        let of = count(runs, "run");
        (over > 0).then(|| format!("In {over} of {of} {OVERFITS}{figures}."))
    });
    let fell = || match (medians(cells), runs) {
        (None, _) => {
            format!("In each of {runs} runs the loss on a fixed batch fell by more than 1 %.")
        }
        (Some([before, after, epochs]), 1) => {
            format!(
                "The loss on a fixed batch fell from {before} to {after} in {epochs} (one run)."
            )
        }
        (Some([before, after, epochs]), _) => format!(
            "In each of {runs} runs the loss on a fixed batch fell: from {before} to {after} in {epochs} (medians)."
        ),
    };
    (runs > 0).then(|| told.unwrap_or_else(fell))
}

/// Sentence: in how many runs the loss on a fixed batch did not fall; `None` if it fell in all.
pub(super) fn not_learned(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<String> {
    let count_in = |cell: &Cell<'_>| {
        let learned = cell.facts().filter_map(has_learned);
        learned.filter(|learned| !learned).count()
    };
    let not = cells.iter().map(|cell| (*cell, count_in(cell)));
    let mut not: Vec<(&Cell<'_>, usize)> = not.filter(|(_, not)| *not > 0).collect();
    not.sort_by_key(|(_, not)| std::cmp::Reverse(*not));
    let failed: usize = not.iter().map(|(_, not)| not).sum();
    let names = not.iter().take(NAMED);
    let names: Vec<String> = names.map(|(cell, _)| view.name(cell, None)).collect();
    let more = match not.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more cells"),
    };
    let (figures, who) = match in_brackets(cells) {
        Some(figures) => (figures, "the model learned".to_owned()),
        None => (
            String::new(),
            format!("they learned ({}{more})", names.join("; ")),
        ),
    };
    let of = count(evaluated(cells), "run");
    (failed > 0).then(|| {
        format!(
            "In {failed} of {of} the loss on a fixed batch did not fall by 1 %{figures}: nothing shows that {who}."
        )
    })
}

/// Number of runs whose loss on the fixed batch was evaluated before and after training.
fn evaluated(cells: &[&Cell<'_>]) -> usize {
    let facts = cells.iter().flat_map(|cell| cell.facts());
    facts.filter_map(has_learned).count()
}

/// For a single cell: the medians of the loss before and after training, and of the number of epochs.
fn medians(cells: &[&Cell<'_>]) -> Option<[String; 3]> {
    let [cell] = cells else { return None };
    let over = |get: fn(&RunFacts) -> Option<f64>| {
        median(&cell.facts().filter_map(get).collect::<Vec<f64>>())
    };
    let epochs = over(|facts| Some(facts.epochs as f64))? as usize;
    let losses = [
        over(|facts| facts.eval_loss_before)?,
        over(|facts| facts.eval_loss_after)?,
    ];
    let [before, after] = losses.map(|loss| human(loss, 3));
    Some([before, after, count(epochs, "epoch")])
}

/// The values of [`medians`] in parentheses, for the end of a sentence: ` (2.31 before, 0.52 after 20 epochs)`.
fn in_brackets(cells: &[&Cell<'_>]) -> Option<String> {
    let [before, after, epochs] = medians(cells)?;
    Some(format!(" ({before} before, {after} after {epochs})"))
}
