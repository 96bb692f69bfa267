//! The answer where no task has two measured cells: what each cell is worth by itself.

use crate::base::statistics::median;
use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::event::RunFacts;
use crate::report::measure::Measure;
use crate::report::search::Search;
use crate::report::sections::bottleneck::largest;
use crate::report::sections::cost::wall_s;
use crate::report::sections::phases::breakdown;
use crate::report::sections::quality::{has_learned, overfits};
use crate::report::sections::samples::section;
use crate::report::view::{Cell, View};
use crate::results;

use super::parts::OVERFITS;
use super::{Answer, NAMED, choice, not_run, table};
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

/// How good the cell is and what it costs, whether it learned, and where its time goes.
fn of_one(view: &View<'_>, cell: &Cell<'_>) -> Vec<String> {
    let told = in_short(view, cell).map(|told| {
        if view.cells.len() > 1 {
            format!("Only {} was measured: {told}.", view.name(cell, None))
        } else {
            format!("{}.", crate::base::text::capitalised(&told))
        }
    });
    told.into_iter()
        .chain(estimated(view, cell))
        .chain(learned(cell))
        .chain(time(cell))
        .chain(samples(view))
        .collect()
}

/// Sentence: where the report has the images that the model draws.
fn samples(view: &View<'_>) -> Option<String> {
    let images = section(view).images.len();
    (images > 0).then(|| "What it draws is under “Quality and curves”.".to_owned())
}

/// If these results train the best of a search in full: the value that the search had measured.
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

/// Quality, pace and memory of a cell.
fn in_short(view: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let mut measures = choice::usual(view, &[cell]);
    // The pace is the first of them.
    measures.sort_by_key(|measure| measure.is_clock || measure.unit == "MiB");
    let told = measures
        .iter()
        .filter_map(|measure| Some(measure.told(&measure.number(cell)?)));
    let told = told.collect::<Vec<_>>().join(", ");
    (!told.is_empty()).then_some(told)
}

/// Whether the loss on a fixed batch fell; `None` where that was not evaluated.
pub(super) fn learned(cell: &Cell<'_>) -> Option<String> {
    let facts: Vec<&RunFacts> = cell.facts().collect();
    let found: Vec<bool> = facts
        .iter()
        .filter_map(|facts| has_learned(facts))
        .collect();
    if found.is_empty() {
        return None;
    }
    let median = |get: &dyn Fn(&RunFacts) -> Option<f64>| {
        median(
            &facts
                .iter()
                .filter_map(|facts| get(facts))
                .collect::<Vec<f64>>(),
        )
    };
    let before = human(median(&|facts| facts.eval_loss_before)?, 3);
    let after = human(median(&|facts| facts.eval_loss_after)?, 3);
    let not = found.iter().filter(|learned| !**learned).count();
    let epochs = median(&|facts| Some(facts.epochs as f64))?;
    let epochs = count(epochs as usize, "epoch");
    let over = facts.iter().filter(|facts| overfits(facts)).count();
    if not == 0 && over > 0 {
        let runs = count(found.len(), "run");
        return Some(format!(
            "In {over} of {runs} {OVERFITS} ({before} before, {after} after {epochs})."
        ));
    }
    Some(match (not, found.len()) {
        (0, 1) => format!(
            "The loss on a fixed batch fell from {before} to {after} in {epochs} (one run)."
        ),
        (0, n) => format!(
            "In each of {n} runs the loss on a fixed batch fell: from {before} to {after} in {epochs} (medians)."
        ),
        (not, n) => format!(
            "In {not} of {} the loss on a fixed batch did not fall by 1 % ({before} before, {after} after {epochs}): nothing shows \
             that the model learned.",
            count(n, "run")
        ),
    })
}

/// How long a run takes, and the largest part of a step.
fn time(cell: &Cell<'_>) -> Option<String> {
    let runs: Vec<f64> = cell.counted.iter().filter_map(|run| wall_s(run)).collect();
    let whole = format!("A run takes {}", human_seconds(median(&runs)?));
    let parts = breakdown(cell).map(|found| largest(&found));
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
