//! The columns that a target of `[report]` can name, and the mistakes in targets.

use crate::diag::{Diagnostic, did_you_mean, list};
use crate::manifest::{Node, Table};

use super::references::named_cell;
use super::search::objective::{is_known, known_columns};
use super::{Plan, program};

/// Columns of the results that a target can name, and shares of a step, of the machine's memory and of its cores.
pub const TARGET_COLUMNS: [&str; 55] = [
    "samples_per_s",
    "step_ms",
    "step_mean_ms",
    "data_wait_ms",
    "transfer_ms",
    "forward_ms",
    "loss_ms",
    "backward_ms",
    "optimizer_ms",
    "other_ms",
    "data_wait_share",
    "transfer_share",
    "forward_share",
    "loss_share",
    "backward_share",
    "optimizer_share",
    "other_share",
    "compute_share",
    "memory_share",
    "core_share",
    "observer_ratio",
    "epoch_s",
    "train_s",
    "validation_s",
    "assessment_s",
    "best_epoch_s",
    "startup_s",
    "total_s",
    "wall_s",
    "cpu_s",
    "loader_wait_s",
    "loader_work_s",
    "loader_start_ms",
    "loader_stop_ms",
    "peak_train_bytes",
    "peak_validation_bytes",
    "peak_rss_bytes",
    "peak_device_bytes",
    "activation_bytes",
    "gpu_busy_share",
    "gpu_power_w",
    "energy_j",
    "energy_j_per_epoch",
    "throttled_share",
    "checkpoint_bytes",
    "log_bytes",
    "improvement_per_s",
    "parameters",
    "first_loss",
    "first_steps_loss",
    "final_loss",
    "best_loss",
    "eval_loss_before",
    "eval_loss_after",
    "best_epoch",
];

/// Prefixes of metric names; which metrics exist depends on the task.
pub const TARGET_METRIC_PREFIXES: [&str; 6] =
    ["train_", "val_", "test_", "fresh_", "best_", "ensemble_"];

/// Checks the targets of `[report]`: their columns, limits and axes.
pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let report = plan.written.root.table("report");
    let targets = report.map_or(&[][..], |report| report.list("targets"));
    tolerances(plan, mistakes);
    for target in targets {
        if let Some(table) = target.as_table() {
            column(table, mistakes);
            limits(target, table, mistakes);
            named_cell(plan, table, "report.targets.where", mistakes);
        }
    }
}

/// Checks that `compare.tolerance` names columns of `runs.csv`.
fn tolerances(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let root = &plan.written.root;
    let declared = program::metrics(root);
    let compare = root.table("compare");
    for (key, _) in compare.map_or(&[][..], |compare| compare.entries_of("tolerance")) {
        let name = key.name.as_str();
        if declared.contains_key(name) || is_known(name) {
            continue;
        }
        let columns = known_columns().into_iter();
        let declared = declared.keys().map(String::as_str);
        mistakes.push(
            Diagnostic::error(format!(
                "`compare.tolerance` names `{name}`, which is no column"
            ))
            .at(key.place, "neither a column nor a metric")
            .maybe_help(did_you_mean(name, columns.chain(declared))),
        );
    }
}

fn column(table: &Table, mistakes: &mut Vec<Diagnostic>) {
    let Some(name) = table.text("column") else {
        return;
    };
    let is_metric = TARGET_METRIC_PREFIXES
        .iter()
        .any(|split| name.starts_with(split));
    if !is_metric && !TARGET_COLUMNS.contains(&name) {
        mistakes.push(
            Diagnostic::error(format!(
                "`report.targets` names `{name}`, which is no column"
            ))
            .at(table.place_of("column"), "neither a column nor a metric")
            .maybe_help(did_you_mean(name, TARGET_COLUMNS))
            .help(columns_help(TARGET_COLUMNS, TARGET_METRIC_PREFIXES)),
        );
    }
}

/// Advice that lists the columns and the prefixes of metrics that a setting can name.
pub(super) fn columns_help<'a>(
    columns: impl IntoIterator<Item = &'a str>,
    metrics: impl IntoIterator<Item = &'a str>,
) -> String {
    format!(
        "columns are {}; metrics begin with {}",
        list(columns),
        list(metrics)
    )
}

fn limits(target: &Node, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    let number = |name| table.get(name)?.as_f64();
    match (number("min"), number("max")) {
        (None, None) if table.get("min").or(table.get("max")).is_none() => mistakes.push(
            Diagnostic::error("a target needs `min` or `max`")
                .at(target.place, "nothing to hold a value against")
                .help("for example `max = 0.15`"),
        ),
        (Some(min), Some(max)) if min > max => {
            let label = format!("nothing is above {min} and below {max}");
            let mistake = Diagnostic::error("a target's `min` is above its `max`");
            mistakes.push(mistake.at(target.place, label));
        }
        _ => {}
    }
}
