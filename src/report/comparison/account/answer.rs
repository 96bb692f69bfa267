//! The answer of a comparison: the verdict on times, then memory and quality, and what the data do not show; and the
//! plot of the factors.

use std::collections::BTreeSet;

use crate::base::text::capitalised;
use crate::compare::{CostChange, QualityChange, QualityVerdict, Verdict};
use crate::report::comparison::scene::{MatchedCells, Scene};
use crate::report::comparison::sections::{cells, costs, summary};
use crate::report::language::messages;
use crate::report::plot::DotRow;
use crate::report::quality::has_learned;
use crate::report::sections::plots::PlotContext;
use crate::results::Interval;

use super::effects::FactorEffects;
use super::figure::ComparedQuantity;
use super::rows::{RatioTest, direction};
use super::search;
use super::{phases, qualities};

/// Largest number of metrics in a sentence.
const NAMED: usize = 4;
messages! {
    answer_title() = "Answer" | "Antwort";
    details_title() = "Details" | "Einzelheiten";
    answer_differs(verdict, times, time, medians, ends) = "{verdict}: the side after takes {times}× the {time}, {medians} ({ends})." | "{verdict}: nachher braucht das {times}-Fache der {time}, {medians} ({ends}).";
    answer_alone(factors) = "Each factor alone: {factors}." | "Jeder Faktor allein: {factors}.";
    answer_with_loss(change) = " (best loss {change})" | " (bester Loss {change})";
    answer_alone_open(factors) = "no direction shown of {factors}" | "keine Richtung nachgewiesen bei {factors}";
    answer_alone_missing(factors) = "not measured alone: {factors}" | "nicht einzeln gemessen: {factors}";
    answer_same(time, ends, effect) = "The same {time} ({ends}); an effect of {effect} or more, the smallest detectable one, would have been detected." | "Gleiche {time} ({ends}); ein Effekt ab {effect}, dem kleinsten nachweisbaren, wäre aufgefallen.";
    answer_too_few(ends, runs) = "The data do not show which side is faster ({ends}): {runs} runs a side are needed." | "Welche Seite schneller ist, ist nicht bestimmbar ({ends}): nötig sind {runs} Läufe je Seite.";
    answer_unclear(ends, why) = "The data do not show which side is faster ({ends}): {why}." | "Welche Seite schneller ist, ist nicht bestimmbar ({ends}): {why}.";
    answer_not_comparable(why) = "Times are not compared: {why}." | "Zeiten werden nicht verglichen: {why}.";
    answer_runs(ends, runs) = "{ends}, {runs} runs a side" | "{ends}, {runs} Läufe je Seite";
    answer_nothing() = "No cell stands on both sides." | "Keine Zelle steht auf beiden Seiten.";
    answer_cost(figure, verdict, before, after, ends) = "{figure}: {verdict}, {before} → {after} ({ends})." | "{figure}: {verdict}, {before} → {after} ({ends}).";
    answer_better(names) = "Better over seeds: {names}." | "Über die Seeds besser: {names}.";
    answer_worse(names) = "Worse over seeds: {names}." | "Über die Seeds schlechter: {names}.";
    answer_equal_quality(names) = "Equal in every seed: {names}." | "In jedem Seed gleich: {names}.";
    answer_not_told(names) = "The seeds show no direction of {names}." | "Die Seeds belegen keine Richtung bei {names}.";
    answer_seeds(names, seeds, needed) = "Whether the model is better was not tested ({seeds} of {needed} seeds); values that differ: {names}." | "Ob das Modell besser ist, wurde nicht getestet ({seeds} von {needed} Seeds); verschieden sind: {names}.";
    answer_not_learned(sides) = "The data do not show whether the model is better: {sides}, training did not lower the evaluation loss by 1 %." | "Ob das Modell besser ist, ist nicht bestimmbar: {sides} senkte das Training den Loss der Evaluierung nicht um 1 %.";
    forest_title(time) = "{time}: each factor alone, their product, all together" | "{time}: jeder Faktor allein, ihr Produkt, alle gemeinsam";
    forest_caption() = "After ÷ before. Marks are ratios of medians, whiskers their intervals over blocks (95 % from six blocks on, below that the range); a factor whose interval contains 1, or whose sign-flip test shows nothing, has no direction; the product has no test." | "Nachher ÷ vorher. Marken sind Verhältnisse der Mediane, Linien ihre Intervalle über die Blöcke (95 % ab sechs Blöcken, darunter die Spannweite); ein Faktor, dessen Intervall 1 enthält oder dessen Vorzeichentest nichts zeigt, hat keine Richtung; das Produkt hat keinen Test.";
    forest_product(count) = "product of {count}" | "Produkt aus {count}";
    forest_all() = "all together" | "alle gemeinsam";
    forest_open() = "no direction shown" | "keine Richtung nachgewiesen";
}

