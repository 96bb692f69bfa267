//! [`ObjectiveReader`]: extracts from runs what a search needs: objective values and values reported per epoch.

use crate::event::{EpochRow, Pruned, RunFacts, RunOutcome, RunTimes, Status};
use crate::plan::search::{ObjectiveDirection, ObjectiveSpec, PrunedInfo, PrunerSpec, SearchSpec};
use crate::plan::{CellSpec, MetricTargetSpec};
use crate::results::objective;

use super::TrialResult;
use super::study::reason;

#[derive(Debug)]
pub(super) struct ObjectiveReader {
    objectives: Vec<ObjectiveSpec>,
    target: Option<MetricTargetSpec>,
    /// The column of `epochs.csv` that the pruner uses.
    watched: Option<String>,
    prunes: bool,
    /// How the reason of a pruned trial names the threshold, for example "the median of".
    limit: &'static str,
}

impl ObjectiveReader {
    pub(super) fn new(spec: &SearchSpec, target: Option<&MetricTargetSpec>) -> Self {
        let first = spec.objectives.first();
        Self {
            objectives: spec.objectives.clone(),
            target: target.cloned(),
            watched: first.and_then(ObjectiveSpec::pruner_column),
            prunes: spec.pruner.prunes(),
            limit: match spec.pruner {
                PrunerSpec::SuccessiveHalving(_) => "the limit of its rung, from",
                PrunerSpec::None(_) | PrunerSpec::Median(_) => "the median of",
            },
        }
    }

    fn direction(&self) -> ObjectiveDirection {
        let first = self.objectives.first();
        first.map_or(ObjectiveDirection::Minimize, |first| first.direction)
    }

    /// Copies of the epochs without steps, to repeat the pruner's decisions; empty without a pruner.
    pub(super) fn epochs_without_steps(&self, epochs: &[EpochRow]) -> Vec<EpochRow> {
        let bare = |row: &EpochRow| EpochRow {
            steps: Vec::new(),
            ..row.clone()
        };
        let prunes = epochs.iter().filter(|_| self.prunes);
        prunes.map(bare).collect()
    }

    pub(super) fn values_of(&self, outcome: &RunOutcome) -> Vec<Option<f64>> {
        let (facts, times) = (outcome.facts.as_ref(), outcome.times.as_ref());
        self.values(facts, times, outcome.wall_s, &outcome.epochs)
    }

    pub(super) fn values(
        &self,
        facts: Option<&RunFacts>,
        times: Option<&RunTimes>,
        wall_s: f64,
        epochs: &[EpochRow],
    ) -> Vec<Option<f64>> {
        let value = |spec: &ObjectiveSpec| {
            let target = self.target.as_ref();
            objective::value(&spec.column, facts?, times, wall_s, epochs, target)
        };
        self.objectives.iter().map(value).collect()
    }

    /// The ending of a run that was not pruned: done if all objectives have finite values, else failed.
    pub(super) fn ending(&self, status: Status, values: &[Option<f64>]) -> TrialResult {
        let loss = |(spec, value): (&ObjectiveSpec, &Option<f64>)| {
            let value = value.filter(|value| value.is_finite());
            value.map(|value| spec.direction.as_loss(value))
        };
        let losses: Option<Vec<f64>> = self.objectives.iter().zip(values).map(loss).collect();
        match losses {
            Some(losses) if status == Status::Done => TrialResult::Done(losses),
            _ => TrialResult::Failed,
        }
    }

    /// The value that an epoch of `spec` reports to the pruner, smaller is better; `None` if it reports nothing. A
    /// non-finite value is not reported, since it ends the run anyway.
    pub(super) fn reported(&self, spec: &CellSpec, epoch: &EpochRow) -> Option<f64> {
        let (_, value) = self.watched(spec, epoch)?;
        Some(self.direction().as_loss(value)).filter(|loss| loss.is_finite())
    }

    fn watched<'w>(&'w self, spec: &CellSpec, epoch: &EpochRow) -> Option<(&'w str, f64)> {
        objective::epoch_value(self.watched.as_ref()?, spec.validation.every, epoch)
    }

    /// The reported values of a run of `spec`, by epoch.
    pub(super) fn curve(&self, spec: &CellSpec, epochs: &[EpochRow]) -> Vec<(usize, f64)> {
        let reported = |row: &EpochRow| Some((row.epoch, self.reported(spec, row)?));
        epochs.iter().filter_map(reported).collect()
    }

    /// Name of the `epochs.csv` column whose value an epoch reports to the pruner; empty if it reports none.
    pub(super) fn metric(&self, spec: &CellSpec, epoch: &EpochRow) -> String {
        let watched = self.watched(spec, epoch);
        watched.map_or_else(String::new, |(name, _)| name.to_owned())
    }

    /// A pruner's decision as stored in results: with the metric's name, and values in the metric's own direction.
    pub(super) fn pruned(&self, verdict: PrunedInfo, metric: &str) -> Pruned {
        // `as_loss` only changes the sign, so applying it twice gives the original value.
        let shown = |loss: f64| self.direction().as_loss(loss);
        let info = PrunedInfo {
            metric: metric.to_owned(),
            value: shown(verdict.value),
            threshold: shown(verdict.threshold),
            ..verdict
        };
        Pruned {
            reason: reason(&info, self.limit),
            info,
        }
    }
}
