//! Where a run's time went, as a tree: exclusive leaves, a residual at each level, and sums that fit.

use crate::base::statistics::mean;
use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::event::RunTimes;
use crate::report::number::{fixed, to_hundred};
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::BlockRow;

use super::chosen::chosen;
use super::field::{self, Field};

/// A part of a run's time.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    /// How deep it lies: 0 is the run.
    depth: usize,
    name: &'static str,
    /// Mean seconds over the runs.
    seconds: f64,
}

/// Cells at most.
const CELLS: usize = 2;

/// Nested times of the cells that are shown in detail, a column each; `None` where nothing is known of a run's parts.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    type OfPart<'f> = Field<'f, usize>;
    let trees = chosen(view).into_iter().take(CELLS);
    let trees = trees.filter_map(|cell| Some((cell, tree(cell)?)));
    let trees: Vec<(&Cell<'_>, Vec<Part>)> = trees.collect();
    let rows = rows(trees.iter().map(|(_, parts)| &parts[..]));
    if rows.is_empty() {
        return None;
    }
    let mut fields = vec![OfPart::text("part", |place| {
        // Em spaces, which HTML and Markdown keep, show the depth of a part.
        let (depth, name) = rows[*place];
        format!("{}{name}", "\u{2003}".repeat(depth))
    })];
    fields.extend(trees.iter().map(|(cell, parts)| {
        let shares = shares(parts);
        let (name, rows) = (view.name(cell, None), &rows);
        let runs = count(timed(cell).count(), "run");
        OfPart::measured(&name, "", format!("mean of {runs}"), move |place| {
            let is_same = |part: &Part| part.name == rows[*place].1;
            let Some(own) = parts.iter().position(is_same) else {
                return Entry::text("–");
            };
            let seconds = parts[own].seconds;
            let time = Entry::value(seconds, human_seconds(seconds));
            Entry {
                detail: format!("{} %", fixed(shares[own], 1)),
                ..time
            }
        })
    }));
    let about = "Means over the runs of a cell, with their share of the run; parts sum to what stands above them.";
    let head = ("tree", "Where a run’s time went", about.to_owned());
    let places = (0..rows.len()).map(|place| (String::new(), place));
    Some(field::of_rows(head, &fields, places))
}

/// Depths and names of the parts that some tree has, each behind what it stands behind there: costly evaluation is not in every one.
fn rows<'p>(trees: impl Iterator<Item = &'p [Part]>) -> Vec<(usize, &'static str)> {
    let mut rows: Vec<(usize, &str)> = Vec::new();
    for parts in trees {
        let mut next = 0;
        for part in parts {
            let known = rows.iter().position(|(_, name)| *name == part.name);
            let place = known.unwrap_or(next);
            if known.is_none() {
                rows.insert(place, (part.depth, part.name));
            }
            next = place + 1;
        }
    }
    rows
}

/// The runs that count, with their times.
fn timed<'a>(cell: &Cell<'a>) -> impl Iterator<Item = (&'a BlockRow, &'a RunTimes)> {
    let runs = cell.counted.iter();
    let times = runs.filter_map(|run| Some((*run, run.times.as_deref()?)));
    // A command's time has no parts that are known.
    times.filter(|(_, times)| !times.is_of_command())
}

/// The parts of a cell's mean run, each before its own parts.
fn tree(cell: &Cell<'_>) -> Option<Vec<Part>> {
    let over = |get: &dyn Fn(&BlockRow, &RunTimes) -> f64| {
        mean(
            &timed(cell)
                .map(|(run, times)| get(run, times))
                .collect::<Vec<f64>>(),
        )
    };
    let part = |depth, name, seconds| Part {
        depth,
        name,
        seconds,
    };
    let total = over(&|run, times| whole(run, times))?;
    let startup = over(&|_, times| times.startup_s)?;
    let training = over(&|_, times| times.train_s)?;
    let steps = over(&|_, times| seconds_of_steps(times, times.step_mean_ms))?;
    let mut parts = vec![
        part(0, "run", total),
        part(1, "start-up: data, model, weights", startup),
        part(1, "training", training),
        part(2, "measured steps", steps),
    ];
    let warm_up = "warm-up steps, loader start and stop, the rest";
    parts.push(part(2, warm_up, training - steps));
    let validation = over(&|_, times| times.validation_s)?;
    parts.push(part(1, "validation and evaluation", validation));
    let assessment = over(&|_, times| times.assessment_s.unwrap_or(0.0))?;
    if assessment > 0.0 {
        parts.push(part(1, "costly evaluation (first block)", assessment));
    }
    let rest = total - startup - training - validation - assessment;
    let others = "process start and end, checkpoints, profiled steps, the rest";
    parts.push(part(1, others, rest));
    Some(parts)
}

