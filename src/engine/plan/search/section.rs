//! The keys of `[search]`, `search.sampler` and `search.pruner` as a manifest writes them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ObjectiveDirection;

/// A search for good settings (`[search]`). Every cell of the matrix is a study of its own; without a matrix there is one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SearchSection {
    /// Trials of each study. Needed, but for the sampler `grid`, which tries every combination.
    #[schemars(range(min = 1))]
    pub trials: Option<usize>,
    /// Trials that run at one time; `--jobs` overrides it. Of one study, at most `lag` + 1.
    #[schemars(range(min = 1))]
    pub jobs: usize,
    /// Sampler and pruner decide about trial `i` from trials `0 … i − lag − 1` of its study alone, and wait for them, so that
    /// the same seed gives the same trials for any number of jobs.
    pub lag: usize,
    /// Seed of the sampler, and of the sample that `regret` runs again.
    pub seed: u64,
    /// Seconds after which no further trial begins.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_time: Option<f64>,
    /// Cost, by the prices of `[cost]`, after which no further trial begins.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_cost: Option<f64>,
    /// Pruned trials of each study that are run to their end after all, to measure what pruning missed.
    pub regret: usize,
    /// Best trials of each study whose predictions are averaged at the end; 0 for none. Every trial keeps its weights then.
    pub ensemble: usize,
    /// What trials without a value tell the samplers `tpe` and `nsga2`.
    pub failed: FailedTrials,
}

impl Default for SearchSection {
    fn default() -> Self {
        Self {
            trials: None,
            jobs: 1,
            lag: 4,
            seed: 0,
            max_time: None,
            max_cost: None,
            regret: 0,
            ensemble: 0,
            failed: FailedTrials::default(),
        }
    }
}

/// What trials that failed, diverged, timed out or ran out of memory tell a sampler (`search.failed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FailedTrials {
    /// Trials without a value count as worse than every other trial.
    #[default]
    Worst,
    /// Trials without a value are ignored, as in Optuna.
    Ignore,
}

/// How values are proposed (`search.sampler`): a table, or its kind alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "SamplerSection")]
pub enum SamplerSpec {
    /// Every combination in order; a range of numbers needs a `step`.
    Grid(NoSettings),
    /// Independent random draws.
    Random(NoSettings),
    /// Sobol's sequence, Owen-scrambled, which fills the space more evenly than random draws.
    Sobol(NoSettings),
    /// Tree-structured Parzen estimator: prefers values that good trials had; as Optuna's `TPESampler`.
    Tpe(TpeSection),
    /// Non-dominated sorting genetic algorithm II, for several objectives; as Optuna's `NSGAIISampler`.
    Nsga2(Nsga2Section),
}

/// No settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

/// Settings of the tree-structured Parzen estimator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TpeSection {
    /// Trials drawn at random first.
    pub startup_trials: usize,
    /// Candidates drawn from the density of good trials; proposed is the one with the largest ratio of this density to
    /// that of the other trials.
    #[schemars(range(min = 1))]
    pub candidates: usize,
}

impl Default for TpeSection {
    fn default() -> Self {
        Self {
            startup_trials: 10,
            candidates: 24,
        }
    }
}

/// Settings of NSGA-II.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Nsga2Section {
    /// Trials of a generation.
    #[schemars(range(min = 2))]
    pub population: usize,
}

impl Default for Nsga2Section {
    fn default() -> Self {
        Self { population: 50 }
    }
}

impl SamplerSpec {
    /// Whether the sampler tries every combination.
    pub fn is_grid(&self) -> bool {
        matches!(self, Self::Grid(_))
    }
}

impl PrunerSpec {
    /// Whether any trial may end early.
    pub fn prunes(&self) -> bool {
        !matches!(self, Self::None(_))
    }
}

impl Default for SamplerSpec {
    fn default() -> Self {
        Self::Tpe(TpeSection::default())
    }
}

/// Which trials end early (`search.pruner`): a table, or its kind alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[schemars(rename = "PrunerSection")]
pub enum PrunerSpec {
    /// No trial ends early.
    None(NoSettings),
    /// Ends a trial whose best value so far is worse than the median of earlier trials at the same epoch; as Optuna's
    /// `MedianPruner`.
    Median(MedianSection),
    /// Ends a trial that is not among the best 1 / `reduction` of those that have reached the same rung; as Optuna's
    /// `SuccessiveHalvingPruner`.
    SuccessiveHalving(HalvingSection),
}

/// Settings of the median pruner; its steps are epochs, from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MedianSection {
    /// Number of finished trials before the first is pruned.
    pub startup_trials: usize,
    /// Epochs of a trial before it may be pruned.
    pub warmup_steps: usize,
    /// Epochs from one decision to the next.
    #[schemars(range(min = 1))]
    pub interval_steps: usize,
}

impl Default for MedianSection {
    fn default() -> Self {
        Self {
            startup_trials: 5,
            warmup_steps: 0,
            interval_steps: 1,
        }
    }
}

/// Settings of successive halving; its steps are epochs, from 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HalvingSection {
    /// Epochs of the first rung.
    #[schemars(range(min = 1))]
    pub min_resource: usize,
    /// Factor of epochs from one rung to the next; one trial in so many goes on.
    #[schemars(range(min = 2))]
    pub reduction: usize,
    /// Rungs that are left out before the first decision.
    pub early_stopping_rate: usize,
}

impl Default for HalvingSection {
    fn default() -> Self {
        Self {
            min_resource: 1,
            reduction: 4,
            early_stopping_rate: 0,
        }
    }
}

impl Default for PrunerSpec {
    fn default() -> Self {
        Self::None(NoSettings {})
    }
}

/// What is optimised (`search.objective`): a table, or its column alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ObjectiveSection {
    /// A column of `runs.csv` or `blocks.csv`, a metric (`val_accuracy`, `best_test_accuracy`), `flops_to_best`, or
    /// `first_epoch_at_target`.
    pub column: String,
    /// Whether lower or higher is better: for a column without a known direction, or to reverse it.
    #[serde(default)]
    pub direction: Option<ObjectiveDirection>,
}

/// A range of whole numbers (an entry of `search.space`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IntSection {
    /// The smallest and the largest value; both are possible.
    pub int: [i64; 2],
    /// Distance from one value to the next.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub step: Option<i64>,
    /// Whether the logarithm of the value is uniformly distributed, instead of the value.
    #[serde(default)]
    pub log: bool,
}

/// A range of numbers (an entry of `search.space`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FloatSection {
    /// The smallest and the largest value; both are possible.
    pub float: [f64; 2],
    /// Distance from one value to the next; without it, any number of the range is possible.
    #[serde(default)]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub step: Option<f64>,
    /// Whether the logarithm of the value is uniformly distributed, instead of the value.
    #[serde(default)]
    pub log: bool,
}
