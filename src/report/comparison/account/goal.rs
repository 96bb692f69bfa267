//! [`Goal`]: a value of a metric, and the training time until it is reached.

use crate::report::comparison::scene::At;
use crate::report::language::{Words, messages};
use crate::report::sections::reach::Target;
use crate::report::view::Cell;

use super::figure::Kind;
use super::rows::Measure;
use super::spread::{Runs, of_runs};

/// A value of a metric to reach.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Goal {
    target: Target,
    is_equal: bool,
}

messages! {
    goal_equal(loss) = "training until the loss that both reach ({loss})" | "Training bis zum Loss, den beide erreichen ({loss})";
    goal_target(target) = "training until {target}" | "Training bis {target}";
    goal_not_reached(best) = "not reached: best {best}" | "nicht erreicht: bester Wert {best}";
    goal_no_curve() = "not measured: no epoch has this metric" | "nicht gemessen: keine Epoche hat diese Metrik";
    goal_no_times() = "not measured: no run has the time of its training" | "nicht gemessen: kein Lauf hat die Zeit seines Trainings";
    goal_source() = "derived (training × epochs until then ÷ epochs, per run; median)" | "abgeleitet (Training × Epochen bis dahin ÷ Epochen, je Lauf; Median)";
}

impl Goal {
    /// The loss that every seed of both cells reaches: the largest of their best. Validation where there is one. `None` where a
    /// model without training is as good.
    pub(crate) fn equal_loss(both: [At<'_, '_>; 2]) -> Option<Self> {
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
        let target = Target::equal(name, &cells)?;
        let has_curve = cells.iter().all(|cell| target.of_all(cell).is_some());
        has_curve.then_some(Self {
            target,
            is_equal: true,
        })
    }

    /// The targets of the manifest's `[report]`.
    pub(crate) fn targets(at: At<'_, '_>) -> Vec<Self> {
        let goal = |target| Self {
            target,
            is_equal: false,
        };
        Target::all(at.view).into_iter().map(goal).collect()
    }

    /// `val_loss ≤ 0.9973`.
    pub(crate) fn condition(&self, words: Words) -> String {
        let target = &self.target;
        let sign = if target.is_higher_better {
            "≥"
        } else {
            "≤"
        };
        format!("{} {sign} {}", target.metric, words.number(target.value, 4))
    }
}

impl Measure for Goal {
    fn id(&self) -> String {
        format!("until {} {}", self.target.metric, self.target.value)
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
        of_runs(at.cell, &|run| self.target.seconds(at.cell, run))
    }

    fn source(&self, words: Words, _: At<'_, '_>) -> String {
        words.goal_source()
    }

    fn why_missing(&self, words: Words, at: At<'_, '_>) -> String {
        let is_reached = at
            .cell
            .blocks
            .iter()
            .any(|run| self.target.epochs(at.cell, run.seed).is_some());
        match self.target.of_all(at.cell) {
            None => words.goal_no_curve(),
            Some(_) if is_reached => words.goal_no_times(),
            Some(best) => words.goal_not_reached(words.number(best, 4)),
        }
    }
}
