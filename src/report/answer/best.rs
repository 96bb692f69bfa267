//! [`BestCells`]: the cells that the answer calls the best, so that commands can use their weights.

use super::choice::{ComparedToBest, TaskRanking};
use crate::report::search::{Search, best_trials};
use crate::report::view::{Cell, View};

/// The best cell and the cells that no test distinguishes from it, the best first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BestCells {
    /// Keys of the best cells: a single one if the answer is clear.
    pub keys: Vec<String>,
    /// Name of the measure that decided: `validation accuracy`.
    pub by: String,
    /// Why there are several best cells, as a phrase; empty for a single one.
    pub why: &'static str,
}

impl BestCells {
    /// The best cells of a result; for a search its best trial.
    pub(crate) fn of(view: &View<'_>) -> Self {
        let found = Search::of(view).map(|search| Self::of_search(&search));
        found.unwrap_or_else(|| Self::of_cells(view))
    }

    fn of_search(search: &Search<'_, '_>) -> Self {
        let best = best_trials(search).into_iter();
        let keys: Vec<String> = best.map(|(_, trial)| key(trial.cell)).collect();
        Self {
            why: if keys.len() > 1 {
                "each is the best of a study"
            } else {
                ""
            },
            keys,
            by: search.first_objective().name.clone(),
        }
    }

    fn of_cells(view: &View<'_>) -> Self {
        let choices = TaskRanking::all(view);
        let choice = match &choices[..] {
            [choice] => Some(choice).filter(|choice| !choice.cells.is_empty()),
            _ => None,
        };
        let Some(choice) = choice else {
            let keys: Vec<String> = view.measured().map(key).collect();
            return Self {
                why: match (keys.len(), choices.len()) {
                    (..=1, _) => "",
                    (_, 0) => "nothing decides between them",
                    (_, 1) => "none has a value of what decides",
                    _ => "they learn different tasks",
                },
                keys,
                by: String::new(),
            };
        };
        let is_first = |standing: &ComparedToBest| {
            use ComparedToBest::{Apart, Behind, Dominated};
            !matches!(standing, Behind(_) | Apart | Dominated)
        };
        let cells = choice
            .cells
            .iter()
            .filter(|ranked| is_first(&ranked.standing));
        let keys: Vec<String> = cells.map(|ranked| key(ranked.cell)).collect();
        let is_front = choice.measures.len() > 1;
        let names: Vec<&str> = choice.measures.iter().map(|one| &*one.name).collect();
        Self {
            why: match (keys.len(), is_front) {
                (..=1, _) => "",
                (_, true) => "none is better than another by all of these",
                (_, false) if choice.n.least < choice.needed => {
                    "there are too few runs to tell them from each other"
                }
                (_, false) => "the runs do not tell them from each other",
            },
            keys,
            by: names.join(", "),
        }
    }
}

fn key(cell: &Cell<'_>) -> String {
    cell.info.key.clone()
}
