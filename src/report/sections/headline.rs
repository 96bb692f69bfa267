//! The answer in a few figures: what is fastest, most efficient, best, from the same values as the tables.

use serde::Serialize;

use crate::report::number::Number;
use crate::report::view::{Cell, View};
use crate::results::IntervalKind;

use super::efficiency::{self, Group};
use super::quality::Quality;
use super::ranking::{Pace, baseline, fastest_first, not_comparable};
use super::scaling;
use super::speed::{throughput, timing};
use super::tasks::{Task, tasks};

/// Figures at the head: more would be a table.
const HEADLINES: usize = 6;
/// Letters of a reason that a headline shows whole.
const BRIEF: usize = 60;
/// Cells that a remark names.
const NAMED: usize = 2;

/// One figure at the head of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Headline {
    /// `Fastest`, `Most efficient`, `Best validation loss`.
    pub title: String,
    /// The figure, the same value as in the table that `link` names.
    pub number: Number,
    /// The cell in words.
    pub cell: String,
    /// What to hold against it: the ratio to the baseline, cells that it is not told apart from.
    pub remarks: Vec<String>,
    /// `id` of the table with the same number.
    pub link: String,
}

/// The figures of the tasks that have several cells, or of single cells where there is no such task.
pub(crate) fn headlines(view: &View<'_>) -> Vec<Headline> {
    let tasks = tasks(view);
    let is_alone = |task: &Task<'_, '_>| tasks.len() > 1 && task.cells.len() == 1;
    let mut headlines: Vec<Headline> = scaling::growths(view).into_iter().map(growth).collect();
    let groups = efficiency::groups(view);
    for task in tasks.iter().filter(|task| !is_alone(task)) {
        let name = suffix(&task.name);
        headlines.extend(fastest(view, task, &name));
        let own = |group: &&Group<'_, '_>| group.is_of(task);
        let efficient = groups.iter().filter(own);
        headlines.extend(
            efficient
                .filter_map(|group| most_efficient(view, group))
                .take(1),
        );
        headlines.extend(best(view, task, &name));
    }
    if headlines.is_empty() {
        // A cell that is a task of its own is neither the fastest nor the best of anything.
        let cells = tasks.iter().flat_map(|task| &task.cells);
        headlines.extend(cells.filter_map(|cell| single(view, cell)));
    }
    headlines.truncate(HEADLINES);
    headlines
}

fn suffix(name: &str) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!(", {name}")
    }
}

fn growth(found: scaling::Growth) -> Headline {
    Headline {
        title: format!("Exponent of {} time over samples", found.time),
        number: found.exponent,
        cell: found.cells,
        remarks: found.remarks,
        link: "scaling".to_owned(),
    }
}

fn single(view: &View<'_>, cell: &Cell<'_>) -> Option<Headline> {
    Some(Headline {
        title: "Throughput".to_owned(),
        number: throughput(cell)?,
        cell: view.name(cell, None),
        remarks: Vec::new(),
        link: "speed".to_owned(),
    })
}

fn fastest(view: &View<'_>, task: &Task<'_, '_>, name: &str) -> Option<Headline> {
    let pace = Pace::of(&task.cells);
    let order = fastest_first(&task.cells);
    let (cell, number) = order.first()?.clone();
    let mut remarks = Vec::new();
    let base = baseline(view, &task.cells).filter(|base| base.info.key != cell.info.key);
    if let Some((base, own)) = base.and_then(|base| Some((base, timing(base, pace.column())?))) {
        let against = view.name(base, None);
        remarks.push(if let Some(reason) = not_comparable(view, cell, base) {
            format!("no ratio to {against}: {}", brief(&reason))
        } else {
            let ratio = Number::ratio(pace.speed_up(number.value, own.value), "");
            format!("{} as fast as {against}", ratio.text)
        });
    }
    remarks.extend(not_told_apart(view, pace.column(), &order));
    let words = match pace {
        Pace::Epoch => "Fastest epoch",
        Pace::Throughput => "Highest throughput",
    };
    Some(Headline {
        title: format!("{words}{name}"),
        number,
        cell: view.name(cell, None),
        remarks,
        link: "speed".to_owned(),
    })
}

/// A reason without its values where they are many: the table has them.
fn brief(reason: &str) -> String {
    if reason.chars().count() <= BRIEF {
        return reason.to_owned();
    }
    let mut depth = 0;
    let outside = reason.chars().filter(|letter| {
        depth += i32::from(*letter == '(');
        let is_outside = depth == 0;
        depth -= i32::from(*letter == ')');
        is_outside
    });
    let text: String = outside.collect();
    text.replace(" ,", ",").trim_end().to_owned()
}

fn most_efficient(view: &View<'_>, group: &Group<'_, '_>) -> Option<Headline> {
    let order = group.best_first();
    if order.len() < 2 {
        return None;
    }
    let (cell, number) = order.first()?.clone();
    Some(Headline {
        title: format!("Most efficient{}", suffix(&group.name)),
        number,
        cell: view.name(cell, None),
        remarks: not_told_apart(view, efficiency::RATE, &order)
            .into_iter()
            .collect(),
        link: "efficiency".to_owned(),
    })
}

fn best(view: &View<'_>, task: &Task<'_, '_>, name: &str) -> Option<Headline> {
    let quality = Quality::of(view, &task.cells);
    let mut order: Vec<(&Cell<'_>, Number)> = task
        .cells
        .iter()
        .filter_map(|cell| Some((*cell, quality.value(cell)?)))
        .collect();
    order.sort_by(|a, b| {
        let up = a.1.value.total_cmp(&b.1.value);
        if quality.is_higher_better {
            up.reverse()
        } else {
            up
        }
    });
    let (cell, number) = order.first()?.clone();
    let equal = order[1..]
        .iter()
        .filter(|(_, other)| other.text == number.text);
    let equal: Vec<&Cell<'_>> = equal.map(|(other, _)| *other).collect();
    let mut remarks: Vec<String> = named(view, &equal)
        .map(|names| format!("the same with {names}"))
        .into_iter()
        .collect();
    if number.interval.is_none() {
        remarks.push("one seed: no dispersion is known".to_owned());
    }
    Some(Headline {
        title: format!("Best {}{name}", quality.name),
        number,
        cell: view.name(cell, None),
        remarks,
        link: "quality".to_owned(),
    })
}

/// The cells whose intervals of a column overlap with that of the first, in words.
fn not_told_apart(view: &View<'_>, column: &str, order: &[(&Cell<'_>, Number)]) -> Option<String> {
    let ends = |cell: &Cell<'_>| cell.timing?.values.get(column).copied();
    let own = ends(order.first()?.0)?;
    if own.kind == IntervalKind::Single {
        return Some("one run: what is not told apart from it is unknown".to_owned());
    }
    let overlaps =
        |cell: &Cell<'_>| ends(cell).is_some_and(|e| e.low <= own.high && own.low <= e.high);
    let others: Vec<&Cell<'_>> = order[1..]
        .iter()
        .map(|(other, _)| *other)
        .filter(|other| overlaps(other))
        .collect();
    named(view, &others).map(|names| format!("intervals overlap: {names}"))
}

/// Names of cells, a few of them and how many more; `None` for none.
fn named(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<String> {
    let names: Vec<String> = cells
        .iter()
        .take(NAMED)
        .map(|cell| view.name(cell, None))
        .collect();
    let more = cells.len().saturating_sub(NAMED);
    match (names.is_empty(), more) {
        (true, _) => None,
        (_, 0) => Some(names.join("; ")),
        _ => Some(format!("{}; and {more} more", names.join("; "))),
    }
}
