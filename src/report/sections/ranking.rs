//! Cells by speed, within one task only, with ratios only within one work.

use serde_json::Value;

use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table, cut_ranking, ranked_rows, sources};
use crate::report::view::{Cell, View};
use crate::results::{Interval, IntervalKind};

use super::difference;
use super::speed::timing;
use super::tasks::{Task, tasks};

/// Cells that are looked through for intervals that overlap.
const NAMED: usize = 200;

/// What cells are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Seconds of a whole epoch, where every measured cell ran one.
    Epoch,
    /// Samples per second, where epochs were capped.
    Throughput,
}

/// One ranking per task signature with more than one cell, in plan order.
pub(crate) fn rankings(view: &View<'_>) -> Vec<Table> {
    let tasks = tasks(view);
    let several = tasks.len() > 1;
    tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.cells.iter().filter(|cell| cell.is_measured()).count() > 1)
        .map(|(index, task)| ranking(view, task, several.then_some(index + 1)))
        .collect()
}

/// Why cells stand in no ranking; `None` where all of them do.
pub(crate) fn unranked(view: &View<'_>) -> Option<String> {
    let tasks = tasks(view);
    let alone: Vec<&Cell<'_>> = tasks
        .iter()
        .filter(|task| task.cells.len() == 1)
        .map(|task| task.cells[0])
        .collect();
    if tasks.len() < 2 || alone.is_empty() {
        return None;
    }
    let which = match alone.len() {
        all if all == tasks.len() => {
            format!("No ranking: each of the {all} cells is a task of its own")
        }
        1 => "One cell is a task of its own and stands in no ranking".to_owned(),
        some => format!("{some} cells are tasks of their own and stand in no ranking"),
    };
    let differs = ["dataset", "loss"].into_iter().filter(|name| {
        let first = view.section(tasks[0].cells[0], name);
        let mut others = tasks[1..].iter();
        others.any(|task| view.section(task.cells[0], name) != first)
    });
    let differs: Vec<&str> = differs.collect();
    let because = if differs.is_empty() {
        "the content of the data".to_owned()
    } else {
        differs.join(" and ")
    };
    Some(format!(
        "{which}. Tasks differ in {because}, so that times and qualities of one say nothing about another; all values stand \
         in the tables below."
    ))
}

impl Pace {
    /// What suits the cells.
    pub(crate) fn of(cells: &[&Cell<'_>]) -> Self {
        let mut measured = cells.iter().filter(|cell| cell.is_measured());
        let is_whole = |cell: &&Cell<'_>| timing(cell, "epoch_s").is_some();
        if measured.clone().next().is_some() && measured.all(is_whole) {
            Self::Epoch
        } else {
            Self::Throughput
        }
    }

    /// The column of `timings.csv`.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Epoch => "epoch_s",
            Self::Throughput => "samples_per_s",
        }
    }

    /// How much faster `a` is than `b`: above 1 where it is faster.
    pub(crate) fn speed_up(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Epoch => b / a,
            Self::Throughput => a / b,
        }
    }
}

