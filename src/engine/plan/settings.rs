//! The sections that other modules read: measurement, limits, report, comparison and prices.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::answer_part::AnswerPart;
use super::prediction::{PredictionSpec, TestedSpec};

/// What to measure (`[measure]`).
#[expect(
    clippy::struct_excessive_bools,
    reason = "the manifest's own switches, each independent of the others"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MeasureSpec {
    /// How often every cell is run with every seed. A pass over all of them is a block, each in a random order of its own;
    /// times are compared over repeats and seeds together.
    #[schemars(range(min = 1, max = 100_000))]
    pub repeats: usize,
    /// Further repeats of each cell until its time is precise: `{ relative-width = 0.02, most = 30 }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<UntilSpec>,
    /// Seeds of weights, splits, order of samples and augmentation. Every cell is trained once with each.
    pub seeds: Vec<u64>,
    /// First steps of a run that are left out of its times.
    pub warmup_steps: usize,
    /// Extra steps after training, in which every phase of a step is timed by itself: a GPU is waited for after each. With
    /// `ops`, every operation.
    #[schemars(range(min = 1))]
    pub phase_steps: usize,
    /// Whether every operation is timed, forward and backward, in `phase-steps` extra steps of each cell's first run, that of
    /// the first seed in the first block; an observed program takes as many of its own steps for it, which then count in no
    /// time. Writes `ops.csv` and `trace/`.
    pub ops: bool,
    /// Whether baselines (a constant, a linear model, the nearest training sample) are evaluated on the same splits
    /// too, where a model predicts numbers, classes or labels: `baselines.csv`, and the answer of the report.
    #[serde(skip_serializing_if = "Clone::clone")]
    #[schemars(extend("default" = true))]
    pub baselines: bool,
    /// Whether runs keep their trained weights also without `train.save-to`, for `predict`, `evaluate` and `export`: where they
    /// are below 64 MB, and those of all runs below 256 MB; of a search, those of the best five trials.
    #[serde(skip_serializing_if = "Clone::clone")]
    #[schemars(extend("default" = true))]
    pub keep_weights: bool,
    /// Seconds between two writes of the state of a run's training: an interrupted run goes on from the last one, with the same
    /// results. Without a number, 60, for runs that train longer than ten minutes only; 0 for never.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub checkpoint_every: Option<f64>,
    /// Whether losses, throughput and phases are also written as `TensorBoard` event files: `tensorboard/`.
    pub tensorboard: bool,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self {
            repeats: 1,
            until: None,
            seeds: vec![42],
            warmup_steps: 3,
            phase_steps: 5,
            ops: false,
            baselines: true,
            keep_weights: true,
            checkpoint_every: None,
            tensorboard: false,
        }
    }
}

impl MeasureSpec {
    /// Whether a run profiles its operations: if `ops` is set, the run of the first seed in the first block does. A
    /// report shows one profile of each cell.
    pub fn is_profiled_run(&self, seed: u64, block: usize) -> bool {
        self.ops && block == 0 && self.seeds.first() == Some(&seed)
    }

    /// Largest number of repeats; with `until`, cells may end earlier.
    pub fn max_repeats(&self) -> usize {
        let most = self.until.map_or(0, |until| until.most);
        most.max(self.repeats)
    }
}

/// Repeats beyond `measure.repeats` until a cell's time is precise. A cell goes on while the 95 % interval of its median time per
/// sample is wider than wanted, or that of the cell with which it is compared (`report.baseline`, `compare.treatment`); an
/// interval needs six runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct UntilSpec {
    /// Width of the interval divided by the median, at which a cell ends (0.02 is 2 %).
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub relative_width: f64,
    /// Most repeats of a cell, however wide its interval is.
    #[schemars(range(min = 1, max = 100_000))]
    pub most: usize,
}

impl Default for UntilSpec {
    fn default() -> Self {
        Self {
            relative_width: 0.02,
            most: 30,
        }
    }
}

/// When to give up on a run (`[limits]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LimitsSpec {
    /// Seconds after which a run is ended as `timeout`; without it, never.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time: Option<f64>,
    /// Bytes of memory that a run may use on the CPU (`RLIMIT_DATA`); a run that needs more ends as `oom`. Without it, what
    /// the machine has.
    #[schemars(range(min = 1))]
    pub memory: Option<u64>,
    /// A training loss above this ends the run as `diverged`; one that is not finite always does.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_loss: Option<f64>,
    /// Seconds without a sign of life from a run's process after which it is ended as `timeout`: of a process that was
    /// stopped, or hangs in the kernel. A model's training is never silent by itself. Without it, never.
    #[schemars(extend("exclusiveMinimum" = 0))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<f64>,
    /// Seconds that a command has between SIGTERM and SIGKILL, when its time is over or it is pruned.
    #[schemars(range(min = 0), extend("default" = 10))]
    #[serde(skip_serializing_if = "is_default_grace")]
    pub grace: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_default_grace(grace: &f64) -> bool {
    (*grace - LimitsSpec::default().grace).abs() < f64::EPSILON
}

impl Default for LimitsSpec {
    fn default() -> Self {
        Self {
            time: None,
            memory: None,
            max_loss: None,
            silence: None,
            grace: 10.0,
        }
    }
}

