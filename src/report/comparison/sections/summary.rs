//! Before, after, and what changed: times, memory and quality of the whole comparison, with the verdict over all cells.

use crate::compare::{MatrixJudgement, QualityChange, QualityVerdict, Ratio, Verdict};
use crate::report::comparison::Words;
use crate::report::comparison::context::Section;
use crate::report::comparison::pace::median_per_sample;
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::messages;
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Row};
use crate::results::{Direction, fixed_column};

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
/// Metrics that the summary has beside the best loss.
const METRICS: usize = 4;
const BEST_LOSS: &str = "best_loss";

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
    not_told(p) = "no direction shown, sign-flip p = {p}" | "keine Richtung nachgewiesen, Vorzeichentest p = {p}";
    tested(p) = "sign-flip over seeds, p = {p}" | "Vorzeichentest über Seeds, p = {p}";
    too_few_seeds(seeds, needed) = "no direction shown: {seeds} seeds, {needed} needed" | "keine Richtung nachgewiesen: {seeds} Seeds, {needed} nötig";
    includes_one() = "the interval includes 1" | "das Intervall enthält 1";
    counted(better, worse, equal, open) = "by cell: better in {better}, worse in {worse}, equal in {equal}, open in {open}" | "je Zelle: besser in {better}, schlechter in {worse}, identisch in {equal}, offen in {open}";
    matrix_sentence(cells, mean, verdict) = "Over {cells} cells the geometric mean of after ÷ before is {mean}: {verdict}." | "Über {cells} Zellen ist das geometrische Mittel von nachher ÷ vorher {mean}: {verdict}.";
    matrix_test(p, count) = "Permutation test of the whole matrix, labels exchanged within each cell: p = {p}, from {count} drawn permutations." | "Permutationstest der ganzen Matrix, Seiten innerhalb jeder Zelle vertauscht: p = {p}, aus {count} gezogenen Permutationen.";
    matrix_test_all(p, count) = "Permutation test of the whole matrix, labels exchanged within each cell: p = {p}, from all {count} permutations." | "Permutationstest der ganzen Matrix, Seiten innerhalb jeder Zelle vertauscht: p = {p}, aus allen {count} Permutationen.";
    by_cell(faster, slower, same, open) = "By cell: {faster} faster, {slower} slower, {same} same, {open} without a verdict; the table of cells has the smallest detectable effect of each." | "Je Zelle: {faster} schneller, {slower} langsamer, {same} gleich, {open} ohne Urteil; die Tabelle der Zellen nennt zu jeder den kleinsten nachweisbaren Effekt.";
    permutation_p(p) = "permutation test p = {p}" | "Permutationstest p = {p}";
    holm_p(p) = "p = {p} after Holm" | "p = {p} nach Holm";
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
    /// Which way is better.
    pub(crate) direction: Direction,
    /// The side before.
    pub(crate) before: Entry,
    /// The side after.
    pub(crate) after: Entry,
    /// What changed, in words, with the ratio and its direction below it.
    pub(crate) change: Entry,
    /// Whether it stands at the head of the page.
    pub(crate) is_headline: bool,
    /// What to hold against it, at the head of the page.
    pub(crate) remarks: Vec<String>,
}

impl Line {
    /// Its name at the head of the page.
    pub(crate) fn title(&self, _words: Words) -> String {
        crate::base::text::capitalised(&self.name)
    }
}

/// The section: the table, and below it the verdict over all cells.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let words = scene.words;
    let lines = lines(scene);
    if lines.is_empty() {
        return None;
    }
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
    let cells = words.count(scene.comparison.cells.len());
    let about = if is_one(scene) {
        words.summary_about_one()
    } else {
        words.summary_about_many(cells)
    };
    let table = scene.table_of_rows((ID, words.summary_title(), about), columns, rows.collect());
    Some(Section {
        points: verdict(scene),
        ..Section::table(table)
    })
}

/// How an improvement is computed.
pub(crate) fn formula(scene: &Scene<'_>) -> Provenance {
    scene.ratio_formula(scene.words.improvement_formula())
}

