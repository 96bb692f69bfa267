//! [`View`]: a result set grouped by cell, with all rows of each cell.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::event::{RunFacts, RunTimes};
use crate::results::{
    BlockRow, CellInfo, EpochRecord, ResultSet, RunRow, Status, TimingRow, by_key, counted_runs,
    grouped,
};

use super::clock::BusyThreads;
use super::names::names;
use super::table::{Column, Entry};

/// A result set by cell, in plan order.
pub(crate) struct View<'a> {
    /// The result set whose rows are grouped.
    pub(crate) set: &'a ResultSet,
    /// Folder of the results, to find further files in and next to it; `None` for results in memory.
    pub(crate) folder: Option<&'a Path>,
    /// Every cell of the plan.
    pub(crate) cells: Vec<Cell<'a>>,
    /// Indices of the axes that have more than one value among the cells.
    pub(crate) varying: Vec<usize>,
    /// Indices of the axes that have more than one value among the measured cells; names of cells consist of these.
    pub(crate) axes_in_names: Vec<usize>,
    /// Number of threads that computed at the same time in concurrent runs.
    pub(crate) busy: BusyThreads<'a>,
    /// The keys of the cells that tables show, and a sentence about that choice; `None` if every cell has a row.
    pub(crate) shown: Option<(BTreeSet<String>, String)>,
    /// Displayed names of axes and their values: `report.names`, else the last part of an axis' path.
    names: BTreeMap<String, String>,
    /// Indices of the axes that distinguish the measured cells of one task.
    telling_in_task: Vec<usize>,
}

/// A cell with its rows of all results files.
pub(crate) struct Cell<'a> {
    /// The cell's entry in `plan.json`.
    pub(crate) info: &'a CellInfo,
    /// The cell's rows of `runs.csv`, one per seed.
    pub(crate) runs: Vec<&'a RunRow>,
    /// The cell's rows of `epochs.csv`.
    pub(crate) epochs: Vec<&'a EpochRecord>,
    /// The cell's rows of `blocks.csv`.
    pub(crate) blocks: Vec<&'a BlockRow>,
    /// The runs from which the cell's timings are computed.
    pub(crate) counted: Vec<&'a BlockRow>,
    /// The cell's row of `timings.csv`.
    pub(crate) timing: Option<&'a TimingRow>,
    /// Status of the cell: `done` if one of its seeds is, else that of its first seed.
    pub(crate) status: Status,
    /// Why the cell has this status, in one line; empty for `done`.
    pub(crate) reason: &'a str,
    /// Whether the cell's model is of `kind = "command"`: a program of the user trains it.
    pub(crate) is_of_command: bool,
}

impl<'a> View<'a> {
    /// Groups the rows of `set` by cell. Rows of cells that are not in the plan are left out.
    pub(crate) fn of(set: &'a ResultSet) -> Self {
        Self::view_in_folder(set, None)
    }

