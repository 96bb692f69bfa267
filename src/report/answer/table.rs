//! The decision table: the cells of a task, the best first, with deciding and further measures, compared with the best.

use crate::base::units::human;
use crate::report::measure::Measure;
use crate::report::number::{fixed, interval_name};
use crate::report::quality::has_learned;
use crate::report::sections::bottleneck;
use crate::report::sections::phases::breakdown;
use crate::report::sections::ranking::is_baseline;
use crate::report::sections::treatment::variants_note;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::{Cell, View};
use crate::results::IntervalKind;

use super::choice::{ComparedToBest, Ranked, TaskRanking};
use super::sentences::names;

/// Id of the table of cells that are not ranked.
pub(super) const CELLS_TABLE_ID: &str = "cells";
/// Largest number of rows.
const ROWS: usize = 12;
/// Mark of a cell with a run that did not learn.
const NOT_LEARNED: &str = "†";
/// Largest number of axes with a column each; with more, one column names the cell.
const AXES: usize = 4;

/// Name of the kind of interval shown with the deciding measure's median.
fn interval(choice: &TaskRanking<'_, '_>) -> String {
    let Measure {
        column, is_per_run, ..
    } = &choice.measures[0];
    if !is_per_run {
        return ", with their range".to_owned();
    }
    let timings = choice.cells.iter().filter_map(|one| one.cell.timing);
    let mut kinds = timings
        .filter_map(|row| row.values.get(column))
        .map(|value| value.kind);
    match kinds.find(|kind| *kind != IntervalKind::Single) {
        Some(kind) => format!(", with the {}", interval_name(kind)),
        None => String::new(),
    }
}

/// The decision table of one task; `number` in its id distinguishes it from the tables of other tasks.
pub(super) fn choice_table(
    view: &View<'_>,
    choice: &TaskRanking<'_, '_>,
    number: Option<usize>,
) -> Table {
    let base = baseline(view, choice);
    let mut columns = axis_columns(view, true);
    columns.extend(choice.measures.iter().map(Measure::heading));
    columns.extend(choice.beside.iter().map(Measure::heading));
    columns.extend(has_phases(choice).then(|| Column::text("largest phase")));
    columns.push(Column::text("against the best"));
    let shown = choice.cells.iter().take(ROWS);
    let mut rows: Vec<Row> = shown.map(|one| row_of(view, choice, one, base)).collect();
    let later = choice.cells.iter().skip(ROWS);
    let left = choice.cells.len().saturating_sub(ROWS);
    rows.extend(
        later
            .filter(|one| is_base(one, base))
            .map(|one| row_of(view, choice, one, base)),
    );
    let by = names(choice);
    let title = match number {
        None => format!("By {by}"),
        Some(_) => format!("{}: by {by}", choice.task),
    };
    let id = id(number);
    let cells: Vec<&Cell<'_>> = choice.cells.iter().take(ROWS).map(|one| one.cell).collect();
    let about = format!(
        "Best first, by median over {} of a cell{}.{}",
        choice.runs(),
        interval(choice),
        variants_note(view, &cells)
    );
    let about = if choice.cells.iter().all(|one| learned(choice, one)) {
        about
    } else {
        format!("{about} {NOT_LEARNED}: in some run nothing shows that it learned.")
    };
    let baseline = if rows.len() > ROWS {
        " and the baseline"
    } else {
        ""
    };
    let mut table = Table::of_rows((&id, &title, about), columns, rows);
    table.cut = (left > 0).then(|| {
        format!(
            "The best {ROWS} of {} cells{baseline}; all of them are in the tables and CSV files.",
            choice.cells.len()
        )
    });
    table
}

/// Id of the decision table of a task.
pub(super) fn id(number: Option<usize>) -> String {
    number.map_or_else(|| "decision".to_owned(), |n| format!("decision-{n}"))
}

/// The id that templates give the row with index `place` of a table; empty for rows beyond [`ROWS`].
pub(super) fn row_id(table: &str, place: usize) -> String {
    let id = (place < ROWS).then(|| format!("{table}-{}", place + 1));
    id.unwrap_or_default()
}