/// What to report (`[report]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ReportSpec {
    /// Templates to render; the first writes `report.md` and `report.html`. If the list is empty: `analysis`, or
    /// `search` for a manifest with `[search]`. `fieldtrial list templates` shows all.
    pub templates: Vec<String>,
    /// Parts of the answer at the head of the report, in their order. Columns of the results or metrics (`"samples_per_s"`,
    /// `"val_accuracy"`) decide which cell is best; of several, the Pareto front. Without any: quality where the axes can
    /// change it and the runs learned, else speed. Others are `"where"` (the largest phase of a step), `"memory"`, `"cost"`,
    /// `"learned"`, `{ fastest-at-equal = "best_loss" }`, `{ gain = AXIS }`, `{ along = AXIS }` and `{ scaling = AXIS }`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub answer: Vec<AnswerPart>,
    /// Words for axes and for their values: `{ a1 = "Neural SDE", "models.mlp.hidden" = "hidden units" }`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("default" = {}))]
    pub names: BTreeMap<String, String>,
    /// Languages of the template `comparison`.
    #[serde(skip_serializing_if = "is_english")]
    #[schemars(length(min = 1), extend("default" = ["en"]))]
    pub languages: Vec<Language>,
    /// Names of other results, of searches, which the template `comparison` shows too; each is compared with the last:
    /// `["detector-search", "detector-search-sequential"]`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub searches: Vec<String>,
    /// Cell that the others are compared with: a value for each axis, `{ batch-size = 8, workers = 0 }`.
    pub baseline: Option<serde_json::Map<String, serde_json::Value>>,
    /// Value of a metric that is to be reached, as a table or a list of tables: the report tells time, epochs and samples
    /// until then.
    #[serde(
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(schema_with = "one_or_many_targets", extend("default" = []))]
    pub target: Vec<MetricTargetSpec>,
    /// The knee of a batch-size curve is the smallest batch size whose throughput is at most this far below the best (0.05
    /// is 5 %).
    #[schemars(range(min = 0, max = 0.5))]
    pub knee: f64,
    /// Figures that the results are to meet; the report says which do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub targets: Vec<TargetSpec>,
    /// Effects that a report has predicted, to be tested by this experiment; a report writes them into `next.toml`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub predictions: Vec<PredictionSpec>,
    /// Changes that are tested already, so that they are not recommended again; a report writes them into `next.toml`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("default" = []))]
    pub tested: Vec<TestedSpec>,
}

/// A language that comparisons are written in.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema,
)]
pub enum Language {
    /// English.
    #[default]
    #[serde(rename = "en")]
    English,
    /// German.
    #[serde(rename = "de")]
    German,
}

impl Language {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::English, Self::German];

    /// The language's code (ISO 639-1), as written in manifests and file names.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The language with this two-letter code; `None` if reports cannot be written in it.
    pub fn from_code(code: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|language| language.code() == code)
    }
}

/// A value that a metric is to reach (`report.target`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MetricTargetSpec {
    /// A column of `epochs.csv`: `train_loss`, `val_accuracy`, … Whether it is reached from below or from above follows
    /// from the column.
    pub metric: String,
    /// The value to reach.
    pub value: f64,
}

/// A figure that results are to meet: an entry of `report.targets`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TargetSpec {
    /// Name of the figure in the report.
    pub name: String,
    /// The figure: a column of the results (`step_ms`), a share of the step's time (`data_wait_share`) or a metric (`val_r2`).
    pub column: String,
    /// Smallest value that meets the target.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest value that meets the target.
    #[serde(default)]
    pub max: Option<f64>,
    /// Cells that the target is about: a value for each axis that is named; without it, all cells.
    #[serde(default, rename = "where")]
    pub cells: serde_json::Map<String, serde_json::Value>,
}

impl Default for ReportSpec {
    fn default() -> Self {
        Self {
            templates: Vec::new(),
            answer: Vec::new(),
            names: BTreeMap::new(),
            languages: vec![Language::English],
            searches: Vec::new(),
            baseline: None,
            target: Vec::new(),
            knee: 0.05,
            targets: Vec::new(),
            predictions: Vec::new(),
            tested: Vec::new(),
        }
    }
}

/// Which values of an axis are compared with each other, and what counts as a difference (`[compare]`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CompareSpec {
    /// Axis whose values are compared with each other, for example `variant`.
    pub treatment: Option<String>,
    /// Value of that axis which the others are compared with; without it, its first.
    pub baseline: Option<String>,
    /// Largest relative difference that still counts as equal, by column of `runs.csv`: `{ final_loss = 1e-6 }`. For
    /// columns that are not listed, see docs/comparing.md.
    pub tolerance: BTreeMap<String, f64>,
    /// Smallest relative difference of times that matters (0.02 is 2 %). Without it, the noise of this machine as `fieldtrial
    /// ab --aa` has measured it, else 2 %.
    pub threshold: Option<f64>,
}

/// Prices, for the cost of runs in reports (`[cost]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CostSpec {
    /// Price of a core for an hour.
    #[schemars(range(min = 0))]
    pub core_hour: Option<f64>,
    /// Price of a GPU for an hour.
    #[schemars(range(min = 0))]
    pub gpu_hour: Option<f64>,
    /// Currency of the prices.
    pub currency: String,
}

impl Default for CostSpec {
    fn default() -> Self {
        Self {
            core_hour: None,
            gpu_hour: None,
            currency: "EUR".to_owned(),
        }
    }
}

/// Whether `languages` is the default, English only; a resolved section does not list the default.
fn is_english(languages: &[Language]) -> bool {
    languages == [Language::English]
}

/// Reads one table, or a list of tables.
fn one_or_many<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<MetricTargetSpec>, D::Error> {
    struct OneOrMany;

    impl<'de> Visitor<'de> for OneOrMany {
        type Value = Vec<MetricTargetSpec>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a table or a list of tables")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Ok(vec![MetricTargetSpec::deserialize(
                MapAccessDeserializer::new(map),
            )?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(OneOrMany)
}

fn one_or_many_targets(generator: &mut SchemaGenerator) -> Schema {
    let one = generator.subschema_for::<MetricTargetSpec>();
    let many = generator.subschema_for::<Vec<MetricTargetSpec>>();
    json_schema!({ "anyOf": [one, many] })
}
