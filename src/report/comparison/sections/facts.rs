//! Facts of both sides: equal, equal within the tolerance, or changed.

use std::collections::BTreeSet;

use crate::compare::{CellPair, FactChange};
use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};

/// Rows of the table at most.
const ROWS: usize = 12;
/// Letters of a text value that a table shows.
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
    tolerance() = "tolerance" | "Toleranz";
    fact_status() = "counts as" | "gilt als";
    counts_changed() = "changed" | "geändert";
    of_manifest() = "compare.tolerance of the manifest, 0 where it has none" | "compare.tolerance des Manifests, 0 ohne Angabe";
    row_of_runs() = "row of runs.csv" | "Zeile von runs.csv";
    facts_cut(count) = "And {count} more differences; all of them are in comparison.csv." | "Und {count} weitere Unterschiede; alle stehen in comparison.csv.";
}

/// How many rows agree, and the facts that do not; `None` between two treatments, which are two things: what they reach is
/// under quality.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    if scene.comparison.along.is_some() {
        return None;
    }
    let cells = &scene.comparison.cells;
    let every = cells
        .iter()
        .flat_map(|pair| pair.facts.iter().map(move |fact| (pair, fact)));
    let mut facts: Vec<(&CellPair, &FactChange)> = every.collect();
    // What changed comes first; the order of cells stays.
    facts.sort_by_key(|(_, fact)| fact.is_within);
    let changed = facts.iter().filter(|(_, fact)| !fact.is_within);
    let changed: BTreeSet<(&str, u64)> = changed
        .map(|(pair, fact)| (&*pair.after, fact.seed))
        .collect();
    let sentence = match cells.iter().map(|pair| pair.compared_rows).sum::<usize>() {
        0 => words.no_rows(),
        all => {
            let equal = all.saturating_sub(changed.len());
            words.rows_equal(words.count(equal), words.count(all))
        }
    };
    let table = (!facts.is_empty()).then(|| table(scene, &facts));
    Some(Section {
        paragraphs: vec![sentence],
        tables: table.into_iter().collect(),
        ..Section::titled("facts", words.facts_title())
    })
}

fn table(scene: &Scene<'_>, facts: &[(&CellPair, &FactChange)]) -> Table {
    let words = scene.words;
    let measured = Provenance::Measured(words.row_of_runs());
    let relative = Provenance::Derived(words.relative());
    let tolerance = Provenance::Assumed(words.of_manifest());
    let columns = vec![
        Column::text(&words.cell()),
        Column::text(&words.seed()),
        Column::text(&words.column_heading()),
        Column::text(&words.fact_status()),
        words.column(words.before(), "", &measured),
        words.column(words.after(), "", &measured),
        words.column(words.relative(), "%", &relative),
        words.column(words.tolerance(), "%", &tolerance),
    ];
    let shown = facts.iter().take(ROWS);
    let rows = shown.map(|(pair, fact)| Row::new(&*pair.after, fields(scene, pair, fact)));
    let head = ("changed-facts", &*words.facts_table(), words.facts_about());
    let mut table = Table::of_rows(head, columns, rows.collect());
    let more = facts.len().saturating_sub(ROWS);
    table.cut = (more > 0).then(|| words.facts_cut(words.count(more)));
    table
}

fn fields(scene: &Scene<'_>, pair: &CellPair, fact: &FactChange) -> Vec<Entry> {
    let words = scene.words;
    // Facts are the fields of a row of runs.csv: numbers, flags or checksums.
    let shown = |field: &str| match field.parse::<f64>() {
        Ok(value) if value.fract() != 0.0 => Entry::value(value, words.number(value, 6)),
        Ok(value) => Entry::value(value, words.localised(field)),
        Err(_) => Entry::text(field.chars().take(LETTERS).collect::<String>()),
    };
    let percent = |share: f64, text: String| Entry::value(share * 100.0, text);
    let relative = fact
        .relative
        .map(|share| percent(share, words.signed_percent(share)));
    let status = if fact.is_within {
        words.shown_equal()
    } else {
        words.counts_changed()
    };
    vec![
        Entry::text(scene.label(pair)),
        Entry::text(format!("{} {}", words.seed(), fact.seed)),
        Entry::text(&fact.column),
        Entry::text(status),
        shown(&fact.before),
        shown(&fact.after),
        relative.unwrap_or_else(|| Entry::text("–")),
        percent(fact.tolerance, words.number(fact.tolerance * 100.0, 3)),
    ]
}
