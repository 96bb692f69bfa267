//! The time until a metric reaches a target value.

use std::cmp::Ordering;

use crate::base::units::{human, shortest};
use crate::plan::MetricTargetSpec;
use crate::report::table::{Entry, spread_entry};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Direction, metric_column};

use super::field::CellColumn;
use crate::report::quality::{is_worth_reaching, loss_column};

/// Significant digits of metrics.
const DIGITS: usize = 4;

/// A target: a value of a metric that a run should reach.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub(crate) metric: String,
    pub(crate) value: f64,
    pub(crate) is_higher_better: bool,
}

/// The loss that every run with a curve reaches: the largest of the runs' best losses.
///
/// `None` if the manifest has no `compare.treatment`, since only treatments are compared although their work differs,
/// or if an untrained model has that loss too.
pub(crate) fn equal_loss(view: &View<'_>) -> Option<Target> {
    view.set.plan.compare.get("treatment")?.as_str()?;
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    Target::common_target(loss_column(view), &cells)
}

impl Target {
    /// The targets of the manifest's `[report]`.
    pub(crate) fn all(view: &View<'_>) -> Vec<Self> {
        let specs: Vec<MetricTargetSpec> = view.set.plan.report_setting("target");
        let target = |spec: MetricTargetSpec| Self {
            is_higher_better: metric_column(&spec.metric).direction == Direction::Higher,
            metric: spec.metric,
            value: spec.value,
        };
        specs.into_iter().map(target).collect()
    }

    /// The value of `metric` that every seed of the cells reaches; `None` if an untrained model has this loss too.
    pub(crate) fn common_target(metric: &str, cells: &[&Cell<'_>]) -> Option<Self> {
        let mut target = Self {
            metric: metric.to_owned(),
            value: f64::NAN,
            is_higher_better: metric_column(metric).direction == Direction::Higher,
        };
        let best = cells
            .iter()
            .filter_map(|cell| target.best_of_all_seeds(cell));
        target.value = best.max_by(|a, b| target.order(*a, *b))?;
        (target.is_higher_better || is_worth_reaching(target.value, cells)).then_some(target)
    }

    /// The target as text: `val_accuracy ≥ 0.9`.
    pub(crate) fn words(&self) -> String {
        let sign = if self.is_higher_better { "≥" } else { "≤" };
        let value = shortest(self.value).unwrap_or_default();
        format!("{} {sign} {value}", self.metric)
    }

    /// The column with the time until the target is reached.
    pub(super) fn field<'f, 'a>(&'f self, heading: &str) -> CellColumn<'f, 'a> {
        CellColumn::derived(heading, "s", TIME, |cell| self.time(cell))
    }

    /// A cell's time to the target: median over its runs, or a text that it was not reached.
    fn time(&self, cell: &Cell<'_>) -> Entry {
        let all = || cell.runs.iter().map(|row| row.seed);
        let best = all().filter_map(|seed| self.best(cell, seed));
        let seeds = best.clone().count();
        let Some(best) = best.min_by(|a, b| self.order(*a, *b)) else {
            return Entry::text("–");
        };
        let is_reached = |seed: &u64| self.epochs(cell, *seed).is_some();
        let reached = all().filter(is_reached).count();
        if reached == 0 {
            return Entry::detailed("not reached", format!("best {}", human(best, DIGITS)));
        }
        let runs = cell.counted.iter();
        let times: Vec<f64> = runs.filter_map(|run| self.seconds(cell, run)).collect();
        let entry = spread_entry(&times, |seconds| human(seconds, 3));
        if entry.value.is_none() {
            return entry;
        }
        let alone = (times.len() == 1).then(|| "n = 1".to_owned());
        let some = (reached < seeds).then(|| format!("{reached} of {seeds} seeds reached it"));
        let ends = Some(entry.detail.clone()).filter(|ends| !ends.is_empty());
        let detail = [ends, alone, some].into_iter().flatten();
        Entry {
            detail: detail.collect::<Vec<String>>().join("; "),
            ..entry
        }
    }

    /// The best value of a seed over its epochs.
    fn best(&self, cell: &Cell<'_>, seed: u64) -> Option<f64> {
        let values = self.curve(cell, seed).map(|(_, value)| value);
        values.min_by(|a, b| self.order(*a, *b))
    }

    /// The best value that every seed with a curve reaches: the worst of the seeds' best values; `None` without a
    /// curve.
    pub(crate) fn best_of_all_seeds(&self, cell: &Cell<'_>) -> Option<f64> {
        let best = cell.runs.iter().filter_map(|row| self.best(cell, row.seed));
        best.max_by(|a, b| self.order(*a, *b))
    }

    /// Number of epochs until a seed reached the target; `None` if it did not.
    pub(crate) fn epochs(&self, cell: &Cell<'_>, seed: u64) -> Option<usize> {
        let mut curve = self.curve(cell, seed);
        let found = curve.find(|(_, value)| self.order(*value, self.value).is_le());
        found.map(|(epoch, _)| epoch + 1)
    }

    /// Seconds of training until the run's seed reached the target; `None` if it did not, or if training was not timed.
    pub(crate) fn seconds(&self, cell: &Cell<'_>, run: &BlockRow) -> Option<f64> {
        let until = self.epochs(cell, run.seed)? as f64;
        let row = cell.runs.iter().find(|row| row.seed == run.seed)?;
        let facts = row.facts.as_ref().filter(|facts| facts.epochs > 0)?;
        let training = Some(run.times.as_deref()?.train_s).filter(|seconds| *seconds > 0.0)?;
        Some(training * until / facts.epochs as f64)
    }

    /// Compares two values; the better one is `Less`.
    fn order(&self, a: f64, b: f64) -> Ordering {
        if self.is_higher_better {
            b.total_cmp(&a)
        } else {
            a.total_cmp(&b)
        }
    }

    fn curve<'c>(
        &'c self,
        cell: &'c Cell<'_>,
        seed: u64,
    ) -> impl Iterator<Item = (usize, f64)> + 'c {
        let own = cell.epochs.iter().filter(move |row| row.seed == seed);
        own.filter_map(|row| {
            let value = match &*self.metric {
                "train_loss" => row.epoch.train_loss,
                name => row.epoch.validation.get(name).copied().flatten(),
            };
            Some((row.epoch.epoch, value?))
        })
    }
}

/// How a time to a target is computed.
const TIME: &str = "training time × epochs until then ÷ epochs, per run; median";
