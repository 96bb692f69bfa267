//! All differences besides times: facts, quality, cells, axes, settings.

use std::fmt::Write;

use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{CellPair, Comparison, FactChange, QualityVerdict};
use crate::report::comparison_matching;
use crate::results::grouped;

use super::words::{p_value, percent_change, values_differ, wrapped};

/// Most lines of one kind.
const LINES: usize = 10;
/// Most facts of a cell that are named.
const FACTS: usize = 4;

/// The whole text; a part without differences is one sentence or nothing.
pub(super) fn text(comparison: &Comparison) -> String {
    let mut text = facts(comparison);
    section(&mut text, "Quality over seeds", &quality(comparison));
    let unmatched = comparison_matching(comparison);
    section(&mut text, "Cells and axes of one side only", &unmatched);
    section(&mut text, "Settings", &settings(&comparison.cells));
    wrapped(&text)
}

fn section(text: &mut String, heading: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{heading}");
    for line in lines.iter().take(LINES) {
        let _ = writeln!(text, "  {line}");
    }
    if let Some(more @ 1..) = lines.len().checked_sub(LINES) {
        let _ = writeln!(text, "  … {more} more");
    }
}

/// "Facts: 8 cells equal, 1 changed", and the changes of each cell.
fn facts(comparison: &Comparison) -> String {
    let compared: Vec<&CellPair> = comparison
        .cells
        .iter()
        .filter(|cell| cell.compared_rows > 0)
        .collect();
    if compared.is_empty() {
        return "\nFacts: no row that both sides have could be compared.\n".to_owned();
    }
    let changed = |cell: &&CellPair| cell.facts.iter().any(|fact| !fact.is_within);
    let near = |cell: &&CellPair| !cell.facts.is_empty() && !changed(cell);
    let changed: Vec<&CellPair> = compared.iter().copied().filter(changed).collect();
    let near = compared.iter().copied().filter(near).count();
    let equal = compared.len() - changed.len() - near;
    let parts = [
        (equal, "equal"),
        (near, "equal within the tolerance"),
        (changed.len(), "changed"),
    ];
    let parts = parts.iter().filter(|(cells, _)| *cells > 0);
    let parts: Vec<String> = parts
        .map(|(cells, how)| format!("{} {how}", count(*cells, "cell")))
        .collect();
    let mut text = String::new();
    let lines: Vec<String> = changed.iter().map(|cell| changed_facts(cell)).collect();
    let heading = format!(
        "Facts: {}{}",
        parts.join(", "),
        if lines.is_empty() { "" } else { ":" }
    );
    if lines.is_empty() {
        let _ = writeln!(text, "\n{heading}.");
    }
    section(&mut text, &heading, &lines);
    text
}

/// `batch-size 8: final_loss 0.912 → 0.934 (+2.4 %), 3 more columns`.
fn changed_facts(cell: &CellPair) -> String {
    let mut facts: Vec<&FactChange> = cell.facts.iter().filter(|fact| !fact.is_within).collect();
    let seeds: std::collections::BTreeSet<u64> = facts.iter().map(|fact| fact.seed).collect();
    let first = seeds.first().copied();
    facts.retain(|fact| Some(fact.seed) == first);
    let named: Vec<String> = facts
        .iter()
        .take(FACTS)
        .map(|fact| in_words(fact))
        .collect();
    let more = facts.len().saturating_sub(FACTS);
    let more = (more > 0).then(|| format!(", {}", count(more, "more column")));
    let seeds = (seeds.len() > 1).then(|| {
        let others = count(seeds.len() - 1, "more seed");
        format!(
            "; seed {} is shown, {others} differ",
            first.unwrap_or_default()
        )
    });
    format!(
        "{}: {}{}{}",
        cell.label,
        named.join(", "),
        more.unwrap_or_default(),
        seeds.unwrap_or_default()
    )
}

fn in_words(fact: &FactChange) -> String {
    let short = |text: &str| -> String {
        match text.parse::<f64>() {
            Ok(value) if text.len() > 8 => human(value, 4),
            Ok(_) => text.to_owned(),
            Err(_) if text.is_empty() => "–".to_owned(),
            Err(_) => text.chars().take(8).collect(),
        }
    };
    let column = &fact.column;
    if column == "weight_checksum" {
        return "other weights".to_owned();
    }
    let (before, after) = (short(&fact.before), short(&fact.after));
    match fact.relative {
        Some(relative) => format!("{column} {before} → {after} ({})", percent_change(relative)),
        None => format!("{column} {before} → {after}"),
    }
}

/// Metrics that are better or worse over seeds, and how many are unclear.
fn quality(comparison: &Comparison) -> Vec<String> {
    let cells = comparison.cells.iter();
    let all = || {
        let cells = cells.clone();
        cells.flat_map(|cell| cell.quality.iter().map(move |metric| (cell, metric)))
    };
    let told = all().filter_map(|(cell, metric)| {
        let word = match metric.verdict {
            QualityVerdict::Better => "better",
            QualityVerdict::Worse => "worse",
            _ => return None,
        };
        let (before, after) = (human(metric.medians.0, 4), human(metric.medians.1, 4));
        let p = metric.p.map(|p| format!(", {}", p_value(p)));
        let seeds = format!("{}{}", count(metric.pairs, "seed"), p.unwrap_or_default());
        let (label, column) = (&cell.label, &metric.column);
        Some(format!(
            "{label}: {column} is {word}, {before} → {after} (median of {seeds})"
        ))
    });
    let mut lines: Vec<String> = told.collect();
    let untold = all().filter(|(_, metric)| metric.verdict == QualityVerdict::NotTold);
    match untold.count() {
        0 => {}
        untold => lines.push(format!(
            "{} between seeds without a direction",
            values_differ(untold)
        )),
    }
    let too_few = all().filter_map(|(_, metric)| match metric.verdict {
        QualityVerdict::TooFewSeeds(needed) => Some(needed),
        _ => None,
    });
    let too_few: Vec<usize> = too_few.collect();
    lines.extend(too_few.last().map(|needed| {
        let differ = values_differ(too_few.len());
        format!("{differ}, and the seeds are too few to tell a direction; {needed} are needed")
    }));
    lines
}

/// Each changed setting once, with the number of cells that have the change.
fn settings(cells: &[CellPair]) -> Vec<String> {
    let changes = cells.iter().flat_map(|cell| &cell.changes);
    let found = grouped(changes, |change| {
        (&change.path, &change.before, &change.after)
    });
    let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let lines = found.iter().map(|same| {
        let change = same[0];
        let cells = if same.len() == cells.len() {
            "all cells".to_owned()
        } else {
            count(same.len(), "cell")
        };
        let (before, after) = (value(&change.before), value(&change.after));
        format!("{}: {before} → {after} ({cells})", change.path)
    });
    lines.collect()
}
