//! The sections whose rooms lie above: what to measure, when to give up, what to report, compare and charge.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::prediction::{PredictionSpec, TestedSpec};

/// What to measure (`[measure]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MeasureSpec {
    /// Blocks: passes over all cells and seeds, each in an order of its own.
    #[schemars(range(min = 1))]
    pub repeats: usize,
    /// Seeds; one row of `runs.csv` each.
    pub seeds: Vec<u64>,
    /// Steps dropped before the clock counts.
    pub warmup_steps: usize,
    /// Extra steps after training: synchronised, on devices that run asynchronously; per operation, with `ops`.
    #[schemars(range(min = 1))]
    pub phase_steps: usize,
    /// Times every operation in `phase-steps` extra steps of the first block, forward and backward: `ops.csv`, `trace/`.
    pub ops: bool,
    /// Writes losses, throughput and phases as `TensorBoard` event files: `tensorboard/`.
    pub tensorboard: bool,
}

impl Default for MeasureSpec {
    fn default() -> Self {
        Self {
            repeats: 1,
            seeds: vec![42],
            warmup_steps: 3,
            phase_steps: 5,
            ops: false,
            tensorboard: false,
        }
    }
}

impl MeasureSpec {
    /// Whether the runs of a block profile their operations: those of the first, where it is asked for.
    pub fn profiles(&self, block: usize) -> bool {
        self.ops && block == 0
    }
}

/// When to give up on a run (`[limits]`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LimitsSpec {
    /// Seconds a run may take.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub time: Option<f64>,
    /// Bytes of memory a run may take on the CPU (`RLIMIT_DATA`).
    #[schemars(range(min = 1))]
    pub memory: Option<u64>,
    /// A training loss above this ends the run as diverged.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub max_loss: Option<f64>,
}

/// What to report (`[report]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ReportSpec {
    /// Templates to render; where there are none, `analysis`, and of a manifest with `[search]` the template `search`.
    pub templates: Vec<String>,
    /// Languages of the template `comparison`.
    #[serde(skip_serializing_if = "is_english")]
    #[schemars(length(min = 1))]
    pub languages: Vec<Language>,
    /// Cell that others are compared with: one value per named axis.
    pub baseline: Option<serde_json::Map<String, serde_json::Value>>,
    /// Values of a metric to reach, as one table or a list: the report tells time, epochs and samples until then.
    #[serde(
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schemars(schema_with = "one_or_many_targets")]
    pub target: Vec<ReachSpec>,
    /// Axis whose values are classes of cells to hold against each other; without it, the kinds of models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<String>,
    /// How far below the best throughput the knee of a batch-size curve may lie (0.05 is 5 %).
    #[schemars(range(min = 0, max = 0.5))]
    pub knee: f64,
    /// Figures to hold the results against.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<TargetSpec>,
    /// Effects that the recommendations of the followed report predict; `next.toml` has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub predictions: Vec<PredictionSpec>,
    /// Changes that are tested already and are not recommended again; `next.toml` has them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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

    /// Its code (ISO 639-1), as manifests and file names have it.
    pub fn code(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::German => "de",
        }
    }

    /// The language of a code; `None` where there is none.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.code() == code)
    }
}

/// A value of a metric to reach (`report.target`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReachSpec {
    /// A column of `epochs.csv`: `train_loss`, `val_accuracy`, … Whether it is reached from below or from above follows
    /// from the column.
    pub metric: String,
    /// The value.
    pub value: f64,
}

/// A figure to hold results against: an entry of `report.targets`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TargetSpec {
    /// What the report calls it.
    pub name: String,
    /// What is held against it: a column of the results, a share (`data_wait_share`) or a metric (`val_r2`).
    pub column: String,
    /// Smallest value that meets it.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest value that meets it.
    #[serde(default)]
    pub max: Option<f64>,
    /// Cells that it is about, one value per named axis; all where it is missing.
    #[serde(default, rename = "where")]
    pub cells: serde_json::Map<String, serde_json::Value>,
}

impl Default for ReportSpec {
    fn default() -> Self {
        Self {
            templates: Vec::new(),
            languages: vec![Language::English],
            baseline: None,
            target: Vec::new(),
            classes: None,
            knee: 0.05,
            targets: Vec::new(),
            predictions: Vec::new(),
            tested: Vec::new(),
        }
    }
}

/// What a comparison is about (`[compare]`).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CompareSpec {
    /// Axis that is the treatment: its values may differ in work, and their ratio is called a ratio of treatments.
    pub treatment: Option<String>,
    /// Value of the treatment that the others are compared with.
    pub baseline: Option<String>,
    /// Largest relative difference of a column of `runs.csv` that still counts as equal.
    pub tolerance: BTreeMap<String, f64>,
    /// Smallest ratio of times that matters, less 1 (0.02 is 2 %).
    pub threshold: Option<f64>,
}

/// What computing costs (`[cost]`).
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

/// What a resolved section leaves out.
fn is_english(languages: &[Language]) -> bool {
    languages == [Language::English]
}

/// Reads one table, or a list of tables.
fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a table or a list of tables")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
            Ok(vec![T::deserialize(MapAccessDeserializer::new(map))?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }

    deserializer.deserialize_any(OneOrMany(PhantomData))
}

fn one_or_many_targets(generator: &mut SchemaGenerator) -> Schema {
    let one = generator.subschema_for::<ReachSpec>();
    let many = generator.subschema_for::<Vec<ReachSpec>>();
    json_schema!({ "anyOf": [one, many] })
}