/// The table of cells that are not ranked, in plan order; requested columns come first.
pub(super) fn unranked_cells_table(
    view: &View<'_>,
    cells: &[&Cell<'_>],
    column: Option<&str>,
) -> Table {
    let mut measures: Vec<Measure> = column.map(Measure::of).into_iter().collect();
    measures.extend(super::choice::unranked_measures(view, cells));
    let mut columns = axis_columns(view, false);
    columns.extend(measures.iter().map(Measure::heading));
    let rows = cells.iter().take(ROWS).map(|cell| {
        let mut fields = labels(view, cell, false);
        fields.extend(measures.iter().map(|measure| measure.entry(cell)));
        Row::new(&*cell.info.key, fields)
    });
    let about = "Medians over the runs of a cell, of quality over its seeds.".to_owned();
    let head = (CELLS_TABLE_ID, "The cells", about);
    let mut table = Table::of_rows(head, columns, rows.collect());
    table.cut = (cells.len() > ROWS).then(|| {
        let all = cells.len();
        format!("The first {ROWS} of {all} cells; all of them are in the tables and CSV files.")
    });
    table
}

fn axis_columns(view: &View<'_>, within_task: bool) -> Vec<Column> {
    if is_short(view) {
        view.axis_columns(within_task)
    } else {
        vec![Column::text("cell")]
    }
}

fn is_short(view: &View<'_>) -> bool {
    (1..=AXES).contains(&view.axes_in_names.len())
}

/// The baseline of the manifest, if it is one of the cells.
fn baseline<'v>(view: &View<'_>, choice: &TaskRanking<'v, '_>) -> Option<&'v str> {
    let found = choice
        .cells
        .iter()
        .find(|one| is_baseline(view, one.cell))?;
    Some(&*found.cell.info.key)
}

fn is_base(one: &Ranked<'_, '_>, base: Option<&str>) -> bool {
    base == Some(&*one.cell.info.key)
}

fn labels(view: &View<'_>, cell: &Cell<'_>, within_task: bool) -> Vec<Entry> {
    if is_short(view) {
        view.labels(cell, within_task)
    } else {
        vec![Entry::text(view.name(cell, None))]
    }
}

fn row_of(
    view: &View<'_>,
    choice: &TaskRanking<'_, '_>,
    one: &Ranked<'_, '_>,
    base: Option<&str>,
) -> Row {
    let mut fields = labels(view, one.cell, true);
    if let Some(label) = fields.last_mut().filter(|_| !learned(choice, one)) {
        label.text = format!("{} {NOT_LEARNED}", label.text);
    }
    fields.extend(one.numbers.iter().map(|number| Entry::number(Some(number))));
    fields.extend(choice.beside.iter().map(|measure| measure.entry(one.cell)));
    fields.extend(has_phases(choice).then(|| {
        let found = breakdown(one.cell).map(|found| bottleneck::largest_phase(&found));
        let told = |(name, share)| format!("{name} ({} %)", fixed(share, 1));
        Entry::text(found.map_or_else(|| "–".to_owned(), told))
    }));
    let mut standing = in_words(one.standing);
    if is_base(one, base) {
        standing += "; baseline";
    }
    fields.push(Entry::text(standing));
    Row::new(&*one.cell.info.key, fields)
}

/// Whether every run of a cell learned, or quality does not decide.
fn learned(choice: &TaskRanking<'_, '_>, one: &Ranked<'_, '_>) -> bool {
    let is_quality = choice.measures.iter().any(|measure| !measure.is_per_run);
    let mut runs = one.cell.facts();
    !is_quality || !runs.any(|facts| has_learned(facts) == Some(false))
}

/// Whether the table has a column for the largest phase, because a step's time decides.
pub(super) fn has_phases(choice: &TaskRanking<'_, '_>) -> bool {
    choice
        .measures
        .iter()
        .any(|measure| measure.column == "step_ms")
}

fn in_words(standing: ComparedToBest) -> String {
    match standing {
        ComparedToBest::Best => "best median".to_owned(),
        ComparedToBest::Untested(None) => "not tested: a single value".to_owned(),
        ComparedToBest::Untested(Some(true)) => "not tested: ranges overlap".to_owned(),
        ComparedToBest::Untested(Some(false)) => "not tested: ranges apart".to_owned(),
        ComparedToBest::Behind(p) => format!("behind (p = {})", human(p, 2)),
        ComparedToBest::Alike(p) => format!("not distinguishable (p = {})", human(p, 2)),
        ComparedToBest::Apart => "not compared: another session".to_owned(),
        ComparedToBest::OnFront => "on the front".to_owned(),
        ComparedToBest::Dominated => "dominated".to_owned(),
    }
}
