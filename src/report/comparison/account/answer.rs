//! The answer of a comparison: the verdict on times, then memory and quality, and what was not told; with the plot of its factors.

use crate::compare::{QualityVerdict, Ratio, Verdict};
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::comparison::sections::{cells, summary};
use crate::report::language::{Words, messages};
use crate::report::plot::{IntervalPlot, IntervalRow};
use crate::report::sections::plots::PlotContext;
use crate::report::sections::quality::has_learned;
use crate::report::view::Cell;
use crate::results::interval_over_runs;

use super::alone::{Alone, factors, find};
use super::effects::{effect, product};
use super::figure::{At, Figure, Kind};
use super::rows::{ALPHA, is_one, ratio, sides};
use super::search;
use super::spread::p_value;

/// Metrics that are named.
const NAMED: usize = 4;
/// Series of the plot: faster, slower, neither.
const KINDS: [usize; 3] = [0, 1, 7];

messages! {
    answer_title() = "Answer" | "Antwort";
    details_title() = "Details" | "Einzelheiten";
    answer_faster(times, ends) = "Faster: after takes {times}× the time per sample ({ends})." | "Schneller: nachher braucht das {times}-Fache der Zeit je Sample ({ends}).";
    answer_slower(times, ends) = "Slower: after takes {times}× the time per sample ({ends})." | "Langsamer: nachher braucht das {times}-Fache der Zeit je Sample ({ends}).";
    answer_same(ends, effect) = "The same time per sample ({ends}); an effect from {effect} on, the smallest detectable one, would have shown." | "Gleiche Zeit je Sample ({ends}); ein Effekt ab {effect}, dem kleinsten nachweisbaren, wäre aufgefallen.";
    answer_too_few(ends, runs) = "Which side is faster is not told ({ends}): {runs} runs a side are needed." | "Welche Seite schneller ist, ist nicht bestimmbar ({ends}): nötig sind {runs} Läufe je Seite.";
    answer_unclear(ends, why) = "Which side is faster is not told ({ends}): {why}." | "Welche Seite schneller ist, ist nicht bestimmbar ({ends}): {why}.";
    answer_not_comparable(why) = "Times are not compared: {why}." | "Zeiten werden nicht verglichen: {why}.";
    answer_p(ends, p) = "{ends}, p = {p} after Holm" | "{ends}, p = {p} nach Holm";
    answer_runs(ends, runs) = "{ends}, {runs} runs a side" | "{ends}, {runs} Läufe je Seite";
    answer_nothing() = "No cell stands on both sides." | "Keine Zelle steht auf beiden Seiten.";
    answer_less(figure, before, after, ends) = "{figure}: less, {before} → {after} ({ends})." | "{figure}: weniger, {before} → {after} ({ends}).";
    answer_more(figure, before, after, ends) = "{figure}: more, {before} → {after} ({ends})." | "{figure}: mehr, {before} → {after} ({ends}).";
    answer_open(figure, before, after, ends) = "{figure}: not told, {before} → {after} ({ends})." | "{figure}: nicht bestimmbar, {before} → {after} ({ends}).";
    answer_equal(figure, value) = "{figure}: equal, {value}." | "{figure}: gleich, {value}.";
    answer_better(names) = "Better over seeds: {names}." | "Über die Seeds besser: {names}.";
    answer_worse(names) = "Worse over seeds: {names}." | "Über die Seeds schlechter: {names}.";
    answer_equal_quality(names) = "Equal in every seed: {names}." | "In jedem Seed gleich: {names}.";
    answer_not_told(names) = "Of other values than before, but in no direction that the seeds show: {names}." | "Mit anderen Werten als vorher, aber ohne Richtung, die die Seeds belegen: {names}.";
    answer_seeds(names, seeds, needed) = "Whether the model is better was not tested ({seeds} of {needed} seeds): {names} have other values." | "Ob das Modell besser ist, wurde nicht getestet ({seeds} von {needed} Seeds): andere Werte haben {names}.";
    answer_not_learned(sides) = "Whether the model is better is not told: {sides}, training did not lower the evaluation loss by 1 %." | "Ob das Modell besser ist, ist nicht bestimmbar: {sides} senkte das Training den Loss der Evaluierung nicht um 1 %.";
    forest_title() = "Time per sample: each factor alone, their product, all together" | "Zeit je Sample: jeder Faktor allein, ihr Produkt, alle gemeinsam";
    forest_caption() = "After ÷ before. Marks are ratios of medians, whiskers their intervals over blocks (95 % from six blocks on, below that the range); a factor whose interval contains 1, or whose sign-flip test shows nothing, has no direction." | "Nachher ÷ vorher. Marken sind Verhältnisse der Mediane, Linien ihre Intervalle über die Blöcke (95 % ab sechs Blöcken, darunter die Spannweite); ein Faktor, dessen Intervall 1 enthält oder dessen Vorzeichentest nichts zeigt, hat keine Richtung.";
    forest_product(count) = "product of {count}" | "Produkt aus {count}";
    forest_all() = "all together" | "alle gemeinsam";
    forest_open() = "no direction shown" | "keine Richtung nachgewiesen";
}

