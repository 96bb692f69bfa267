//! The conclusion: sentences that rules make of the values above, none without a number.

use crate::compare::{QualityVerdict, Verdict};
use crate::report::comparison::context::Section;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::results::interval_over_runs;

use super::effects;
use super::figure::{Figure, Kind};
use super::payback::{self, Even};
use super::rows::{has_many, is_one, ratio, sides};
use super::until::equal_loss;

/// Pairs of cells that get sentences of their own.
const PAIRS: usize = 4;
/// Figures of which the sentences tell the direction.
const FIGURES: [Figure; 4] = [
    Figure::Pass,
    Figure::WholeRun,
    Figure::PeakTraining,
    Figure::Checkpoints,
];
/// Metrics that are named.
const NAMED: usize = 12;

messages! {
    closing_title() = "Conclusion" | "Fazit";
    closing_faster(ratio, p) = "Time per sample: after is faster, {ratio}; {p}." | "Zeit je Sample: nachher ist schneller, {ratio}; {p}.";
    closing_slower(ratio, p) = "Time per sample: after is slower, {ratio}; {p}." | "Zeit je Sample: nachher ist langsamer, {ratio}; {p}.";
    closing_same(ratio, effect) = "Time per sample: same, {ratio}; an effect of {effect} or more would have shown." | "Zeit je Sample: gleich, {ratio}; ein Effekt ab {effect} wäre aufgefallen.";
    closing_too_few(ratio, runs) = "Time per sample: not told, {ratio}: {runs} runs a side are needed before a verdict." | "Zeit je Sample: nicht bestimmbar, {ratio}: für ein Urteil sind {runs} Läufe je Seite nötig.";
    closing_unclear(ratio, why) = "Time per sample: unclear, {ratio}: {why}." | "Zeit je Sample: unklar, {ratio}: {why}.";
    closing_not_comparable(why) = "Time per sample: not comparable: {why}." | "Zeit je Sample: nicht vergleichbar: {why}.";
    closing_test(p) = "p = {p} after Holm" | "p = {p} nach Holm";
    closing_no_test() = "without a test" | "ohne Test";
    closing_treatments() = "The two sides do different work, so that this is a ratio of treatments and no speed-up." | "Beide Seiten verrichten verschiedene Arbeit: das ist ein Verhältnis von Behandlungen und keine Beschleunigung.";
    closing_less(figure, before, after, ends) = "{figure}: less, {before} → {after}; {ends}." | "{figure}: weniger, {before} → {after}; {ends}.";
    closing_more(figure, before, after, ends) = "{figure}: more, {before} → {after}; {ends}." | "{figure}: mehr, {before} → {after}; {ends}.";
    closing_open(figure, before, after, ends) = "{figure}: not told, {before} → {after}; {ends} contains 1." | "{figure}: nicht bestimmbar, {before} → {after}; {ends} enthält die 1.";
    closing_equal(figure, value) = "{figure}: equal, {value}." | "{figure}: gleich, {value}.";
    closing_equal_loss(goal, ends) = "To the same quality ({goal}): {ends}." | "Bis zur gleichen Güte ({goal}): {ends}.";
    closing_better(names) = "Better over seeds: {names}." | "Über die Seeds besser: {names}.";
    closing_worse(names) = "Worse over seeds: {names}." | "Über die Seeds schlechter: {names}.";
    closing_equal_quality(names) = "Equal in every seed: {names}." | "In jedem Seed gleich: {names}.";
    closing_not_told(names) = "Of other values than before, but in no direction that the seeds show: {names}." | "Mit anderen Werten als vorher, aber ohne Richtung, die die Seeds belegen: {names}.";
    closing_seeds(names, seeds, needed) = "Of other values than before, and not tested, since {needed} seeds are needed and there are {seeds}: {names}." | "Mit anderen Werten als vorher und nicht getestet, da {needed} Seeds nötig und {seeds} vorhanden sind: {names}.";
    closing_payback_after(runs) = "The experiment’s own run time is even after {runs} training runs." | "Die Laufzeit des Versuchs selbst amortisiert sich nach {runs} Trainingsläufen.";
    closing_payback_never(spent) = "The experiment’s own run time of {spent} is never even: a training run saves nothing." | "Die Laufzeit des Versuchs selbst von {spent} amortisiert sich nie: Ein Trainingslauf spart nichts.";
    closing_payback_open() = "Whether a training run saves time is not told: the interval of the saving contains 0." | "Ob ein Trainingslauf Zeit spart, ist nicht bestimmbar: das Intervall der Ersparnis enthält 0.";
    closing_recommendations() = "What to try next, with predictions that a follow-up tests, is under Recommendations of the report beside this page (report.md)." | "Was als Nächstes zu versuchen ist, mit Vorhersagen, die ein Folgeversuch prüft, steht unter „Recommendations“ des Berichts neben dieser Seite (report.md).";
    closing_of(cell, sentence) = "{cell}: {sentence}" | "{cell}: {sentence}";
}

