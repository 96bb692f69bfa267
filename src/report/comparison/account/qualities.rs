//! Losses and metrics of both sides: the one that decides, and those whose seeds show a direction, with what its seeds allow to say.

use crate::compare::{QualityChange, QualityVerdict};
use crate::event::RunFacts;
use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::{Number, Provenance};
use crate::report::section::Section;
use crate::report::sections::quality::{arrowed, over_seeds};
use crate::report::table::{Column, Entry};
use crate::results::{ColumnInfo, Direction, fixed_column, metric_column, objective};

use super::rows::{Line, over_pairs};

/// Losses of a run's facts.
const LOSSES: [&str; 5] = [
    "best_loss",
    "final_loss",
    "first_loss",
    "eval_loss_before",
    "eval_loss_after",
];

messages! {
    qualities_title() = "Quality of the models" | "Güte der Modelle";
    qualities_about(seeds) = "Medians over seeds ({seeds}), below them the range of the seeds; repeating a seed changes nothing. Metrics that decide nothing and whose seeds show no direction stand in runs.csv." | "Mediane über Seeds ({seeds}), darunter die Spannweite der Seeds; die Wiederholung eines Seeds ändert nichts. Metriken, die nichts entscheiden und deren Seeds keine Richtung zeigen, stehen in runs.csv.";
    qualities_one_seed() = "1 seed" | "1 Seed";
    qualities_seeds(count) = "{count} seeds" | "{count} Seeds";
    qualities_metric() = "metric" | "Metrik";
    qualities_relative() = "relative" | "relativ";
    qualities_said() = "what may be said" | "was sich sagen lässt";
    qualities_over_seeds() = "median over seeds" | "Median über Seeds";
    qualities_of_medians() = "of the medians" | "der Mediane";
    qualities_equal() = "equal in every seed" | "in jedem Seed gleich";
    qualities_better(p) = "better, sign-flip p = {p}" | "besser, Vorzeichentest p = {p}";
    qualities_worse(p) = "worse, sign-flip p = {p}" | "schlechter, Vorzeichentest p = {p}";
    qualities_not_told(p) = "no direction shown, sign-flip p = {p}" | "keine Richtung nachgewiesen, Vorzeichentest p = {p}";
    qualities_too_few(seeds, needed) = "no test: {seeds}, {needed} needed" | "kein Test: {seeds}, {needed} nötig";
    qualities_no_direction() = "no direction is better" | "keine Richtung ist besser";
    qualities_missing(side) = "not measured: {side} has no such value" | "nicht gemessen: {side} hat keinen solchen Wert";
}

/// The section; `None` where no run has facts.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let seeds = scene.duos().map(|duo| duo.both[1].cell.runs.len()).max();
    let about = words.qualities_about(seeds_in_words(words, seeds?));
    let naming = ("qualities", words.qualities_title(), about);
    over_pairs(scene, naming, columns(words), |duo| {
        let columns = columns_of(duo.both).into_iter();
        let told = columns.filter(|column| is_told(duo, column));
        let mut lines: Vec<Line> = Vec::new();
        for (own, missing) in told.filter_map(|column| line(words, duo, &column)) {
            // A metric that repeats another has no row.
            if lines.iter().all(|(other, _)| other[1..] != own[1..]) {
                lines.push((own, missing));
            }
        }
        lines
    })
}

/// Whether a metric decides between the cells, or its seeds show a direction.
fn is_told(duo: &Duo<'_, '_>, column: &ColumnInfo) -> bool {
    let is_shown = |quality: &QualityChange| {
        matches!(
            quality.verdict,
            QualityVerdict::Better | QualityVerdict::Worse
        )
    };
    duo.metric().as_deref() == Some(&*column.name) || change(duo, column).is_some_and(is_shown)
}

/// What the comparison says of a metric.
fn change<'d>(duo: &'d Duo<'_, '_>, column: &ColumnInfo) -> Option<&'d QualityChange> {
    let mut known = duo.pair.quality.iter();
    known.find(|quality| quality.column == column.name)
}

fn seeds_in_words(words: Words, seeds: usize) -> String {
    match seeds {
        0 | 1 => words.qualities_one_seed(),
        seeds => words.qualities_seeds(words.count(seeds)),
    }
}

