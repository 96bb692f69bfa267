//! The table of the cells' times.

use std::fmt::Write;

use crate::base::text::{capitalised, count};
use crate::compare::{CellPair, Comparison, Verdict, Work};

use super::super::table::table;
use super::page::{Page, environments_note, times};
use super::words::{ratio, verdict};

const ROWS: usize = 30;

/// Adds the table, slower cells first, with the reasons of verdicts below it; cells without new measurements share one
/// line.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let all = comparison.cells.iter();
    let (untouched, mut pairs): (Vec<_>, Vec<_>) = all.partition(|pair| pair.is_untouched());
    let untouched = match untouched.len() {
        0 => String::new(),
        cells => format!("\n{} without new measurements.\n", count(cells, "cell")),
    };
    if pairs.is_empty() {
        page.add(&untouched);
        return;
    }
    pairs.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    let (pairs, left_out) = page.first(&pairs, ROWS);
    let header = [
        "cell",
        "before",
        "after",
        "after ÷ before",
        "time per sample",
    ];
    let mut reasons: Vec<String> = Vec::new();
    let rows = pairs.iter();
    let is_coloured = page.printing.is_coloured;
    let rows = rows.map(|pair| row(comparison, pair, &mut reasons, is_coloured));
    // The table's lines are not wrapped, because its rows would break.
    let _ = write!(page.text, "\n{}", table(header, rows, [1, 2]));
    if left_out > 0 {
        page.add(&format!("… {}", count(left_out, "more cell")));
    }
    for (place, reason) in reasons.iter().enumerate() {
        page.add(&format!("  [{}] {}.", place + 1, capitalised(reason)));
    }
    page.add(&untouched);
}

/// Sort key: slower cells first, the slowest at the top; then the others in plan order, those without a ratio last.
fn rank(pair: &CellPair) -> f64 {
    let judgement = &pair.judgement;
    match (&judgement.verdict, &judgement.ratio) {
        (Verdict::Slower, Some(ratio)) => -ratio.value,
        (Verdict::NotComparable(_), _) => 1.0,
        _ => 0.0,
    }
}

fn row(
    comparison: &Comparison,
    pair: &CellPair,
    reasons: &mut Vec<String>,
    is_coloured: bool,
) -> Vec<String> {
    let judgement = &pair.judgement;
    let (mut word, reason) = verdict(&judgement.verdict, judgement.p_holm, judgement.detectable);
    if let Some(reason) = reason {
        let known = reasons.iter().position(|known| *known == reason);
        let place = known.unwrap_or_else(|| {
            reasons.push(reason);
            reasons.len() - 1
        });
        word = format!("{word} [{}]", place + 1);
    }
    let shown = judgement.ratio.as_ref().map_or_else(
        || "–".to_owned(),
        |own| format!("{}{}", ratio(own), environments_note(comparison)),
    );
    if matches!(pair.work, Work::Treatments(_)) && judgement.ratio.is_some() {
        word = format!("{word} (treatments)");
    }
    let [before, after] = times(pair.sample_ms);
    // The coloured column is the last one, so that invisible colour codes do not shift others.
    let colour = colour(&judgement.verdict).filter(|_| is_coloured);
    let verdict = colour.map_or(word.clone(), |colour| format!("{colour}{word}{PLAIN}"));
    vec![pair.label.clone(), before, after, shown, verdict]
}

const PLAIN: &str = "\x1b[0m";

fn colour(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Slower | Verdict::More => Some("\x1b[31m"),
        Verdict::Faster | Verdict::Less => Some("\x1b[32m"),
        Verdict::Same => None,
        Verdict::TooFewRuns(_) | Verdict::Unclear(_) | Verdict::NotComparable(_) => {
            Some("\x1b[33m")
        }
    }
}
