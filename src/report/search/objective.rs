//! [`Objective`]: a quantity that a search optimises, with its formatting for tables and plots.

use crate::base::units::{
    human, human_bytes, human_integer, human_si, round_significant, shortest,
};
use crate::plan::search::objective::METRIC_PREFIXES;
use crate::plan::search::{ObjectiveDirection, SearchSpec};
use crate::report::measure::{Measure, column_words, superlative};
use crate::report::plot::ScaleKind;
use crate::report::table::{Column, Entry};
use crate::results::{fixed_column, fixed_unit};

use super::trial::Trial;

/// Significant digits of an objective's value.
const DIGITS: usize = 5;

/// An objective of the search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Objective {
    /// Index among the objectives.
    pub(crate) place: usize,
    /// Column of the results that holds the objective's values: `best_loss`.
    pub(crate) column: String,
    /// Displayed name of the column: `best loss`.
    pub(crate) name: String,
    pub(crate) direction: ObjectiveDirection,
    pub(crate) is_per_run: bool,
    unit: String,
}

impl Objective {
    /// The objectives, in manifest order.
    pub(crate) fn all(spec: &SearchSpec) -> Vec<Self> {
        let objectives = spec.objectives.iter().enumerate();
        let one = |(place, objective): (usize, &crate::plan::search::ObjectiveSpec)| {
            let column = &objective.column;
            let unit = match (fixed_unit(column), column.starts_with("flops_to")) {
                (_, true) => "FLOP".to_owned(),
                ("1", _) => String::new(),
                (unit, _) => unit.to_owned(),
            };
            Self {
                place,
                name: column_words(column),
                column: column.clone(),
                direction: objective.direction,
                is_per_run: objective.depends_on_clock,
                unit,
            }
        };
        objectives.map(one).collect()
    }

    /// A trial's value, in the column's unit.
    pub(crate) fn value(&self, trial: &Trial<'_, '_>) -> Option<f64> {
        let value = trial.info.values.get(self.place).copied().flatten();
        value.filter(|value| value.is_finite())
    }

    /// The value of a trial, with its sign such that smaller is better.
    pub(crate) fn loss(&self, trial: &Trial<'_, '_>) -> Option<f64> {
        self.value(trial).map(|value| self.direction.as_loss(value))
    }

    /// Whether the objective is computed from data (a loss or a metric), so that the best of many is an optimistic
    /// value.
    pub(super) fn is_of_data(&self) -> bool {
        let column = &*self.column;
        let is_metric = || {
            let mut starts = METRIC_PREFIXES.iter();
            fixed_column(column).is_none() && starts.any(|start| column.starts_with(start))
        };
        ["best_loss", "eval_loss_after"].contains(&column) || is_metric()
    }

    /// Name of the best value: "Best loss", "Highest test accuracy".
    pub(crate) fn best_in_words(&self) -> String {
        let is_higher_better = self.direction == ObjectiveDirection::Maximize;
        superlative(&self.name, is_higher_better)
    }

    /// The objective with its direction: `best_loss (minimized)`.
    pub(crate) fn goal(&self) -> String {
        let word = match self.direction {
            ObjectiveDirection::Minimize => "minimized",
            ObjectiveDirection::Maximize => "maximized",
        };
        format!("{} ({word})", self.column)
    }

    /// A value formatted for display, with its unit if that is part of the text.
    pub(crate) fn show(&self, value: f64) -> String {
        match &*self.unit {
            "FLOP" => human_si(value, "FLOP"),
            "bytes" => human_bytes(value.max(0.0).round() as u64),
            _ if value >= 0.0 && value.fract() == 0.0 && value < 1e15 => {
                human_integer(value as u64)
            }
            _ if (1e-4..1e6).contains(&value.abs()) => {
                shortest(round_significant(value, DIGITS)).unwrap_or_default()
            }
            _ => human(value, DIGITS),
        }
    }

    /// Unit of the objective's column; empty if the texts of the values contain it.
    pub(crate) fn unit(&self) -> &str {
        match &*self.unit {
            "FLOP" | "bytes" => "",
            unit => unit,
        }
    }

    /// Scale of an axis: logarithmic if values span a factor of 10 and have no upper bound.
    pub(crate) fn scale(&self, values: &[f64]) -> ScaleKind {
        Measure::of(&self.column).scale(values)
    }

    /// Label of an axis: `best loss in s`.
    pub(crate) fn label(&self) -> String {
        if self.unit.is_empty() {
            self.name.clone()
        } else {
            format!("{} in {}", self.name, self.unit)
        }
    }

    /// The objective's column in a table over trials.
    pub(crate) fn heading(&self) -> Column {
        let formula = match &*self.column {
            "flops_to_best" => {
                "forward and backward FLOPs per sample × samples until the end of the best epoch"
            }
            "parameters" => "values of all parameters, counted",
            "first_epoch_at_target" => {
                "first epoch, from 0, at which report.target is reached; the number of epochs where none reached it"
            }
            _ => return Column::measured(&self.name, self.unit(), "n = 1: one run"),
        };
        Column::derived(&self.name, self.unit(), formula)
    }

    /// A trial's field in the objective's column.
    pub(crate) fn entry(&self, trial: &Trial<'_, '_>) -> Entry {
        Entry::shown(self.value(trial), |value| self.show(value))
    }
}
