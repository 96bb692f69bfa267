//! What runs were expected to take before they began, beside what they took.

use crate::base::units::human_seconds;
use crate::report::number::times;
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Status};

use super::cells::executions;
use super::field::{self, Field};

/// A column of a cell's name and its sums.
type OfFar<'f> = Field<'f, (String, Sums)>;

/// A cell is named, and a finding, where its runs took longer or shorter than expected by more than this factor
/// and a second.
const FAR: f64 = 2.0;
/// Cells that are named.
const ROWS: usize = 20;

/// Sums over the runs that came to their end and had an estimate.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    runs: usize,
    estimated_s: f64,
    measured_s: f64,
}

impl Sums {
    fn of<'r>(runs: impl IntoIterator<Item = &'r BlockRow>) -> Self {
        let mut sums = Self::default();
        let done = runs.into_iter().filter(|run| run.status == Status::Done);
        for (estimated, measured) in done.filter_map(|run| run.estimated_s.zip(run.wall_s)) {
            sums.runs += 1;
            sums.estimated_s += estimated;
            sums.measured_s += measured;
        }
        sums
    }

    fn ratio(&self) -> Option<f64> {
        (self.estimated_s > 0.0).then(|| self.measured_s / self.estimated_s)
    }

    /// By which factor it was off, in either direction.
    fn off(&self) -> f64 {
        self.ratio().map_or(1.0, |ratio| ratio.max(1.0 / ratio))
    }

    /// Less than a second is what starting a process varies by.
    fn is_far(&self) -> bool {
        self.off() > FAR && (self.measured_s - self.estimated_s).abs() >= 1.0
    }
}

/// The rule of the finding, in words.
pub(super) fn rule() -> String {
    format!(
        "time of a cell's runs off from the expected one by more than a factor of {FAR} and a second"
    )
}

/// Measured ÷ estimated time of a cell whose estimate was far off.
pub(super) fn far_off(cell: &Cell<'_>) -> Option<f64> {
    let sums = Sums::of(cell.blocks.iter().copied());
    sums.ratio().filter(|_| sums.is_far())
}

/// The table; `None` where no run had an estimate.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let cells: Vec<(&Cell<'_>, Sums)> = view
        .cells
        .iter()
        .map(|cell| (cell, Sums::of(cell.blocks.iter().copied())))
        .filter(|(_, sums)| sums.runs > 0)
        .collect();
    let total = Sums::of(executions(view).into_iter().map(|(_, run)| run));
    if total.runs == 0 {
        return None;
    }
    let mut far: Vec<&(&Cell<'_>, Sums)> = cells.iter().filter(|(_, sums)| sums.is_far()).collect();
    far.sort_by(|a, b| b.1.off().total_cmp(&a.1.off()));
    let seconds = |seconds: f64| Entry::value(seconds, human_seconds(seconds));
    let fields = [
        OfFar::text("cell", |(name, _)| name.clone()),
        OfFar::count(
            "runs",
            "finished runs that had an expected time",
            |(_, sums)| sums.runs,
        ),
        OfFar::derived("estimated", "", "what earlier runs took", |(_, sums)| {
            seconds(sums.estimated_s)
        }),
        OfFar::measured("measured", "", "sum over the runs", |(_, sums)| {
            seconds(sums.measured_s)
        }),
        OfFar::derived("ratio", "", "measured ÷ estimated", |(_, sums)| {
            Entry::shown(sums.ratio(), times)
        }),
    ];
    let named = far.iter().take(ROWS);
    let named = named.map(|(cell, sums)| (cell.info.key.clone(), (view.name(cell, None), *sums)));
    let all = (String::new(), ("all runs".to_owned(), total));
    let rows = [all].into_iter().chain(named);
    let head = (
        "estimate",
        "Estimate and outcome",
        about(far.len(), cells.len()),
    );
    let cut = (far.len() > ROWS)
        .then(|| format!("The {ROWS} cells that are furthest off, of {}.", far.len()));
    Some(Table {
        cut,
        ..field::of_rows(head, &fields, rows)
    })
}

fn about(far: usize, all: usize) -> String {
    let cells =
        format!("{far} of {all} cells were off by more than a factor of {FAR} and a second");
    format!(
        "What finished runs were expected to take before they began, from what runs of the cell, else runs like them, had \
         taken on this machine, and what they took from start to end. {cells}, the furthest first."
    )
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;
    use crate::results::golden::ddpm;

    fn texts(table: &Table) -> Vec<Vec<&str>> {
        let rows = table.rows.iter();
        rows.map(|row| row.fields.iter().map(|field| &*field.text).collect())
            .collect()
    }

    #[test]
    fn the_total_stands_first_and_then_cells_that_were_far_off() {
        let mut set = ddpm();
        for row in &mut set.blocks {
            let is_far = row.key.contains("batch-size=16,workers=4");
            (row.wall_s, row.estimated_s) = (Some(if is_far { 3.0 } else { 10.0 }), Some(9.0));
        }
        let table = table(&View::of(&set)).expect("a table");
        let expected = [
            ["all runs", "21", "3 min 09 s", "3 min 09 s", "1.00×"],
            [
                "batch-size 16, workers 4",
                "3",
                "27.0 s",
                "9.00 s",
                "0.333×",
            ],
        ];
        assert_eq!(texts(&table)[1], expected[1]);
        assert_eq!(texts(&table)[0], expected[0]);
        assert!(
            table.about.contains("1 of 7 cells were off"),
            "{}",
            table.about
        );
    }

    #[test]
    fn an_estimate_that_was_off_by_more_than_twice_is_a_finding() {
        let found = |seconds: f64| -> Vec<String> {
            let mut set = ddpm();
            for row in &mut set.blocks {
                let is_far = row.key.contains("batch-size=16,workers=4");
                (row.wall_s, row.estimated_s) =
                    (Some(if is_far { seconds } else { 9.0 }), Some(9.0));
            }
            let found = findings::found(&View::of(&set)).into_iter();
            let own = found.filter(|one| one.rule == "estimate-far-off");
            own.map(|one| one.text).collect()
        };
        for (seconds, words) in [(52.0 * 9.0, "workers 4 (52.0×)"), (9.0 / 4.0, "(0.250×)")] {
            let found = found(seconds);
            assert!(found.iter().any(|text| text.contains(words)), "{found:?}");
        }
        assert!(found(1.9 * 9.0).is_empty() && found(9.0 / 1.9).is_empty());
    }

    #[test]
    fn without_estimates_there_is_no_table() {
        let mut set = ddpm();
        set.blocks.iter_mut().for_each(|row| row.estimated_s = None);
        assert!(table(&View::of(&set)).is_none());
    }
}
