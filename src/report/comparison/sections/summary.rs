//! Before, after, and what changed: times, memory and quality of the whole comparison, with the verdict over all cells.

use std::collections::BTreeSet;

use crate::base::statistics::geometric_mean;
use crate::base::text::capitalised;
use crate::compare::{MatrixJudgement, QualityChange, QualityVerdict, Ratio, Verdict};
use crate::report::comparison::Words;
use crate::report::comparison::account::figure::{Figure, Kind};
use crate::report::comparison::account::goal::Goal;
use crate::report::comparison::account::rows::{
    Measure, PairFigure, Shown, direction, interval, is_comparable,
};
use crate::report::comparison::account::{phases, qualities};
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::sections::quality::arrowed;
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::Direction;

/// Figures that the summary has beside the time per sample, where both sides have them.
const FIGURES: [Figure; 2] = [Figure::WholeRun, Figure::PeakTraining];
/// Metrics that it has beside the best loss.
const METRICS: usize = 4;
const BEST_LOSS: &str = "best_loss";

messages! {
    summary_title() = "Summary" | "Zusammenfassung";
    summary_about_one() = "Medians over runs (times, memory) and over seeds (quality). A percentage without a verdict is what was measured, not what is shown to hold." | "Mediane über Läufe (Zeiten, Speicher) und über Seeds (Güte). Ein Prozentwert ohne Urteil ist das Gemessene, nicht das Nachgewiesene.";
    summary_about_many(cells) = "Geometric means over {cells} cells of medians over runs (times, memory) and over seeds (quality). A percentage without a verdict is what was measured, not what is shown to hold." | "Geometrische Mittel über {cells} Zellen der Mediane über Läufe (Zeiten, Speicher) und über Seeds (Güte). Ein Prozentwert ohne Urteil ist das Gemessene, nicht das Nachgewiesene.";
    improvement() = "change" | "Änderung";
    medians_over_runs() = "median over runs or seeds" | "Median über Läufe oder Seeds";
    mean_over_cells() = "geometric mean over cells" | "geometrisches Mittel über Zellen";
    improvement_formula() = "from after ÷ before" | "aus nachher ÷ vorher";
    percent_lower(percent) = "{percent} lower" | "{percent} niedriger";
    percent_higher(percent) = "{percent} higher" | "{percent} höher";
    is_better(change) = "{change} (better)" | "{change} (besser)";
    is_worse(change) = "{change} (worse)" | "{change} (schlechter)";
    equal() = "equal" | "identisch";
    counted(verdicts) = "by cell: {verdicts}" | "je Zelle: {verdicts}";
    better_in(cells) = "better in {cells}" | "besser in {cells}";
    worse_in(cells) = "worse in {cells}" | "schlechter in {cells}";
    equal_in(cells) = "equal in {cells}" | "identisch in {cells}";
    undirected_in(cells) = "no direction shown in {cells}" | "keine Richtung gezeigt in {cells}";
    matrix_test(p, count) = "{p} over {count} permutations" | "{p} über {count} Permutationen";
    matrix_sentence(cells, mean, time, ends, test, verdict) = "Over {cells} cells after takes {mean}× the {time} (geometric mean; {ends}; {test}): {verdict}." | "Über {cells} Zellen braucht nachher das {mean}-Fache der {time} (geometrisches Mittel; {ends}; {test}): {verdict}.";
    by_cell(verdicts) = "By cell: {verdicts}." | "Je Zelle: {verdicts}.";
    cells_faster(cells) = "{cells} faster" | "{cells} schneller";
    cells_slower(cells) = "{cells} slower" | "{cells} langsamer";
    cells_same(cells) = "{cells} same" | "{cells} gleich";
    cells_unclear(cells) = "{cells} without a verdict" | "{cells} ohne Urteil";
    permutation_p(p) = "permutation test {p}" | "Permutationstest {p}";
    best_loss_name() = "best loss" | "bester Loss";
}

