//! Predictions in a manifest, which the report after the run compares with the measurements.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

type Axes = serde_json::Map<String, serde_json::Value>;

/// The effect that a recommendation predicts (`[[report.predictions]]`): written by a report into `next.toml`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PredictionSpec {
    /// Rule that made the recommendation; `fieldtrial list rules` shows all.
    pub rule: String,
    /// Setting that the recommendation changes, by its full dotted path.
    pub setting: String,
    /// Value without the change.
    pub from: String,
    /// Value with the change.
    pub to: String,
    /// Key of the cell in the followed results that the recommendation is about.
    pub origin: String,
    /// Cell without the change: one value per named axis.
    pub against: Axes,
    /// Cell with the change: one value per named axis.
    pub cell: Axes,
    /// Column whose ratio is predicted.
    pub column: PredictedColumn,
    /// What is claimed of the ratio.
    pub claim: Claim,
    /// Predicted ratio: with the change over without; left out where only its bounds are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub predicted: Option<f64>,
    /// Lower end of the predicted ratio.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub low: f64,
    /// Upper end of the predicted ratio.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub high: f64,
    /// Why this effect is expected, in a sentence.
    pub reasoning: String,
}

/// A change whose outcome is known already (`[[report.tested]]`), so that it is not recommended again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TestedSpec {
    /// Rule that made the recommendation.
    pub rule: String,
    /// Setting that the recommendation changed, by its full dotted path.
    pub setting: String,
    /// Value without the change.
    pub from: String,
    /// Value with the change.
    pub to: String,
    /// Outcome of the measurement.
    pub verdict: Verdict,
}

/// A column of `blocks.csv` whose ratio can be predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PredictedColumn {
    /// Throughput; larger is better.
    SamplesPerS,
    /// Seconds of training, validation excluded; smaller is better.
    TrainS,
    /// Seconds of the whole run; smaller is better.
    TotalS,
    /// Peak memory of the process; smaller is better.
    PeakRssBytes,
}

impl PredictedColumn {
    /// The column's name in `blocks.csv`.
    pub fn name(self) -> &'static str {
        match self {
            Self::SamplesPerS => "samples_per_s",
            Self::TrainS => "train_s",
            Self::TotalS => "total_s",
            Self::PeakRssBytes => "peak_rss_bytes",
        }
    }

    /// The column's displayed name.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::SamplesPerS => "throughput",
            Self::TrainS => "training time",
            Self::TotalS => "time of the run",
            Self::PeakRssBytes => "peak memory",
        }
    }

    /// Whether a ratio above 1 is an improvement.
    pub fn is_better_high(self) -> bool {
        matches!(self, Self::SamplesPerS)
    }
}

/// What a prediction claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// The column improves.
    Gain,
    /// The column becomes no worse than the worse end of the predicted interval.
    NoWorse,
    /// The measured interval of the ratio meets the predicted one.
    Value,
}

/// What a measurement says about a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole measured interval is an improvement (of `no-worse`: above the worse end of the predicted one; of `value`: it
    /// meets the predicted one and does not contain 1).
    Confirmed,
    /// The whole measured interval is worse than the predicted one or, of a `gain`, than no change (of `value`: outside of the
    /// predicted one).
    Refuted,
    /// Neither confirmed nor refuted, or fewer than three pairs of runs.
    Unclear,
}

impl Verdict {
    /// The verdict as written in files and reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Unclear => "unclear",
        }
    }
}