/// Every line of the summary, from top to bottom.
pub(crate) fn lines(scene: &Scene<'_>) -> Vec<Line> {
    let mut lines: Vec<Line> = time(scene).into_iter().collect();
    lines.extend(TIMINGS.iter().filter_map(|column| timing(scene, column)));
    lines.extend(
        metrics(scene)
            .iter()
            .filter_map(|column| quality(scene, column)),
    );
    lines
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

/// The time per sample, with its verdict.
fn time(scene: &Scene<'_>) -> Option<Line> {
    let words = scene.words;
    let duos: Vec<Duo<'_, '_>> = scene.duos().collect();
    let judged = duos
        .iter()
        .filter(|duo| is_one(scene) || duo.pair.judgement.ratio.is_some());
    let medians = judged.filter_map(|duo| {
        let before = median_per_sample(&scene.before, duo.before)?;
        Some((before, median_per_sample(&scene.after, duo.after)?))
    });
    let medians: Vec<(f64, f64)> = medians.collect();
    let (before, after) = (
        mean(medians.iter().map(|pair| pair.0))?,
        mean(medians.iter().map(|pair| pair.1))?,
    );
    let (change, remarks) = match (&scene.comparison.matrix, duos.as_slice()) {
        (_, [only]) => {
            let judgement = &only.pair.judgement;
            let entry = with_direction(words, words.judgement(judgement), judgement.ratio.as_ref());
            let p = judgement.p_holm.map(|p| words.holm_p(words.p(p)));
            (entry, p.into_iter().collect())
        }
        (Some(matrix), _) => {
            let text = Entry::text(words.verdict(&matrix.verdict, Some(&matrix.ratio)));
            let remarks = vec![words.permutation_p(words.p(matrix.p)), counts(scene)];
            (with_direction(words, text, Some(&matrix.ratio)), remarks)
        }
        (None, _) => (Entry::text("–"), Vec::new()),
    };
    let show = |value: f64| Entry::value(value, words.number(value, 4));
    Some(Line {
        name: words.time_per_sample(),
        unit: "ms",
        direction: Direction::Lower,
        before: show(before),
        after: show(after),
        is_headline: change.text != "–",
        change,
        remarks,
    })
}

fn with_direction(words: Words, entry: Entry, ratio: Option<&Ratio>) -> Entry {
    let Some(ratio) = ratio else { return entry };
    let mut details = vec![words.direction(ratio)];
    details.extend((!entry.detail.is_empty()).then_some(entry.detail));
    Entry {
        text: entry.text,
        detail: details.join("; "),
        value: Some(ratio.value),
    }
}

/// A timing over the cells where it may be compared: means of medians, and their ratio.
fn timing(scene: &Scene<'_>, column: &str) -> Option<Line> {
    let words = scene.words;
    let is_memory = column.ends_with("_bytes");
    let pairs = scene.comparison.cells.iter().filter(|pair| {
        let may = !matches!(pair.judgement.verdict, Verdict::NotComparable(_));
        pair.judgement.ratio.is_some() || (is_memory && may)
    });
    let found: Vec<_> = pairs
        .filter_map(|pair| pair.timings.iter().find(|timing| timing.column == column))
        .collect();
    let first = found.first()?;
    let before = mean(found.iter().map(|timing| timing.medians.0))?;
    let after = mean(found.iter().map(|timing| timing.medians.1))?;
    let ratio = after / before;
    let mut change = change(words, ratio, first.direction);
    change.detail = if is_one(scene) {
        words.direction(&first.ratio)
    } else {
        format!("{} = {}", words.after_by_before(), words.ratio(ratio))
    };
    if is_one(scene) && (first.ratio.low..=first.ratio.high).contains(&1.0) {
        change.text = plain_change(words, ratio);
        change.detail = format!("{}; {}", change.detail, words.includes_one());
    }
    let unit = fixed_column(column).map_or("", |info| unit(&info.unit));
    let show = |value: f64| {
        let text = if is_memory {
            words.bytes(value)
        } else {
            words.number(value, 4)
        };
        Entry::value(value, text)
    };
    Some(Line {
        name: name(words, column),
        unit: if is_memory { "" } else { unit },
        direction: first.direction,
        before: show(before),
        after: show(after),
        change,
        is_headline: column == "peak_train_bytes",
        remarks: Vec::new(),
    })
}

fn unit(name: &str) -> &'static str {
    match name {
        "samples/s" => "samples/s",
        "s" => "s",
        _ => "",
    }
}

