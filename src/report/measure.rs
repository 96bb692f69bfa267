//! [`Measure`]: a column of the results in answers: displayed name, unit, direction, and the values of a cell.

use crate::base::statistics::range;
use crate::base::text::capitalised;
use crate::base::units::human_si;
use crate::event::{EpochRow, RunFacts};
use crate::plan::search::ObjectiveDirection;
use crate::report::number::{MIB, Number, mebibytes, number_over_seeds};
use crate::report::plot::ScaleKind;
use crate::report::table::{Column, Entry};
use crate::report::timing::timing;
use crate::report::view::Cell;
use crate::results::{BlockRow, Direction, PlanFile, RunRow, fixed_column, fixed_unit, objective};

/// Where a value comes from: session, block, and index of the run among the cell's runs of that session and block; for
/// a fact only the seed.
pub(crate) type Origin<'a> = (Option<&'a str>, usize, u64);

/// The counted runs of a cell with their origins.
pub(crate) fn runs_by_origin<'a>(
    cell: &Cell<'a>,
) -> impl Iterator<Item = (Origin<'a>, &'a BlockRow)> {
    cell.counted.iter().enumerate().map(|(place, run)| {
        let of = |run: &'a BlockRow| (run.session.as_deref(), run.block);
        let (session, block) = of(run);
        let before = cell.counted[..place].iter();
        let number = before.filter(|other| of(other) == (session, block)).count();
        ((session, block, number as u64), *run)
    })
}

