//! Baselines of a result: `baselines.csv`, and the hidden command `fieldtrial baselines` that computes those of one
//! split.
//!
//! They are computed in a separate process, so that running out of memory ends only that process.

use std::collections::{BTreeMap, BTreeSet};
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
use crate::event::Metrics;
use crate::plan::{CellSpec, Feasibility, Plan, PlannedCell};
use crate::progress::write_line;
use crate::report::best_cells;
use crate::results::{BaselineRow, ResultSet, read_baselines, write_baselines};

use super::problem::mistake;
use super::{Outcome, Problem, exit_code};

/// A request for the baselines of one split.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    dataset: DatasetSpec,
    /// Fraction of the rows that is held out (`validation.fraction`).
    fraction: f64,
    seed: u64,
}

/// Reads an [`Order`] from standard input, computes its baselines, and writes their names and metrics to standard
/// output as one line of JSON.
pub(super) fn serve_baselines() -> Outcome {
    let mut out = os::take_stdout()?;
    let order: Order = serde_json::from_reader(io::stdin().lock()).map_err(mistake)?;
    let data = order
        .dataset
        .open(Seed(order.seed), order.fraction)
        .map_err(mistake)?;
    let found = baselines(&data).map_err(mistake)?;
    let found: Vec<(&str, Metrics)> = found
        .into_iter()
        .map(|one| (one.name, one.metrics))
        .collect();
    write_line(&mut out, &found)?;
    Ok(exit_code::GOOD)
}

/// Completes `baselines.csv` for the data of the plan's selected cells (of a search: the data of the best trials in
/// `results`); returns its rows.
pub(super) fn complete_baselines(
    plan: &Plan,
    cells: &[PlannedCell],
    results: &ResultSet,
    says: bool,
) -> Result<Vec<BaselineRow>, Problem> {
    let folder = &plan.results_folder;
    if plan.search.is_none() {
        let cells = cells.iter().map(|cell| (cell, plan.is_selected(cell)));
        return complete(folder, cells, says);
    }
    let best = best_cells(results, folder).keys;
    let trials = results.plan.cells.iter().filter_map(|cell| {
        let trial = cell.trial.as_ref().filter(|_| best.contains(&cell.key))?;
        Some(plan.trial(trial.study, &trial.number.to_string(), &trial.point))
    });
    let trials: Vec<PlannedCell> = trials.collect();
    complete(folder, trials.iter().map(|trial| (trial, true)), says)
}

/// Completes `baselines.csv` in `folder` for the data of `cells`; returns its rows. Known rows for the data of any of
/// the cells are kept, other rows are dropped; missing ones are computed only for selected cells.
///
/// Baselines that cannot be computed are left out with a warning. If the file is damaged, all are computed again.
fn complete<'a>(
    folder: &Path,
    cells: impl Iterator<Item = (&'a PlannedCell, bool)>,
    says: bool,
) -> Result<Vec<BaselineRow>, Problem> {
    let known = read_baselines(folder).unwrap_or_else(|error| {
        eprintln!("warning: {error}; baselines are computed anew");
        Vec::new()
    });
    let mut rows: Vec<BaselineRow> = Vec::new();
    // For each data digest: the key of the first cell with these data, and the seeds that already have rows.
    let mut found: BTreeMap<String, (String, BTreeSet<u64>)> = BTreeMap::new();
    for (cell, is_selected) in cells.filter(|(cell, _)| is_supervised(cell)) {
        let spec = &cell.spec;
        let data = digest(cell);
        let first = || (spec.key.clone(), BTreeSet::new());
        let (key, seeds) = found.entry(data.clone()).or_insert_with(first);
        let mut missing = Vec::new();
        for &seed in &spec.measure.seeds {
            if seeds.contains(&seed) {
                continue;
            }
            let of_seed = |row: &&BaselineRow| row.data == data && row.seed == seed;
            let before = rows.len();
            rows.extend(known.iter().filter(of_seed).map(|row| BaselineRow {
                dataset: spec.dataset_name.to_string(),
                cell: key.clone(),
                ..row.clone()
            }));
            if rows.len() == before && is_selected {
                missing.push(seed);
            }
            if rows.len() > before || is_selected {
                seeds.insert(seed);
            }
        }
        let row = |seed, (baseline, metrics)| BaselineRow {
            dataset: spec.dataset_name.to_string(),
            cell: key.clone(),
            data: data.clone(),
            seed,
            baseline,
            metrics,
        };
        let computed = compute(spec, &missing, says).into_iter();
        rows.extend(computed.map(|(seed, one)| row(seed, one)));
    }
    write_baselines(folder, &rows).map_err(mistake)?;
    Ok(rows)
}

/// Computes the baselines of a cell's data for these seeds.
fn compute(spec: &CellSpec, seeds: &[u64], says: bool) -> Vec<(u64, (String, Metrics))> {
    let name = &spec.dataset_name;
    if says && !seeds.is_empty() {
        eprintln!(
            "baselines of dataset `{name}`, {}",
            count(seeds.len(), "seed")
        );
    }
    let mut all = Vec::new();
    for &seed in seeds {
        let order = Order {
            dataset: (*spec.dataset).clone(),
            fraction: spec.validation.fraction_or_zero(),
            seed,
        };
        match ask(&order) {
            Ok(found) => all.extend(found.into_iter().map(|one| (seed, one))),
            Err(reason) => {
                eprintln!("warning: no baselines of dataset `{name}`: {reason}");
                break;
            }
        }
    }
    let left_out = NAMES.into_iter().filter(|baseline| {
        let mut own = all
            .iter()
            .map(|(_, one)| one)
            .filter(|one| one.0 == *baseline);
        own.any(|one| one.1.is_empty())
    });
    let left_out: Vec<&str> = left_out.collect();
    if says && !left_out.is_empty() {
        let left_out = left_out.join(", ");
        eprintln!(
            "note: without {left_out}: dataset `{name}` has too many rows or features for them"
        );
    }
    all
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
        cell.spec.validation.fraction_or_zero()
    ))
}

/// Sends the order to a child process (`fieldtrial baselines`) and returns its answer: name and metrics of each
/// baseline.
fn ask(order: &Order) -> Result<Vec<(String, Metrics)>, String> {
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
