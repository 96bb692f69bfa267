//! Tables of figures: before, after, their ratio, and the direction that its test shows.

use crate::compare::{CellPair, Cost, CostChange, Design, Ratio, Verdict, needed_pairs};
use crate::report::comparison::scene::{At, Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::{Interval, IntervalKind, interval_over_runs};

use super::figure::Kind;
use super::spread::{Runs, over_blocks, p_value, quotient};

/// Rows of a table at most.
const ROWS: usize = 200;
/// P-values up to which a direction is told.
const ALPHA: f64 = 0.05;

messages! {
    heading_figure() = "figure" | "Größe";
    heading_improvement() = "change" | "Änderung";
    heading_source() = "where from" | "Herkunft";
    column_of_figures() = "median of n runs, where the row says nothing else" | "Median von n Läufen, wo die Zeile nichts anderes sagt";
    column_of_ratios() = "median after ÷ median before; below it the 95 % interval over runs, below six runs their range" | "Median nachher ÷ Median vorher; darunter das 95-%-Intervall über die Läufe, unter sechs Läufen deren Spannweite";
    shown_less(times) = "{times}× less" | "{times}× weniger";
    shown_more(times) = "{times}× more" | "{times}× mehr";
    shown_equal() = "equal" | "gleich";
    shown_open(p) = "no direction shown (sign-flip {p})" | "keine Richtung nachgewiesen (Vorzeichentest {p})";
    shown_few(needed) = "no test: fewer than {needed} pairs of runs" | "kein Test: weniger als {needed} Paare von Läufen";
    shown_sessions() = "no direction shown (two sessions)" | "keine Richtung nachgewiesen (zwei Sitzungen)";
    shown_untested() = "no test: n = 1" | "kein Test: n = 1";
    rows_cut(shown, all) = "The first {shown} rows of {all} cells, those with a verdict first; the others are in the CSV files." | "Die ersten {shown} Zeilen von {all} Zellen, solche mit Urteil zuerst; die übrigen stehen in den CSV-Dateien.";
}

/// A figure that every run of a cell has.
pub(crate) trait Measure {
    /// What it is called where no language is spoken; the random stream of its intervals hangs on it.
    fn id(&self) -> String;
    /// What it is called.
    fn name(&self, words: Words) -> String;
    /// How it is written.
    fn kind(&self) -> Kind;
    /// Its values in the runs that count.
    fn runs(&self, at: At<'_, '_>) -> Runs;
    /// Where it comes from.
    fn source(&self, words: Words, at: At<'_, '_>) -> String;
    /// Why a cell does not have it.
    fn why_missing(&self, words: Words, at: At<'_, '_>) -> String;
    /// The ratio that the comparison itself has of it.
    fn own_ratio(&self, _pair: &CellPair) -> Option<Ratio> {
        None
    }
    /// Its median over the runs that count, with the interval.
    fn over_runs(&self, at: At<'_, '_>) -> Option<Interval> {
        let values: Vec<f64> = self.runs(at).into_values().collect();
        interval_over_runs(&at.cell.info.key, &values)
    }
}

/// What the test of a ratio shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shown {
    Less,
    More,
    /// Both sides are equal in every resample.
    Equal,
    /// No direction, with the p-value.
    Open(f64),
    /// So few pairs of runs that no outcome of the test could show a direction.
    Few,
    /// The comparison's own verdict on these values: no effect beyond the threshold.
    Same,
    /// It is none, although a direction is shown.
    Unclear,
    /// Times of two sessions: how far sessions differ is not in the test.
    Sessions,
    Untested,
}

/// A figure of a pair of cells.
pub(crate) struct PairFigure {
    /// Medians with their intervals, before and after.
    pub(crate) medians: [Option<Interval>; 2],
    /// `after ÷ before`: the comparison's own where it has one; `None` where the cells are not comparable.
    pub(crate) ratio: Option<Ratio>,
    /// What the test of the ratio shows.
    pub(crate) shown: Shown,
}