/// The whole run as its parent saw it; what the worker saw where results of earlier versions lack that.
fn whole(run: &BlockRow, times: &RunTimes) -> f64 {
    let inside = times.total_s + times.assessment_s.unwrap_or(0.0);
    run.wall_s.unwrap_or(inside)
}

fn seconds_of_steps(times: &RunTimes, ms: f64) -> f64 {
    times.measured_steps.unwrap_or_default() as f64 * ms / 1e3
}

/// Places of a part and of all that lies within it.
fn within(parts: &[Part], place: usize) -> std::ops::Range<usize> {
    let mut after = parts[place + 1..].iter();
    let inside = after.position(|next| next.depth <= parts[place].depth);
    place..inside.map_or(parts.len(), |inside| place + 1 + inside)
}

/// Percent of the run: parts without parts sum to 100.0, each other one has the sum of its own.
fn shares(parts: &[Part]) -> Vec<f64> {
    let all = 0..parts.len();
    let leaves: Vec<usize> = all
        .clone()
        .filter(|&place| within(parts, place).len() == 1)
        .collect();
    let exact = leaves
        .iter()
        .map(|&leaf| parts[leaf].seconds / parts[0].seconds * 100.0);
    let exact = to_hundred(&exact.collect::<Vec<f64>>());
    all.map(|place| {
        let inside = within(parts, place);
        let own = leaves.iter().zip(&exact);
        let own = own.filter(|(leaf, _)| inside.contains(*leaf));
        own.map(|(_, share)| share).sum()
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden::ddpm;

    #[test]
    fn a_part_that_only_one_cell_has_stands_in_its_place() {
        let mut set = ddpm();
        set.plan.cells.truncate(2);
        let first = set.plan.cells[0].key.clone();
        for run in &mut set.blocks {
            let is_first = run.key == first;
            let Some(times) = run.times_mut() else {
                continue;
            };
            times.assessment_s = is_first.then_some(2.0);
        }
        let table = table(&View::of(&set)).expect("a table");
        let fields = |place: usize| {
            table
                .rows
                .iter()
                .map(move |row| row.fields[place].text.trim())
        };
        let names: Vec<&str> = fields(0).collect();
        let place = |name: &str| names.iter().position(|own| *own == name).expect(name);
        let at = |column: usize, name: &str| fields(column).nth(place(name)).expect("a field");
        assert_eq!(
            place("costly evaluation (first block)"),
            place("validation and evaluation") + 1
        );
        assert_eq!(at(1, "costly evaluation (first block)"), "2.00 s");
        assert_eq!(at(2, "costly evaluation (first block)"), "–");
    }

    #[test]
    fn leaves_sum_to_the_run_and_each_part_to_its_own() {
        let set = ddpm();
        let view = View::of(&set);
        let cells = chosen(&view);
        assert!(!cells.is_empty());
        for parts in cells.iter().filter_map(|cell| tree(cell)) {
            let shares = shares(&parts);
            let leaves = (0..parts.len()).filter(|&place| within(&parts, place).len() == 1);
            let leaves: Vec<usize> = leaves.collect();
            let sum: f64 = leaves.iter().map(|&leaf| parts[leaf].seconds).sum();
            assert!((sum - parts[0].seconds).abs() < 1e-9, "{parts:?}");
            let whole: f64 = leaves.iter().map(|&leaf| shares[leaf]).sum();
            assert!((whole - 100.0).abs() < 1e-9, "{parts:?}");
            assert!((shares[0] - 100.0).abs() < 1e-9, "{parts:?}");
        }
    }

    #[test]
    fn the_whole_run_is_what_its_parent_saw() {
        let set = ddpm();
        let view = View::of(&set);
        let cell = chosen(&view)[0];
        let walls: Vec<f64> = cell.counted.iter().filter_map(|run| run.wall_s).collect();
        let expected = walls.iter().sum::<f64>() / walls.len() as f64;
        let parts = tree(cell).expect("times");
        assert!((parts[0].seconds - expected).abs() < 1e-12);
    }
}