fn name(words: Words, column: &str) -> String {
    match column {
        "samples_per_s" => words.throughput(),
        "epoch_s" => words.epoch_time(),
        "train_s" => words.training_time(),
        "total_s" => words.run_time(),
        "peak_train_bytes" => words.training_memory(),
        "peak_rss_bytes" => words.process_memory(),
        other => other.to_owned(),
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

/// The best loss, and the first metrics of the results.
fn metrics(scene: &Scene<'_>) -> Vec<String> {
    let plan = &scene.comparison.after.set.plan;
    let metrics = plan
        .columns
        .iter()
        .filter(|column| column.direction != Direction::None);
    let metrics = metrics.map(|column| column.name.clone()).take(METRICS);
    [BEST_LOSS.to_owned()].into_iter().chain(metrics).collect()
}

/// A metric over cells.
fn quality(scene: &Scene<'_>, column: &str) -> Option<Line> {
    let words = scene.words;
    let cells = scene.comparison.cells.iter();
    let found: Vec<&QualityChange> = cells
        .filter_map(|pair| pair.quality.iter().find(|quality| quality.column == column))
        .collect();
    let first = *found.first()?;
    let (before, after) = if let [only] = found.as_slice() {
        only.medians
    } else {
        let before = mean(found.iter().map(|quality| quality.medians.0));
        before.zip(mean(found.iter().map(|quality| quality.medians.1)))?
    };
    let ratio = after / before;
    let entry = if before > 0.0 && after > 0.0 {
        change(words, ratio, first.direction)
    } else {
        Entry::text(words.signed(after - before))
    };
    let change = if let [only] = found.as_slice() {
        of_seeds(words, entry, only)
    } else {
        Entry {
            detail: counted(words, &found),
            ..Entry::value(ratio, plain_change(words, ratio))
        }
    };
    let show = |value: f64| Entry::value(value, words.number(value, 4));
    Some(Line {
        name: column.to_owned(),
        unit: "",
        direction: first.direction,
        before: show(before),
        after: show(after),
        change,
        is_headline: column == BEST_LOSS,
        remarks: Vec::new(),
    })
}

/// A metric of one cell: a direction only where the seeds show one.
fn of_seeds(words: Words, entry: Entry, quality: &QualityChange) -> Entry {
    let plain = |entry: Entry| match entry.value {
        Some(ratio) => Entry {
            text: plain_change(words, ratio),
            ..entry
        },
        None => entry,
    };
    let p = words.p(quality.p.unwrap_or(1.0));
    match quality.verdict {
        QualityVerdict::Equal => Entry {
            detail: words.equal_in_seeds(words.count(quality.pairs)),
            text: words.equal(),
            ..entry
        },
        QualityVerdict::Better | QualityVerdict::Worse => Entry {
            detail: words.tested(p),
            ..entry
        },
        QualityVerdict::NotTold => Entry {
            detail: words.not_told(p),
            ..plain(entry)
        },
        QualityVerdict::TooFewSeeds(needed) => Entry {
            detail: words.too_few_seeds(words.count(quality.pairs), words.count(needed)),
            ..plain(entry)
        },
    }
}

fn counted(words: Words, found: &[&QualityChange]) -> String {
    let count = |is: fn(&QualityVerdict) -> bool| {
        words.count(found.iter().filter(|quality| is(&quality.verdict)).count())
    };
    words.counted(
        count(|verdict| matches!(verdict, QualityVerdict::Better)),
        count(|verdict| matches!(verdict, QualityVerdict::Worse)),
        count(|verdict| matches!(verdict, QualityVerdict::Equal)),
        count(|verdict| {
            matches!(
                verdict,
                QualityVerdict::NotTold | QualityVerdict::TooFewSeeds(_)
            )
        }),
    )
}

/// The verdict over all cells, and how the cells' own are distributed.
fn verdict(scene: &Scene<'_>) -> Vec<String> {
    let mut points: Vec<String> = Vec::new();
    if let Some(matrix) = scene.comparison.matrix.as_ref().filter(|_| !is_one(scene)) {
        points.extend(matrix_words(scene, matrix));
    }
    points.push(counts(scene));
    points
}

fn matrix_words(scene: &Scene<'_>, matrix: &MatrixJudgement) -> [String; 2] {
    let words = scene.words;
    let mean = format!(
        "{} ({})",
        words.ratio(matrix.ratio.value),
        words.ends(&matrix.ratio)
    );
    let verdict = words.verdict(&matrix.verdict, Some(&matrix.ratio));
    let (permutations, is_all) = matrix.permutations;
    let (p, count) = (words.p(matrix.p), words.count(permutations as usize));
    [
        words.matrix_sentence(words.count(matrix.cells), mean, verdict),
        if is_all {
            words.matrix_test_all(p, count)
        } else {
            words.matrix_test(p, count)
        },
    ]
}

fn counts(scene: &Scene<'_>) -> String {
    let words = scene.words;
    let count = |is: fn(&Verdict) -> bool| {
        let cells = scene.comparison.cells.iter();
        words.count(cells.filter(|pair| is(&pair.judgement.verdict)).count())
    };
    words.by_cell(
        count(|verdict| matches!(verdict, Verdict::Faster)),
        count(|verdict| matches!(verdict, Verdict::Slower)),
        count(|verdict| matches!(verdict, Verdict::Same)),
        count(|verdict| !matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::Same)),
    )
}
