//! Whether cells differ in speed only.

use crate::base::statistics::range;
use crate::report::quality::median_over_seeds;
use crate::report::view::{Cell, View};

/// Settings of training that change its speed, but not its result.
const OF_SPEED: [&str; 3] = ["device", "threads", "save-to"];

/// Largest relative difference of best losses at which user programs count as having equal results.
const SAME_RESULT: f64 = 0.05;

/// Whether user programs (`kind = "command"`) reach different best losses, for example because each loader worker reads
/// other samples.
fn results_differ(cells: &[&Cell<'_>]) -> bool {
    let programs = cells.iter().filter(|cell| cell.is_of_command);
    let losses = programs.filter_map(|cell| median_over_seeds(cell, &|facts| facts.best_loss));
    let losses: Vec<f64> = losses.map(|loss| loss.value).collect();
    range(&losses).is_some_and(|(least, most)| most - least > SAME_RESULT * most.abs())
}

/// Whether the cells have the same model, data, loss and training, and differ only in device, threads and the like.
pub(super) fn changes_only_speed(view: &View<'_>, cells: &[&Cell<'_>]) -> bool {
    if results_differ(cells) {
        return false;
    }
    let section = |cell: &Cell<'_>, name: &str| {
        let mut own = view.section(cell, name).cloned().unwrap_or_default();
        if let Some(table) = own.as_object_mut() {
            table.retain(|key, _| !OF_SPEED.contains(&key.as_str()));
        }
        own
    };
    let is_same = |cell: &&Cell<'_>| {
        let mut sections = ["model", "dataset", "loss", "train", "validation"].into_iter();
        sections.all(|name| section(cell, name) == section(cells[0], name))
    };
    cells.iter().all(is_same)
}
