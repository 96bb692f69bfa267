//! Cells by speed and by how fast their loss fell: within one task, and one loss, only, with ratios only within one work.

use serde_json::Value;

use crate::base::units::human_integer;
use crate::report::number::{Provenance, times};
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::fixed_unit;

use super::difference;
use super::field::{self, Field, MEDIAN};
use super::quality::told;
use super::speed::{timing, timing_value};
use super::tasks::{Task, named, tasks};

/// Rows of a ranking, where the cells are too many for a row each.
const RANKED: usize = 50;

/// What cells are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Seconds of a whole epoch, where every measured cell ran one.
    Epoch,
    /// Samples per second, where epochs were capped.
    Throughput,
    /// Seconds of a whole run, where nothing smaller is known: commands.
    Run,
}

impl Pace {
    /// What suits the cells.
    pub(crate) fn of(cells: &[&Cell<'_>]) -> Self {
        let measured = cells.iter().filter(|cell| cell.is_measured());
        let is_whole = |cell: &&Cell<'_>| timing_value(cell, "epoch_s").is_some();
        let has_throughput = |cell: &&Cell<'_>| timing_value(cell, "samples_per_s").is_some();
        let is_run = |cell: &&Cell<'_>| timing_value(cell, "total_s").is_some();
        if measured.clone().next().is_some() && measured.clone().all(is_whole) {
            Self::Epoch
        } else if !measured.clone().any(has_throughput) && measured.clone().any(is_run) {
            Self::Run
        } else {
            Self::Throughput
        }
    }

    /// The column of `timings.csv`.
    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Epoch => "epoch_s",
            Self::Throughput => "samples_per_s",
            Self::Run => "total_s",
        }
    }

    /// Its heading, what cells are ranked by, and how a speed-up comes about.
    fn words(self) -> [&'static str; 3] {
        match self {
            Self::Epoch => [
                "epoch",
                "median time of a whole epoch",
                "epoch time of the baseline ÷ own",
            ],
            Self::Throughput => [
                "throughput",
                "median throughput, as not every cell ran whole epochs",
                "throughput ÷ that of the baseline",
            ],
            Self::Run => [
                "run",
                "median time of a whole run",
                "time of the baseline's run ÷ own",
            ],
        }
    }
}

