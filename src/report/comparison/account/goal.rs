//! [`Goal`]: a value of a metric, and the training time until it is reached.

use crate::plan::ReachSpec;
use crate::report::language::{Words, messages};
use crate::report::sections::quality::is_worth_reaching;
use crate::results::{BlockRow, Direction, metric_column};

use super::figure::{At, Kind};
use super::rows::Measure;
use super::spread::{Runs, of_runs};

/// A value of a metric to reach.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Goal {
    metric: String,
    value: f64,
    is_higher_better: bool,
    is_equal: bool,
}

messages! {
    goal_equal(loss) = "training until the loss that both reach ({loss})" | "Training bis zum Loss, den beide erreichen ({loss})";
    goal_target(target) = "training until {target}" | "Training bis {target}";
    goal_not_reached(best) = "not reached: best {best}" | "nicht erreicht: bester Wert {best}";
    goal_no_curve() = "not measured: no epoch has this metric" | "nicht gemessen: keine Epoche hat diese Metrik";
    goal_source() = "derived (training × epochs until then ÷ epochs, per run; median)" | "abgeleitet (Training × Epochen bis dahin ÷ Epochen, je Lauf; Median)";
}

impl Goal {
    /// The loss that every seed of both cells reaches: the largest of their best. Validation where there is one. `None` where a
    /// model without training is as good.
    pub(crate) fn equal_loss(one: At<'_, '_>, other: At<'_, '_>) -> Option<Self> {
        let is_validated = |at: At<'_, '_>| {
            let mut epochs = at.cell.epochs.iter();
            epochs.any(|row| row.epoch.validation.contains_key("val_loss"))
        };
        let name = if is_validated(one) && is_validated(other) {
            "val_loss"
        } else {
            "train_loss"
        };
        let goal = Self {
            metric: name.to_owned(),
            value: f64::NAN,
            is_higher_better: false,
            is_equal: true,
        };
        let value = goal.best(one)?.max(goal.best(other)?);
        is_worth_reaching(value, &[one.cell, other.cell]).then_some(Self { value, ..goal })
    }

    /// The targets of the manifest's `[report]`.
    pub(crate) fn targets(at: At<'_, '_>) -> Vec<Self> {
        let section = at.view.set.plan.report.get("target").cloned();
        let specs: Vec<ReachSpec> = section
            .and_then(|section| serde_json::from_value(section).ok())
            .unwrap_or_default();
        let goal = |spec: ReachSpec| Self {
            is_higher_better: metric_column(&spec.metric).direction == Direction::Higher,
            metric: spec.metric,
            value: spec.value,
            is_equal: false,
        };
        specs.into_iter().map(goal).collect()
    }

    /// `val_loss ≤ 0.9973`.
    pub(crate) fn condition(&self, words: Words) -> String {
        let sign = if self.is_higher_better { "≥" } else { "≤" };
        format!("{} {sign} {}", self.metric, words.number(self.value, 4))
    }

    /// Epochs until it is reached.
    fn epochs(&self, at: At<'_, '_>, seed: u64) -> Option<usize> {
        let mut curve = self.curve(at, seed);
        let found = curve.find(|(_, value)| self.loss(*value) <= self.loss(self.value));
        found.map(|(epoch, _)| epoch + 1)
    }

    /// The best value that every seed reaches: the worst of the seeds' best.
    fn best(&self, at: At<'_, '_>) -> Option<f64> {
        let seeds = at.cell.runs.iter().map(|row| row.seed);
        let order = |a: &f64, b: &f64| self.loss(*a).total_cmp(&self.loss(*b));
        let best = seeds.filter_map(|seed| self.curve(at, seed).map(|(_, v)| v).min_by(order));
        best.max_by(order)
    }

    /// A value, so that a smaller one is better.
    fn loss(&self, value: f64) -> f64 {
        if self.is_higher_better { -value } else { value }
    }

    fn curve<'c>(&'c self, at: At<'c, 'c>, seed: u64) -> impl Iterator<Item = (usize, f64)> + 'c {
        let own = at.cell.epochs.iter().filter(move |row| row.seed == seed);
        own.filter_map(|row| {
            let value = match &*self.metric {
                "train_loss" => row.epoch.train_loss,
                name => row.epoch.validation.get(name).copied().flatten(),
            };
            Some((row.epoch.epoch, value?))
        })
    }
}

impl Measure for Goal {
    fn id(&self) -> String {
        format!("until {} {}", self.metric, self.value)
    }

    fn name(&self, words: Words) -> String {
        let condition = self.condition(words);
        if self.is_equal {
            words.goal_equal(condition)
        } else {
            words.goal_target(condition)
        }
    }

    fn kind(&self) -> Kind {
        Kind::Seconds
    }

    /// Seconds of training until it is reached, of each run whose seed reached it.
    fn runs(&self, at: At<'_, '_>) -> Runs {
        of_runs(at.cell, &|run: &BlockRow| {
            let row = at.cell.runs.iter().find(|row| row.seed == run.seed)?;
            let epochs = row.facts.as_ref()?.epochs;
            let until = self.epochs(at, run.seed)?;
            (epochs > 0).then_some(())?;
            Some(run.times.as_ref()?.train_s * until as f64 / epochs as f64)
        })
    }

    fn source(&self, words: Words, _: At<'_, '_>) -> String {
        words.goal_source()
    }

    fn why_missing(&self, words: Words, at: At<'_, '_>) -> String {
        self.best(at).map_or_else(
            || words.goal_no_curve(),
            |best| words.goal_not_reached(words.number(best, 4)),
        )
    }
}
