//! Losses and metrics of both sides: the deciding one, and those whose test over seeds shows a direction, with their
//! verdicts.

use crate::compare::{QualityChange, QualityVerdict};
use crate::event::RunFacts;
use crate::report::comparison::scene::{MatchedCells, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Number;
use crate::report::quality::{arrowed, median_over_seeds};
use crate::report::table::Entry;
use crate::report::view::CellInView;
use crate::results::objective;

/// Columns of losses in `runs.csv`.
const LOSSES: [&str; 5] = [
    "best_loss",
    "final_loss",
    "first_loss",
    "eval_loss_before",
    "eval_loss_after",
];

messages! {
    qualities_equal() = "equal in every seed" | "in jedem Seed gleich";
    qualities_better(p) = "better, sign-flip p = {p}" | "besser, Vorzeichentest p = {p}";
    qualities_worse(p) = "worse, sign-flip p = {p}" | "schlechter, Vorzeichentest p = {p}";
    qualities_not_told(p) = "no direction shown, sign-flip p = {p}" | "keine Richtung nachgewiesen, Vorzeichentest p = {p}";
    qualities_too_few(seeds, needed) = "no test: {seeds} of the {needed} seeds needed" | "kein Test: {seeds} von {needed} nötigen Seeds";
}

/// A line for each metric that decides between the cells or whose test over seeds shows a direction, and for the best
/// loss: the losses first, then by name.
pub(crate) fn lines(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Vec<(Vec<Entry>, bool)> {
    let deciding = matched.metric();
    let deciding = deciding.as_deref().unwrap_or("best_loss");
    let is_told = |quality: &&QualityChange| {
        let is_shown = matches!(
            quality.verdict,
            QualityVerdict::Better | QualityVerdict::Worse
        );
        is_shown || quality.column == deciding
    };
    let mut told: Vec<&QualityChange> = matched.pair.quality.iter().filter(is_told).collect();
    told.sort_by_key(|quality| {
        let loss = LOSSES.iter().position(|loss| *loss == quality.column);
        (loss.unwrap_or(LOSSES.len()), &quality.column)
    });
    let mut lines: Vec<(Vec<Entry>, bool)> = Vec::new();
    for own in told
        .into_iter()
        .map(|quality| line(scene.words, matched, quality))
    {
        // A metric with the same values as another has no row.
        if lines.iter().all(|(other, _)| other[1..] != own[1..]) {
            lines.push((own, true));
        }
    }
    lines
}

fn value_of(at: CellInView<'_, '_>, column: &str) -> Option<Number> {
    let fact = |facts: &RunFacts| objective::value(column, facts, None, f64::NAN, &[], None);
    median_over_seeds(at.cell, &fact)
}

fn line(words: Words, matched: &MatchedCells<'_, '_>, quality: &QualityChange) -> Vec<Entry> {
    let both = matched.both.map(|at| value_of(at, &quality.column));
    let [one, other] = &both;
    let ratio = one.as_ref().zip(other.as_ref());
    let ratio = ratio.and_then(|(one, other)| ratio_of(one, other));
    vec![
        Entry::text(arrowed(&quality.column, quality.direction)),
        number(words, one.as_ref()),
        number(words, other.as_ref()),
        Entry::shown(ratio, |ratio| format!("{}×", words.ratio(ratio))),
        Entry::text(verdict(words, quality)),
    ]
}

/// Ratio of two values; `None` if one is not positive.
fn ratio_of(one: &Number, other: &Number) -> Option<f64> {
    (one.value > 0.0 && other.value > 0.0).then(|| other.value / one.value)
}

fn number(words: Words, number: Option<&Number>) -> Entry {
    let Some(number) = number else {
        return Entry::text("–");
    };
    Entry {
        detail: words.localised(number.interval.as_deref().unwrap_or_default()),
        interval: number.ends,
        ..Entry::value(number.value, words.localised(&number.text))
    }
}

/// The verdict over seeds, in words.
pub(crate) fn verdict(words: Words, quality: &QualityChange) -> String {
    let p = words.p(quality.p_adjusted.unwrap_or(1.0));
    match quality.verdict {
        QualityVerdict::Equal => words.qualities_equal(),
        QualityVerdict::Better => words.qualities_better(p),
        QualityVerdict::Worse => words.qualities_worse(p),
        QualityVerdict::NotTold => words.qualities_not_told(p),
        QualityVerdict::TooFewSeeds(needed) => {
            words.qualities_too_few(words.count(quality.pairs), words.count(needed))
        }
    }
}

/// By how much the best loss of two cells differs: `+12.4 %`; `None` if one cell has no loss.
pub(crate) fn best_loss(words: Words, both: [CellInView<'_, '_>; 2]) -> Option<String> {
    let [one, other] = both.map(|at| value_of(at, "best_loss"));
    Some(words.signed_percent(ratio_of(&one?, &other?)? - 1.0))
}