    /// A view of results that are stored in `folder`.
    pub(crate) fn view_in_folder(set: &'a ResultSet, folder: Option<&'a Path>) -> Self {
        let runs = by_key(&set.runs, |row| &row.key);
        let epochs = by_key(&set.epochs, |row| &row.key);
        let blocks = by_key(&set.blocks, |row| &row.key);
        let timings: BTreeMap<&str, &TimingRow> =
            set.timings.iter().map(|row| (&*row.key, row)).collect();
        let cells = set.plan.cells.iter().map(|info| {
            let mut runs = runs.get(&*info.key).cloned().unwrap_or_default();
            let mut blocks = blocks.get(&*info.key).cloned().unwrap_or_default();
            let mut epochs = epochs.get(&*info.key).cloned().unwrap_or_default();
            // Sorted, because sums of floats depend on the order, which may vary in files.
            runs.sort_by_key(|row| row.seed);
            blocks.sort_by_key(|row| (row.seed, row.block));
            epochs.sort_by_key(|row| (row.seed, row.epoch.epoch));
            let (status, reason) = status_of(&runs);
            Cell {
                info,
                counted: counted_runs(&blocks),
                timing: timings.get(&*info.key).copied(),
                epochs,
                runs,
                blocks,
                status,
                reason,
                is_of_command: set.plan.is_trained_by_command(info),
            }
        });
        let cells: Vec<Cell<'_>> = cells.collect();
        let measured = cells.iter().filter(|cell| cell.is_measured());
        let measured: Vec<&CellInfo> = measured.map(|cell| cell.info).collect();
        let varying_there = varying(set, &measured);
        let axes_in_names = without_matrix(set, &varying_there, std::slice::from_ref(&measured));
        let tasks = grouped(measured, |cell| &*cell.task_signature);
        let telling_in_task = without_matrix(set, &varying_there, &tasks);
        let varying = varying(set, &set.plan.cells.iter().collect::<Vec<_>>());
        Self {
            set,
            folder,
            varying,
            axes_in_names,
            cells,
            busy: BusyThreads::of(set),
            shown: None,
            names: names(set),
            telling_in_task,
        }
    }