/// The section: the table; `None` where nothing stands on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let rows = rows(scene);
    if rows.is_empty() {
        return None;
    }
    // Cells that were not measured have no part in any mean.
    let cells = scene.duos().filter(|duo| is_comparable(duo.pair)).count();
    let (how, about) = if is_one(scene) {
        let how = Provenance::Measured(words.medians_over_runs());
        (how, words.summary_about_one())
    } else {
        let how = Provenance::Derived(words.mean_over_cells());
        (how, words.summary_about_many(words.count(cells)))
    };
    let formula = scene.ratio_formula(words.improvement_formula());
    let columns = vec![
        Column::text(&words.heading_figure()),
        words.column(words.before(), "", &how),
        words.column(words.after(), "", &how),
        words.column(words.improvement(), "", &formula),
    ];
    let naming = ("summary", &*words.summary_title(), about);
    Some(Section::table(Table::of_rows(naming, columns, rows)))
}

/// A row: what it is about, both sides, and what changed in words, with the ratio and its direction below it.
fn row(name: String, sides: [Entry; 2], change: Entry) -> Row {
    let name = [Entry::text(name)].into_iter();
    Row::new("", name.chain(sides).chain([change]).collect())
}

/// The verdict over all cells, how the cells' own are distributed, and the metric that decides.
pub(crate) fn sentences(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let matrix = scene.comparison.matrix.as_ref();
    let mut sentences: Vec<String> = matrix
        .map(|found| of_matrix(scene, found))
        .into_iter()
        .collect();
    let count = |is: fn(&Verdict) -> bool| {
        let cells = scene.comparison.cells.iter();
        cells.filter(|pair| is(&pair.judgement.verdict)).count()
    };
    let faster = count(|verdict| matches!(verdict, Verdict::Faster));
    let slower = count(|verdict| matches!(verdict, Verdict::Slower));
    let same = count(|verdict| matches!(verdict, Verdict::Same));
    let unclear = scene.comparison.cells.len() - faster - slower - same;
    let verdicts = [
        (faster, words.cells_faster(words.count(faster))),
        (slower, words.cells_slower(words.count(slower))),
        (same, words.cells_same(words.count(same))),
        (unclear, words.cells_unclear(words.count(unclear))),
    ];
    sentences.push(words.by_cell(occurring(verdicts)));
    sentences.extend(phases::sentence_of_cells(scene));
    let mut metrics = deciding(scene).into_iter().chain([BEST_LOSS.to_owned()]);
    sentences.extend(metrics.find_map(|metric| {
        let change = quality(scene, &metric)?.fields.pop()?;
        let name = match &*metric {
            BEST_LOSS => capitalised(&words.best_loss_name()),
            column => column.to_owned(),
        };
        Some(format!("{name}: {} ({}).", change.text, change.detail))
    }));
    sentences
}

