//! `run --shard`: the runs of one shard, and its journal.

use std::collections::HashSet;

use crate::cluster::{RunNumbers, read_with_journals};
use crate::event::RunId;
use crate::execute::Decision;
use crate::plan::{Plan, PlannedCell};
use crate::results::ResultSet;
use crate::results::Share;
use crate::results::store::Store;

use super::Problem;
use super::problem::mistake;
use super::setup::{self, Setup, warn_of_damage};

/// Opens the storage of runs: the store with its results files, or the journal of a shard.
pub(super) fn open(
    setup: &Setup<'_>,
    share: Option<Share>,
) -> Result<(Store, Option<ResultSet>), Problem> {
    let Some(share) = share else {
        let store = setup::open(setup.plan)?;
        let previous = setup.read_previous(&store)?;
        return Ok((store, previous));
    };
    let store = Store::open_shard(&setup.plan.results_folder, share).map_err(mistake)?;
    if let Some(reason) = store.why_unlocked() {
        eprintln!(
            "note: the journal is not locked ({reason}): see that nothing else runs shard {share}"
        );
    }
    warn_of_damage(&store);
    Ok((store, None))
}

/// Reads finished runs without changing anything.
pub(super) fn read(plan: &Plan, share: Option<Share>) -> Result<Store, Problem> {
    let store = match share {
        None => Store::read(&plan.results_folder),
        Some(_) => read_with_journals(plan),
    };
    store.map_err(mistake)
}

/// The runs of the shard; all runs without `--shard`.
pub(super) fn runs_of_shard(
    share: Option<Share>,
    cells: &[PlannedCell],
    decisions: Vec<(RunId, Decision)>,
) -> Vec<(RunId, Decision)> {
    let Some(share) = share else {
        return decisions;
    };
    let run_numbers = RunNumbers::of(cells);
    let own = decisions.into_iter();
    own.filter(|(id, _)| run_numbers.is_in_shard(share, *id))
        .collect()
}

/// The part of `results` about the runs of `decisions`.
pub(super) fn own_results(
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    results: &ResultSet,
) -> ResultSet {
    let own = decisions.iter();
    let own = own.map(|(id, _)| (&*cells[id.cell].spec.key, id.seed));
    let own: HashSet<(&str, u64)> = own.collect();
    let mut results = results.clone();
    let is_own = |key: &str, seed: u64| own.contains(&(key, seed));
    results.runs.retain(|row| is_own(&row.key, row.seed));
    results.blocks.retain(|row| is_own(&row.key, row.seed));
    results
}
