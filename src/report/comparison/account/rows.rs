//! Tables of figures: before, after, their ratio, and the direction that a test shows.

use crate::compare::{CellPair, Design, Ratio, Verdict, min_runs_to_rank_best};
pub(crate) use crate::report::comparison::scene::ROWS;
use crate::report::comparison::scene::{MatchedCells, Scene};
use crate::report::language::{Words, messages};
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::{Interval, IntervalKind};

use super::figure::ComparedQuantity;
use super::spread::{p_value, ratio_of_medians, statistic_over_blocks};

/// Largest p-value for which a direction is named.
const ALPHA: f64 = 0.05;

messages! {
    heading_figure() = "figure" | "Größe";
    heading_change() = "change" | "Änderung";
    shown_less(times) = "{times}× less" | "{times}× weniger";
    shown_more(times) = "{times}× more" | "{times}× mehr";
    shown_equal() = "equal" | "gleich";
    shown_open(p) = "no direction shown ({p})" | "keine Richtung nachgewiesen ({p})";
    shown_few(needed) = "no test: fewer than {needed} pairs of runs" | "kein Test: weniger als {needed} Paare von Läufen";
    shown_sessions() = "no direction shown (two sessions)" | "keine Richtung nachgewiesen (zwei Sitzungen)";
    shown_untested() = "no test: n = 1" | "kein Test: n = 1";
    rows_cut(shown) = "The first {shown} rows, those of cells with a verdict before others; all of them are in the CSV files." | "Die ersten {shown} Zeilen, die von Zellen mit Urteil vor anderen; alle stehen in den CSV-Dateien.";
}

/// Result of the test of a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum RatioTest {
    Less,
    More,
    /// Both sides have equal values.
    Equal,
    /// The test shows no direction; contains the adjusted p-value.
    Open(f64),
    /// Too few pairs of runs for the test to show a direction at all; contains how many pairs it needs.
    Few(usize),
    /// Times of two sessions: the test does not account for differences between sessions.
    Sessions,
    Untested,
}

/// The ratio of a figure, `after ÷ before`: as computed by the comparison, if it has this figure; `None` where the
/// cells are not comparable.
pub(crate) fn ratio_of(matched: &MatchedCells<'_, '_>, figure: &ComparedQuantity) -> Option<Ratio> {
    let pair = matched.pair;
    let of_blocks = || {
        let label = format!("{} {figure:?}", pair.after);
        let runs = matched.both.map(|at| figure.values_by_run(at));
        statistic_over_blocks(&label, &runs, &ratio_of_medians)
    };
    let ratio = figure.compared_ratio(pair).or_else(of_blocks);
    ratio.filter(|_| is_comparable(pair))
}

/// What the test of a figure's ratio shows; `tests` is the number of figures and cells that are reported together.
fn tested(
    matched: &MatchedCells<'_, '_>,
    figure: &ComparedQuantity,
    ratio: Option<&Ratio>,
    tests: usize,
) -> RatioTest {
    let [before, after] = matched.both.map(|at| figure.values_by_run(at));
    let needed = min_runs_to_rank_best(tests);
    match ratio {
        None => RatioTest::Untested,
        Some(_) if matched.pair.judgement.design == Design::Sessions => RatioTest::Sessions,
        Some(ratio) => match tested_direction(ratio, p_value(&before, &after, tests)) {
            RatioTest::Open(_) if before.len().min(after.len()) < needed => RatioTest::Few(needed),
            shown => shown,
        },
    }
}

/// Whether ratios of a pair of cells are meaningful (rule R5 of `report::contract`).
pub(crate) fn is_comparable(pair: &CellPair) -> bool {
    !matches!(pair.judgement.verdict, Verdict::NotComparable(_))
}

/// The direction that a test shows: it must be significant, and the interval must not contain 1.
pub(crate) fn tested_direction(ratio: &Ratio, p: Option<f64>) -> RatioTest {
    let is_off = |end: f64| (end - 1.0).abs() > f64::EPSILON;
    match p.filter(|_| ratio.kind != IntervalKind::Single) {
        _ if !is_off(ratio.low) && !is_off(ratio.high) => RatioTest::Equal,
        None => RatioTest::Untested,
        Some(p) if p <= ALPHA && ratio.high < 1.0 => RatioTest::Less,
        Some(p) if p <= ALPHA && ratio.low > 1.0 => RatioTest::More,
        Some(p) => RatioTest::Open(p),
    }
}