/// The measured cells of a task, the fastest first; equal ones in plan order.
pub(crate) fn fastest_first<'v, 'a>(cells: &[&'v Cell<'a>]) -> Vec<(&'v Cell<'a>, f64)> {
    let pace = Pace::of(cells);
    let mut ordered = highest_first(cells, pace.column());
    if pace != Pace::Throughput {
        ordered.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    ordered
}

/// The cells that have a timing, the highest first; equal ones in plan order.
fn highest_first<'v, 'a>(cells: &[&'v Cell<'a>], column: &str) -> Vec<(&'v Cell<'a>, f64)> {
    let timed = cells.iter();
    let timed = timed.filter_map(|cell| Some((*cell, timing_value(cell, column)?)));
    let mut ordered: Vec<_> = timed.collect();
    ordered.sort_by(|a, b| b.1.total_cmp(&a.1));
    ordered
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
    // Every command is code of its own.
    let are_commands = a.is_of_command && b.is_of_command;
    if a.info.code_hash != b.info.code_hash && !are_commands {
        Some("measured with other code")
    } else if environment(a) != environment(b) {
        Some("measured in another environment")
    } else {
        None
    }
}

/// A column of a rank, its cell, and the value that decides.
type OfRank<'f> = Field<'f, (Entry, &'f Cell<'f>, f64)>;

/// Cells in the order of a column of `timings.csv`.
struct Ranking<'v, 'a> {
    column: &'static str,
    heading: &'static str,
    about: String,
    /// Cells, each with its value of the column; the best first.
    ordered: Vec<(&'v Cell<'a>, f64)>,
    /// What speed-ups are against; `None` where there are none.
    base: Option<(Pace, &'v Cell<'a>)>,
}

/// The speed rankings of the tasks, and why cells stand in none.
pub(crate) fn by_speed(view: &View<'_>) -> Vec<Section> {
    let tasks = tasks(view);
    let ranking = |task: &Task<'_, '_>| {
        let (pace, base) = (Pace::of(&task.cells), baseline(view, &task.cells));
        let table = Ranking {
            column: pace.column(),
            heading: pace.words()[0],
            about: base.map_or_else(String::new, |base| about_speed(view, pace, base)),
            ordered: fastest_first(&task.cells),
            base: Some(pace).zip(base),
        };
        table.table(view)
    };
    sections(&tasks, ("ranking", "Speed ranking", "task"), ranking)
}

/// Rankings of how fast the loss fell, within one task and one loss: a loss has its own scale. It tells nothing where some
/// run learned nothing, or saw fewer samples.
pub(crate) fn by_efficiency(view: &View<'_>) -> Vec<Section> {
    let mut groups = named(view, |cell| {
        let loss = view.section(cell, "loss").map(ToString::to_string);
        (cell.info.task_signature.clone(), loss)
    });
    groups.retain(|group| told(&group.cells).is_ok());
    let ranking = |group: &Task<'_, '_>| {
        const RATE: &str = "improvement_per_s";
        let table = Ranking {
            column: RATE,
            heading: "improvement rate ↑",
            about: "How fast the loss fell: (first loss − best loss) ÷ time to the best epoch, validation excluded; all \
                    of them stand under Quality. Only cells of one task and one loss are ranked, and only where every \
                    run learned and saw equally many samples."
                .to_owned(),
            ordered: highest_first(&group.cells, RATE),
            base: None,
        };
        table.table(view)
    };
    let words = ("efficiency", "Efficiency ranking", "task or loss");
    sections(&groups, words, ranking)
}

/// One ranking for each group with more than one measured cell, in plan order, and why cells stand in none.
fn sections(
    groups: &[Task<'_, '_>],
    (id, title, noun): (&str, &str, &str),
    ranking: impl Fn(&Task<'_, '_>) -> Table,
) -> Vec<Section> {
    let is_measured = |cell: &&&Cell<'_>| cell.is_measured();
    let tables = groups.iter().zip(1..);
    let tables = tables.filter(|(group, _)| group.cells.iter().filter(is_measured).count() > 1);
    let tables = tables.map(|(group, number)| Table {
        id: match groups.len() {
            1 => id.to_owned(),
            _ => format!("{id}-{number}"),
        },
        title: match &*group.name {
            "" => title.to_owned(),
            name => format!("{title}: {name}"),
        },
        ..ranking(group)
    });
    let mut sections: Vec<Section> = tables.map(Section::table).collect();
    sections.extend(unranked(groups, noun).map(|why| Section {
        id: format!("un{id}"),
        paragraphs: vec![why],
        ..Section::default()
    }));
    sections
}

/// Why cells stand in no ranking; `None` where all of them do.
fn unranked(groups: &[Task<'_, '_>], noun: &str) -> Option<String> {
    let alone = groups.iter().filter(|group| group.cells.len() == 1).count();
    if groups.len() < 2 || alone == 0 {
        return None;
    }
    let which = match alone {
        all if all == groups.len() => {
            format!("No ranking: each of the {all} cells is a {noun} of its own")
        }
        1 => format!("One cell is a {noun} of its own and stands in no ranking"),
        some => format!("{some} cells are a {noun} of their own and stand in no ranking"),
    };
    Some(format!(
        "{which}. Times and qualities on other data, or by another loss, are not comparable; all values stand in the other \
         tables."
    ))
}

fn about_speed(view: &View<'_>, pace: Pace, base: &Cell<'_>) -> String {
    let by = pace.words()[1];
    let which = if is_baseline(view, base) {
        "named by the manifest"
    } else {
        "the slowest measured cell, as the manifest names none"
    };
    let name = view.name(base, None);
    format!("By {by}. Baseline of the speed-up: {name} ({which}).")
}

impl Ranking<'_, '_> {
    fn table(&self, view: &View<'_>) -> Table {
        let values: Vec<f64> = self.ordered.iter().map(|(_, value)| *value).collect();
        let ranks = ranks(&values);
        let fields = self.fields(view);
        let all = self.ordered.len();
        let most = view.grouping.as_ref().map_or(all, |_| RANKED);
        let rows = self.ordered.iter().enumerate().take(most);
        let rows = rows.map(|(place, (cell, value))| {
            let key = cell.info.key.clone();
            (key, (rank(&ranks, place), *cell, *value))
        });
        let mut table = field::of_rows(("", "", self.about.clone()), &fields, rows);
        table.cut = (all > most).then(|| {
            let all = human_integer(all as u64);
            format!(
                "The first {RANKED} of {all} cells; all of them are in the CSV files beside this report."
            )
        });
        table
    }

    fn fields<'f>(&'f self, view: &'f View<'_>) -> Vec<OfRank<'f>> {
        let order = Provenance::Derived("order of the medians".into());
        let unit = fixed_unit(self.column);
        let rank = OfRank::new(Column::count("rank", &order), |(rank, ..)| rank.clone());
        let labels = view.axis_columns().into_iter().enumerate();
        let labels = labels.map(|(place, column)| {
            OfRank::new(column, move |(_, cell, _)| {
                view.labels(cell).swap_remove(place)
            })
        });
        let value = OfRank::measured(self.heading, unit, MEDIAN, |(_, cell, _)| {
            Entry::number(timing(cell, self.column).as_ref())
        });
        let speed_up = self.base.map(|(pace, base)| {
            let formula = pace.words()[2];
            OfRank::derived("speed-up", "", formula, move |(_, cell, value)| {
                against(view, (pace, base), cell, *value)
            })
        });
        let first = std::iter::once(rank).chain(labels);
        first.chain([value]).chain(speed_up).collect()
    }
}

/// Ranks of ordered values, from 1: equal values share one.
fn ranks(ordered: &[f64]) -> Vec<usize> {
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
fn rank(ranks: &[usize], place: usize) -> Entry {
    let own = ranks[place];
    let is_shared = ranks.iter().filter(|rank| **rank == own).count() > 1;
    let text = format!("{own}{}", if is_shared { " =" } else { "" });
    Entry::value(own as f64, text)
}

fn against(view: &View<'_>, (pace, base): (Pace, &Cell<'_>), cell: &Cell<'_>, speed: f64) -> Entry {
    let Some(base_speed) = timing_value(base, pace.column()) else {
        return Entry::text("–");
    };
    if let Some(reason) = not_comparable(view, cell, base) {
        return Entry::detailed("–", format!("not comparable: {reason}"));
    }
    let ratio = match pace {
        Pace::Epoch | Pace::Run => base_speed / speed,
        Pace::Throughput => speed / base_speed,
    };
    Entry::value(ratio, times(ratio))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks(&[1.0, 2.0, 2.0, 3.0]), [1, 2, 2, 4]);
    }
}
