//! The answer if no task has two measured cells: quality, cost and phases of each cell.

use crate::base::statistics::median;
use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::plan::AnswerPart;
use crate::report::clock::wall_s;
use crate::report::measure::Measure;
use crate::report::search::Search;
use crate::report::sections::bottleneck::largest;
use crate::report::sections::phases::breakdown;
use crate::report::sections::samples::section;
use crate::report::view::{Cell, View};
use crate::results;

use super::asked::asked;
use super::context::{Answer, NAMED};
use super::learned::learned;
use super::missing::not_run;
use super::{choice, table};
use crate::report::sections::tasks::{Task, tasks};

pub(super) fn answer(view: &View<'_>) -> Answer {
    let all = tasks(view);
    let cells = all.iter().flat_map(|task: &Task<'_, '_>| &task.cells);
    let cells: Vec<&Cell<'_>> = cells.copied().filter(|cell| cell.is_measured()).collect();
    let mut sentences = match &cells[..] {
        [cell] => of_one(view, cell),
        cells => vec![of_several(view, cells)],
    };
    sentences.extend(Some(not_run(view)).filter(|left| !left.is_empty()));
    Answer {
        sentences,
        tables: vec![table::of_cells(view, &cells, None)],
        ..Answer::default()
    }
}

fn of_several(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let named = cells.iter().take(NAMED).filter_map(|cell| {
        let told = in_short(view, cell)?;
        Some(format!("{}, {told}", view.name(cell, None)))
    });
    let (n, named) = (cells.len(), named.collect::<Vec<_>>().join("; "));
    format!(
        "Each of the {n} measured cells is a task of its own, so that none is better than another: {named}."
    )
}

/// Sentences about one cell: quality and cost, whether it learned, and where its time goes.
fn of_one(view: &View<'_>, cell: &Cell<'_>) -> Vec<String> {
    let told = in_short(view, cell).map(|told| {
        if view.cells.len() > 1 {
            format!("Only {} was measured: {told}.", view.name_in_plan(cell))
        } else {
            format!("{}.", crate::base::text::capitalised(&told))
        }
    });
    told.into_iter()
        .chain(estimated(view, cell))
        .chain(learned(view, &[cell]))
        .chain(time(view, cell))
        .chain(samples(view))
        .collect()
}

/// Sentence: where the report has the images that the model draws.
fn samples(view: &View<'_>) -> Option<String> {
    let images = section(view).images.len();
    (images > 0).then(|| "What it draws is under “Quality and curves”.".to_owned())
}

/// If these results train a search's best configuration in full: a sentence with the value that the search had
/// measured.
fn estimated(view: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let name = view.set.plan.name.strip_suffix("-best")?;
    let set = results::read(&view.folder?.join("..").join(name)).ok()?;
    let before = View::of(&set);
    let search = Search::of(&before)?;
    let objective = search.first();
    let [study] = &search.studies[..] else {
        return None;
    };
    let best = *study.best_first(objective).first()?;
    let (n, value) = (best.info.number, objective.show(objective.value(&best)?));
    let epochs = |cell: &Cell<'_>| Some(cell.facts().next()?.epochs);
    let (short, full) = (epochs(best.cell)?, epochs(cell)?);
    let own = Measure::of_plan(&view.set.plan, &objective.column).number(cell)?;
    Some(format!(
        "The search had seen {} {value} after {} (trial {n} of {name}); here it is {} after {}.",
        objective.name,
        count(short, "epoch"),
        own.shown(),
        count(full, "epoch")
    ))
}

/// Sentence with quality, speed and memory of a cell.
fn in_short(view: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let mut measures = choice::usual(view, &[cell]);
    // Quality comes first, then times and memory.
    measures.sort_by_key(|measure| measure.is_per_run || measure.unit == "MiB");
    let told = measures
        .iter()
        .filter_map(|measure| Some(measure.told(&measure.number(cell)?)));
    let told = told.collect::<Vec<_>>().join(", ");
    (!told.is_empty()).then_some(told)
}

/// Sentence: how long a run takes, and the largest phase of a step, if no other sentence is asked for it.
fn time(view: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let runs: Vec<f64> = cell.counted.iter().filter_map(|run| wall_s(run)).collect();
    let whole = format!("A run takes {}", human_seconds(median(&runs)?));
    let is_told = asked(view).contains(&AnswerPart::Where);
    let parts = breakdown(cell).filter(|_| !is_told);
    let parts = parts.map(|found| largest(&found));
    Some(match parts {
        Some(("other", share)) => format!(
            "{whole}; {} % of a step is in none of its phases.",
            human(share, 2)
        ),
        Some((phase, share)) => format!(
            "{whole}; the largest part of a step is {phase}, {} %.",
            human(share, 2)
        ),
        None => format!("{whole}."),
    })
}