/// The measured cells of a task, the fastest first; equal ones in plan order.
pub(crate) fn fastest_first<'v, 'a>(cells: &[&'v Cell<'a>]) -> Vec<(&'v Cell<'a>, Number)> {
    let pace = Pace::of(cells);
    let mut measured: Vec<(&Cell<'_>, Number)> = cells
        .iter()
        .filter_map(|cell| Some((*cell, timing(cell, pace.column())?)))
        .collect();
    measured.sort_by(|a, b| {
        let up = a.1.value.total_cmp(&b.1.value);
        if pace == Pace::Epoch {
            up
        } else {
            up.reverse()
        }
    });
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

/// Whether the manifest names the cell as its baseline: `report.baseline`, else `compare.baseline` of the treatment.
pub(crate) fn is_baseline(view: &View<'_>, cell: &Cell<'_>) -> bool {
    let plan = &view.set.plan;
    if let Some(Value::Object(wanted)) = plan.report.get("baseline") {
        return !wanted.is_empty() && view.is_at(cell, wanted);
    }
    let value = plan.compare.get("baseline").and_then(Value::as_str);
    let place = view.treatment();
    value
        .zip(place)
        .is_some_and(|(value, place)| &*cell.info.axes[place] == value)
}

/// Why two cells' times have no ratio; `None` where they have one.
pub(crate) fn not_comparable(view: &View<'_>, a: &Cell<'_>, b: &Cell<'_>) -> Option<String> {
    if a.info.work_signature == b.info.work_signature {
        return measured_apart(a, b).map(str::to_owned);
    }
    let differs = difference::of_work(view, &[a], &[b]);
    Some(if differs.is_empty() {
        "other work per sample".to_owned()
    } else {
        format!("different {}", differs.join(", "))
    })
}

/// Why two cells were not measured alike, whatever they compute; `None` where they were.
pub(crate) fn measured_apart(a: &Cell<'_>, b: &Cell<'_>) -> Option<&'static str> {
    let environment = |cell: &Cell<'_>| cell.timing.map(|row| row.env_id.clone());
    if a.info.code_hash != b.info.code_hash {
        Some("measured with other code")
    } else if environment(a) != environment(b) {
        Some("measured in another environment")
    } else {
        None
    }
}

fn ranking(view: &View<'_>, task: &Task<'_, '_>, number: Option<usize>) -> Table {
    let base = baseline(view, &task.cells);
    let pace = Pace::of(&task.cells);
    let columns = columns(view, pace);
    let measured = fastest_first(&task.cells);
    let ranks = ranks(&measured.iter().map(|(_, n)| n.value).collect::<Vec<_>>());
    let mut rows: Vec<Row> = Vec::new();
    for (place, (cell, number)) in measured.iter().enumerate().take(ranked_rows(view)) {
        let mut fields = vec![rank(&ranks, place)];
        fields.extend(view.labels(cell).into_iter().map(Entry::text));
        fields.push(Entry::number(Some(number)));
        fields.push(against(view, pace, (cell, number), base));
        fields.push(Entry::text(overlapping(
            pace.column(),
            &measured,
            &ranks,
            place,
        )));
        rows.push(row(cell, fields));
    }
    let cut = cut_ranking(view, &mut rows, measured.len());
    let title = match &*task.name {
        "" => "Speed ranking".to_owned(),
        name => format!("Speed ranking: {name}"),
    };
    Table {
        id: number.map_or("ranking".to_owned(), |n| format!("ranking-{n}")),
        title,
        about: about(view, pace, base),
        sources: sources(&columns),
        columns,
        rows,
        cut,
    }
}

fn columns(view: &View<'_>, pace: Pace) -> Vec<Column> {
    let derived = |formula: &str| Provenance::Derived(formula.to_owned());
    let median = Provenance::Measured("median of n runs".into());
    let (heading, unit, formula) = match pace {
        Pace::Epoch => ("epoch", "s", "epoch time of the baseline ÷ own"),
        Pace::Throughput => (
            "throughput",
            "samples/s",
            "throughput ÷ that of the baseline",
        ),
    };
    let mut columns = vec![Column::count("rank", &derived("order of the medians"))];
    columns.extend(view.axis_columns());
    columns.push(Column::number(heading, unit, &median));
    columns.push(Column::number("speed-up", "", &derived(formula)));
    columns.push(Column::text("not told apart from rank"));
    columns
}

fn about(view: &View<'_>, pace: Pace, base: Option<&Cell<'_>>) -> String {
    let Some(base) = base else {
        return "No cell of this task was measured.".to_owned();
    };
    let by = match pace {
        Pace::Epoch => "median time of a whole epoch",
        Pace::Throughput => "median throughput, as not every cell ran whole epochs",
    };
    let which = if is_baseline(view, base) {
        "named by the manifest"
    } else {
        "the slowest measured cell, as the manifest names none"
    };
    let name = view.name(base, None);
    format!(
        "By {by}. Baseline of the speed-up: {name} ({which}). The last column names the ranks whose intervals overlap with \
         a cell's own."
    )
}

/// Ranks of ordered values, from 1: equal values share one.
pub(crate) fn ranks(ordered: &[f64]) -> Vec<usize> {
    let mut ranks: Vec<usize> = Vec::with_capacity(ordered.len());
    for (place, value) in ordered.iter().enumerate() {
        let is_equal = place > 0 && ordered[place - 1].total_cmp(value).is_eq();
        let rank = if is_equal {
            ranks[place - 1]
        } else {
            place + 1
        };
        ranks.push(rank);
    }
    ranks
}

/// A rank, marked where others share it.
pub(crate) fn rank(ranks: &[usize], place: usize) -> Entry {
    let own = ranks[place];
    let before = place.checked_sub(1).and_then(|before| ranks.get(before));
    let is_shared = before == Some(&own) || ranks.get(place + 1) == Some(&own);
    let text = format!("{own}{}", if is_shared { " =" } else { "" });
    Entry::value(own as f64, text)
}

/// Ranks of the other cells whose intervals of a column overlap with that of the cell at `place`; "n = 1" without one.
pub(crate) fn overlapping(
    column: &str,
    ordered: &[(&Cell<'_>, Number)],
    ranks: &[usize],
    place: usize,
) -> String {
    let ends = |cell: &Cell<'_>| -> Option<Interval> { cell.timing?.values.get(column).copied() };
    let Some(own) = ends(ordered[place].0) else {
        return "–".to_owned();
    };
    if own.kind == IntervalKind::Single {
        return "unknown: n = 1".to_owned();
    }
    let mut found: Vec<usize> = Vec::new();
    for (other, (cell, _)) in ordered.iter().enumerate().take(NAMED) {
        let overlaps = ends(cell).is_some_and(|e| e.low <= own.high && own.low <= e.high);
        let is_own = ranks[other] == ranks[place];
        if !is_own && overlaps && found.last() != Some(&ranks[other]) {
            found.push(ranks[other]);
        }
    }
    runs(&found)
}

/// Whole numbers with runs of neighbours drawn together: `1–3, 5`.
fn runs(numbers: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let parts: Vec<String> = parts
        .into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first}–{last}"),
        })
        .collect();
    if parts.is_empty() {
        "–".to_owned()
    } else {
        parts.join(", ")
    }
}

pub(crate) fn row(cell: &Cell<'_>, fields: Vec<Entry>) -> Row {
    Row {
        key: cell.info.key.clone(),
        fields,
        missing: None,
    }
}

fn against(
    view: &View<'_>,
    pace: Pace,
    (cell, speed): (&Cell<'_>, &Number),
    base: Option<&Cell<'_>>,
) -> Entry {
    let base = base.and_then(|base| Some((base, timing(base, pace.column())?)));
    let Some((base, base_speed)) = base else {
        return Entry::text("–");
    };
    if let Some(reason) = not_comparable(view, cell, base) {
        return Entry::detailed("–", format!("not comparable: {reason}"));
    }
    let ratio = Number::ratio(pace.speed_up(speed.value, base_speed.value), "speed-up");
    Entry::value(ratio.value, ratio.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_rank_and_runs_are_drawn_together() {
        assert_eq!(ranks(&[1.0, 2.0, 2.0, 3.0]), [1, 2, 2, 4]);
        assert_eq!(runs(&[1, 2, 3, 5, 7, 8]), "1–3, 5, 7, 8");
        assert_eq!(runs(&[]), "–");
    }
}