/// The sentences of the comparison's answer.
pub(crate) fn sentences(scene: &Scene<'_>) -> Vec<String> {
    let mut matched_cells = scene.matched_cells();
    let searches = search::sentences(scene);
    let mut all = Vec::new();
    match (matched_cells.next(), matched_cells.next()) {
        (None, _) => all.push(scene.words.answer_nothing()),
        (Some(matched), None) => all.extend(of_one(scene, &matched)),
        _ => all.extend(summary::sentences(scene)),
    }
    // If the sides are searches, their sentence comes first; searches named by `[report] searches` come last.
    let place = if scene.searches.is_empty() {
        0
    } else {
        all.len()
    };
    all.splice(place..place, searches);
    all
}

/// The sentences of a comparison of one cell.
fn of_one(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Vec<String> {
    let words = scene.words;
    let mut all = vec![time(scene, matched)];
    all.extend(alone(scene, matched));
    all.extend(phases::sentence(scene, matched));
    let told = matched
        .pair
        .costs
        .iter()
        .filter(|own| costs::is_mentioned(own));
    all.extend(told.filter_map(|own| cost(scene, own)));
    // Sides that have a run which did not learn.
    let idle = matched
        .both
        .into_iter()
        .zip([words.before(), words.after()]);
    let idle: Vec<String> = idle
        .filter(|(at, _)| at.cell.facts().filter_map(has_learned).any(|has| !has))
        .map(|(_, side)| side)
        .collect();
    if idle.is_empty() {
        all.extend(quality(scene, matched));
    } else {
        all.push(words.answer_not_learned(words.listed(&idle, NAMED)));
    }
    all
}

/// The verdict on the time per sample, with its numbers.
fn time(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> String {
    let words = scene.words;
    let judgement = &matched.pair.judgement;
    let ratio = judgement.ratio.as_ref();
    let direction = ratio.map(|ratio| scene.with_environment_note(words.ratio_in_words(ratio)));
    let direction = direction.unwrap_or_else(|| "–".to_owned());
    let ends = match (ratio, words.adjusted_p_text(judgement)) {
        (Some(ratio), Some(p)) => {
            format!("{}, {p}", scene.with_environment_note(words.ends(ratio)))
        }
        (Some(ratio), None) => scene.with_environment_note(words.ends(ratio)),
        (None, _) => direction.clone(),
    };
    let runs = words.count(judgement.runs.0.min(judgement.runs.1));
    let [direction, ends] = [direction, ends].map(|text| words.answer_runs(text, runs.clone()));
    let times = ratio.map_or_else(|| "–".to_owned(), |ratio| words.number(ratio.value, 3));
    let why = |verdict: &Verdict| words.reason_texts(verdict, judgement.detectable).join("; ");
    match &judgement.verdict {
        verdict @ (Verdict::Faster | Verdict::Slower | Verdict::Less | Verdict::More) => {
            let verdict = capitalised(&words.verdict(verdict, None));
            let medians = medians(scene, matched);
            words.answer_differs(verdict, times, words.timed(), medians, ends)
        }
        Verdict::Same => {
            let effect = judgement.detectable.unwrap_or(judgement.threshold.value);
            words.answer_same(words.timed(), direction, words.percent(effect))
        }
        Verdict::TooFewRuns(needed) => words.answer_too_few(direction, words.count(*needed)),
        verdict @ Verdict::Unclear(_) => words.answer_unclear(direction, why(verdict)),
        verdict @ Verdict::NotComparable(_) => words.answer_not_comparable(why(verdict)),
    }
}

/// The medians of the judged time: `0.0500 ms → 0.150 ms`.
fn medians(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> String {
    let timed = scene.judged_time();
    let found = matched.both.map(|at| timed.median_over_runs(at));
    let show = |found: Option<Interval>| {
        found.map_or_else(
            || "–".to_owned(),
            |found| timed.show(scene.words, found.median),
        )
    };
    found.map(show).join(" → ")
}

/// Sentence: effect of each factor alone on the time per sample; `None` if at most one factor differs, or none was
/// measured alone.
fn alone(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Option<String> {
    let words = scene.words;
    let taken = FactorEffects::of(matched)?;
    taken.measured().next()?;
    let (mut told, mut open, mut missing) = (Vec::new(), Vec::new(), Vec::new());
    for (factor, own) in &taken.factors {
        let name = factor.name(words);
        let effect = own
            .as_ref()
            .and_then(|own| Some((own, own.effect(&ComparedQuantity::SampleTime)?)));
        match effect {
            None => missing.push(name),
            Some((own, (ratio, shown @ (RatioTest::Less | RatioTest::More)))) => {
                let direction =
                    direction(words, &ComparedQuantity::SampleTime, Some(&ratio), shown);
                let loss = qualities::best_loss(words, [own.without, own.with]);
                let loss = loss.map(|change| words.answer_with_loss(change));
                told.push(format!("{name} {direction}{}", loss.unwrap_or_default()));
            }
            Some(_) => open.push(name),
        }
    }
    if !open.is_empty() {
        told.push(words.answer_alone_open(words.listed(&open, NAMED)));
    }
    if !missing.is_empty() {
        told.push(words.answer_alone_missing(words.listed(&missing, NAMED)));
    }
    Some(words.answer_alone(told.join("; ")))
}

/// A cost with its medians, the interval of its ratio and its verdict; `None` if the ratio is undefined.
fn cost(scene: &Scene<'_>, own: &CostChange) -> Option<String> {
    let (words, judgement) = (scene.words, &own.judgement);
    let direction = scene.with_environment_note(words.ratio_in_words(judgement.ratio.as_ref()?));
    let p = words.adjusted_p_text(judgement).filter(|_| own.is_effect());
    let ends = [Some(direction), p].into_iter().flatten();
    let ends = ends.collect::<Vec<String>>().join(", ");
    let (before, after) = own.medians;
    let [before, after] = [before?, after?].map(|value| words.cost_value(own.cost, value));
    let name = capitalised(&words.cost(own.cost));
    let verdict = words.verdict(&judgement.verdict, None);
    Some(words.answer_cost(name, verdict, before, after, ends))
}

/// Formats a metric for a sentence: its name, with or without its medians.
type MetricText<'s> = &'s dyn Fn(&QualityChange) -> String;

/// Sentences on losses and metrics over seeds, by verdict.
fn quality(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Vec<String> {
    let words = scene.words;
    let deciding = matched.metric();
    let mut metrics: Vec<&QualityChange> = matched.pair.quality.iter().collect();
    // If there are too many metrics, the deciding one is listed first.
    metrics.sort_by_key(|metric| Some(&metric.column) != deciding.as_ref());
    // Metrics with equal values are named once (the best loss equals the validation loss if the last epoch is the
    // best).
    let mut seen = BTreeSet::new();
    metrics.retain(|metric| {
        let (before, after) = metric.medians;
        seen.insert((before.to_bits(), after.to_bits()))
    });
    let name = |quality: &QualityChange| quality.column.clone();
    let value = |quality: &QualityChange| {
        let (before, after) = quality.medians;
        let [before, after] = [before, after].map(|value| words.number(value, 4));
        format!("{} {before} → {after}", quality.column)
    };
    let told = |is: &dyn Fn(&QualityVerdict) -> bool, shown: MetricText<'_>, most: usize| {
        let found = metrics.iter().filter(|quality| is(&quality.verdict));
        let names: Vec<String> = found.map(|quality| shown(quality)).collect();
        (!names.is_empty()).then(|| words.listed(&names, most))
    };
    let is = |verdict: QualityVerdict, shown: MetricText<'_>, most: usize| {
        told(&|own| *own == verdict, shown, most)
    };
    let better = is(QualityVerdict::Better, &value, NAMED);
    let worse = is(QualityVerdict::Worse, &value, NAMED);
    let not_told = is(QualityVerdict::NotTold, &name, 1);
    let mut all: Vec<String> = better
        .map(|names| words.answer_better(names))
        .into_iter()
        .collect();
    all.extend(worse.map(|names| words.answer_worse(names)));
    all.extend(not_told.map(|names| words.answer_not_told(names)));
    all.extend(matched.pair.quality.iter().find_map(|quality| {
        let QualityVerdict::TooFewSeeds(needed) = quality.verdict else {
            return None;
        };
        let is_few = |own: &QualityVerdict| matches!(own, QualityVerdict::TooFewSeeds(_));
        let names = told(&is_few, &name, NAMED)?;
        Some(words.answer_seeds(names, words.count(quality.pairs), words.count(needed)))
    }));
    if all.is_empty() {
        let equal = is(QualityVerdict::Equal, &name, NAMED);
        all.extend(equal.map(|names| words.answer_equal_quality(names)));
    }
    all
}

/// The plot: with several factors, the effect of each alone, their product, and all together; else the ratio of every
/// cell.
pub(crate) fn figure(scene: &Scene<'_>) -> Option<PlotContext> {
    let words = scene.words;
    let Some(rows) = scene
        .matched_cells()
        .find_map(|matched| forest(scene, &matched))
    else {
        return cells::ratios(scene);
    };
    let caption = format!("{}{}", words.forest_caption(), scene.environment_note());
    let titles = (words.forest_title(words.timed_title()), caption);
    Some(cells::plot(
        words,
        "factors",
        titles,
        words.forest_open(),
        rows,
    ))
}

/// The rows of the plot; `None` if no factor was measured alone. Only effects that a test shows are coloured as faster
/// or slower.
fn forest(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Option<Vec<DotRow>> {
    let words = scene.words;
    let taken = FactorEffects::of(matched)?;
    let count = taken.measured().count();
    let single = taken.factors.iter().filter_map(|(factor, alone)| {
        let (ratio, shown) = alone.as_ref()?.effect(&ComparedQuantity::SampleTime)?;
        let kind = match shown {
            RatioTest::Less => cells::FASTER,
            RatioTest::More => cells::SLOWER,
            _ => cells::OTHER_VERDICT,
        };
        cells::ratio_dot_row(words, matched, factor.name(words), ratio, kind)
    });
    let product = taken
        .product(&ComparedQuantity::SampleTime)
        .and_then(|ratio| {
            let label = words.forest_product(words.count(count));
            cells::ratio_dot_row(words, matched, label, ratio, cells::OTHER_VERDICT)
        });
    let all = cells::verdict_row(words, matched, words.forest_all());
    let rows = single.chain(product).chain(all);
    (count > 0).then(|| rows.collect())
}
