//! Before, after, and what changed: times, memory and quality of the whole comparison, with the verdict over all cells.

mod quality;
mod times;
mod verdict;

pub(crate) use verdict::verdict;

use crate::report::comparison::scene::Scene;
use crate::report::comparison::{Words, account};
use crate::report::language::messages;
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::Direction;

/// Stands in links.
pub(crate) const ID: &str = "summary";
/// Timings that the summary has, where both sides have them.
const TIMINGS: [&str; 6] = [
    "samples_per_s",
    "epoch_s",
    "train_s",
    "total_s",
    "peak_train_bytes",
    "peak_rss_bytes",
];

messages! {
    summary_title() = "Summary" | "Zusammenfassung";
    summary_about_one() = "Medians over runs (times, memory) and over seeds (quality). A percentage without a verdict is what was measured, not what is shown to hold." | "Mediane über Läufe (Zeiten, Speicher) und über Seeds (Güte). Ein Prozentwert ohne Urteil ist das Gemessene, nicht das Nachgewiesene.";
    summary_about_many(cells) = "Geometric means over {cells} cells of medians over runs (times, memory) and over seeds (quality). A percentage without a verdict is what was measured, not what is shown to hold." | "Geometrische Mittel über {cells} Zellen der Mediane über Läufe (Zeiten, Speicher) und über Seeds (Güte). Ein Prozentwert ohne Urteil ist das Gemessene, nicht das Nachgewiesene.";
    figure() = "figure" | "Größe";
    better() = "better is" | "besser ist";
    lower() = "lower" | "kleiner";
    higher() = "higher" | "größer";
    improvement() = "improvement" | "Verbesserung";
    medians_over_runs() = "median over runs or seeds" | "Median über Läufe oder Seeds";
    mean_over_cells() = "geometric mean over cells" | "geometrisches Mittel über Zellen";
    improvement_formula() = "from after ÷ before" | "aus nachher ÷ vorher";
    percent_lower(percent) = "{percent} lower" | "{percent} niedriger";
    percent_higher(percent) = "{percent} higher" | "{percent} höher";
    as_before() = "0 %" | "0 %";
    is_better(change) = "{change} (better)" | "{change} (besser)";
    is_worse(change) = "{change} (worse)" | "{change} (schlechter)";
    equal() = "equal" | "identisch";
    equal_in_seeds(count) = "in {count} compared pairs of seeds, or within the tolerance" | "in {count} verglichenen Seed-Paaren, oder innerhalb der Toleranz";
    not_told(p) = "no direction shown, sign-flip {p}" | "keine Richtung nachgewiesen, Vorzeichentest {p}";
    tested(p) = "sign-flip over seeds, {p}" | "Vorzeichentest über Seeds, {p}";
    too_few_seeds(seeds, needed) = "no direction shown: a test needs {needed} seeds, there are {seeds}" | "keine Richtung nachgewiesen: {seeds} von {needed} für einen Test nötigen Seeds";
    includes_one() = "the interval includes 1" | "das Intervall enthält 1";
    counted(better, worse, equal, open) = "by cell: better in {better}, worse in {worse}, equal in {equal}, open in {open}" | "je Zelle: besser in {better}, schlechter in {worse}, identisch in {equal}, offen in {open}";
    matrix_sentence(cells, mean, ends, p, count, verdict) = "Over {cells} cells after takes {mean}× the time per sample (geometric mean; {ends}; {p} over {count} permutations): {verdict}." | "Über {cells} Zellen braucht nachher das {mean}-Fache der Zeit je Sample (geometrisches Mittel; {ends}; {p} über {count} Permutationen): {verdict}.";
    by_cell(faster, slower, same, open) = "by cell: {faster} faster, {slower} slower, {same} same, {open} without a verdict" | "je Zelle: {faster} schneller, {slower} langsamer, {same} gleich, {open} ohne Urteil";
    permutation_p(p) = "permutation test {p}" | "Permutationstest {p}";
    holm_p(p) = "{p} after Holm" | "{p} nach Holm";
    best_loss_name() = "best loss" | "bester Loss";
    throughput() = "throughput" | "Durchsatz";
    epoch_time() = "time of an epoch" | "Zeit einer Epoche";
    training_time() = "training, validation excluded" | "Training ohne Validierung";
    run_time() = "whole run" | "ganzer Lauf";
    training_memory() = "peak memory before the first validation" | "Spitzenspeicher bis zur ersten Validierung";
    process_memory() = "peak memory of the process" | "Spitzenspeicher des Prozesses";
}

