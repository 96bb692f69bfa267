//! [`first_cell_not_in_store`]: the first cell whose rows cannot be restored from the store if the results files are
//! damaged.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::event::Status;
use crate::plan::PlannedCell;
use crate::results::store::{RunConditions, Store};
use crate::results::{CellInfo, PlanFile};

/// Section `measure` of a cell's specification in `plan.json`: its number of repeats and its seeds.
#[derive(Debug, Deserialize)]
struct Measure {
    repeats: usize,
    seeds: Vec<u64>,
}

/// The key of the first cell of `plan` whose measured rows the store does not have for the current code; `None` if the
/// files can be written without their previous content. For trials of a search, which are no cells of the current plan,
/// the code that measured them is used.
pub fn first_cell_not_in_store<'p>(
    plan: &'p PlanFile,
    cells: &[PlannedCell],
    store: &Store,
    conditions: &RunConditions,
) -> Option<&'p str> {
    let planned = cells.iter().map(|cell| (&*cell.spec.key, cell));
    let planned: BTreeMap<&str, &PlannedCell> = planned.collect();
    let is_lost = |info: &&CellInfo| {
        let Some(then) = info.code_hash.as_deref().zip(info.numeric_class.as_deref()) else {
            // The cell had no measured row.
            return false;
        };
        let keys = planned
            .get(&*info.key)
            .map(|cell| conditions.keys(cell, 0, 0));
        let now = keys
            .as_ref()
            .map(|keys| (&*keys.code_hash, &*keys.numeric_class));
        !has_runs(store, plan, info, now.unwrap_or(then))
    };
    plan.cells.iter().find(is_lost).map(|info| &*info.key)
}

/// Whether the store has every run of a cell, by this code and in this numeric class.
fn has_runs(store: &Store, plan: &PlanFile, info: &CellInfo, of: (&str, &str)) -> bool {
    let measure = plan.section(info, "measure").cloned();
    let measure = measure.and_then(|measure| serde_json::from_value(measure).ok());
    let Some(Measure { repeats, seeds }) = measure else {
        return false;
    };
    let (code_hash, numeric_class) = of;
    let has = |seed: u64, block: usize| {
        let mut runs = store.runs_of(&info.cell_hash).iter();
        runs.any(|run| {
            // A timeout without facts does not count: the file may have a measured row instead.
            let is_row = run.facts.is_some() || run.status != Status::Timeout;
            let (keys, place) = (&run.keys, (run.keys.seed, run.keys.block));
            is_row
                && place == (seed, block)
                && &*keys.code_hash == code_hash
                && &*keys.numeric_class == numeric_class
        })
    };
    let mut seeds = seeds.into_iter();
    seeds.all(|seed| (0..repeats).all(|block| has(seed, block)))
}
