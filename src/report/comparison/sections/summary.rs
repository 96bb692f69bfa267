//! Before, after, and what changed: every figure of a single pair of cells; of several pairs the means and the numbers
//! of verdicts.

use crate::base::statistics::{geometric_mean, range};
use crate::compare::{
    CellPair, CostChange, CostOverCells, MatrixJudgement, QualityChange, QualityVerdict, Verdict,
};
use crate::report::comparison::Words;
use crate::report::comparison::account::figure::ComparedQuantity;
use crate::report::comparison::account::rows::{
    ROWS, columns, is_comparable, medians, quantity_row, ratio_entry, ratio_of, table_over_pairs,
};
use crate::report::comparison::account::{phases, qualities};
use crate::report::comparison::scene::{MatchedCells, Scene};
use crate::report::comparison::sections::costs;
use crate::report::language::messages;
use crate::report::quality::arrowed;
use crate::report::section::Section;
use crate::report::sections::cost::prices;
use crate::report::sections::reach::Target;
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::Direction;

/// Largest number of metrics besides the best loss in a table over cells.
const METRICS: usize = 4;
const BEST_LOSS: &str = "best_loss";

messages! {
    summary_title() = "Summary" | "Zusammenfassung";
    summary_about_one() = "Medians over runs (times, costs) and over seeds (losses, metrics), below them their intervals. Training excludes validation; the whole run is start-up, training and validation. A direction is given only where a test shows it, corrected for the number of figures." | "Mediane über Läufe (Zeiten, Kosten) und über Seeds (Losses, Metriken), darunter ihre Intervalle. Das Training enthält keine Validierung; der ganze Lauf besteht aus Start, Training und Validierung. Eine Richtung ist nur angegeben, wo ein Test sie zeigt, korrigiert für die Zahl der Größen.";
    summary_about_many(cells) = "Over {cells} cells: geometric means of medians over runs (times, costs), and the range of medians over seeds (losses, metrics)." | "Über {cells} Zellen: geometrische Mittel der Mediane über Läufe (Zeiten, Kosten) und die Spannweite der Mediane über Seeds (Losses, Metriken).";
    by_cell_title() = "What changed, cell by cell" | "Was sich änderte, Zelle für Zelle";
    by_cell_about() = "Figures whose change a test shows, corrected for the number of figures and cells, and the metric that decides; the others stand in the CSV files." | "Größen, deren Änderung ein Test zeigt, korrigiert für die Zahl der Größen und Zellen, und die entscheidende Metrik; die übrigen stehen in den CSV-Dateien.";
    medians_over_runs() = "median of n runs, of losses and metrics of n seeds; until a value is reached: training × epochs until then ÷ epochs" | "Median von n Läufen, bei Losses und Metriken von n Seeds; bis zu einem Wert: Training × Epochen bis dahin ÷ Epochen";
    mean_over_cells() = "geometric mean over cells" | "geometrisches Mittel über Zellen";
    of_the_means() = "mean after ÷ mean before" | "Mittel nachher ÷ Mittel vorher";
    of_the_medians() = "median after ÷ median before; below it the 95 % interval, below six runs a side their range" | "Median nachher ÷ Median vorher; darunter das 95-%-Intervall, unter sechs Läufen je Seite deren Spannweite";
    metric_over_cells(name, before, after, verdicts) = "{name}: by cell {before} before, {after} after; {verdicts}." | "{name}: je Zelle {before} vorher, {after} nachher; {verdicts}.";
    better_in(cells) = "better in {cells}" | "besser in {cells}";
    worse_in(cells) = "worse in {cells}" | "schlechter in {cells}";
    equal_in(cells) = "equal in {cells}" | "identisch in {cells}";
    undirected_in(cells) = "no direction shown in {cells}" | "keine Richtung gezeigt in {cells}";
    matrix_test(p, count) = "{p} over {count} permutations" | "{p} über {count} Permutationen";
    matrix_sentence(cells, mean, time, ends, test, verdict) = "Over {cells} cells the side after takes {mean}× the {time} (geometric mean; {ends}; {test}): {verdict}." | "Über {cells} Zellen braucht nachher das {mean}-Fache der {time} (geometrisches Mittel; {ends}; {test}): {verdict}.";
    by_cell(verdicts) = "By cell: {verdicts}." | "Je Zelle: {verdicts}.";
    cells_faster(cells) = "{cells} faster" | "{cells} schneller";
    cells_slower(cells) = "{cells} slower" | "{cells} langsamer";
    cells_same(cells) = "{cells} same" | "{cells} gleich";
    cells_unclear(cells) = "{cells} without a verdict" | "{cells} ohne Urteil";
    permutation_p(p) = "permutation test {p}" | "Permutationstest {p}";
}

