//! [`ComparedQuantity`]: a number by which the runs of two cells are compared, such as the time per sample.

use serde_json::Value;

use crate::compare::{CellPair, Ratio};
use crate::report::clock::wall_s;
use crate::report::language::{Words, messages};
use crate::report::sections::cost::{Prices, SECONDS, cores, is_on_gpu};
use crate::report::sections::difference::part;
use crate::report::sections::reach::Target;
use crate::report::view::{Cell, CellInView};
use crate::results::{BlockRow, Interval, interval_over_runs, value};

use super::spread::{Runs, of_runs};

/// A number by which runs are compared: a time (per sample, of validation, until a loss is reached) or a price.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ComparedQuantity {
    SampleTime,
    Startup,
    Training,
    Validation,
    Pass,
    PassSample,
    Evaluation,
    WholeRun,
    /// Training time until a value of a metric is reached.
    Until(Target),
    /// Training time until the loss that both cells reach.
    UntilEqual(Target),
    /// Core-hours and GPU-hours × the manifest's prices, costly evaluation excluded.
    Price(Prices),
}

messages! {
    figure_startup() = "start-up" | "Start";
    figure_training() = "training" | "Training";
    figure_validation() = "validation, whole run" | "Validierung, ganzer Lauf";
    figure_pass() = "one validation" | "eine Validierung";
    figure_pass_sample() = "validation, per sample" | "Validierung, je Sample";
    figure_evaluation() = "verification and selection" | "Verifikation und Auswahl";
    figure_whole_run() = "whole run" | "ganzer Lauf";
    figure_price() = "price of a training run" | "Preis eines Trainingslaufs";
    figure_equal(loss) = "training until the loss that both reach ({loss})" | "Training bis zum Loss, den beide erreichen ({loss})";
    figure_until(target) = "training until {target}" | "Training bis {target}";
    not_reached(best) = "not reached: best {best}" | "nicht erreicht: bester Wert {best}";
}

