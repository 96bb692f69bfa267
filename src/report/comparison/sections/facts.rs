//! Facts of both sides: equal, within the tolerance of their columns, or changed.

use std::collections::BTreeSet;

use crate::compare::{CellPair, FactChange};
use crate::report::comparison::Words;
use crate::report::comparison::account::rows::table_over_pairs;
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::Section;
use crate::report::table::{Column, Entry};

/// Largest number of rows of the table.
const ROWS: usize = 12;
/// Number of characters of a text value that the table shows.
const LETTERS: usize = 24;

messages! {
    facts_title() = "Facts" | "Fakten";
    facts_table() = "Facts that changed" | "Fakten, die sich geändert haben";
    facts_about() = "runs.csv of both sides, row by row and column by column: what does not depend on time. A difference within the tolerance of its column counts as equal." | "runs.csv beider Seiten, Zeile für Zeile und Spalte für Spalte: was nicht von der Zeit abhängt. Ein Unterschied innerhalb der Toleranz seiner Spalte gilt als gleich.";
    rows_equal(equal, all) = "{equal} of {all} compared rows agree in every fact, or within the tolerance." | "{equal} von {all} verglichenen Zeilen stimmen in allen Fakten überein, oder innerhalb der Toleranz.";
    no_rows() = "No row stands on both sides as finished: facts were not compared." | "Keine Zeile ist auf beiden Seiten abgeschlossen: Fakten wurden nicht verglichen.";
    seed() = "seed" | "Seed";
    column_heading() = "column" | "Spalte";
    relative() = "after ÷ before − 1" | "nachher ÷ vorher − 1";
    row_of_runs() = "row of runs.csv" | "Zeile von runs.csv";
}

/// How many rows agree, and the facts that do not; `None` between two treatments, which are expected to differ: their
/// results are compared as quality.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    if scene.comparison.along.is_some() {
        return None;
    }
    let cells = &scene.comparison.cells;
    let facts = cells
        .iter()
        .flat_map(|pair| changed(pair).map(move |fact| (pair, fact)));
    let rows: BTreeSet<(&str, u64)> = facts
        .map(|(pair, fact)| (&*pair.after, fact.seed))
        .collect();
    let sentence = match cells.iter().map(|pair| pair.compared_rows).sum::<usize>() {
        0 => words.no_rows(),
        all => {
            let equal = all.saturating_sub(rows.len());
            words.rows_equal(words.count(equal), words.count(all))
        }
    };
    let measured = words.measured(words.row_of_runs());
    let relative = words.derived(words.relative());
    let columns = vec![
        Column::text(&words.seed()),
        Column::text(&words.column_heading()),
        Column::number(&words.before(), "", &measured),
        Column::number(&words.after(), "", &measured),
        Column::number(&words.relative(), "%", &relative),
    ];
    let naming = ("changed-facts", words.facts_table(), words.facts_about());
    let table = table_over_pairs(scene, naming, columns, ROWS, |matched| {
        changed(matched.pair)
            .map(|fact| fields(words, fact))
            .collect()
    });
    Some(Section {
        paragraphs: vec![sentence],
        tables: table.into_iter().collect(),
        ..Section::titled("facts", words.facts_title())
    })
}

/// The facts that differ by more than the tolerance of their column.
fn changed(pair: &CellPair) -> impl Iterator<Item = &FactChange> {
    pair.facts.iter().filter(|fact| !fact.is_within)
}

fn fields(words: Words, fact: &FactChange) -> Vec<Entry> {
    // A fact is the text of a field in `runs.csv`: a number, a flag or a checksum.
    let shown = |field: &str| match field.parse::<f64>() {
        Ok(value) if value.fract() != 0.0 => Entry::value(value, words.number(value, 6)),
        Ok(value) => Entry::value(value, words.localised(field)),
        Err(_) => Entry::text(field.chars().take(LETTERS).collect::<String>()),
    };
    let percent = fact.relative.map(|share| share * 100.0);
    vec![
        Entry::text(format!("{} {}", words.seed(), fact.seed)),
        Entry::text(&fact.column),
        shown(&fact.before),
        shown(&fact.after),
        Entry::shown(percent, |percent| words.signed_percent(percent / 100.0)),
    ]
}