/// The metric that decides in every cell in which one does; `None` where cells have different ones.
fn deciding(scene: &Scene<'_>) -> Option<String> {
    let mut all = scene.duos().filter_map(|duo| duo.metric());
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

fn of_matrix(scene: &Scene<'_>, matrix: &MatrixJudgement) -> String {
    let words = scene.words;
    let mut verdict = vec![words.verdict(&matrix.verdict, Some(&matrix.ratio))];
    verdict.extend(words.why(&matrix.verdict, matrix.detectable));
    words.matrix_sentence(
        words.count(matrix.cells),
        words.ratio(matrix.ratio.value),
        words.timed(),
        scene.across(words.ends(&matrix.ratio)),
        words.matrix_test(
            words.p_value(matrix.p),
            words.count(matrix.permutations.0 as usize),
        ),
        verdict.join("; "),
    )
}

/// Every row, from top to bottom.
fn rows(scene: &Scene<'_>) -> Vec<Row> {
    let mut rows: Vec<Row> = time(scene).into_iter().collect();
    rows.extend(FIGURES.iter().filter_map(|figure| {
        let found = scene.duos().map(|duo| PairFigure::of(&duo, figure));
        of_figure(scene, figure, &found.collect::<Vec<_>>())
    }));
    if let (Some(duo), true) = (scene.duos().next(), is_one(scene)) {
        let goal = Goal::equal_loss(duo.both);
        rows.extend(goal.and_then(|goal| of_figure(scene, &goal, &[PairFigure::of(&duo, &goal)])));
    }
    let columns = scene.after.set.plan.columns.iter();
    let metrics = columns.filter(|column| column.direction != Direction::None);
    let metrics = metrics.map(|column| &*column.name).take(METRICS);
    let metrics = [BEST_LOSS].into_iter().chain(metrics);
    rows.extend(metrics.filter_map(|name| quality(scene, name)));
    // A figure that repeats another stands once: a loss and the metric that it is, one peak under two names.
    let mut shown = BTreeSet::new();
    rows.retain(|row| {
        let texts = row.fields[2..].iter().map(|field| field.text.clone());
        shown.insert(texts.collect::<Vec<String>>())
    });
    rows
}

fn is_one(scene: &Scene<'_>) -> bool {
    scene.comparison.cells.len() == 1
}

/// The time per sample, with its verdict.
fn time(scene: &Scene<'_>) -> Option<Row> {
    let words = scene.words;
    let figure = Figure::SampleTime;
    let duos: Vec<Duo<'_, '_>> = scene.duos().collect();
    let found: Vec<PairFigure> = duos
        .iter()
        .map(|duo| PairFigure::of(duo, &figure))
        .collect();
    let change = match (&scene.comparison.matrix, duos.as_slice()) {
        (_, [only]) => {
            let judgement = &only.pair.judgement;
            let p = words.family_p(judgement);
            let (verdict, ratio) = (words.judgement(judgement), judgement.ratio.as_ref());
            with_direction(words, verdict, ratio, p)
        }
        (Some(matrix), _) => {
            let why = words.why(&matrix.verdict, matrix.detectable).join("; ");
            let verdict = words.verdict(&matrix.verdict, Some(&matrix.ratio));
            let p = words.permutation_p(words.p_value(matrix.p));
            let verdict = Entry::detailed(verdict, why);
            with_direction(words, verdict, Some(&matrix.ratio), Some(p))
        }
        (None, _) => Entry::text("–"),
    };
    let sides = medians(scene, figure.kind(), &found)?;
    let name = figure.name(words);
    Some(row(name, sides, change))
}

fn with_direction(words: Words, entry: Entry, ratio: Option<&Ratio>, p: Option<String>) -> Entry {
    let Some(ratio) = ratio else { return entry };
    let mut details = vec![words.direction(ratio)];
    details.extend((!entry.detail.is_empty()).then_some(entry.detail));
    details.extend(p);
    Entry {
        text: entry.text,
        detail: details.join("; "),
        value: Some(ratio.value),
        interval: ratio.ends(),
    }
}

/// Of one pair of cells the medians with their intervals; of several the geometric means over those that are comparable.
fn medians(scene: &Scene<'_>, kind: Kind, found: &[PairFigure]) -> Option<[Entry; 2]> {
    let words = scene.words;
    if let ([only], true) = (found, is_one(scene)) {
        let [before, after] = only.medians.each_ref().map(Option::as_ref);
        return Some([before?, after?].map(|median| interval(words, kind, median)));
    }
    let found: Vec<[f64; 2]> = found.iter().filter_map(both).collect();
    Some(means(&found)?.map(|mean| Entry::value(mean, kind.show(words, mean))))
}

/// Both medians of a figure that is comparable.
fn both(held: &PairFigure) -> Option<[f64; 2]> {
    held.ratio?;
    let [before, after] = &held.medians;
    Some([before.as_ref()?.median, after.as_ref()?.median])
}

/// A figure; only of one pair of cells a test can stand behind a direction.
fn of_figure(scene: &Scene<'_>, measure: &dyn Measure, found: &[PairFigure]) -> Option<Row> {
    let (words, kind) = (scene.words, measure.kind());
    let sides = medians(scene, kind, found)?;
    let change = if let ([only], true) = (found, is_one(scene)) {
        let ratio = only.ratio?;
        let better = match only.shown {
            Shown::Less | Shown::More => Direction::Lower,
            _ => Direction::None,
        };
        let why = direction(words, kind, Some(&ratio), only.shown);
        let why = (better == Direction::None).then_some(why);
        let entry = Entry::text(change(words, ratio.value, better));
        with_direction(words, entry, Some(&ratio), why)
    } else {
        let [before, after] = sides.each_ref().map(|side| side.value);
        let ratio = after? / before?;
        let detail = format!("{} = {}", words.after_by_before(), words.ratio(ratio));
        Entry {
            detail,
            ..Entry::value(ratio, change(words, ratio, Direction::None))
        }
    };
    let name = measure.name(words);
    Some(row(name, sides, change))
}

/// A metric over cells.
fn quality(scene: &Scene<'_>, column: &str) -> Option<Row> {
    let words = scene.words;
    let cells = scene.comparison.cells.iter();
    let found = cells.filter_map(|pair| pair.quality.iter().find(|own| own.column == column));
    let found: Vec<&QualityChange> = found.collect();
    let first = *found.first()?;
    let values: Vec<[f64; 2]> = found.iter().map(|own| own.medians.into()).collect();
    let [before, after] = match &values[..] {
        [only] => *only,
        _ => means(&values)?,
    };
    let ratio = (before > 0.0 && after > 0.0).then(|| after / before);
    let is_told = matches!(
        first.verdict,
        QualityVerdict::Better | QualityVerdict::Worse
    );
    let (better, detail) = match &found[..] {
        [only] if is_told => (first.direction, qualities::verdict(words, only)),
        [only] => (Direction::None, qualities::verdict(words, only)),
        _ => (Direction::None, counted(words, &found)),
    };
    let text = match ratio {
        _ if found.len() == 1 && first.verdict == QualityVerdict::Equal => words.equal(),
        Some(ratio) => change(words, ratio, better),
        None => words.signed(after - before),
    };
    let name = match column {
        BEST_LOSS => words.best_loss_name(),
        other => other.to_owned(),
    };
    let name = arrowed(&name, first.direction);
    let change = Entry {
        detail,
        value: ratio,
        ..Entry::text(text)
    };
    let sides = [before, after].map(|value| Entry::value(value, words.number(value, 4)));
    Some(row(name, sides, change))
}

fn counted(words: Words, found: &[&QualityChange]) -> String {
    let count = |is: fn(&QualityVerdict) -> bool| {
        let found = found.iter();
        found.filter(|quality| is(&quality.verdict)).count()
    };
    let better = count(|verdict| *verdict == QualityVerdict::Better);
    let worse = count(|verdict| *verdict == QualityVerdict::Worse);
    let equal = count(|verdict| *verdict == QualityVerdict::Equal);
    let undirected = count(|verdict| {
        matches!(
            verdict,
            QualityVerdict::NotTold | QualityVerdict::TooFewSeeds(_)
        )
    });
    let verdicts = [
        (better, words.better_in(words.count(better))),
        (worse, words.worse_in(words.count(worse))),
        (equal, words.equal_in(words.count(equal))),
        (undirected, words.undirected_in(words.count(undirected))),
    ];
    words.counted(occurring(verdicts))
}

/// The verdicts that some cells have, of all with the numbers of their cells.
fn occurring<const N: usize>(verdicts: [(usize, String); N]) -> String {
    let occurring = verdicts.into_iter().filter(|(cells, _)| *cells > 0);
    let told: Vec<String> = occurring.map(|(_, told)| told).collect();
    told.join(", ")
}

/// The geometric means of both sides; `None` for no values, or where one is not positive.
fn means(values: &[[f64; 2]]) -> Option<[f64; 2]> {
    let mean = |side: usize| {
        let values: Vec<f64> = values.iter().map(|both| both[side]).collect();
        geometric_mean(&values).filter(|mean| mean.is_finite())
    };
    Some([mean(0)?, mean(1)?])
}

/// "27.0 % lower (better)", from a ratio `after ÷ before`.
fn change(words: Words, ratio: f64, direction: Direction) -> String {
    let (size, is_lower) = ((ratio - 1.0).abs(), ratio < 1.0);
    let percent = words.percent(size);
    let plain = if is_lower {
        words.percent_lower(percent)
    } else {
        words.percent_higher(percent)
    };
    match direction {
        _ if size < 5e-5 => "0 %".to_owned(),
        Direction::None => plain,
        _ if is_lower == (direction == Direction::Lower) => words.is_better(plain),
        _ => words.is_worse(plain),
    }
}