/// The sentences.
pub(crate) fn sentences(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let mut duos = scene.duos();
    let mut all: Vec<String> = search::sentence(scene).into_iter().collect();
    match (duos.next(), duos.next()) {
        (None, _) => all.push(words.answer_nothing()),
        (Some(duo), None) => all.extend(of_one(scene, &duo)),
        _ => {
            all.extend(summary::verdict(scene));
            all.extend(summary::quality_sentence(scene));
        }
    }
    all
}

/// The sentences of a comparison of one cell.
fn of_one(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<String> {
    let words = scene.words;
    let mut all = vec![time(scene, duo)];
    all.extend(figure_sentence(scene, duo, Figure::PeakTraining));
    let idle = [(duo.before, words.before()), (duo.after, words.after())];
    let idle: Vec<String> = idle
        .into_iter()
        .filter(|(cell, _)| has_not_learned(cell))
        .map(|(_, side)| side)
        .collect();
    if idle.is_empty() {
        all.extend(quality(scene, duo));
    } else {
        all.push(words.answer_not_learned(words.listed(&idle, NAMED)));
    }
    all
}

/// Whether some run of a cell is known not to have learned.
fn has_not_learned(cell: &Cell<'_>) -> bool {
    let facts = cell.runs.iter().filter_map(|row| row.facts.as_ref());
    facts.filter_map(has_learned).any(|has| !has)
}

/// The verdict on the time per sample, with its numbers.
fn time(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> String {
    let words = scene.words;
    let judgement = &duo.pair.judgement;
    let ratio = judgement.ratio.as_ref();
    let direction = ratio.map(|ratio| scene.across(words.direction(ratio)));
    let direction = direction.unwrap_or_else(|| "–".to_owned());
    let ends = match (ratio, judgement.p_holm) {
        (Some(ratio), Some(p)) => words.answer_p(scene.across(words.ends(ratio)), words.p(p)),
        (Some(ratio), None) => scene.across(words.ends(ratio)),
        (None, _) => direction.clone(),
    };
    let runs = words.count(judgement.runs.0.min(judgement.runs.1));
    let [direction, ends] = [direction, ends].map(|text| words.answer_runs(text, runs.clone()));
    let times = ratio.map_or_else(|| "–".to_owned(), |ratio| words.number(ratio.value, 3));
    let why = |verdict: &Verdict| words.why(verdict, judgement.detectable).join("; ");
    match &judgement.verdict {
        Verdict::Faster => words.answer_faster(times, ends),
        Verdict::Slower => words.answer_slower(times, ends),
        Verdict::Same => {
            let effect = judgement.detectable.unwrap_or(judgement.threshold.value);
            words.answer_same(direction, words.percent(effect))
        }
        Verdict::TooFewRuns(needed) => words.answer_too_few(direction, words.count(*needed)),
        verdict @ Verdict::Unclear(_) => words.answer_unclear(direction, why(verdict)),
        verdict @ Verdict::NotComparable(_) => words.answer_not_comparable(why(verdict)),
    }
}

/// A figure with its values and the interval of its ratio; `None` where it was not measured.
fn figure_sentence(scene: &Scene<'_>, duo: &Duo<'_, '_>, figure: Figure) -> Option<String> {
    let words = scene.words;
    let (before, after) = sides(scene, duo);
    let ratio = ratio(scene, duo, figure)?;
    let median = |at: At<'_, '_>| {
        let values: Vec<f64> = figure.runs(at).into_values().collect();
        Some(interval_over_runs(&at.cell.info.key, &values)?.median)
    };
    let show = |value: f64| Kind::show(figure.kind(), words, value);
    let (before, after) = (show(median(before)?), show(median(after)?));
    let name = crate::base::text::capitalised(&figure.name(words));
    if is_one(&ratio) {
        return Some(words.answer_equal(name, before));
    }
    let ends = words.direction(&ratio);
    let p = p_value(
        &figure.runs(sides(scene, duo).0),
        &figure.runs(sides(scene, duo).1),
    );
    let is_shown = p.is_some_and(|p| p <= ALPHA);
    Some(if ratio.high < 1.0 && is_shown {
        words.answer_less(name, before, after, ends)
    } else if ratio.low > 1.0 && is_shown {
        words.answer_more(name, before, after, ends)
    } else {
        words.answer_open(name, before, after, ends)
    })
}

/// What the seeds say of losses and metrics, by verdict.
fn quality(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<String> {
    let words = scene.words;
    let of = |is: fn(&QualityVerdict) -> bool| -> Option<String> {
        let found = duo
            .pair
            .quality
            .iter()
            .filter(|quality| is(&quality.verdict));
        let names: Vec<String> = found.map(|quality| quality.column.clone()).collect();
        (!names.is_empty()).then(|| words.listed(&names, NAMED))
    };
    let mut all = Vec::new();
    all.extend(of(|v| *v == QualityVerdict::Better).map(|names| words.answer_better(names)));
    all.extend(of(|v| *v == QualityVerdict::Worse).map(|names| words.answer_worse(names)));
    all.extend(of(|v| *v == QualityVerdict::NotTold).map(|names| words.answer_not_told(names)));
    let few = |verdict: &QualityVerdict| matches!(verdict, QualityVerdict::TooFewSeeds(_));
    let first = duo
        .pair
        .quality
        .iter()
        .find(|quality| few(&quality.verdict));
    if let (Some(names), Some(first)) = (of(few), first)
        && let QualityVerdict::TooFewSeeds(needed) = first.verdict
    {
        all.push(words.answer_seeds(names, words.count(first.pairs), words.count(needed)));
    }
    if all.is_empty() {
        let equal = of(|v| *v == QualityVerdict::Equal);
        all.extend(equal.map(|names| words.answer_equal_quality(names)));
    }
    all
}

/// The plot: of several factors each alone, their product and all together; else the ratio of every cell.
pub(crate) fn figure(scene: &Scene<'_>) -> Option<PlotContext> {
    let mut duos = scene.duos().filter(|duo| factors(duo).len() > 1);
    let forest = duos.next().and_then(|duo| forest(scene, &duo));
    forest.or_else(|| cells::ratios(scene))
}

fn forest(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Option<PlotContext> {
    let words = scene.words;
    let found = factors(duo).into_keys();
    let found = found.filter_map(|factor| Some((factor.name(words), find(scene, duo, factor)?)));
    let found: Vec<(String, Alone<'_, '_>)> = found.collect();
    if found.is_empty() {
        return None;
    }
    let single: Vec<Alone<'_, '_>> = found.iter().map(|(_, alone)| *alone).collect();
    let time = Figure::SampleTime;
    let p_of = |one: At<'_, '_>, other: At<'_, '_>| p_value(&time.runs(one), &time.runs(other));
    let mut ratios: Vec<(String, Option<Ratio>, Option<f64>)> = found
        .iter()
        .map(|(name, alone)| {
            let p = p_of(alone.without, alone.with);
            (name.clone(), effect(alone, time), p)
        })
        .collect();
    let product = product(scene, duo, &single, time);
    ratios.push((
        words.forest_product(words.count(single.len())),
        product,
        None,
    ));
    let (before, after) = sides(scene, duo);
    ratios.push((
        words.forest_all(),
        ratio(scene, duo, time),
        p_of(before, after),
    ));
    let threshold = duo.pair.judgement.threshold.value.clamp(0.0, 0.9);
    let rows = ratios.into_iter().filter_map(|(label, ratio, p)| {
        Some(IntervalRow {
            label,
            threshold,
            ..row(words, &ratio?, p)?
        })
    });
    let rows: Vec<IntervalRow> = rows.collect();
    let names = [words.faster(), words.slower(), words.forest_open()];
    let kinds = KINDS.into_iter().zip(names);
    let kinds = kinds.filter(|(kind, _)| rows.iter().any(|row| row.kind == *kind));
    let plot = IntervalPlot {
        about: words.forest_title(),
        x_label: words.after_by_before(),
        words,
        kinds: kinds.collect(),
        rows,
    };
    Some(PlotContext {
        id: "factors".to_owned(),
        title: words.forest_title(),
        caption: format!("{}{}", words.forest_caption(), scene.across_note()),
        svg: plot.draw(),
    })
}

/// A ratio as a row of the plot: faster or slower only where its interval and its test, where it has one, show it.
fn row(words: Words, ratio: &Ratio, p: Option<f64>) -> Option<IntervalRow> {
    let kind = match () {
        () if p.is_some_and(|p| p > ALPHA) => KINDS[2],
        () if ratio.high < 1.0 => KINDS[0],
        () if ratio.low > 1.0 => KINDS[1],
        () => KINDS[2],
    };
    (ratio.value > 0.0).then(|| IntervalRow {
        kind,
        value: ratio.value,
        interval: ratio.ends(),
        end: words.ratio(ratio.value),
        ..IntervalRow::default()
    })
}