impl PairFigure {
    pub(crate) fn of(duo: &Duo<'_, '_>, measure: &dyn Measure) -> Self {
        let pair = duo.pair;
        let runs = duo.both.map(|at| measure.runs(at));
        let ratio = measure.own_ratio(pair).or_else(|| {
            over_blocks(
                &format!("{} {}", pair.after, measure.id()),
                &runs,
                &quotient,
            )
        });
        let ratio = ratio.filter(|_| is_comparable(pair));
        let is_time = measure.kind() != Kind::Bytes;
        let shown = match &ratio {
            None => Shown::Untested,
            Some(_) if is_time && pair.judgement.design == Design::Sessions => Shown::Sessions,
            Some(ratio) => match shown(ratio, p_value(&runs[0], &runs[1])) {
                Shown::Open(_) if runs[0].len().min(runs[1].len()) < needed_pairs(1) => Shown::Few,
                shown => shown,
            },
        };
        let medians = duo.both.map(|at| measure.over_runs(at));
        Self {
            shown: as_judged(pair, &medians, shown),
            medians,
            ratio,
        }
    }
}

/// What is shown of values on which the comparison has a verdict, which also needs a threshold and a correction: the peak memory
/// of a run, where that is what the figure is.
fn as_judged(pair: &CellPair, medians: &[Option<Interval>; 2], shown: Shown) -> Shown {
    let is_near = |own: &Option<Interval>, cost: Option<f64>| {
        let both = own.as_ref().zip(cost);
        both.is_some_and(|(own, cost)| (own.median / cost - 1.0).abs() < 1e-4)
    };
    let is_it = |own: &&CostChange| {
        let (before, after) = own.medians;
        own.cost == Cost::Memory && is_near(&medians[0], before) && is_near(&medians[1], after)
    };
    let Some(own) = pair.costs.iter().find(is_it) else {
        return shown;
    };
    match (&own.judgement.verdict, shown) {
        (Verdict::Less, _) => Shown::Less,
        (Verdict::More, _) => Shown::More,
        (Verdict::Same, Shown::Less | Shown::More | Shown::Open(_) | Shown::Few) => Shown::Same,
        (_, Shown::Less | Shown::More) => Shown::Unclear,
        _ => shown,
    }
}

/// Whether ratios of a pair of cells mean something (R5).
pub(crate) fn is_comparable(pair: &CellPair) -> bool {
    !matches!(pair.judgement.verdict, Verdict::NotComparable(_))
}

/// A direction needs a test that shows one, and an interval on one side of 1.
pub(crate) fn shown(ratio: &Ratio, p: Option<f64>) -> Shown {
    let is_off = |end: f64| (end - 1.0).abs() > f64::EPSILON;
    match p.filter(|_| ratio.kind != IntervalKind::Single) {
        _ if !is_off(ratio.low) && !is_off(ratio.high) => Shown::Equal,
        None => Shown::Untested,
        Some(p) if p <= ALPHA && ratio.high < 1.0 => Shown::Less,
        Some(p) if p <= ALPHA && ratio.low > 1.0 => Shown::More,
        Some(p) => Shown::Open(p),
    }
}

/// The fields of a row behind those that name its cells, and why the others are missing.
pub(crate) type Line = (Vec<Entry>, Option<String>);

/// The section of a table over pairs of cells, which names them where there are several; `None` without a row.
pub(crate) fn over_pairs<'a>(
    scene: &Scene<'a>,
    (id, title, about): (&str, String, String),
    columns: Vec<Column>,
    lines: impl Fn(&Duo<'_, 'a>) -> Vec<Line>,
) -> Option<Section> {
    let words = scene.words;
    let pairs = scene.duos().count();
    let has_many = pairs > 1;
    let mut rows = Vec::new();
    for duo in scene.shown() {
        rows.extend(lines(&duo).into_iter().map(|(fields, missing)| {
            let cell = has_many.then(|| Entry::text(scene.label(duo.pair)));
            Row {
                key: duo.pair.after.clone(),
                fields: cell.into_iter().chain(fields).collect(),
                missing,
            }
        }));
    }
    let is_cut = rows.len() > ROWS || scene.shown().count() < pairs;
    rows.truncate(ROWS);
    let cut = is_cut.then(|| words.rows_cut(words.count(rows.len()), words.count(pairs)));
    let cell = has_many.then(|| Column::text(&words.cell()));
    let columns = cell.into_iter().chain(columns).collect();
    let table = Table {
        cut,
        ..Table::of_rows((id, &title, about), columns, rows)
    };
    (!table.rows.is_empty()).then(|| Section::table(table))
}

