//! [`SharedSettings`]: settings that both sides share.

use std::path::PathBuf;

use crate::compare::{needed_pairs, needed_runs};
use crate::plan::{Feasibility, Plan, PlannedCell};

use super::arguments::AbArguments;
use crate::cli::Problem;
use crate::cli::problem::mistake;
use crate::cli::run_plan::plan_of;

/// Smallest number of pairs with which the paired test can give a verdict on a single cell.
const FEWEST_PAIRS: usize = 6;

/// Largest number of pairs of a cell without a significant verdict, unless the user or the manifest sets more.
const MOST_PAIRS: usize = 20;

#[derive(Debug)]
pub(super) struct SharedSettings {
    pub(super) name: String,
    /// Absolute path of the manifest.
    pub(super) manifest: PathBuf,
    /// Absolute path of the experiment's results folder.
    pub(super) results: PathBuf,
    pub(super) seeds: usize,
    pub(super) repeats: usize,
    /// The smallest relative difference that matters, if set by the manifest (0.02 is 2 %).
    pub(super) threshold: Option<f64>,
    /// Overrides of settings (`--set`), including the number of blocks.
    pub(super) set: Vec<String>,
}

impl SharedSettings {
    /// Plans the working tree's manifest; refuses `--aa` with too few pairs.
    pub(super) fn of(arguments: &AbArguments) -> Result<Self, Problem> {
        let only = arguments.only.as_ref();
        let plan = plan_of(&arguments.manifest, &arguments.set, only, None)?;
        let runs =
            |cell: &PlannedCell| cell.feasibility == Feasibility::Runs && plan.is_selected(cell);
        let cells = plan.cells().filter(runs).count();
        let seeds = plan.measure.seeds.len().max(1);
        let repeats = repeats(arguments, &plan, cells, seeds);
        let pairs = repeats * seeds;
        if arguments.aa && pairs < FEWEST_PAIRS {
            return Err(mistake(format!(
                "`--aa` needs at least {FEWEST_PAIRS} pairs of runs per cell, not {pairs}"
            )));
        }
        let mut set = arguments.set.clone();
        set.push(format!("measure.repeats={repeats}"));
        Ok(Self {
            name: plan.name.clone(),
            manifest: std::path::absolute(&arguments.manifest)?,
            results: plan.results_folder.clone(),
            seeds,
            repeats,
            threshold: plan.compare.threshold,
            set,
        })
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.results.join("ab")
    }
}

/// Number of blocks: set by the user; else [`MOST_PAIRS`] if pairs stop at a significant verdict; else enough pairs for
/// a verdict on one cell, an even number so that each side runs first equally often; or the manifest's, if it is
/// larger.
fn repeats(arguments: &AbArguments, plan: &Plan, cells: usize, seeds: usize) -> usize {
    let says_so = |set: &String| set.trim_start().starts_with("measure.repeats");
    match arguments.repeats {
        Some(repeats) => repeats.into(),
        None if arguments.set.iter().any(says_so) => plan.measure.repeats,
        None if arguments.is_until_sure() => MOST_PAIRS.div_ceil(seeds).max(plan.measure.repeats),
        None => {
            let needed = needed_pairs(cells, 1).max(needed_runs(cells, 1));
            let needed = needed.max(FEWEST_PAIRS).div_ceil(seeds);
            needed.next_multiple_of(2).max(plan.measure.repeats)
        }
    }
}
