//! Tables of figures: before, after, their ratio, and its direction in words.

use crate::compare::{CellPair, Ratio, TimingChange};
use crate::report::comparison::scene::{Duo, Scene};
use crate::report::language::{Words, messages};
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::{Interval, IntervalKind};

use super::figure::{At, Figure, Kind};
use super::spread::{over_blocks, p_value};

/// Rows of such a table at most.
const ROWS: usize = 120;

messages! {
    heading_figure() = "figure" | "Größe";
    heading_improvement() = "change" | "Änderung";
    heading_source() = "where from" | "Herkunft";
    column_of_figures() = "median of n runs; what is derived says so in its row" | "Median von n Läufen; was abgeleitet ist, sagt es in seiner Zeile";
    column_of_ratios() = "median after ÷ median before; below it the 95 % interval over runs, below six runs their range" | "Median nachher ÷ Median vorher; darunter das 95-%-Intervall über die Läufe, unter sechs Läufen deren Spannweite";
    improvement_faster(times) = "{times}× faster" | "{times}× schneller";
    improvement_slower(times) = "{times}× slower" | "{times}× langsamer";
    improvement_less(times) = "{times}× less" | "{times}× weniger";
    improvement_more(times) = "{times}× more" | "{times}× mehr";
    improvement_equal() = "equal" | "gleich";
    improvement_open(p) = "no direction shown (sign-flip p = {p})" | "keine Richtung nachgewiesen (Vorzeichentest p = {p})";
    improvement_single() = "no test: n = 1" | "kein Test: n = 1";
    rows_cut(shown, all) = "The first {shown} of {all} rows; the other cells are in the CSV files." | "Die ersten {shown} von {all} Zeilen; die übrigen Zellen stehen in den CSV-Dateien.";
}

/// A table of figures, one row for each pair of cells and figure.
pub(crate) fn table(
    scene: &Scene<'_>,
    naming: (&str, String, String),
    figures: &[Figure],
) -> Table {
    let rows = scene.shown().flat_map(|duo| {
        let each = figures.iter().map(|figure| row(scene, &duo, *figure));
        each.collect::<Vec<Row>>()
    });
    of_rows(scene, naming, rows.collect())
}

/// A table of such rows.
pub(crate) fn of_rows(scene: &Scene<'_>, naming: (&str, String, String), rows: Vec<Row>) -> Table {
    let words = scene.words;
    let all = rows.len();
    let mut table = plain(naming, columns(scene, has_many(scene)), rows);
    if all > ROWS {
        table.rows.truncate(ROWS);
        table.cut = Some(words.rows_cut(words.count(ROWS), words.count(all)));
    }
    table
}

/// A table under a heading of its own.
pub(crate) fn plain(
    (id, title, about): (&str, String, String),
    columns: Vec<Column>,
    rows: Vec<Row>,
) -> Table {
    Table::of_rows((id, &title, about), columns, rows)
}

/// The columns of such a table.
pub(crate) fn columns(scene: &Scene<'_>, names_cells: bool) -> Vec<Column> {
    let words = scene.words;
    let figures = Provenance::Measured(words.column_of_figures());
    let ratios = scene.ratio_formula(words.column_of_ratios());
    let mut columns = Vec::new();
    if names_cells {
        columns.push(Column::text(&words.cell()));
    }
    columns.extend([
        Column::text(&words.heading_figure()),
        words.column(words.before(), "", &figures),
        words.column(words.after(), "", &figures),
        words.column(words.after_by_before(), "", &ratios),
        Column::text(&words.heading_improvement()),
        Column::text(&words.heading_source()),
    ]);
    columns
}

/// Whether rows need the name of their cells.
pub(crate) fn has_many(scene: &Scene<'_>) -> bool {
    scene.duos().nth(1).is_some()
}

/// The first fields of a row: the cells, where there are several, and what the row is about.
pub(crate) fn heads(scene: &Scene<'_>, duo: &Duo<'_, '_>, name: String) -> Vec<Entry> {
    let cell = has_many(scene).then(|| Entry::text(scene.name(duo)));
    cell.into_iter().chain([Entry::text(name)]).collect()
}

/// A row of two values without an interval, each as `shown`; their ratio, where both are positive, and where they come
/// from.
pub(crate) fn plain_row(
    scene: &Scene<'_>,
    duo: &Duo<'_, '_>,
    name: String,
    values: [Option<f64>; 2],
    shown: impl Fn(Option<f64>) -> Entry,
    from: String,
) -> Row {
    let [before, after] = values.map(|value| value.filter(|value| *value > 0.0));
    let ratio = before.zip(after).map(|(before, after)| after / before);
    let mut fields = heads(scene, duo, name);
    fields.extend(values.map(shown));
    fields.push(ratio.map_or_else(
        || Entry::text("–"),
        |ratio| Entry::value(ratio, format!("{}×", scene.words.ratio(ratio))),
    ));
    fields.extend([Entry::text("–"), Entry::text(from)]);
    Row {
        key: duo.pair.after.clone(),
        fields,
        missing: None,
    }
}