/// The section: every figure of a single cell, or the means over several; `None` if no cell is on both sides.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    if is_one(scene) {
        let naming = ("summary", words.summary_title(), words.summary_about_one());
        return table_over_pairs(scene, naming, columns_of_one(scene), ROWS, |matched| {
            let lines = lines(scene, matched).into_iter();
            lines.map(|(fields, _)| fields).collect()
        })
        .map(Section::table);
    }
    // Cells that were not measured are left out of all means.
    let cells = scene
        .matched_cells()
        .filter(|matched| is_comparable(matched.pair))
        .count();
    let how = words.derived(words.mean_over_cells());
    let columns = columns(scene, &how, words.of_the_means());
    let rows: Vec<Row> = over_cells(scene)
        .into_iter()
        .map(|fields| Row::new("", fields))
        .collect();
    let about = words.summary_about_many(words.count(cells));
    let naming = ("summary", &*words.summary_title(), about);
    (!rows.is_empty()).then(|| Section::table(Table::of_rows(naming, columns, rows)))
}

/// The section for several cells, one row per cell: figures, costs and metrics that changed, and the deciding metric.
pub(crate) fn by_cell(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let naming = ("by-cell", words.by_cell_title(), words.by_cell_about());
    let told = |matched: &MatchedCells<'_, '_>| {
        // The time that is judged is in another table.
        let lines = lines(scene, matched).into_iter().skip(1);
        let told = lines.filter(|(_, is_told)| *is_told);
        told.map(|(fields, _)| fields).collect()
    };
    let is_many = scene.matched_cells().count() > 1;
    let table =
        is_many.then(|| table_over_pairs(scene, naming, columns_of_one(scene), ROWS, told))?;
    table.map(Section::table)
}

fn columns_of_one(scene: &Scene<'_>) -> Vec<Column> {
    let how = scene.words.measured(scene.words.medians_over_runs());
    columns(scene, &how, scene.words.of_the_medians())
}

/// Every figure, cost and metric of a pair of cells, each with whether a change is shown; the judged time first.
fn lines(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>) -> Vec<(Vec<Entry>, bool)> {
    let timed = scene.judged_time();
    let mut figures = vec![
        ComparedQuantity::Startup,
        ComparedQuantity::Training,
        ComparedQuantity::Validation,
    ];
    figures.extend([
        ComparedQuantity::Pass,
        ComparedQuantity::PassSample,
        ComparedQuantity::WholeRun,
        ComparedQuantity::Evaluation,
    ]);
    figures.retain(|figure| *figure != timed);
    figures.extend(ComparedQuantity::equal_loss(matched.both));
    figures.extend(
        Target::all(matched.both[1].view)
            .into_iter()
            .map(ComparedQuantity::Until),
    );
    figures.extend(prices(&scene.after).map(ComparedQuantity::Price));
    let cells = scene.matched_cells();
    let cells = cells.filter(|matched| is_comparable(matched.pair)).count();
    let tests = figures.len() * cells.max(1);
    let mut lines = vec![(time(scene, matched, &timed), true)];
    lines.extend(
        figures
            .iter()
            .filter_map(|figure| quantity_row(scene, matched, figure, tests)),
    );
    let costs = matched
        .pair
        .costs
        .iter()
        .filter(|own| costs::is_mentioned(own));
    lines.extend(costs.map(|own| (cost(scene, own), own.is_effect())));
    lines.extend(qualities::lines(scene, matched));
    lines
}

/// The row of the judged time, with its verdict.
fn time(scene: &Scene<'_>, matched: &MatchedCells<'_, '_>, timed: &ComparedQuantity) -> Vec<Entry> {
    let words = scene.words;
    let judgement = &matched.pair.judgement;
    let verdict = words.judgement(judgement);
    let p = words.adjusted_p_text(judgement).unwrap_or_default();
    let why = [verdict.detail, p]
        .into_iter()
        .filter(|part| !part.is_empty());
    let why = why.collect::<Vec<String>>().join("; ");
    let [before, after] = medians(words, matched, timed);
    vec![
        Entry::text(timed.name(words)),
        before,
        after,
        ratio_entry(words, judgement.ratio.as_ref()),
        Entry::detailed(verdict.text, why),
    ]
}

