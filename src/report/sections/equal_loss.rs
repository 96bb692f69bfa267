//! Time to the loss that all cells reach, where an axis is declared as the treatment.

use super::quality::is_worth_reaching;
use super::speed::timing;
use crate::base::statistics::median;
use crate::base::units::human;
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry};
use crate::report::view::{Cell, View};

/// The loss that every run with a curve reaches: the largest of their best. Validation where there is one.
///
/// `None` where a model without training is as good, and without `compare.treatment`: only there are cells of different work meant to be held against each other.
pub(super) fn target(view: &View<'_>) -> Option<f64> {
    view.set.plan.compare.get("treatment")?.as_str()?;
    let runs = view.cells.iter().flat_map(|cell| {
        let seeds = cell.runs.iter();
        seeds.map(move |row| (cell, row.seed))
    });
    let best = runs.filter_map(|(cell, seed)| {
        let losses = curve(cell, seed).map(|(_, loss)| loss);
        losses.reduce(f64::min)
    });
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    let reached = best.reduce(f64::max);
    reached.filter(|loss| is_worth_reaching(*loss, &cells))
}

/// The heading of the column.
pub(super) fn column(target: f64) -> Column {
    let how = Provenance::Derived(format!(
        "training time × share of the epochs until the loss is {} or less, which all cells reach",
        human(target, 4)
    ));
    Column::number("time to equal loss", "s", &how)
}

/// A cell's time to it: median over its seeds.
pub(super) fn entry(cell: &Cell<'_>, target: f64) -> Entry {
    let shares: Vec<f64> = cell
        .runs
        .iter()
        .filter_map(|row| {
            let mut losses = curve(cell, row.seed);
            let (epoch, _) = losses.find(|(_, loss)| *loss <= target)?;
            Some((epoch + 1) as f64 / row.facts.as_ref()?.epochs as f64)
        })
        .collect();
    match (median(&shares), timing(cell, "train_s")) {
        (Some(share), Some(training)) => {
            let seconds = share * training.value;
            Entry::value(seconds, human(seconds, 3))
        }
        _ => Entry::text("–"),
    }
}

/// Epochs and losses of a run, in order.
fn curve<'a>(cell: &'a Cell<'_>, seed: u64) -> impl Iterator<Item = (usize, f64)> + 'a {
    let own = cell.epochs.iter().filter(move |row| row.seed == seed);
    own.filter_map(|row| {
        let validation = row.epoch.validation.get("val_loss").copied();
        Some((row.epoch.epoch, validation.unwrap_or(row.epoch.train_loss)?))
    })
}