    /// The cells with measured times or results.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &Cell<'a>> + Clone {
        self.cells.iter().filter(|cell| cell.is_measured())
    }

    /// Index of the axis that the manifest declares as the treatment, if any.
    pub(crate) fn treatment(&self) -> Option<usize> {
        let plan = &self.set.plan;
        self.axis_called(plan.compare.get("treatment")?.as_str()?)
    }

    /// Index of the axis with this path or name.
    pub(crate) fn axis_called(&self, name: &str) -> Option<usize> {
        let mut axes = self.set.plan.axes.iter();
        axes.position(|axis| axis.is_called(name))
    }

    /// Index of the treatment's axis, and its baseline: the value that the manifest declares, else the first one.
    pub(crate) fn baseline(&self) -> Option<(usize, &'a str)> {
        let (plan, place) = (&self.set.plan, self.treatment()?);
        let declared = plan.compare.get("baseline").and_then(Value::as_str);
        let first = || plan.axes[place].values.first().map(|value| &**value);
        Some((place, declared.or_else(first)?))
    }

    /// A top-level section of a cell's resolved specification (`dataset`, `train`).
    pub(crate) fn section(&self, cell: &Cell<'a>, name: &str) -> Option<&'a Value> {
        self.set.plan.section(cell.info, name)
    }

    /// Whether a cell has the value of `wanted` on each axis in `wanted`.
    pub(crate) fn has_axis_values(
        &self,
        cell: &Cell<'_>,
        wanted: &serde_json::Map<String, Value>,
    ) -> bool {
        wanted.iter().all(|(name, value)| {
            let place = self.axis_called(name);
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            place.is_some_and(|place| cell.info.axes[place] == text)
        })
    }

    /// The first cell with these axis values, preferably a measured one; `None` if `wanted` is empty.
    pub(crate) fn find(&self, wanted: &serde_json::Map<String, Value>) -> Option<&Cell<'a>> {
        let fits = |cell: &&Cell<'a>| !wanted.is_empty() && self.has_axis_values(cell, wanted);
        self.measured().chain(&self.cells).find(fits)
    }

    /// Indices of the axes that a table shows: those that vary among the measured cells.
    fn shown_axes(&self, within_task: bool) -> &[usize] {
        if within_task && !self.telling_in_task.is_empty() {
            &self.telling_in_task
        } else if self.axes_in_names.is_empty() {
            &self.varying
        } else {
            &self.axes_in_names
        }
    }

    /// The columns of the varying axes, for a table of cells of one task or of all tasks.
    pub(crate) fn axis_columns(&self, within_task: bool) -> Vec<Column> {
        let axes = self.shown_axes(within_task);
        if axes.is_empty() {
            return vec![Column::text("cell")];
        }
        axes.iter()
            .map(|&place| Column::setting(self.axis_name(place)))
            .collect()
    }

    /// The times of all runs, including those from which no timings are computed.
    pub(crate) fn all_times(&self) -> impl Iterator<Item = &'a RunTimes> {
        let runs = self.set.blocks.iter();
        runs.filter_map(|run| run.times.as_deref())
    }

    /// A cell's values on the axes that vary.
    pub(crate) fn labels(&self, cell: &Cell<'_>, within_task: bool) -> Vec<Entry> {
        let places = self.shown_axes(within_task);
        if places.is_empty() {
            // A single cell is named by its matrix or its model.
            let is_single = self.cells.len() == 1;
            let name = if is_single {
                &self.set.plan.name
            } else {
                &cell.info.key
            };
            return vec![Entry::text(name)];
        }
        let places = places.iter();
        let text = |value: &str| Entry::text(if value.is_empty() { "–" } else { value });
        places
            .map(|&place| text(self.value(&cell.info.axes[place])))
            .collect()
    }

    /// Name of a cell, from the axes that distinguish it: `batch-size 8, workers 4`. The axis `without` is left out.
    pub(crate) fn name(&self, cell: &Cell<'_>, without: Option<usize>) -> String {
        let axes = if cell.is_measured() {
            &self.telling_in_task
        } else {
            &self.varying
        };
        let places = axes.iter().filter(|&&place| Some(place) != without);
        let none = if self.cells.len() == 1 {
            "the cell"
        } else {
            "all cells"
        };
        self.on_axes(cell, places, none)
    }

    /// Name of a cell from the axes that distinguish it from all cells, measured or not.
    pub(crate) fn name_in_plan(&self, cell: &Cell<'_>) -> String {
        self.on_axes(cell, self.varying.iter(), "one cell")
    }

    /// The name of a cell beside its bar: that of a trial without its parameters, `trial 7`.
    pub(crate) fn bar_name(&self, cell: &Cell<'_>) -> String {
        let trial = self.axis_called("trial");
        let Some(trial) = trial.filter(|_| cell.info.trial.is_some()) else {
            return self.name(cell, None);
        };
        // The parameters are the axes after `trial`.
        let places = self.varying.iter().filter(|&&place| place <= trial);
        self.on_axes(cell, places, "all cells")
    }

    /// A cell's values on some axes as text; `none` if there are none.
    fn on_axes<'p>(
        &self,
        cell: &Cell<'_>,
        places: impl Iterator<Item = &'p usize>,
        none: &str,
    ) -> String {
        let words = places.map(|&place| self.axis_value_text(place, &cell.info.axes[place]));
        let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
        if words.is_empty() {
            none.to_owned()
        } else {
            words.join(", ")
        }
    }

    /// Axis values that these measured cells share and others do not have, as text; "all" if there are none.
    pub(crate) fn shared_name(&self, cells: &[&Cell<'_>]) -> String {
        let shared = |place: &&usize| {
            let mut texts = cells.iter().map(|cell| &cell.info.axes[**place]);
            let first = texts.next();
            texts.all(|text| Some(text) == first)
        };
        let places = self.axes_in_names.iter().filter(shared);
        self.on_axes(cells[0], places, "all")
    }

    /// A value of an axis as text: numbers with the axis' name, other values alone; empty if the cell's matrix lacks
    /// the axis.
    pub(crate) fn axis_value_text(&self, place: usize, value: &str) -> String {
        let axis = &self.set.plan.axes[place];
        match (self.names.get(value), self.names.get(&axis.name)) {
            (Some(words), _) => words.clone(),
            (None, Some(name)) if axis.display_value(value) != value => format!("{name} {value}"),
            _ => axis.display_value(value),
        }
    }

    /// The name of an axis: from `report.names`, else the axis' own name.
    pub(crate) fn axis_name(&self, place: usize) -> &str {
        let own = &self.set.plan.axes[place].name;
        self.names.get(own).unwrap_or(own)
    }

    /// A value of an axis as shown in tables: the name in `report.names`, else the value itself.
    pub(crate) fn value<'v>(&'v self, value: &'v str) -> &'v str {
        self.names.get(value).map_or(value, String::as_str)
    }

    /// Settings that all cells share, as `name = value`, without the name of the matrix.
    pub(crate) fn shared_settings(&self) -> Vec<String> {
        let Some(first) = self.cells.first() else {
            return Vec::new();
        };
        let axes = self.set.plan.axes.iter().zip(&first.info.axes).enumerate();
        axes.filter(|(place, (axis, _))| !self.varying.contains(place) && axis.name != "matrix")
            .map(|(_, (axis, value))| format!("{} = {value}", axis.name))
            .collect()
    }
}