/// For each of two cells, the values whose origin (seed, or session and block) the other cell has too. Comparing all
/// values would also compare different seeds, or sessions in which the machine had a different speed.
pub(crate) fn values_of_common_origin(cells: [&[(Origin<'_>, f64)]; 2]) -> [Vec<f64>; 2] {
    let [one, other] = cells;
    [(one, other), (other, one)].map(|(own, beside)| {
        let is_common = |origin: &Origin<'_>| beside.iter().any(|(other, _)| other == origin);
        let common = own.iter().filter(|(origin, _)| is_common(origin));
        common.map(|(_, value)| *value).collect()
    })
}

/// A column of the results, or a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measure {
    /// The measure's name in the CSV files.
    pub(crate) column: String,
    /// The measure's name in words: `validation accuracy`.
    pub(crate) name: String,
    /// Unit of printed values; empty for a plain number, or if the text contains the unit.
    pub(crate) unit: String,
    /// Whether each run has a value (a time or a hardware counter) rather than each seed.
    pub(crate) is_per_run: bool,
    /// Whether more is better, as a command declares it for its metric; `None` for all other columns, and if the
    /// command declares no direction.
    declared: Option<bool>,
}

impl Measure {
    /// The measure of a column.
    pub(crate) fn of(column: &str) -> Self {
        Self {
            column: column.to_owned(),
            name: column_words(column),
            unit: match fixed_unit(column) {
                "bytes" => "MiB".to_owned(),
                "1" | "FLOP" => String::new(),
                unit => unit.to_owned(),
            },
            is_per_run: objective::varies_between_runs(column),
            declared: None,
        }
    }

    /// The memory of training: GPU memory if every cell was trained on a GPU, else the memory of the process.
    pub(crate) fn of_memory(cells: &[&Cell<'_>]) -> Self {
        let on_gpu = Self::of("peak_device_bytes");
        let is_on_gpu = |cell: &&Cell<'_>| on_gpu.number(cell).is_some();
        if !cells.is_empty() && cells.iter().all(is_on_gpu) {
            return on_gpu;
        }
        Self::of("peak_train_bytes")
    }

    /// The measure of a column of `plan`, which may be one that a command declares.
    pub(crate) fn of_plan(plan: &PlanFile, column: &str) -> Self {
        let usual = Self::of(column);
        let declared = plan.columns.iter().find(|known| known.name == column);
        let Some(declared) = declared.filter(|_| fixed_column(column).is_none()) else {
            return usual;
        };
        let unit = Some(declared.unit.clone()).filter(|unit| unit != "1");
        Self {
            unit: unit.unwrap_or_default(),
            is_per_run: usual.is_per_run || declared.is_time,
            declared: match declared.direction {
                Direction::None => None,
                direction => Some(direction == Direction::Higher),
            },
            ..usual
        }
    }

    /// Whether more is better.
    pub(crate) fn is_higher_better(&self) -> bool {
        self.declared.unwrap_or_else(|| {
            objective::direction(&self.column) == Some(ObjectiveDirection::Maximize)
        })
    }

    /// The value with its sign changed, if necessary, so that smaller is better.
    pub(crate) fn lower_is_better(&self, value: f64) -> f64 {
        if self.is_higher_better() {
            -value
        } else {
            value
        }
    }

    /// Whether this is a time or a rate of training.
    pub(crate) fn is_time(&self) -> bool {
        matches!(&*self.unit, "s" | "ms" | "samples/s")
    }

    /// Title of the best cell: `Fastest`, `Highest validation accuracy`, `Lowest memory`.
    pub(crate) fn superlative(&self) -> String {
        if self.is_time() {
            "Fastest".to_owned()
        } else {
            superlative(&self.name, self.is_higher_better())
        }
    }

    /// A value inside a sentence: `10.7 samples/s (10.4–10.9)`, `0.53 s an epoch`, `validation accuracy 0.91`.
    pub(crate) fn in_sentence(&self, number: &Number) -> String {
        let shown = number.text_with_interval();
        match &*self.column {
            "epoch_s" => format!("{shown} an epoch"),
            "step_ms" => format!("{shown} a step"),
            _ if self.unit.is_empty() => format!("{} {shown}", self.name),
            _ => shown,
        }
    }

    /// The cell's values in the measure's unit: one for each counted run if [`Self::is_per_run`], else one for each seed.
    pub(crate) fn values(&self, cell: &Cell<'_>) -> Vec<f64> {
        let values = self.by_origin(cell).into_iter();
        values.map(|(_, value)| value).collect()
    }

    /// [`Self::values`] with their origins.
    pub(crate) fn by_origin<'a>(&self, cell: &Cell<'a>) -> Vec<(Origin<'a>, f64)> {
        let values: Vec<(Origin<'a>, f64)> = if self.is_per_run {
            let runs = runs_by_origin(cell);
            let valued = runs.filter_map(|(origin, run)| Some((origin, self.of_run(cell, run)?)));
            valued.collect()
        } else {
            let seeds = cell.runs.iter();
            let seeds =
                seeds.filter_map(|row| Some(((None, 0, row.seed), self.of_seed(cell, row)?)));
            seeds.collect()
        };
        if self.unit != "MiB" {
            return values;
        }
        // Every process uses memory: 0 means that the counter did not work.
        let known = values.into_iter().filter(|(_, bytes)| *bytes > 0.0);
        known.map(|(origin, bytes)| (origin, bytes / MIB)).collect()
    }

    fn of_run(&self, cell: &Cell<'_>, run: &BlockRow) -> Option<f64> {
        // Columns that every report reads are taken from the fields of `RunTimes`, without a detour over text.
        if let Some(times) = &run.times {
            match &*self.column {
                "samples_per_s" | "step_ms" if times.are_reported_by_program() => {}
                "samples_per_s" => return Some(times.samples_per_s),
                "step_ms" => return Some(times.step_ms),
                "epoch_s" => return times.epoch_s,
                "peak_train_bytes" => return times.peak_train_bytes.map(|bytes| bytes as f64),
                _ => {}
            }
        }
        let row = cell.runs.iter().find(|row| row.seed == run.seed)?;
        let wall_s = run.wall_s.unwrap_or(f64::NAN);
        // A program that is only timed reports no facts.
        let none = RunFacts::default();
        let (facts, times) = (row.facts.as_ref().unwrap_or(&none), run.times.as_deref());
        objective::value(&self.column, facts, times, wall_s, &[], None)
    }

    fn of_seed(&self, cell: &Cell<'_>, row: &RunRow) -> Option<f64> {
        let facts = row.facts.as_ref()?;
        let of = |epochs: &[EpochRow]| {
            objective::value(&self.column, facts, None, f64::NAN, epochs, None)
        };
        // Most columns are facts of the run; epochs are read only for the others.
        of(&[]).or_else(|| {
            let epochs = cell.epochs.iter().filter(|epoch| epoch.seed == row.seed);
            of(&epochs.map(|row| row.epoch.clone()).collect::<Vec<_>>())
        })
    }

    /// The value of a cell as shown in tables.
    pub(crate) fn number(&self, cell: &Cell<'_>) -> Option<Number> {
        if self.unit == "MiB" {
            return in_words(&self.values(cell), mebibytes, "MiB");
        }
        if self.is_flops() {
            let show = |value: f64| human_si(value, "FLOP");
            return in_words(&self.values(cell), show, "");
        }
        timing(cell, &self.column).or_else(|| {
            let number = number_over_seeds(&self.values(cell))?;
            let unit = self.unit.clone();
            Some(Number { unit, ..number })
        })
    }

    /// Ends of the value's interval, in the measure's unit: from `timings.csv`, else the range of the seeds; `None` for
    /// a single value.
    pub(crate) fn ends(&self, cell: &Cell<'_>) -> Option<(f64, f64)> {
        let timing = cell
            .timing
            .filter(|_| self.is_per_run && self.unit != "MiB");
        if let Some(found) = timing.and_then(|row| row.values.get(&self.column)) {
            return found.ends();
        }
        let values = self.values(cell);
        range(&values).filter(|_| values.len() > 1)
    }

    /// Scale of an axis: logarithmic if values span a factor of 10 and have no upper bound.
    pub(crate) fn scale(&self, values: &[f64]) -> ScaleKind {
        let is_wide = range(values).is_some_and(|(low, high)| low > 0.0 && high >= 10.0 * low);
        let last = self.column.rsplit('_').next();
        let is_bounded = last.is_some_and(|last| ["accuracy", "r2"].contains(&last));
        if is_wide && !is_bounded {
            ScaleKind::Log10
        } else {
            ScaleKind::Linear
        }
    }

    fn is_flops(&self) -> bool {
        self.column.starts_with("flops_")
    }

    /// The measure's column in a table.
    pub(crate) fn heading(&self) -> Column {
        let arrow = ["↓", "↑"][usize::from(self.is_higher_better())];
        let runs = ["seeds", "runs"][usize::from(self.is_per_run)];
        let heading = format!("{} {arrow}", capitalised(&self.name));
        Column::measured(&heading, &self.unit, format!("median of n {runs}"))
    }

    /// A cell's field in the measure's column of a table.
    pub(crate) fn entry(&self, cell: &Cell<'_>) -> Entry {
        Entry::number(self.number(cell).as_ref())
    }

    /// `throughput in samples/s`, for an axis.
    pub(crate) fn label(&self) -> String {
        match &*self.unit {
            "" if self.is_flops() => format!("{} in FLOP", self.name),
            "" => self.name.clone(),
            unit => format!("{} in {unit}", self.name),
        }
    }
}

fn in_words(values: &[f64], show: impl Fn(f64) -> String, unit: &str) -> Option<Number> {
    let number = number_over_seeds(values)?;
    let entry = Entry::between(number.value, number.ends, show);
    Some(Number {
        text: entry.text,
        interval: Some(entry.detail).filter(|ends| !ends.is_empty()),
        unit: unit.to_owned(),
        ..number
    })
}

/// `Highest validation accuracy`, `Lowest memory`; for a column that is already the best over epochs: `Best validation
/// accuracy`.
pub(crate) fn superlative(name: &str, is_higher_better: bool) -> String {
    match is_higher_better {
        _ if name.starts_with("best ") => capitalised(name),
        true => format!("Highest {name}"),
        false => format!("Lowest {name}"),
    }
}

/// Suffix of the column for the first epoch with 90 % of the best value of a metric.
const AT_90: &str = "_90_epoch";

/// A column in words: `validation accuracy` for `val_accuracy`.
pub(crate) fn column_words(column: &str) -> String {
    match column {
        "samples_per_s" => "throughput".to_owned(),
        "epoch_s" => "epoch time".to_owned(),
        "step_ms" => "step time".to_owned(),
        "train_s" => "training time".to_owned(),
        "flops_forward_per_sample" => "FLOPs of a forward pass".to_owned(),
        "peak_train_bytes" => "memory".to_owned(),
        "peak_device_bytes" => "GPU memory".to_owned(),
        "total_s" => "time of a run".to_owned(),
        _ if column.ends_with(AT_90) => {
            let metric = column_words(column.trim_end_matches(AT_90));
            format!("first epoch with 90 % of the best {metric}")
        }
        _ => {
            let words = column.split('_').map(|word| match word {
                "train" => "training",
                "val" => "validation",
                "r2" => "R²",
                _ => word,
            });
            words.collect::<Vec<_>>().join(" ")
        }
    }
}
