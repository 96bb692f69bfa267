//! `[search]`: the space, the sampler, the pruner, the objectives; and the description of trials in results.
//!
//! A matrix without a search lists its cells. With one, each cell of the matrix is a *study*: `trials` cells, each of
//! which takes values of the search space that a sampler proposes (module `search`).

mod check;
mod condition;
mod domain;
pub mod objective;
mod point;
mod read;
mod searched;
mod section;
mod space;
mod study;
mod written;

pub use point::{Point, Value};
pub use section::{
    FailedTrials, FloatSection, HalvingSection, IntSection, MedianSection, NoSettings,
    Nsga2Section, ObjectiveSection, PrunerSpec, SamplerSpec, SearchSection, TpeSection,
};
pub use space::{Condition, Domain, Parameter, Space};

pub(super) use check::{check, names_of_metrics};
pub use objective::ObjectiveDirection;
pub(super) use read::read;
pub(super) use searched::StudyList;
pub(super) use written::SpaceParameter;

use serde::{Deserialize, Serialize};

/// Most studies of a search.
const MOST_STUDIES: usize = 10_000;

/// `[search]`, read and checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchSpec {
    /// The parameters, in manifest order.
    pub space: Space,
    /// How parameter values are proposed.
    pub sampler: SamplerSpec,
    /// Which trials end early.
    pub pruner: PrunerSpec,
    /// What is optimised; at least one objective.
    pub objectives: Vec<ObjectiveSpec>,
    /// Number of trials of each study.
    pub trials: usize,
    /// Number of concurrent trials, if the command line does not set it.
    pub jobs: usize,
    /// Sampler and pruner decide about trial `i` from trials `0 … i − lag − 1`, which must have ended before.
    pub lag: usize,
    /// Seed of the sampler and of the choice of regret runs.
    pub seed: u64,
    /// Seconds after which the search begins no further trial; `None` for no limit.
    pub max_time_s: Option<f64>,
    /// Cost (`[cost]`) after which the search begins no further trial; `None` for no limit.
    pub max_cost: Option<f64>,
    /// Number of pruned trials of each study that are repeated without pruning, to see what pruning missed.
    pub regret: usize,
    /// Number of best trials of each study whose predictions are averaged at the end; 0 for none.
    pub ensemble: usize,
    /// How the sampler treats trials without a value.
    #[serde(default, skip_serializing_if = "crate::manifest::is_default")]
    pub failed: FailedTrials,
    /// Overrides for the final training of the best configuration (`best.toml`), by full dotted path.
    pub final_set: serde_json::Map<String, serde_json::Value>,
}

impl SearchSpec {
    /// Whether the choice and the pruning of a trial depend on earlier trials.
    pub fn depends_on_results(&self) -> bool {
        let proposes = matches!(self.sampler, SamplerSpec::Tpe(_) | SamplerSpec::Nsga2(_));
        proposes || self.pruner.prunes()
    }

    /// Whether the same seed may give other trials, because decisions depend on measured times.
    pub fn depends_on_clock(&self) -> bool {
        let has_limit = self.max_time_s.is_some() || self.max_cost.is_some();
        has_limit || self.objectives.iter().any(|one| one.depends_on_clock)
    }
}

/// What is optimised (`search.objective`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveSpec {
    /// Column of the results, metric, or derived value (`results::objective`).
    pub column: String,
    /// Whether lower or higher values are better.
    pub direction: ObjectiveDirection,
    /// Whether the objective's values are measured by a clock, so that the same seed may give other trials.
    pub depends_on_clock: bool,
    /// Whether a command declares the objective as a metric that is not a time, so that epochs may contain it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_declared: bool,
}

impl ObjectiveSpec {
    /// The column that a pruner uses after each epoch ([`objective::pruner_column`]); `None` if epochs have none for
    /// this objective.
    pub fn pruner_column(&self) -> Option<String> {
        let plain = self.column.strip_prefix("best_").unwrap_or(&self.column);
        let own = self.is_declared.then(|| plain.to_owned());
        own.or_else(|| objective::pruner_column(&self.column))
    }
}

/// What results store about a trial besides its row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialInfo {
    /// Index of the study, that is of its cell in the rows of the matrix, from 0.
    pub study: usize,
    /// Number of the trial in its study, from 0.
    pub number: usize,
    /// Why the trial was run.
    #[serde(default, skip_serializing_if = "TrialRole::is_trial")]
    pub role: TrialRole,
    /// Values of the space's parameters.
    pub point: Point,
    /// Values of the objectives in the columns' units; `None` if the trial has none.
    #[serde(default)]
    pub values: Vec<Option<f64>>,
    /// Why and when the trial was pruned, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pruned: Option<PrunedInfo>,
}

/// The purpose of a cell of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialRole {
    /// A trial that the sampler proposed.
    #[default]
    Trial,
    /// A pruned trial, repeated without pruning.
    Regret,
    /// The mean of the best trials' predictions.
    Ensemble,
}

impl TrialRole {
    /// Whether the sampler proposed the trial.
    pub fn is_trial(&self) -> bool {
        *self == Self::Trial
    }
}

/// Why a trial was pruned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrunedInfo {
    /// Step (epoch, from 0) after which the trial was pruned.
    pub step: usize,
    /// Column of `epochs.csv` that the pruner watched.
    pub metric: String,
    /// The value that the pruner compared, in the column's unit: the trial's best so far, or its value at that step
    /// with successive halving. NaN (`null` in files) if the trial had no finite value.
    #[serde(deserialize_with = "number_or_nan")]
    pub value: f64,
    /// The threshold that the value was compared with (the median, the rung's limit), in the column's unit; NaN if
    /// there was none.
    #[serde(deserialize_with = "number_or_nan")]
    pub threshold: f64,
    /// Number of trials from which the threshold was computed.
    pub trials: Vec<usize>,
}

/// Deserializes a number; `null` becomes NaN, which JSON cannot express.
fn number_or_nan<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_that_was_pruned_for_want_of_a_number_is_read_back() {
        let pruned = PrunedInfo {
            step: 3,
            metric: "val_loss".to_owned(),
            value: f64::NAN,
            threshold: 0.25,
            trials: vec![1, 4],
        };
        let text = serde_json::to_string(&pruned).expect("JSON");
        let read: PrunedInfo = serde_json::from_str(&text).expect("read back");
        assert!(read.value.is_nan());
        assert_eq!((read.threshold, read.trials), (0.25, vec![1, 4]));
    }
}