/// The columns of a table of figures.
pub(crate) fn columns(scene: &Scene<'_>) -> Vec<Column> {
    let words = scene.words;
    let figures = Provenance::Measured(words.column_of_figures());
    let ratios = scene.ratio_formula(words.column_of_ratios());
    vec![
        Column::text(&words.heading_figure()),
        words.column(words.before(), "", &figures),
        words.column(words.after(), "", &figures),
        words.column(words.after_by_before(), "", &ratios),
        Column::text(&words.heading_improvement()),
        Column::text(&words.heading_source()),
    ]
}

/// The line of a figure in such a table.
pub(crate) fn line(scene: &Scene<'_>, duo: &Duo<'_, '_>, measure: &dyn Measure) -> Line {
    let words = scene.words;
    let held = PairFigure::of(duo, measure);
    let why = duo.both.map(|at| measure.why_missing(words, at));
    let mut fields = vec![Entry::text(measure.name(words))];
    if held.medians == [None, None] && why[0] == why[1] {
        return (fields, Some(why[0].clone()));
    }
    let values = held.medians.iter().zip(&why).map(|(median, why)| {
        median.as_ref().map_or_else(
            || Entry::text(why),
            |median| interval(words, measure.kind(), median),
        )
    });
    fields.extend(values);
    let ratio = held.ratio.as_ref();
    fields.push(ratio_entry(words, ratio));
    fields.push(Entry::text(direction(
        words,
        measure.kind(),
        ratio,
        held.shown,
    )));
    fields.push(Entry::text(measure.source(words, duo.both[1])));
    (fields, None)
}

/// A line of two values without an interval, each as `shown`: their ratio, where both are positive, and where they come
/// from.
pub(crate) fn plain(
    words: Words,
    name: String,
    values: [Option<f64>; 2],
    shown: &dyn Fn(Option<f64>) -> Entry,
    from: &str,
) -> Line {
    let [before, after] = values.map(|value| value.filter(|value| *value > 0.0));
    let ratio = before.zip(after).map(|(before, after)| after / before);
    let mut fields = vec![Entry::text(name)];
    fields.extend(values.map(shown));
    fields.push(Entry::shown(ratio, |ratio| {
        format!("{}×", words.ratio(ratio))
    }));
    fields.extend([Entry::text("–"), Entry::text(from)]);
    (fields, None)
}

/// A ratio with the ends of its interval below it: what they are stands once, below the table.
pub(crate) fn ratio_entry(words: Words, ratio: Option<&Ratio>) -> Entry {
    let mut entry = words.ratio_entry(ratio);
    if let Some((low, high)) = ratio.and_then(Ratio::ends) {
        entry.detail = words.between(&words.ratio(low), &words.ratio(high));
    }
    entry
}

/// A median with its interval below it: `1.69 s`, `1.53–1.79 s`.
pub(crate) fn interval(words: Words, kind: Kind, interval: &Interval) -> Entry {
    let show = |value: f64| kind.show(words, value);
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

/// The same; a dash for none.
pub(crate) fn interval_or_dash(words: Words, kind: Kind, found: Option<&Interval>) -> Entry {
    found.map_or_else(|| Entry::text("–"), |found| interval(words, kind, found))
}

/// The number of `low` alone, where both have the same unit.
fn without_unit_of<'t>(high: &str, low: &'t str) -> &'t str {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => low,
    }
}

/// What the test shows of a figure, in words.
pub(crate) fn direction(words: Words, kind: Kind, ratio: Option<&Ratio>, shown: Shown) -> String {
    let Some(ratio) = ratio.map(|ratio| ratio.value) else {
        return "–".to_owned();
    };
    let is_time = matches!(kind, Kind::Milliseconds | Kind::Seconds);
    match shown {
        Shown::Less | Shown::More if is_time => words.times_faster(ratio),
        Shown::Less => words.shown_less(words.number(1.0 / ratio, 3)),
        Shown::More => words.shown_more(words.number(ratio, 3)),
        Shown::Equal => words.shown_equal(),
        Shown::Same => words.same(),
        Shown::Unclear => words.unclear(),
        Shown::Few => words.shown_few(words.count(needed_pairs(1))),
        Shown::Open(p) => words.shown_open(words.p_value(p)),
        Shown::Sessions => words.shown_sessions(),
        Shown::Untested => words.shown_untested(),
    }
}
