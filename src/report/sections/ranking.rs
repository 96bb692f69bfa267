//! Cells by throughput, within one task only, with ratios only within one work.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table, cut_ranking, sources};
use crate::report::view::{Cell, View};

use super::speed::throughput;

/// A ranking within one task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ranking {
    /// The cells in order, missing ones at the end.
    pub table: Table,
    /// What the ratios are against; `None` where nothing was measured.
    pub baseline: Option<String>,
}

/// One ranking per task signature with more than one cell, in plan order.
pub(crate) fn rankings(view: &View<'_>) -> Vec<Ranking> {
    let groups = tasks(view);
    let several = groups.len() > 1;
    groups
        .iter()
        .enumerate()
        .filter(|(_, cells)| !(several && cells.len() == 1))
        .map(|(index, cells)| {
            let number = several.then_some(index + 1);
            ranking(view, cells, number)
        })
        .collect()
}

/// Why cells stand in no ranking; `None` where all of them do.
pub(crate) fn unranked(view: &View<'_>) -> Option<String> {
    let groups = tasks(view);
    let alone = groups.iter().filter(|cells| cells.len() == 1).count();
    let because = "they differ in the dataset, its samples or its target, so that times and \
                   qualities of one say nothing about another";
    match alone {
        _ if groups.len() < 2 => None,
        0 => None,
        all if all == groups.len() => Some(format!(
            "No ranking: each of the {all} cells is a task of its own ({because})."
        )),
        1 => Some("One cell is a task of its own and stands in no ranking.".to_owned()),
        some => Some(format!(
            "{some} cells are tasks of their own and stand in no ranking ({because})."
        )),
    }
}

/// The cells of each task, in plan order.
pub(crate) fn tasks<'v, 'a>(view: &'v View<'a>) -> Vec<Vec<&'v Cell<'a>>> {
    let mut order: Vec<&str> = Vec::new();
    let mut groups: BTreeMap<&str, Vec<&Cell<'_>>> = BTreeMap::new();
    for cell in &view.cells {
        let signature = &*cell.info.task_signature;
        if !groups.contains_key(signature) {
            order.push(signature);
        }
        groups.entry(signature).or_default().push(cell);
    }
    let take = |signature| groups.remove(signature).unwrap_or_default();
    order.into_iter().map(take).collect()
}

/// The measured cells of a task, the fastest first; equal ones in plan order.
pub(crate) fn fastest_first<'v, 'a>(cells: &[&'v Cell<'a>]) -> Vec<(&'v Cell<'a>, Number)> {
    let mut measured: Vec<(&Cell<'_>, Number)> = cells
        .iter()
        .filter_map(|cell| Some((*cell, throughput(cell)?)))
        .collect();
    measured.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    measured
}

/// The cell that ratios are against: the manifest's baseline, else the slowest.
pub(crate) fn baseline<'v, 'a>(view: &View<'a>, cells: &[&'v Cell<'a>]) -> Option<&'v Cell<'a>> {
    let declared = cells
        .iter()
        .find(|cell| cell.is_measured() && is_baseline(view, cell))
        .copied();
    declared.or_else(|| fastest_first(cells).pop().map(|(cell, _)| cell))
}

/// Whether the manifest names the cell as its baseline.
pub(crate) fn is_baseline(view: &View<'_>, cell: &Cell<'_>) -> bool {
    let Some(Value::Object(wanted)) = view.set.plan.report.get("baseline") else {
        return false;
    };
    !wanted.is_empty() && view.is_at(cell, wanted)
}

/// Why two cells' times have no ratio; `None` where they have one.
pub(crate) fn not_comparable(a: &Cell<'_>, b: &Cell<'_>) -> Option<&'static str> {
    let environment = |cell: &Cell<'_>| cell.timing.map(|row| row.env_id.clone());
    if a.info.work_signature != b.info.work_signature {
        Some("other work per sample")
    } else if a.info.code_hash != b.info.code_hash {
        Some("measured with other code")
    } else if environment(a) != environment(b) {
        Some("measured in another environment")
    } else {
        None
    }
}

fn ranking(view: &View<'_>, cells: &[&Cell<'_>], number: Option<usize>) -> Ranking {
    let base = baseline(view, cells);
    let base_cell = base;
    let base_name = base.map(|cell| view.name(cell, None));
    let formula = "throughput over that of the baseline";
    let mut columns = vec![Column::number(
        "rank",
        "",
        &Provenance::Derived("order of the medians".into()),
    )];
    columns.extend(view.axis_columns());
    columns.push(Column::number(
        "throughput",
        "samples/s",
        &Provenance::Measured("median of n runs".into()),
    ));
    columns.push(Column::number(
        "against baseline",
        "",
        &Provenance::Derived(formula.into()),
    ));
    let measured = fastest_first(cells);
    let mut rows: Vec<Row> = Vec::new();
    for (place, (cell, speed)) in measured.iter().enumerate() {
        let mut fields = vec![Entry::text((place + 1).to_string())];
        fields.extend(view.labels(cell).into_iter().map(Entry::text));
        fields.push(Entry::number(Some(speed)));
        fields.push(against(cell, speed, base));
        rows.push(row(cell, fields, None));
    }
    for cell in cells.iter().filter(|cell| throughput(cell).is_none()) {
        let mut fields = vec![Entry::text("–")];
        fields.extend(view.labels(cell).into_iter().map(Entry::text));
        rows.push(row(cell, fields, Some(cell.why_missing())));
    }
    let cut = cut_ranking(view, &mut rows);
    let title = number.map_or("Ranking".to_owned(), |n| format!("Ranking, task {n}"));
    let about = base_name.as_ref().map_or_else(
        || "No cell of this task was measured.".to_owned(),
        |base| {
            let declared = base_cell.is_some_and(|cell| is_baseline(view, cell));
            let which = if declared {
                "named by the manifest"
            } else {
                "the slowest measured cell, as the manifest names none"
            };
            format!("By median throughput, within one task. Baseline: {base} ({which}).")
        },
    );
    Ranking {
        table: Table {
            id: number.map_or("ranking".to_owned(), |n| format!("ranking-{n}")),
            title,
            about,
            sources: sources(&columns),
            columns,
            rows,
            cut,
        },
        baseline: base_name,
    }
}

fn row(cell: &Cell<'_>, fields: Vec<Entry>, missing: Option<String>) -> Row {
    Row {
        key: cell.info.key.clone(),
        fields,
        missing,
    }
}

fn against(cell: &Cell<'_>, speed: &Number, base: Option<&Cell<'_>>) -> Entry {
    let Some((base, base_speed)) = base.and_then(|base| Some((base, throughput(base)?))) else {
        return Entry::text("–");
    };
    if let Some(reason) = not_comparable(cell, base) {
        return Entry::detailed("–", format!("not comparable: {reason}"));
    }
    let ratio = Number::ratio(speed.value / base_speed.value, "throughput ÷ baseline");
    Entry::value(ratio.value, ratio.text)
}
