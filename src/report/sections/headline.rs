//! The answer in two lines per task: which cell is fastest, which is best, from the same values as the tables.

use serde::Serialize;

use crate::report::number::Number;
use crate::report::view::{Cell, View};

use super::quality::{best_loss, loss_name};
use super::ranking::{baseline, fastest_first, not_comparable, tasks};

/// One figure at the head of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// `Fastest`, `Lowest loss`.
    pub title: String,
    /// The figure, the same value as in the table that `link` names.
    pub number: Number,
    /// The cell in words.
    pub cell: String,
    /// What to hold against it: the ratio to the baseline, cells that it is not separated from.
    pub remarks: Vec<String>,
    /// `id` of the table with the same number.
    pub link: String,
}

/// Up to two headlines per task.
pub(crate) fn headlines(view: &View<'_>) -> Vec<Headline> {
    let groups = tasks(view);
    let several = groups.len() > 1;
    let mut headlines = Vec::new();
    for (index, cells) in groups.iter().take(4).enumerate() {
        let suffix = if several {
            format!(", task {}", index + 1)
        } else {
            String::new()
        };
        headlines.extend(fastest(view, cells, &suffix));
        headlines.extend(lowest_loss(view, cells, &suffix));
    }
    headlines
}

fn fastest(view: &View<'_>, cells: &[&Cell<'_>], suffix: &str) -> Option<Headline> {
    let order = fastest_first(cells);
    let (cell, number) = order.first()?.clone();
    let mut remarks = Vec::new();
    if let Some(base) = baseline(view, cells).filter(|base| base.info.key != cell.info.key) {
        let base_speed = super::speed::throughput(base)?;
        let name = view.name(base, None);
        remarks.push(match not_comparable(cell, base) {
            Some(reason) => format!("not comparable with {name}: {reason}"),
            None => {
                let ratio = Number::ratio(number.value / base_speed.value, "");
                format!("{} the throughput of {name}", ratio.text)
            }
        });
    }
    let overlapping: Vec<String> = order[1..]
        .iter()
        .filter(|(other, _)| overlap(cell, other))
        .map(|(other, _)| view.name(other, None))
        .collect();
    if !overlapping.is_empty() {
        let (shown, rest) = overlapping.split_at(overlapping.len().min(3));
        let more = if rest.is_empty() {
            String::new()
        } else {
            format!(" and {} more", rest.len())
        };
        let shown = shown.join("; ");
        remarks.push(format!("its interval overlaps with that of {shown}{more}"));
    }
    Some(Headline {
        title: format!("Highest throughput{suffix}"),
        number,
        cell: view.name(cell, None),
        remarks,
        link: "speed".to_owned(),
    })
}

fn overlap(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    let ends = |cell: &Cell<'_>| {
        let interval = cell.timing?.values.get("samples_per_s")?;
        Some((interval.low, interval.high))
    };
    match (ends(a), ends(b)) {
        (Some((low, high)), Some((other_low, other_high))) => {
            low <= other_high && other_low <= high
        }
        _ => false,
    }
}

fn lowest_loss(view: &View<'_>, cells: &[&Cell<'_>], suffix: &str) -> Option<Headline> {
    let mut order: Vec<(&Cell<'_>, Number)> = cells
        .iter()
        .filter_map(|cell| Some((*cell, best_loss(cell)?)))
        .collect();
    order.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (cell, number) = order.first()?.clone();
    let equal = order[1..]
        .iter()
        .filter(|(_, other)| other.text == number.text);
    let equal: Vec<String> = equal.map(|(other, _)| view.name(other, None)).collect();
    let mut remarks = Vec::new();
    if !equal.is_empty() {
        let (shown, rest) = equal.split_at(equal.len().min(3));
        let more = if rest.is_empty() {
            String::new()
        } else {
            format!(" and {} more", rest.len())
        };
        remarks.push(format!("the same with {}{more}", shown.join("; ")));
    }
    if number.interval.is_none() {
        remarks.push("one seed: no dispersion is known".to_owned());
    }
    Some(Headline {
        title: format!("Best {}{suffix}", loss_name(view)),
        number,
        cell: view.name(cell, None),
        remarks,
        link: "quality".to_owned(),
    })
}