/// The section; `None` where no cell stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    scene.duos().next()?;
    let mut section = Section::titled("conclusion", words.closing_title());
    for duo in scene.shown().take(PAIRS) {
        let sentences = sentences(scene, &duo).into_iter();
        section.points.extend(sentences.map(|sentence| {
            if has_many(scene) {
                words.closing_of(scene.name(&duo), sentence)
            } else {
                sentence
            }
        }));
    }
    section.points.push(words.closing_recommendations());
    Some(section)
}

fn sentences(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> Vec<String> {
    let words = scene.words;
    let mut all = vec![time(scene, duo)];
    if matches!(duo.pair.work, crate::compare::Work::Treatments(_)) {
        all.push(words.closing_treatments());
    }
    all.extend(
        FIGURES
            .iter()
            .filter_map(|figure| figure_sentence(scene, duo, *figure)),
    );
    if let Some((goal, ratio)) = equal_loss(scene, duo) {
        let ends = words.direction(&ratio);
        all.push(words.closing_equal_loss(goal.condition(words), ends));
    }
    all.extend(effects::sentence(scene, duo));
    all.extend(quality(scene, duo));
    let even = payback::of_whole_run(scene, duo);
    all.extend(even.map(|even| match even {
        Even::After(runs, _, _) => words.closing_payback_after(words.count(runs as usize)),
        Even::Open => words.closing_payback_open(),
        Even::Never => words.closing_payback_never(words.seconds(payback::spent_s(scene))),
    }));
    all
}

/// The verdict on the time per sample, with its numbers.
fn time(scene: &Scene<'_>, duo: &Duo<'_, '_>) -> String {
    let words = scene.words;
    let judgement = &duo.pair.judgement;
    let ratio = judgement.ratio.as_ref();
    let ratio = ratio.map_or_else(|| "–".to_owned(), |ratio| words.direction(ratio));
    let p = judgement.p_holm.map_or_else(
        || words.closing_no_test(),
        |p| words.closing_test(words.p(p)),
    );
    let why = |verdict: &Verdict| words.why(verdict, judgement.detectable).join("; ");
    match &judgement.verdict {
        Verdict::Faster => words.closing_faster(ratio, p),
        Verdict::Slower => words.closing_slower(ratio, p),
        Verdict::Same => {
            let effect = judgement.detectable.unwrap_or(judgement.threshold.value);
            words.closing_same(ratio, words.percent(effect))
        }
        Verdict::TooFewRuns(needed) => words.closing_too_few(ratio, words.count(*needed)),
        verdict @ Verdict::Unclear(_) => words.closing_unclear(ratio, why(verdict)),
        verdict @ Verdict::NotComparable(_) => words.closing_not_comparable(why(verdict)),
    }
}

/// A figure with its values and the interval of its ratio; `None` where it was not measured.
fn figure_sentence(scene: &Scene<'_>, duo: &Duo<'_, '_>, figure: Figure) -> Option<String> {
    let words = scene.words;
    let (before, after) = sides(scene, duo);
    let ratio = ratio(scene, duo, figure)?;
    let median = |at: super::figure::At<'_, '_>| {
        let values: Vec<f64> = figure.runs(at).into_values().collect();
        Some(interval_over_runs(&at.cell.info.key, &values)?.median)
    };
    let show = |value: f64| Kind::show(figure.kind(), words, value);
    let (before, after) = (show(median(before)?), show(median(after)?));
    let name = crate::base::text::capitalised(&figure.name(words));
    if is_one(&ratio) {
        return Some(words.closing_equal(name, before));
    }
    let ends = words.direction(&ratio);
    Some(if ratio.high < 1.0 {
        words.closing_less(name, before, after, ends)
    } else if ratio.low > 1.0 {
        words.closing_more(name, before, after, ends)
    } else {
        words.closing_open(name, before, after, ends)
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
    all.extend(of(|v| *v == QualityVerdict::Better).map(|names| words.closing_better(names)));
    all.extend(of(|v| *v == QualityVerdict::Worse).map(|names| words.closing_worse(names)));
    all.extend(of(|v| *v == QualityVerdict::Equal).map(|names| words.closing_equal_quality(names)));
    all.extend(of(|v| *v == QualityVerdict::NotTold).map(|names| words.closing_not_told(names)));
    let few = |verdict: &QualityVerdict| matches!(verdict, QualityVerdict::TooFewSeeds(_));
    let first = duo
        .pair
        .quality
        .iter()
        .find(|quality| few(&quality.verdict));
    if let (Some(names), Some(first)) = (of(few), first)
        && let QualityVerdict::TooFewSeeds(needed) = first.verdict
    {
        all.push(words.closing_seeds(names, words.count(first.pairs), words.count(needed)));
    }
    all
}
