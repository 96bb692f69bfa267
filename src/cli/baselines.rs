//! Baselines of a result: `baselines.csv`, and the hidden command `fieldtrial baselines` that computes those of one
//! split.
//!
//! They are computed in a separate process, so that running out of memory ends only that process.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::base::Seed;
use crate::base::hash::short_hash;
use crate::base::os;
use crate::base::text::count;
use crate::baselines::{NAMES, VERSION, baselines};
use crate::datasets::{DatasetSpec, Target};
use crate::event::Metric;
use crate::plan::{Feasibility, Plan, PlannedCell};
use crate::progress::write_line;
use crate::results::{BaselineRow, read_baselines, write_baselines};

use super::problem::mistake;
use super::run_plan::selected;
use super::{Outcome, Problem, exit_code};

/// A request for the baselines of one split.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    dataset: DatasetSpec,
    /// `validation.fraction`.
    fraction: f64,
    seed: u64,
}

/// Answers the order on standard input.
pub(super) fn answer_parent() -> Outcome {
    let mut out = os::take_stdout()?;
    let order: Order = serde_json::from_reader(io::stdin().lock()).map_err(mistake)?;
    let data = order
        .dataset
        .open(Seed(order.seed), order.fraction)
        .map_err(mistake)?;
    let found = baselines(&data).map_err(mistake)?;
    let found: Vec<(&str, Metric)> = found
        .into_iter()
        .map(|one| (one.name, one.metrics))
        .collect();
    write_line(&mut out, &found)?;
    Ok(exit_code::GOOD)
}

/// Completes `baselines.csv` for the data of the selected cells of a plan; returns its rows.
pub(super) fn of_plan(
    plan: &Plan,
    cells: &[PlannedCell],
    says: bool,
) -> Result<Vec<BaselineRow>, Problem> {
    if plan.search.is_some() {
        let studies: Vec<PlannedCell> = plan.cells().collect();
        return complete(&plan.results_folder, studies.iter(), says);
    }
    let cells = selected(plan, cells).map(|(_, cell)| cell);
    complete(&plan.results_folder, cells, says)
}

/// Completes `baselines.csv` in `folder` for the data of `cells`; returns its rows. Rows of other data are kept.
///
/// Baselines that cannot be computed are left out with a warning. If the file is damaged, all are computed again.
fn complete<'a>(
    folder: &Path,
    cells: impl Iterator<Item = &'a PlannedCell>,
    says: bool,
) -> Result<Vec<BaselineRow>, Problem> {
    let known = read_baselines(folder).unwrap_or_else(|error| {
        eprintln!("warning: {error}; baselines are computed anew");
        Vec::new()
    });
    let mut rows: Vec<BaselineRow> = Vec::new();
    let mut seen = BTreeSet::new();
    for cell in cells.filter(|cell| is_supervised(cell)) {
        let spec = &cell.spec;
        let task = (
            spec.dataset_name.to_string(),
            cell.task_signature.to_string(),
        );
        if !seen.insert(task.clone()) {
            continue;
        }
        let data = digest(cell);
        let mut missing = Vec::new();
        for &seed in &spec.measure.seeds {
            let of_seed = known
                .iter()
                .filter(|row| row.data == data && row.seed == seed);
            let before = rows.len();
            rows.extend(of_seed.cloned());
            if rows.len() == before {
                missing.push(seed);
            }
        }
        if says && !missing.is_empty() {
            let (name, seeds) = (&spec.dataset_name, count(missing.len(), "seed"));
            let all = NAMES.join(", ");
            eprintln!("baselines of dataset `{name}`, {seeds}: {all}");
        }
        for seed in missing {
            let order = Order {
                dataset: (*spec.dataset).clone(),
                fraction: spec.validation.share(),
                seed,
            };
            let found = match ask(&order) {
                Ok(found) => found,
                Err(reason) => {
                    eprintln!("warning: no baselines of dataset `{}`: {reason}", task.0);
                    break;
                }
            };
            rows.extend(found.into_iter().map(|(baseline, metrics)| BaselineRow {
                dataset: task.0.clone(),
                task_signature: task.1.clone(),
                data: data.clone(),
                seed,
                baseline,
                metrics,
            }));
        }
    }
    let is_other =
        |row: &BaselineRow| !seen.contains(&(row.dataset.clone(), row.task_signature.clone()));
    rows.extend(known.into_iter().filter(is_other));
    write_baselines(folder, &rows).map_err(mistake)?;
    Ok(rows)
}

/// Whether a cell predicts targets that baselines can predict.
fn is_supervised(cell: &PlannedCell) -> bool {
    let is_known = matches!(
        cell.facts.target,
        Target::Values { .. } | Target::Labels { .. } | Target::Class { .. }
    );
    let has_run = cell.feasibility == Feasibility::Runs && cell.spec.model.command().is_none();
    is_known && has_run && cell.spec.measure.baselines && cell.spec.loss.is_supervised()
}

/// Digest over data, their preparation, the held-out rows, and how baselines are computed.
fn digest(cell: &PlannedCell) -> String {
    let dataset = cell.hash_parts.iter().find(|(name, _)| *name == "dataset");
    let dataset = dataset.map_or("", |(_, digest)| digest);
    short_hash(&format!(
        "{dataset} {} {VERSION}",
        cell.spec.validation.share()
    ))
}

/// The answer of a child process.
fn ask(order: &Order) -> Result<Vec<(String, Metric)>, String> {
    let told = |error: io::Error| error.to_string();
    let program = std::env::current_exe().map_err(told)?;
    let mut command = Command::new(program);
    command
        .arg("baselines")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(told)?;
    let order = serde_json::to_vec(order).map_err(|error| error.to_string())?;
    if let Some(mut input) = child.stdin.take() {
        // A failed write is ignored: a child that ended early reports the reason on its standard error.
        let _ = input.write_all(&order);
    }
    let output = child.wait_with_output().map_err(told)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let first = said.lines().next().unwrap_or_default();
        let first = first.strip_prefix("error: ").unwrap_or(first);
        return Err(if first.is_empty() {
            output.status.to_string()
        } else {
            first.to_owned()
        });
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}
