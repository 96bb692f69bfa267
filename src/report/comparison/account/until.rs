//! Times of a run side by side, and the time until a model is as good as the other side's.

use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::section::Section;

use super::figure::Figure;
use super::goal::Goal;
use super::rows::{Line, columns, line, over_pairs};
use super::search;

messages! {
    until_title() = "Time to a model" | "Zeit bis zum Modell";
    until_about() = "From the start of a run to a trained and evaluated model. Training leaves validation out; the whole run has start-up, training and validation." | "Vom Start eines Laufs bis zum trainierten und geprüften Modell. Das Training enthält keine Validierung; der ganze Lauf besteht aus Start, Training und Validierung.";
}

/// Times of a run, in the order in which it spends them.
const TIMES: [Figure; 5] = [
    Figure::Startup,
    Figure::Training,
    Figure::Validation,
    Figure::WholeRun,
    Figure::Evaluation,
];

/// The section; `None` where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let first = scene.shown().next()?;
    let naming = ("until", words.until_title(), words.until_about());
    over_pairs(scene, naming, columns(scene), |duo| {
        // A search is one for all pairs.
        let is_first = std::ptr::eq(duo.pair, first.pair);
        let mut lines: Vec<Line> = Vec::new();
        lines.extend(search::line(scene).filter(|_| is_first));
        lines.extend(TIMES.iter().map(|figure| line(scene, duo, figure)));
        // What neither side has is no time to a model.
        lines.retain(|(_, missing)| missing.is_none());
        lines.extend(goals(duo).iter().map(|goal| line(scene, duo, goal)));
        lines
    })
}

fn goals(duo: &Duo<'_, '_>) -> Vec<Goal> {
    let equal = Goal::equal_loss(duo.both);
    equal
        .into_iter()
        .chain(Goal::targets(duo.both[1]))
        .collect()
}