/// The row of a figure of a pair of cells.
pub(crate) fn row(scene: &Scene<'_>, duo: &Duo<'_, '_>, figure: Figure) -> Row {
    let first = has_many(scene).then(|| Entry::text(scene.name(duo)));
    let first = first.into_iter().collect();
    row_of(
        scene.words,
        first,
        figure,
        sides(scene, duo),
        ratio(scene, duo, figure),
    )
}

/// The row of a figure of any two cells, behind the fields that come first.
pub(crate) fn row_of(
    words: Words,
    first: Vec<Entry>,
    figure: Figure,
    (before, after): (At<'_, '_>, At<'_, '_>),
    ratio: Option<Ratio>,
) -> Row {
    let own = [figure.over_runs(before), figure.over_runs(after)];
    let mut fields = first;
    fields.push(Entry::text(figure.name(words)));
    let missing = match own {
        [None, _] => Some(figure.why_missing(words, before)),
        [_, None] => Some(figure.why_missing(words, after)),
        _ => None,
    };
    if let [Some(one), Some(other)] = own {
        fields.extend([
            interval(words, figure.kind(), &one),
            interval(words, figure.kind(), &other),
            ratio_entry(words, ratio.as_ref()),
            Entry::text(direction(
                words,
                figure.kind(),
                ratio.as_ref(),
                p_value(&figure.runs(before), &figure.runs(after)),
            )),
            Entry::text(figure.source(words, after)),
        ]);
    }
    Row {
        key: after.cell.info.key.clone(),
        fields,
        missing,
    }
}

/// The two cells of a pair with their results.
pub(crate) fn sides<'v, 'a>(scene: &'v Scene<'a>, duo: &Duo<'v, 'a>) -> (At<'v, 'a>, At<'v, 'a>) {
    let before = At {
        view: &scene.before,
        cell: duo.before,
    };
    let after = At {
        view: &scene.after,
        cell: duo.after,
    };
    (before, after)
}

/// `after ÷ before` of a figure: the comparison's own where it has one, so that a ratio reads the same everywhere.
pub(crate) fn ratio(scene: &Scene<'_>, duo: &Duo<'_, '_>, figure: Figure) -> Option<Ratio> {
    let own = match figure {
        Figure::SampleTime => duo.pair.judgement.ratio,
        figure => figure
            .column()
            .and_then(|column| timing(duo.pair, column))
            .map(|t| t.ratio),
    };
    own.or_else(|| {
        let (before, after) = sides(scene, duo);
        let label = format!("{} {figure:?}", duo.pair.after);
        over_blocks(
            &label,
            &[figure.runs(before), figure.runs(after)],
            &|medians| medians[1] / medians[0],
        )
    })
}

fn timing<'p>(pair: &'p CellPair, column: &str) -> Option<&'p TimingChange> {
    pair.timings.iter().find(|timing| timing.column == column)
}

/// A ratio with the ends of its interval below it: what they are stands once, below the table.
pub(crate) fn ratio_entry(words: Words, ratio: Option<&Ratio>) -> Entry {
    let mut entry = words.ratio_entry(ratio);
    if let Some(ratio) = ratio.filter(|ratio| ratio.kind != IntervalKind::Single) {
        entry.detail = words.between(&words.ratio(ratio.low), &words.ratio(ratio.high));
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

/// The number of `low` alone, where both have the same unit.
fn without_unit_of<'t>(high: &str, low: &'t str) -> &'t str {
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => low,
    }
}

/// Whether both sides are equal in every resample.
pub(crate) fn is_one(ratio: &Ratio) -> bool {
    let is_off = |end: f64| (end - 1.0).abs() > f64::EPSILON;
    !is_off(ratio.low) && !is_off(ratio.high)
}

/// P-values up to which a direction is told.
pub(crate) const ALPHA: f64 = 0.05;

/// The direction of a ratio `after ÷ before` in words: only where its test shows one and its interval lies on one side of 1.
pub(crate) fn direction(words: Words, kind: Kind, ratio: Option<&Ratio>, p: Option<f64>) -> String {
    let Some(ratio) = ratio else {
        return "–".to_owned();
    };
    if is_one(ratio) {
        return words.improvement_equal();
    }
    let is_apart = ratio.low > 1.0 || ratio.high < 1.0;
    let Some(p) = p.filter(|_| ratio.kind != IntervalKind::Single) else {
        return words.improvement_single();
    };
    if p > ALPHA || !is_apart {
        return words.improvement_open(words.p(p));
    }
    let is_more = ratio.value > 1.0;
    let times = if is_more {
        ratio.value
    } else {
        1.0 / ratio.value
    };
    let times = words.number(times, 3);
    let is_size = matches!(kind, Kind::Bytes | Kind::CoreSeconds | Kind::Rate);
    match (is_size, is_more == kind.is_lower_better()) {
        (true, _) if is_more => words.improvement_more(times),
        (true, _) => words.improvement_less(times),
        (false, true) => words.improvement_slower(times),
        (false, false) => words.improvement_faster(times),
    }
}