impl<'a> Cell<'a> {
    /// The facts of the cell's seeds.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &'a RunFacts> {
        self.runs.iter().filter_map(|row| row.facts.as_ref())
    }

    /// The times of the runs that count.
    pub(crate) fn times(&self) -> impl Iterator<Item = &'a RunTimes> {
        self.counted.iter().filter_map(|run| run.times.as_deref())
    }

    /// Why this cell has no values in a table.
    pub(crate) fn why_missing(&self) -> String {
        match self.status {
            Status::Skipped | Status::Infeasible | Status::NotRun => {
                let why = if self.reason.is_empty() {
                    "not reached"
                } else {
                    self.reason
                };
                format!("not run: {why}")
            }
            Status::Done => "done, but nothing was measured: no step after the warm-up".to_owned(),
            status => format!("{status}: {}", self.reason),
        }
    }

    /// The cell's values on all axes except one.
    pub(crate) fn axis_values_except(&self, without: usize) -> Vec<&'a str> {
        let axes = self.info.axes.iter().enumerate();
        let others = axes.filter(|(place, _)| *place != without);
        others.map(|(_, value)| &**value).collect()
    }

    /// Whether the cell has measured times or results.
    pub(crate) fn is_measured(&self) -> bool {
        !self.counted.is_empty() && self.timing.is_some()
    }
}

fn status_of<'a>(runs: &[&'a RunRow]) -> (Status, &'a str) {
    let done = runs.iter().find(|row| row.status == Status::Done);
    done.or(runs.first())
        .map_or((Status::NotRun, ""), |row| (row.status, &row.reason))
}

fn varying(set: &ResultSet, cells: &[&CellInfo]) -> Vec<usize> {
    (0..set.plan.axes.len())
        .filter(|&place| {
            cells
                .iter()
                .any(|cell| cell.axes[place] != cells[0].axes[place])
        })
        .collect()
}

/// The axes without the name of the matrix, if the other axes suffice to distinguish the cells of each group.
fn without_matrix(
    set: &ResultSet,
    axes_in_names: &[usize],
    groups: &[Vec<&CellInfo>],
) -> Vec<usize> {
    let is_matrix = |place: &usize| set.plan.axes[*place].name == "matrix";
    let places = axes_in_names.iter().copied();
    let others: Vec<usize> = places.filter(|place| !is_matrix(place)).collect();
    let are_different = |cells: &Vec<&CellInfo>| {
        let values = cells.iter().map(|cell| {
            let values = others.iter().map(|place| &*cell.axes[*place]);
            values.collect::<Vec<&str>>()
        });
        values.collect::<BTreeSet<_>>().len() == cells.len()
    };
    if !others.is_empty() && groups.iter().all(are_different) {
        others
    } else {
        axes_in_names.to_vec()
    }
}

/// A cell together with the view of its results.
#[derive(Clone, Copy)]
pub(crate) struct CellInView<'v, 'a> {
    pub(crate) view: &'v View<'a>,
    pub(crate) cell: &'v Cell<'a>,
}