impl ComparedQuantity {
    /// The loss that all seeds of both cells reach: the largest of their best losses, on validation data if there are
    /// any. `None` if an untrained model is as good.
    pub(crate) fn equal_loss(both: [CellInView<'_, '_>; 2]) -> Option<Self> {
        let cells = both.map(|at| at.cell);
        let is_validated = |cell: &Cell<'_>| {
            let mut epochs = cell.epochs.iter();
            epochs.any(|row| row.epoch.validation.contains_key("val_loss"))
        };
        let name = if cells.into_iter().all(is_validated) {
            "val_loss"
        } else {
            "train_loss"
        };
        let target = Target::common_target(name, &cells)?;
        let has_curve = cells
            .iter()
            .all(|cell| target.best_of_all_seeds(cell).is_some());
        has_curve.then_some(Self::UntilEqual(target))
    }

    /// The figure's value in a run; `None` if the run has none.
    fn of_run(&self, at: CellInView<'_, '_>, run: &BlockRow) -> Option<f64> {
        let times = run.times.as_deref()?;
        match self {
            Self::SampleTime => at.view.set.plan.sample_ms(at.cell.info, run),
            Self::Validation => (passes(at, run.seed)? > 0.0).then_some(times.validation_s),
            Self::Pass => seconds_of_pass(at, run),
            Self::PassSample => Some(seconds_of_pass(at, run)? / samples_of_pass(at)? * 1e3),
            Self::Until(target) | Self::UntilEqual(target) => target.seconds(at.cell, run),
            Self::Price(prices) => {
                // Costly evaluation is in the first block only.
                let hours = (wall_s(run)? - times.assessment_s.unwrap_or(0.0)) / SECONDS;
                let gpu = f64::from(u8::from(is_on_gpu(at.view, at.cell))) * hours;
                Some(prices.of(hours * cores(at.view, at.cell, run)?, gpu))
            }
            _ => value(run, self.column()),
        }
    }

    /// The figure's column of `blocks.csv`; empty if it has none.
    fn column(&self) -> &'static str {
        match self {
            Self::Startup => "startup_s",
            Self::Training => "train_s",
            Self::Evaluation => "assessment_s",
            Self::WholeRun => "total_s",
            _ => "",
        }
    }

    /// The figure's displayed name.
    pub(crate) fn name(&self, words: Words) -> String {
        match self {
            Self::SampleTime => words.timed(),
            Self::Startup => words.figure_startup(),
            Self::Training => words.figure_training(),
            Self::Validation => words.figure_validation(),
            Self::Pass => words.figure_pass(),
            Self::PassSample => words.figure_pass_sample(),
            Self::Evaluation => words.figure_evaluation(),
            Self::WholeRun => words.figure_whole_run(),
            Self::Price(_) => words.figure_price(),
            Self::Until(target) => words.figure_until(condition(words, target)),
            Self::UntilEqual(target) => words.figure_equal(condition(words, target)),
        }
    }

    /// Formats a value of the figure, with its unit.
    pub(crate) fn show(&self, words: Words, value: f64) -> String {
        match self {
            Self::SampleTime | Self::PassSample => words.seconds(value / 1e3),
            Self::Price(prices) => format!("{} {}", words.number(value, 3), prices.currency),
            _ => words.seconds(value),
        }
    }

    /// The figure's value in each counted run.
    pub(crate) fn values_by_run(&self, at: CellInView<'_, '_>) -> Runs {
        of_runs(at.cell, &|run| self.of_run(at, run))
    }

    /// Text shown instead of the figure if a cell does not have it.
    pub(crate) fn missing_text(&self, words: Words, at: CellInView<'_, '_>) -> String {
        let (Self::Until(target) | Self::UntilEqual(target)) = self else {
            return "–".to_owned();
        };
        let mut runs = at.cell.blocks.iter();
        let is_reached = runs.any(|run| target.epochs(at.cell, run.seed).is_some());
        let best = target.best_of_all_seeds(at.cell).filter(|_| !is_reached);
        best.map_or_else(
            || "–".to_owned(),
            |best| words.not_reached(words.number(best, 4)),
        )
    }

    /// The ratio of this figure that the comparison has computed, if any.
    pub(crate) fn compared_ratio(&self, pair: &CellPair) -> Option<Ratio> {
        let mut timings = pair.timings.iter();
        match self {
            Self::SampleTime => pair.judgement.ratio,
            _ => timings
                .find(|timing| timing.column == self.column())
                .map(|timing| timing.ratio),
        }
    }

    /// The figure's median over the counted runs, with its interval; if it is a column of `timings.csv`, the value
    /// there.
    pub(crate) fn median_over_runs(&self, at: CellInView<'_, '_>) -> Option<Interval> {
        let known = at.cell.timing.and_then(|row| row.values.get(self.column()));
        known.copied().or_else(|| {
            let values: Vec<f64> = self.values_by_run(at).into_values().collect();
            interval_over_runs(&at.cell.info.key, &values)
        })
    }
}

/// A target as text: `val_loss ≤ 0.9973`.
fn condition(words: Words, target: &Target) -> String {
    let sign = if target.is_higher_better {
        "≥"
    } else {
        "≤"
    };
    format!("{} {sign} {}", target.metric, words.number(target.value, 4))
}

/// Number of validations in a run of `seed`: one per epoch with validation metrics, plus one of the averaged weights if
/// the manifest asks for it; `None` without any.
fn passes(at: CellInView<'_, '_>, seed: u64) -> Option<f64> {
    let epochs = at.cell.epochs.iter();
    let validated = epochs.filter(|row| row.seed == seed && !row.epoch.validation.is_empty());
    let count = validated.count();
    let ensemble = part(at.view, at.cell, "validation.ensemble").is_some_and(Value::is_number);
    (count > 0).then_some(count as f64 + f64::from(u8::from(ensemble)))
}

/// Samples that one validation sees: `batches × batch-size` if the split is repeated to fill them; otherwise `None`,
/// since no results file contains the size of the split.
fn samples_of_pass(at: CellInView<'_, '_>) -> Option<f64> {
    let get = |key: &str| part(at.view, at.cell, &format!("validation.{key}"));
    let is_cycle = get("cycle").and_then(Value::as_bool).unwrap_or(false);
    let batches = get("batches").and_then(Value::as_f64)?;
    let size = get("batch-size").and_then(Value::as_f64)?;
    is_cycle.then_some(batches * size)
}

/// Seconds of one validation: the run's validation time (including two evaluations of the fixed batch) ÷ its number of
/// validations.
fn seconds_of_pass(at: CellInView<'_, '_>, run: &BlockRow) -> Option<f64> {
    Some(run.times.as_deref()?.validation_s / passes(at, run.seed)?)
}
