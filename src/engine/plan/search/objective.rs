//! Objectives of a search: names of columns, their direction, and the column that a pruner uses during training.
//!
//! The values are computed from a run's facts in `results::objective`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ObjectiveDirection::{Maximize, Minimize};

/// Fixed columns of `runs.csv` that can be optimised, and values derived from them. Of counts of work (FLOPs,
/// parameters), lower is better.
const FACTS: [(&str, ObjectiveDirection); 15] = [
    ("best_loss", Minimize),
    ("final_loss", Minimize),
    ("first_loss", Minimize),
    ("first_steps_loss", Minimize),
    ("eval_loss_before", Minimize),
    ("eval_loss_after", Minimize),
    ("best_epoch", Minimize),
    ("epochs", Minimize),
    ("steps", Minimize),
    ("samples", Minimize),
    ("parameters", Minimize),
    ("flops_forward_per_sample", Minimize),
    ("flops_backward_per_sample", Minimize),
    (FLOPS_TO_BEST, Minimize),
    (FIRST_EPOCH_AT_TARGET, Minimize),
];

/// Columns of `blocks.csv` that are computed, not measured.
const COMPUTED: [(&str, ObjectiveDirection); 4] = [
    ("parameter_bytes", Minimize),
    ("gradient_bytes", Minimize),
    ("optimizer_bytes", Minimize),
    ("activation_bytes", Minimize),
];

/// Columns of `blocks.csv` that are measured with a clock or a counter, so that their values differ between reruns.
const MEASURED: [(&str, ObjectiveDirection); 40] = [
    ("wall_s", Minimize),
    ("total_s", Minimize),
    ("train_s", Minimize),
    ("best_epoch_s", Minimize),
    ("epoch_s", Minimize),
    ("validation_s", Minimize),
    ("assessment_s", Minimize),
    ("startup_s", Minimize),
    ("step_ms", Minimize),
    ("step_mean_ms", Minimize),
    ("samples_per_s", Maximize),
    ("improvement_per_s", Maximize),
    ("data_wait_ms", Minimize),
    ("transfer_ms", Minimize),
    ("forward_ms", Minimize),
    ("loss_ms", Minimize),
    ("backward_ms", Minimize),
    ("optimizer_ms", Minimize),
    ("other_ms", Minimize),
    ("loader_wait_s", Minimize),
    ("loader_work_s", Minimize),
    ("loader_start_ms", Minimize),
    ("loader_stop_ms", Minimize),
    ("peak_train_bytes", Minimize),
    ("peak_validation_bytes", Minimize),
    ("memory_growth_bytes", Minimize),
    ("peak_device_bytes", Minimize),
    ("peak_device_validation_bytes", Minimize),
    ("device_used_bytes", Minimize),
    ("checkpoint_bytes", Minimize),
    ("log_bytes", Minimize),
    ("energy_j", Minimize),
    ("energy_j_per_epoch", Minimize),
    ("gpu_power_w", Minimize),
    ("gpu_temperature_c", Minimize),
    ("gpu_busy_share", Maximize),
    ("gpu_clock_mhz", Maximize),
    ("gpu_memory_clock_mhz", Maximize),
    ("gpu_reading_ms", Minimize),
    ("throttled_share", Minimize),
];

/// Prefixes of the names of metrics; all metrics can be optimised.
pub const METRIC_PREFIXES: [&str; 8] = [
    "train_",
    "val_",
    "test_",
    "fresh_",
    "best_",
    "ensemble_",
    "verification_",
    "selection_",
];

/// Last words of metrics' names (after the last `_`) for which lower is better.
const BETTER_LOW: [&str; 9] = [
    "loss",
    "mse",
    "rmse",
    "mae",
    "violation",
    "iterations",
    "error",
    "epoch",
    "byte",
];

/// Last words of metrics' names (after the last `_`) for which higher is better.
const BETTER_HIGH: [&str; 14] = [
    "accuracy",
    "match",
    "f1",
    "auc",
    "precision",
    "r2",
    "fidelity",
    "consistency",
    "smoothness",
    "physics",
    "overall",
    "multiplicity",
    "rate",
    "overlap",
];

/// FLOPs of training until the end of the best epoch, forward and backward, all samples.
pub const FLOPS_TO_BEST: &str = "flops_to_best";

/// First epoch, from 0, at whose end the (first) target of `[report]` is reached.
pub const FIRST_EPOCH_AT_TARGET: &str = "first_epoch_at_target";

/// Name that [`pruner_column`] returns for the loss that selects the best epoch: that of the split evaluated during
/// training, or else the training loss.
pub const DECIDING_LOSS: &str = "loss";

/// Names of all fixed columns that can be optimised, those that are not measured first. Metrics are not included.
pub fn known_columns() -> Vec<&'static str> {
    fixed().map(|(name, _)| *name).collect()
}