fn cost(scene: &Scene<'_>, own: &CostChange) -> Vec<Entry> {
    let words = scene.words;
    let shown = |value| Entry::shown(value, |value| words.cost_value(own.cost, value));
    let judgement = &own.judgement;
    let verdict = words.judgement(judgement);
    let p = words.adjusted_p_text(judgement).filter(|_| own.is_effect());
    vec![
        Entry::text(words.cost(own.cost)),
        shown(own.medians.0),
        shown(own.medians.1),
        ratio_entry(words, judgement.ratio.as_ref()),
        Entry::detailed(verdict.text, p.unwrap_or(verdict.detail)),
    ]
}

/// The verdict over all cells, the numbers of cells by verdict, and the metric that decides.
pub(crate) fn sentences(scene: &Scene<'_>) -> Vec<String> {
    let words = scene.words;
    let matrix = scene.comparison.matrix.as_ref();
    let mut sentences: Vec<String> = matrix
        .map(|found| of_matrix(scene, found))
        .into_iter()
        .collect();
    let place = |pair: &CellPair| match pair.judgement.verdict {
        Verdict::Faster => 0,
        Verdict::Slower => 1,
        Verdict::Same => 2,
        _ => 3,
    };
    let verdicts: [fn(Words, String) -> String; 4] = [
        Words::cells_faster,
        Words::cells_slower,
        Words::cells_same,
        Words::cells_unclear,
    ];
    let cells = scene.comparison.cells.iter().map(place);
    sentences.push(words.by_cell(counted(words, &cells, verdicts)));
    sentences.extend(phases::sentence_of_cells(scene));
    let mut metrics = deciding(scene).into_iter().chain([BEST_LOSS.to_owned()]);
    sentences.extend(metrics.find_map(|metric| {
        let [_, before, after, _, counted] = quality(scene, &metric)?.try_into().ok()?;
        let (before, after) = (before.text, after.text);
        Some(words.metric_over_cells(metric, before, after, counted.text))
    }));
    sentences
}