/// The table over pairs of cells, with their names if there are several, of at most `most` rows; `None` without rows.
pub(crate) fn table_over_pairs<'a>(
    scene: &Scene<'a>,
    (id, title, about): (&str, String, String),
    columns: Vec<Column>,
    most: usize,
    lines: impl Fn(&MatchedCells<'_, 'a>) -> Vec<Vec<Entry>>,
) -> Option<Table> {
    let words = scene.words;
    let pairs = scene.matched_cells().count();
    let has_many = pairs > 1;
    let mut rows = Vec::new();
    for matched in scene.cells_in_tables() {
        rows.extend(lines(&matched).into_iter().map(|fields| {
            let cell = has_many.then(|| Entry::text(scene.label(matched.pair)));
            let fields = cell.into_iter().chain(fields).collect();
            Row::new(&*matched.pair.after, fields)
        }));
    }
    let is_cut = rows.len() > most || scene.cells_in_tables().count() < pairs;
    rows.truncate(most);
    let cell = has_many.then(|| Column::text(&words.cell()));
    let columns = cell.into_iter().chain(columns).collect();
    let table = Table {
        cut: is_cut.then(|| words.rows_cut(words.count(rows.len()))),
        ..Table::of_rows((id, &title, about), columns, rows)
    };
    (!table.rows.is_empty()).then_some(table)
}

/// The columns of a table of figures.
pub(crate) fn columns(scene: &Scene<'_>, figures: &str, ratios: String) -> Vec<Column> {
    let words = scene.words;
    vec![
        Column::text(&words.heading_figure()),
        Column::number(&words.before(), "", figures),
        Column::number(&words.after(), "", figures),
        Column::number(&words.after_by_before(), "", &scene.ratio_formula(ratios)),
        Column::text(&words.heading_change()),
    ]
}

/// The row of a figure in a table of figures, and whether its test shows a direction; `None` if neither cell has it.
pub(crate) fn quantity_row(
    scene: &Scene<'_>,
    matched: &MatchedCells<'_, '_>,
    figure: &ComparedQuantity,
    tests: usize,
) -> Option<(Vec<Entry>, bool)> {
    let words = scene.words;
    if matched
        .both
        .iter()
        .all(|at| figure.median_over_runs(*at).is_none())
    {
        return None;
    }
    let ratio = ratio_of(matched, figure);
    let ratio = ratio.as_ref();
    let shown = tested(matched, figure, ratio, tests);
    let [before, after] = medians(words, matched, figure);
    let fields = vec![
        Entry::text(figure.name(words)),
        before,
        after,
        ratio_entry(words, ratio),
        Entry::text(direction(words, figure, ratio, shown)),
    ];
    Some((fields, matches!(shown, RatioTest::Less | RatioTest::More)))
}

/// The medians of a figure of both sides, or the text for a missing one.
pub(crate) fn medians(
    words: Words,
    matched: &MatchedCells<'_, '_>,
    figure: &ComparedQuantity,
) -> [Entry; 2] {
    let show = |value| figure.show(words, value);
    matched.both.map(|at| match figure.median_over_runs(at) {
        Some(median) => interval(words, &median, &show),
        None => Entry::text(figure.missing_text(words, at)),
    })
}

/// A ratio with the ends of its interval below it; the kind of interval is stated once, below the table.
pub(crate) fn ratio_entry(words: Words, ratio: Option<&Ratio>) -> Entry {
    let mut entry = words.ratio_entry(ratio);
    if let Some((low, high)) = ratio.and_then(Ratio::ends) {
        entry.detail = words.between(&words.ratio(low), &words.ratio(high));
    }
    entry
}

/// A median and, below it, its interval: `1.69 s`, `1.53–1.79 s`.
pub(crate) fn interval(words: Words, interval: &Interval, show: &dyn Fn(f64) -> String) -> Entry {
    let (low, high) = (show(interval.low), show(interval.high));
    let detail = match interval.kind {
        IntervalKind::Single => words.single_run(),
        _ if low == high => String::new(),
        _ => words.between(without_unit_of(&high, &low), &high),
    };
    Entry {
        detail,
        interval: interval.ends(),
        ..Entry::value(interval.median, show(interval.median))
    }
}

/// `low` without its unit if `high` has the same unit.
fn without_unit_of<'t>(high: &str, low: &'t str) -> &'t str {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => low,
    }
}

/// Result of the test of a figure, in words.
pub(crate) fn direction(
    words: Words,
    figure: &ComparedQuantity,
    ratio: Option<&Ratio>,
    shown: RatioTest,
) -> String {
    let Some(ratio) = ratio.map(|ratio| ratio.value) else {
        return "–".to_owned();
    };
    let is_time = !matches!(figure, ComparedQuantity::Price(_));
    match shown {
        RatioTest::Less | RatioTest::More if is_time => words.times_faster(ratio),
        RatioTest::Less => words.shown_less(words.number(1.0 / ratio, 3)),
        RatioTest::More => words.shown_more(words.number(ratio, 3)),
        RatioTest::Equal => words.shown_equal(),
        RatioTest::Few(needed) => words.shown_few(words.count(needed)),
        RatioTest::Open(p) => words.shown_open(words.p_value(p)),
        RatioTest::Sessions => words.shown_sessions(),
        RatioTest::Untested => words.shown_untested(),
    }
}