fn columns(words: Words) -> Vec<Column> {
    let seeds = Provenance::Measured(words.qualities_over_seeds());
    let derived = Provenance::Derived(words.qualities_of_medians());
    vec![
        Column::text(&words.qualities_metric()),
        words.column(words.before(), "", &seeds),
        words.column(words.after(), "", &seeds),
        words.column(words.qualities_relative(), "", &derived),
        Column::text(&words.qualities_said()),
    ]
}

/// The losses, then every metric that a run of either side has, by name.
fn columns_of([before, after]: [At<'_, '_>; 2]) -> Vec<ColumnInfo> {
    let facts = [before, after].into_iter().flat_map(|at| at.cell.facts());
    let mut names: Vec<&String> = facts.flat_map(|facts| facts.metrics.keys()).collect();
    names.sort();
    names.dedup();
    let known = &after.view.set.plan.columns;
    let metric = |name: &String| {
        let found = known.iter().find(|column| column.name == *name);
        found.cloned().unwrap_or_else(|| metric_column(name))
    };
    let losses = LOSSES.iter().filter_map(|name| fixed_column(name).cloned());
    losses.chain(names.into_iter().map(metric)).collect()
}

fn value_of(at: At<'_, '_>, column: &str) -> Option<Number> {
    let fact = |facts: &RunFacts| objective::value(column, facts, None, f64::NAN, &[], None);
    over_seeds(at.cell, &fact)
}

/// The line of a metric; `None` where neither side has it.
fn line(words: Words, duo: &Duo<'_, '_>, column: &ColumnInfo) -> Option<Line> {
    let mut fields = vec![Entry::text(arrowed(&column.name, column.direction))];
    let (one, other) = match duo.both.map(|at| value_of(at, &column.name)) {
        [None, None] => return None,
        [None, _] => return Some((fields, Some(words.qualities_missing(words.before())))),
        [_, None] => return Some((fields, Some(words.qualities_missing(words.after())))),
        [Some(one), Some(other)] => (one, other),
    };
    fields.extend([number(words, &one), number(words, &other)]);
    let relative = relative(&one, &other);
    fields.push(Entry::shown(relative, |share| words.signed_percent(share)));
    fields.push(Entry::text(said(words, duo, column)));
    Some((fields, None))
}

/// What a value grew by; `None` where one is not positive.
fn relative(one: &Number, other: &Number) -> Option<f64> {
    (one.value > 0.0 && other.value > 0.0).then(|| other.value / one.value - 1.0)
}

fn number(words: Words, number: &Number) -> Entry {
    Entry {
        detail: number
            .interval
            .as_deref()
            .map_or_else(String::new, |ends| words.localised(ends)),
        interval: number.ends,
        ..Entry::value(number.value, words.localised(&number.text))
    }
}

fn said(words: Words, duo: &Duo<'_, '_>, column: &ColumnInfo) -> String {
    if column.direction == Direction::None {
        return words.qualities_no_direction();
    }
    change(duo, column).map_or_else(|| "–".to_owned(), |quality| verdict(words, quality))
}

/// What the seeds allow to say.
pub(crate) fn verdict(words: Words, quality: &QualityChange) -> String {
    let p = words.p(quality.p.unwrap_or(1.0));
    match quality.verdict {
        QualityVerdict::Equal => words.qualities_equal(),
        QualityVerdict::Better => words.qualities_better(p),
        QualityVerdict::Worse => words.qualities_worse(p),
        QualityVerdict::NotTold => words.qualities_not_told(p),
        QualityVerdict::TooFewSeeds(needed) => {
            words.qualities_too_few(seeds_in_words(words, quality.pairs), words.count(needed))
        }
    }
}

/// The best loss of two cells: `0.9995 → 1.123 (+12.4 %)`; a dash where one has none.
pub(crate) fn best_loss(words: Words, both: [At<'_, '_>; 2]) -> String {
    let [Some(one), Some(other)] = both.map(|at| value_of(at, "best_loss")) else {
        return "–".to_owned();
    };
    let change = relative(&one, &other).map(|share| format!(" ({})", words.signed_percent(share)));
    let [before, after] = [&one, &other].map(|number| words.localised(&number.text));
    format!("{before} → {after}{}", change.unwrap_or_default())
}