/// The deciding metric of all cells that have one; `None` if cells have different ones.
fn deciding(scene: &Scene<'_>) -> Option<String> {
    let mut all = scene.matched_cells().filter_map(|matched| matched.metric());
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

fn of_matrix(scene: &Scene<'_>, matrix: &MatrixJudgement) -> String {
    let words = scene.words;
    let mut verdict = vec![words.verdict(&matrix.verdict, Some(&matrix.ratio))];
    verdict.extend(words.reason_texts(&matrix.verdict, matrix.detectable));
    words.matrix_sentence(
        words.count(matrix.cells),
        words.ratio(matrix.ratio.value),
        words.timed(),
        scene.with_environment_note(words.ends(&matrix.ratio)),
        words.matrix_test(
            words.p_value(matrix.p),
            words.count(matrix.permutations.0 as usize),
        ),
        verdict.join("; "),
    )
}

fn is_one(scene: &Scene<'_>) -> bool {
    scene.comparison.cells.len() == 1
}

/// The rows over several cells: times and costs as geometric means, losses and metrics as ranges, since a mean over
/// different losses is meaningless.
fn over_cells(scene: &Scene<'_>) -> Vec<Vec<Entry>> {
    let words = scene.words;
    let mut rows = Vec::new();
    let timed = scene.judged_time();
    let matrix = scene.comparison.matrix.as_ref();
    rows.extend(mean_row(scene, &timed, matrix));
    if timed != ComparedQuantity::WholeRun {
        rows.extend(mean_row(scene, &ComparedQuantity::WholeRun, None));
    }
    let is_effect = |own: &&CostOverCells| {
        let matrix = own.matrix.as_ref();
        matrix.is_some_and(|of| matches!(of.verdict, Verdict::Less | Verdict::More))
    };
    for own in scene.comparison.costs.iter().filter(is_effect) {
        let cells = scene.comparison.cells.iter().flat_map(|pair| &pair.costs);
        let cells = cells.filter(|cell| cell.cost == own.cost && cell.judgement.ratio.is_some());
        let medians = cells.filter_map(|cell| Some([cell.medians.0?, cell.medians.1?]));
        let show = |value| words.cost_value(own.cost, value);
        let name = words.cost(own.cost);
        rows.extend(means(
            words,
            name,
            &medians.collect::<Vec<_>>(),
            own.matrix.as_ref(),
            &show,
        ));
    }
    let columns = scene.after.set.plan.columns.iter();
    let metrics = columns.filter(|column| column.direction != Direction::None);
    let metrics = metrics.map(|column| &*column.name).take(METRICS);
    rows.extend(
        [BEST_LOSS]
            .into_iter()
            .chain(metrics)
            .filter_map(|name| quality(scene, name)),
    );
    rows
}

fn mean_row(
    scene: &Scene<'_>,
    figure: &ComparedQuantity,
    matrix: Option<&MatrixJudgement>,
) -> Option<Vec<Entry>> {
    let words = scene.words;
    let held = scene.matched_cells().filter_map(|matched| {
        ratio_of(&matched, figure)?;
        let [before, after] = matched.both.map(|at| figure.median_over_runs(at));
        Some([before?.median, after?.median])
    });
    let show = |value| figure.show(words, value);
    means(
        words,
        figure.name(words),
        &held.collect::<Vec<_>>(),
        matrix,
        &show,
    )
}

/// A row of the geometric means of both sides, with the verdict over all cells if there is one; `None` without values.
fn means(
    words: Words,
    name: String,
    values: &[[f64; 2]],
    matrix: Option<&MatrixJudgement>,
    show: &dyn Fn(f64) -> String,
) -> Option<Vec<Entry>> {
    let mean = |side: usize| {
        let values: Vec<f64> = values.iter().map(|both| both[side]).collect();
        geometric_mean(&values).filter(|mean| mean.is_finite())
    };
    let (before, after) = (mean(0)?, mean(1)?);
    let ratio = Entry::value(after / before, format!("{}×", words.ratio(after / before)));
    let ratio = matrix.map_or(ratio, |matrix| words.ratio_entry(Some(&matrix.ratio)));
    let verdict = matrix.map(|matrix| {
        let mut why = words.reason_texts(&matrix.verdict, matrix.detectable);
        why.push(words.permutation_p(words.p_value(matrix.p)));
        Entry::detailed(
            words.verdict(&matrix.verdict, Some(&matrix.ratio)),
            why.join("; "),
        )
    });
    Some(vec![
        Entry::text(name),
        Entry::value(before, show(before)),
        Entry::value(after, show(after)),
        ratio,
        verdict.unwrap_or_else(|| Entry::text("–")),
    ])
}

/// The row of a metric over cells: its range, and in how many cells it is better or worse.
fn quality(scene: &Scene<'_>, column: &str) -> Option<Vec<Entry>> {
    let words = scene.words;
    let cells = scene.comparison.cells.iter();
    let found = cells.filter_map(|pair| pair.quality.iter().find(|own| own.column == column));
    let found: Vec<&QualityChange> = found.collect();
    let ends = |side: fn(&QualityChange) -> f64| {
        let (low, high) = range(&found.iter().map(|own| side(own)).collect::<Vec<f64>>())?;
        let shown = [low, high].map(|value| words.number(value, 4));
        Some(if shown[0] == shown[1] {
            Entry::value(low, &*shown[0])
        } else {
            Entry::text(words.between(&shown[0], &shown[1])).with_interval(low, high)
        })
    };
    Some(vec![
        Entry::text(arrowed(column, found.first()?.direction)),
        ends(|own| own.medians.0)?,
        ends(|own| own.medians.1)?,
        Entry::text("–"),
        Entry::text(by_verdict(words, &found)),
    ])
}

/// In how many cells a metric is better, worse, equal, or without a verdict.
fn by_verdict(words: Words, found: &[&QualityChange]) -> String {
    let place = |own: &&QualityChange| match own.verdict {
        QualityVerdict::Better => 0,
        QualityVerdict::Worse => 1,
        QualityVerdict::Equal => 2,
        _ => 3,
    };
    let verdicts: [fn(Words, String) -> String; 4] = [
        Words::better_in,
        Words::worse_in,
        Words::equal_in,
        Words::undirected_in,
    ];
    counted(words, &found.iter().map(place), verdicts)
}

/// How many cells have each verdict that occurs, as text; `cells` contains for each cell the index of its verdict in
/// `verdicts`.
fn counted(
    words: Words,
    cells: &(impl Iterator<Item = usize> + Clone),
    verdicts: [fn(Words, String) -> String; 4],
) -> String {
    let told = verdicts.iter().enumerate().filter_map(|(place, told)| {
        let count = cells.clone().filter(|own| *own == place).count();
        (count > 0).then(|| told(words, words.count(count)))
    });
    told.collect::<Vec<String>>().join(", ")
}
