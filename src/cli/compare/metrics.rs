//! Changes of the metrics and other facts of each cell: the deciding metric, and the number of others.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::text::count;
use crate::base::units::human;
use crate::compare::{CellPair, Comparison, FactChange, QualityChange, QualityVerdict};

use super::page::Page;
use super::words::{p_value, percent_change};

/// The deciding metric of each cell; keys are the cells' keys on the side after.
pub(super) type DecidingMetrics<'a> = BTreeMap<&'a str, String>;

/// The metric that is shown for a cell: the deciding one if it changed, else the first that changed.
fn shown_metric<'c>(
    cell: &'c CellPair,
    deciding: &DecidingMetrics<'_>,
) -> Option<&'c QualityChange> {
    let decides = deciding.get(&*cell.after);
    let mut changed = cell.quality.iter().filter(|metric| is_changed(metric));
    let first = changed.clone().next();
    changed
        .find(|metric| Some(&metric.column) == decides)
        .or(first)
}

fn is_changed(metric: &QualityChange) -> bool {
    metric.verdict != QualityVerdict::Equal
}

/// Adds "Facts: 8 cells equal, 1 cell changed", and the changes of each cell.
pub(super) fn add_facts(page: &mut Page, comparison: &Comparison, deciding: &DecidingMetrics<'_>) {
    let compared: Vec<&CellPair> = comparison
        .cells
        .iter()
        .filter(|cell| cell.compared_rows > 0)
        .collect();
    if compared.is_empty() {
        page.add("\nFacts: no row that both sides have could be compared.\n");
        return;
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
    let parts = parts.join(", ");
    if changed.is_empty() {
        page.add(&format!("\nFacts: {parts}.\n"));
        return;
    }
    let mut lines = Vec::new();
    for cell in changed {
        lines.extend(changed_facts(page, cell, deciding));
    }
    page.section(&format!("Facts: {parts}:"), &lines);
}

/// The changed facts of a cell: `batch-size 8: best_loss 0.912 → 0.934 (+2.4 %), and 3 more columns`; with `--all`,
/// each fact.
fn changed_facts(page: &mut Page, cell: &CellPair, deciding: &DecidingMetrics<'_>) -> Vec<String> {
    let changed: Vec<&FactChange> = cell.facts.iter().filter(|fact| !fact.is_within).collect();
    let seeds: BTreeSet<u64> = changed.iter().map(|fact| fact.seed).collect();
    let label = &cell.label;
    if page.printing.is_all {
        let line = |fact: &&FactChange| match seeds.len() {
            1 => format!("{label}: {}", in_words(fact)),
            _ => format!("{label}, seed {}: {}", fact.seed, in_words(fact)),
        };
        return changed.iter().map(line).collect();
    }
    let called = |name: &str| changed.iter().find(|fact| fact.column == name);
    // A changed final status is shown instead of metrics.
    let metric = || called(&shown_metric(cell, deciding)?.column);
    let Some(shown) = called("status").or_else(metric).or(changed.first()) else {
        return Vec::new();
    };
    let is_other = |fact: &&&FactChange| fact.seed == shown.seed && fact.column != shown.column;
    let others: Vec<_> = changed.iter().filter(is_other).collect();
    let more = match &*others {
        [] => String::new(),
        // A single other column is named instead of counted.
        [one] => format!(", {}", in_words(one)),
        _ => format!(", and {}", count(others.len(), "more column")),
    };
    let seeds = match seeds.len() - 1 {
        0 => String::new(),
        n => {
            let others = count(n, "more seed");
            format!("; seed {} is shown, {others} differ", shown.seed)
        }
    };
    page.is_cut |= others.len() > 1 || !seeds.is_empty();
    vec![format!("{label}: {}{more}{seeds}", in_words(shown))]
}

pub(in crate::cli) fn in_words(fact: &FactChange) -> String {
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

/// A line for each cell with a metric that changed over its seeds, worse ones first; with `--all`, one for each metric
/// of such a cell. Cells with one seed are only counted, since their lines would repeat the facts.
pub(super) fn add_quality(
    page: &mut Page,
    comparison: &Comparison,
    deciding: &DecidingMetrics<'_>,
) {
    let mut lines: Vec<(u8, String)> = Vec::new();
    let mut of_one_seed: Vec<usize> = Vec::new();
    for cell in &comparison.cells {
        let Some(shown) = shown_metric(cell, deciding) else {
            continue;
        };
        let line = |metric| {
            let text = format!("{}: {}", cell.label, quality_text(metric));
            (rank(metric), text)
        };
        if page.printing.is_all {
            lines.extend(cell.quality.iter().map(line));
            continue;
        }
        if let (QualityVerdict::TooFewSeeds(needed), 1) = (shown.verdict, shown.pairs) {
            of_one_seed.push(needed);
            continue;
        }
        page.is_cut |= cell.quality.len() > 1;
        let (rank, text) = line(shown);
        lines.push((rank, text + &others(cell, shown)));
    }
    if !page.printing.is_all {
        lines.sort_by_key(|(rank, _)| *rank);
    }
    let counted = of_one_seed.first().map(|needed| {
        let cells = count(of_one_seed.len(), "cell");
        format!(
            "{cells} changed, but one seed cannot show better or worse; {needed} seeds are needed"
        )
    });
    let lines = counted
        .into_iter()
        .chain(lines.into_iter().map(|(_, line)| line));
    page.section("Quality over seeds", &lines.collect::<Vec<_>>());
}

/// Sort key: worse metrics come first.
fn rank(metric: &QualityChange) -> u8 {
    match metric.verdict {
        QualityVerdict::Worse => 0,
        QualityVerdict::Better => 1,
        _ => 2,
    }
}

/// A metric's change as text: `val_accuracy 0.912 → 0.884, worse (median of 6 seeds, p = 0.031)`.
pub(in crate::cli) fn quality_text(metric: &QualityChange) -> String {
    let (before, after) = (human(metric.medians.0, 4), human(metric.medians.1, 4));
    let (word, needed) = match metric.verdict {
        QualityVerdict::Equal => ("equal", None),
        QualityVerdict::Better => ("better", None),
        QualityVerdict::Worse => ("worse", None),
        QualityVerdict::NotTold => ("no direction shown", None),
        QualityVerdict::TooFewSeeds(needed) => ("too few seeds for a direction", Some(needed)),
    };
    let needed = needed.map(|needed| format!("; {needed} are needed"));
    let p = metric.p_adjusted.map(|p| format!(", {}", p_value(p)));
    let behind = p.or(needed).unwrap_or_default();
    let (column, seeds) = (&metric.column, count(metric.pairs, "seed"));
    format!("{column} {before} → {after}, {word} (median of {seeds}{behind})")
}

/// `, and 9 more metrics (1 better, 5 worse)`: the metrics of a cell other than the one shown; those not listed are
/// equal.
fn others(cell: &CellPair, shown: &QualityChange) -> String {
    let others = || {
        let all = cell.quality.iter();
        all.filter(|metric| metric.column != shown.column)
    };
    let with = |verdict| others().filter(|metric| metric.verdict == verdict).count();
    let (better, worse) = (with(QualityVerdict::Better), with(QualityVerdict::Worse));
    let open = others().filter(|metric| is_changed(metric)).count() - better - worse;
    let how = match (others().count(), better + worse + open) {
        (0, _) => return String::new(),
        (_, 0) => "equal".to_owned(),
        (_, changed) if changed == open => format!("{open} changed"),
        _ => {
            let counts = [
                (better, "better"),
                (worse, "worse"),
                (open, "with no direction shown"),
            ];
            let counts = counts.iter().filter(|(metrics, _)| *metrics > 0);
            let counts = counts.map(|(metrics, how)| format!("{metrics} {how}"));
            counts.collect::<Vec<_>>().join(", ")
        }
    };
    format!(", and {} ({how})", count(others().count(), "more metric"))
}
