//! The best trials of each study, and the figures at the head: the same values.

use crate::base::text::count;
use crate::base::units::{human, human_integer};
use crate::report::number::Provenance;
use crate::report::sections::headline::Headline;
use crate::report::table::{Column, Entry, Row, Table};

use super::front::{Front, front_of};
use super::trials::{Ending, Search, Study, Trial, short_name, text};

/// Trials of a study that have a row.
const ROWS: usize = 10;
/// Studies that have a figure at the head.
const HEADLINES: usize = 4;

/// One table for each study that has a done trial.
pub(crate) fn tables(search: &Search<'_, '_>) -> Vec<Table> {
    let studies = search.studies.iter();
    studies.filter_map(|study| table(search, study)).collect()
}

/// The best value of each study, by its first objective.
pub(crate) fn headlines(search: &Search<'_, '_>) -> Vec<Headline> {
    let objective = search.first();
    let studies = search.studies.iter().take(HEADLINES);
    let best = studies.filter_map(|study| {
        let trial = *study.best_first(objective).first()?;
        let point = search.point_in_words(&trial.info.point);
        let mut remarks = vec![tally(study)];
        if search.objectives.len() > 1 {
            let front = front_of(search, study);
            remarks.push(format!(
                "{} on its Pareto front",
                count(front.len(), "trial")
            ));
        }
        Some(Headline {
            title: format!("{}{}", objective.best_in_words(), study.suffix()),
            number: objective.number(objective.value(&trial)?),
            cell: if point.is_empty() {
                format!("trial {}", trial.info.number)
            } else {
                format!("trial {}: {point}", trial.info.number)
            },
            remarks,
            link: id(study),
        })
    });
    best.collect()
}

/// "20 trials: 13 done, 6 pruned, 1 failed".
pub(crate) fn tally(study: &Study<'_, '_>) -> String {
    let parts = [
        (Ending::Done, "done"),
        (Ending::Pruned, "pruned"),
        (Ending::Failed, "failed or without a value"),
    ];
    let parts = parts.map(|(ending, name)| (study.ended(ending).count(), name));
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts.map(|(n, name)| format!("{n} {name}")).collect();
    let all = count(study.trials.len(), "trial");
    if parts.is_empty() {
        all
    } else {
        format!("{all}: {}", parts.join(", "))
    }
}

fn id(study: &Study<'_, '_>) -> String {
    format!("search-best{}", study.link())
}

fn table(search: &Search<'_, '_>, study: &Study<'_, '_>) -> Option<Table> {
    let order = study.best_first(search.first());
    if order.is_empty() {
        return None;
    }
    let used = search.used(&study.trials);
    let front = front_of(search, study);
    let rows = order.iter().take(ROWS).enumerate();
    let rows = rows.map(|(place, trial)| row(search, (place, trial), &used, &front));
    let title = format!("Best trials{}", study.suffix());
    let about = format!(
        "{}, by {}. Each trial ran once, with one seed: how far its value would move with another seed was not measured.",
        tally(study),
        search.first().goal()
    );
    let mut table = Table::of_rows(
        (&id(study), &title, about),
        columns(search, &used),
        rows.collect(),
    );
    if order.len() > ROWS {
        table.cut = Some(format!(
            "The first {ROWS} of {} trials that are done; all of them are in runs.csv.",
            human_integer(order.len() as u64)
        ));
    }
    Some(table)
}

fn columns(search: &Search<'_, '_>, used: &[usize]) -> Vec<Column> {
    let parameters = &search.spec.space.parameters;
    let ranked = Provenance::Derived(format!("order by {}", search.first().column));
    let mut columns = vec![Column::number("rank", "", &ranked), Column::text("trial")];
    columns.extend(
        search
            .objectives
            .iter()
            .map(super::objective::Objective::heading),
    );
    if search.objectives.len() > 1 {
        columns.push(Column::text("Pareto front"));
    }
    let proposed = Provenance::Derived("proposed by the sampler".into());
    columns.extend(
        used.iter()
            .map(|&place| Column::number(short_name(parameters, place), "", &proposed)),
    );
    let facts = Provenance::Measured("facts of the run".into());
    columns.push(Column::number("epochs", "", &facts));
    if counts_parameters(search) {
        columns.push(Column::number("parameters", "", &facts));
    }
    let clock = Provenance::Measured("n = 1: start to end of the run".into());
    columns.push(Column::number("wall", "s", &clock));
    columns
}

/// Whether the number of parameters has a column of its own.
fn counts_parameters(search: &Search<'_, '_>) -> bool {
    search
        .objectives
        .iter()
        .all(|objective| objective.column != "parameters")
}

fn row(
    search: &Search<'_, '_>,
    (place, trial): (usize, &Trial<'_, '_>),
    used: &[usize],
    front: &Front<'_, '_>,
) -> Row {
    let parameters = &search.spec.space.parameters;
    let rank = (place + 1) as f64;
    let mut fields = vec![
        Entry::value(rank, (place + 1).to_string()),
        Entry::text(trial.info.number.to_string()),
    ];
    fields.extend(
        search
            .objectives
            .iter()
            .map(|objective| objective.entry(trial)),
    );
    if search.objectives.len() > 1 {
        let is_on = front
            .iter()
            .any(|other| other.info.number == trial.info.number);
        fields.push(Entry::text(if is_on { "on it" } else { "–" }));
    }
    fields.extend(used.iter().map(|&place| {
        let value = trial.info.point.get(place);
        Entry::text(value.map_or_else(|| "–".to_owned(), |value| text(&parameters[place], value)))
    }));
    let integer = |value: Option<u64>| {
        value.map_or_else(
            || Entry::text("–"),
            |value| Entry::value(value as f64, human_integer(value)),
        )
    };
    fields.push(integer(trial.epochs().map(|epochs| epochs as u64)));
    if counts_parameters(search) {
        let facts = trial.row().and_then(|row| row.facts.as_ref());
        fields.push(integer(facts.map(|facts| facts.parameters)));
    }
    fields.push(trial.wall_s().map_or_else(
        || Entry::text("–"),
        |wall| Entry::value(wall, human(wall, 3)),
    ));
    Row {
        key: trial.cell.info.key.clone(),
        fields,
        missing: None,
    }
}