/// Whether `column` can be optimised: it is one of [`known_columns`], or named like a metric.
pub fn is_known(column: &str) -> bool {
    let mut starts = METRIC_PREFIXES.iter();
    fixed().any(|(name, _)| *name == column)
        || starts.any(|start| column.starts_with(start) && column != *start)
}

/// Whether the column's values come from a clock or a counter, so that a search with the
/// same seed may propose other trials.
pub fn varies_between_runs(column: &str) -> bool {
    MEASURED.iter().any(|(name, _)| *name == column)
}

/// Direction (lower or higher is better); `None` if the column has none, so that the manifest must set it. For work
/// (parameters, FLOPs, epochs) lower is better, though results give such columns no direction.
pub fn direction(column: &str) -> Option<ObjectiveDirection> {
    if let Some((_, direction)) = fixed().find(|(name, _)| *name == column) {
        return Some(*direction);
    }
    match column.rsplit('_').next()? {
        last if BETTER_LOW.contains(&last) => Some(Minimize),
        last if BETTER_HIGH.contains(&last) => Some(Maximize),
        _ => None,
    }
}

/// Returns the column that a pruner uses after each epoch of a trial whose objective is `column`: a column of
/// `epochs.csv`, or [`DECIDING_LOSS`]. It is the same quantity as the objective, so the objective's direction applies.
///
/// `None` if epochs do not have it: `parameters`, FLOPs, times, metrics of the end only (`fresh_…`, `ensemble_…`), and
/// the number of an epoch.
pub fn pruner_column(column: &str) -> Option<String> {
    match column {
        "best_loss" | "eval_loss_after" => return Some(DECIDING_LOSS.to_owned()),
        "final_loss" => return Some("train_loss".to_owned()),
        _ if fixed().any(|(name, _)| *name == column) => return None,
        _ => {}
    }
    let plain = column.strip_prefix("best_").unwrap_or(column);
    let mut splits = ["train_", "val_", "test_"].iter();
    let is_by_epoch = splits.any(|split| plain.starts_with(split));
    (is_by_epoch && !plain.ends_with("_epoch")).then(|| plain.to_owned())
}

fn fixed() -> impl Iterator<Item = &'static (&'static str, ObjectiveDirection)> {
    FACTS.iter().chain(&COMPUTED).chain(&MEASURED)
}

/// Whether lower or higher is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectiveDirection {
    /// A smaller value is better.
    Minimize,
    /// A larger value is better.
    Maximize,
}

impl ObjectiveDirection {
    /// `value`, negated if higher is better, so that lower is always better.
    pub fn as_loss(self, value: f64) -> f64 {
        match self {
            Self::Minimize => value,
            Self::Maximize => -value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_one_place() {
        let mut names = known_columns();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn losses_and_work_are_better_small_and_accuracies_large() {
        let directions = [
            ("best_loss", Some(Minimize)),
            ("best_test_accuracy", Some(Maximize)),
            ("test_accuracy_90_epoch", Some(Minimize)),
            ("val_r2", Some(Maximize)),
            ("verification_overall", Some(Maximize)),
            ("parameters", Some(Minimize)),
            ("flops_to_best", Some(Minimize)),
            ("samples_per_s", Some(Maximize)),
            ("test_sharpness", None),
            ("selection_detection_limit", None),
        ];
        for (column, expected) in directions {
            assert_eq!(direction(column), expected, "{column}");
        }
    }

    #[test]
    fn only_names_of_columns_and_metrics_are_known() {
        for column in [
            "best_loss",
            "wall_s",
            "val_r2",
            "best_test_accuracy",
            "flops_to_best",
        ] {
            assert!(is_known(column), "{column}");
        }
        for column in [
            "best-loss",
            "accuracy",
            "val_",
            "weight_checksum",
            "session",
        ] {
            assert!(!is_known(column), "{column}");
        }
    }

    #[test]
    fn only_what_is_measured_depends_on_a_clock() {
        for column in ["wall_s", "samples_per_s", "peak_train_bytes", "energy_j"] {
            assert!(varies_between_runs(column), "{column}");
        }
        for column in [
            "best_loss",
            "activation_bytes",
            "best_epoch",
            "test_accuracy",
        ] {
            assert!(!varies_between_runs(column), "{column}");
        }
    }

    #[test]
    fn a_pruner_looks_at_the_same_quantity_by_epoch() {
        let watched_by = [
            ("best_loss", Some("loss")),
            ("final_loss", Some("train_loss")),
            ("best_test_accuracy", Some("test_accuracy")),
            ("test_accuracy", Some("test_accuracy")),
            ("val_r2", Some("val_r2")),
            ("test_accuracy_90_epoch", None),
            ("fresh_r2", None),
            ("ensemble_loss", None),
            ("parameters", None),
            ("wall_s", None),
            ("train_s", None),
            ("best_epoch", None),
            ("best_epoch_s", None),
        ];
        for (column, expected) in watched_by {
            assert_eq!(pruner_column(column).as_deref(), expected, "{column}");
        }
    }
}