/// A line of the summary.
pub(crate) struct Line {
    /// What it is about.
    pub(crate) name: String,
    /// Unit of before and after; empty where the texts have one, or where there is none.
    pub(crate) unit: &'static str,
    /// Whether lower or higher is better.
    pub(crate) direction: Direction,
    /// Cells that it is about.
    pub(crate) cells: usize,
    /// The side before.
    pub(crate) before: Entry,
    /// The side after.
    pub(crate) after: Entry,
    /// What changed, in words, with the ratio and its direction below it.
    pub(crate) change: Entry,
}

/// The section: the table, and below it the verdict over all cells.
pub(crate) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let lines = lines(scene);
    // Cells that were not measured have no part in any mean.
    let cells = lines.iter().map(|line| line.cells).max()?;
    let rows = lines.into_iter().map(|line| Row {
        key: String::new(),
        fields: vec![
            Entry::text(if line.unit.is_empty() {
                line.name
            } else {
                format!("{} ({})", line.name, line.unit)
            }),
            Entry::text(direction(words, line.direction)),
            line.before,
            line.after,
            line.change,
        ],
        missing: None,
    });
    let how = if is_one(scene) {
        Provenance::Measured(words.medians_over_runs())
    } else {
        Provenance::Derived(words.mean_over_cells())
    };
    let columns = vec![
        Column::text(&words.figure()),
        Column::text(&words.better()),
        words.column(words.before(), "", &how),
        words.column(words.after(), "", &how),
        words.column(words.improvement(), "", &formula(scene)),
    ];
    let about = if is_one(scene) {
        words.summary_about_one()
    } else {
        words.summary_about_many(words.count(cells))
    };
    let table = Table::of_rows((ID, &words.summary_title(), about), columns, rows.collect());
    Some(Section::table(table))
}

/// The best loss over cells, in a sentence.
pub(crate) fn quality_sentence(scene: &Scene<'_>) -> Option<String> {
    let line = quality::quality(scene, quality::BEST_LOSS)?;
    let name = crate::base::text::capitalised(&line.name);
    Some(format!(
        "{name}: {} ({}).",
        line.change.text, line.change.detail
    ))
}

/// How an improvement is computed.
pub(crate) fn formula(scene: &Scene<'_>) -> Provenance {
    scene.ratio_formula(scene.words.improvement_formula())
}

/// Every line of the summary, from top to bottom.
pub(crate) fn lines(scene: &Scene<'_>) -> Vec<Line> {
    let mut lines: Vec<Line> = times::time(scene).into_iter().collect();
    lines.extend(
        TIMINGS
            .iter()
            .filter_map(|column| times::timing(scene, column)),
    );
    lines.extend(
        quality::metrics(scene)
            .iter()
            .filter_map(|column| quality::quality(scene, column)),
    );
    lines.extend(account::lines(scene));
    // A figure that repeats another stands once: a loss and the metric that it is, one peak under two names.
    let mut shown: Vec<Line> = Vec::new();
    for line in lines {
        let is_same = |other: &Line| {
            (&other.before.text, &other.after.text) == (&line.before.text, &line.after.text)
                && other.change.text == line.change.text
        };
        if !shown.iter().any(is_same) {
            shown.push(line);
        }
    }
    shown
}

fn is_one(scene: &Scene<'_>) -> bool {
    scene.comparison.cells.len() == 1
}

fn direction(words: Words, direction: Direction) -> String {
    match direction {
        Direction::Lower => words.lower(),
        Direction::Higher => words.higher(),
        Direction::None => "–".to_owned(),
    }
}

/// The geometric mean; `None` for no values, or where one is not positive.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    let sum: f64 = logs.iter().sum();
    let mean = (sum / logs.len() as f64).exp();
    // ln of zero is −∞ and of less is NaN; of no values 0 ÷ 0.
    (mean.is_finite() && mean > 0.0).then_some(mean)
}

/// "27.0 % lower (better)", from a ratio `after ÷ before`.
pub(crate) fn change(words: Words, ratio: f64, direction: Direction) -> Entry {
    let plain = plain_change(words, ratio);
    let is_lower = ratio < 1.0;
    let text = match direction {
        _ if plain == words.as_before() => plain,
        Direction::None => plain,
        Direction::Lower if is_lower => words.is_better(plain),
        Direction::Higher if !is_lower => words.is_better(plain),
        _ => words.is_worse(plain),
    };
    Entry::value(ratio, text)
}

fn plain_change(words: Words, ratio: f64) -> String {
    let percent = words.percent((ratio - 1.0).abs());
    if (ratio - 1.0).abs() < 5e-5 {
        words.as_before()
    } else if ratio < 1.0 {
        words.percent_lower(percent)
    } else {
        words.percent_higher(percent)
    }
}
