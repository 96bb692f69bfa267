//! The cells of a side with their result rows.

use std::collections::BTreeMap;

use crate::base::statistics::median;
use crate::results::{
    BlockRow, CellInfo, PlanFile, ResultSet, RunRow, WorkRecord, by_key, counted_runs, grouped,
    value,
};

pub(super) struct Cell<'a> {
    pub(super) info: &'a CellInfo,
    /// The cell's rows of `runs.csv` by seed.
    pub(super) runs: BTreeMap<u64, &'a RunRow>,
    /// The cell's rows of `work.csv`.
    pub(super) work: Vec<&'a WorkRecord>,
    /// The runs from which the cell's times are computed, sorted by seed and block.
    pub(super) counted: Vec<&'a BlockRow>,
    /// Whether the cell was measured with a code hash different from that of most cells of its side.
    pub(super) is_other_code: bool,
    pub(super) set: &'a ResultSet,
}

/// Every cell of a result, in plan order.
pub(super) fn cells(set: &ResultSet) -> Vec<Cell<'_>> {
    let runs = by_key(&set.runs, |row| &row.key);
    let blocks = by_key(&set.blocks, |row| &row.key);
    let mut work = by_key(&set.work, |row| &row.key);
    // Each program of `kind = "command"` has a code hash of its own, so these cells are left out here.
    let own = |info: &&CellInfo| !set.plan.is_trained_by_command(info);
    let usual = usual_code(set.plan.cells.iter().filter(own));
    let all = set.plan.cells.iter().map(|info| {
        let rows = blocks.get(&*info.key).map_or(&[][..], Vec::as_slice);
        let mut counted = counted_runs(rows);
        // Sorted, so that the order of rows in the file has no effect.
        counted.sort_by_key(|row| (row.seed, row.block));
        let runs = runs.get(&*info.key).into_iter().flatten();
        let code = info.code_hash.as_deref().filter(|_| own(&info));
        Cell {
            info,
            runs: runs.map(|row| (row.seed, *row)).collect(),
            work: work.remove(&*info.key).unwrap_or_default(),
            counted,
            is_other_code: code.is_some() && code != usual.get(class(info)).copied(),
            set,
        }
    });
    all.collect()
}

/// The code hash of most cells, per numeric class; of equally frequent ones, that of the first cell. Cells of different
/// classes have different code hashes by construction.
fn usual_code<'a>(cells: impl Iterator<Item = &'a CellInfo>) -> BTreeMap<&'a str, &'a str> {
    let codes = cells.filter_map(|info| Some((class(info), info.code_hash.as_deref()?)));
    let classes = grouped(codes, |(class, _)| *class).into_iter();
    let usual = classes.filter_map(|of_class| {
        let codes = grouped(of_class, |(_, code)| *code).into_iter();
        Some(codes.rev().max_by_key(Vec::len)?[0])
    });
    usual.collect()
}

fn class(info: &CellInfo) -> &str {
    info.numeric_class.as_deref().unwrap_or_default()
}

impl Cell<'_> {
    pub(super) fn is_nondeterministic(&self) -> bool {
        let mut facts = self.runs.values().filter_map(|row| row.facts.as_ref());
        facts.any(|facts| !facts.nondeterministic.is_empty())
    }

    /// Whether a GPU trains the cell.
    pub(super) fn is_on_gpu(&self) -> bool {
        let train = self.set.plan.section(self.info, "train");
        let device = train.and_then(|train| train.get("device")?.as_str());
        device.is_some_and(|device| device.starts_with("cuda"))
    }

    /// The cell together with its plan.
    pub(super) fn place(&self) -> (&PlanFile, &CellInfo) {
        (&self.set.plan, self.info)
    }

    /// Samples per step; `None` if the specification does not contain them.
    pub(super) fn samples_per_step(&self) -> Option<u64> {
        self.set.plan.samples_per_step(self.info)
    }

    pub(super) fn sample_ms(&self, run: &BlockRow) -> Option<f64> {
        self.set.plan.sample_ms(self.info, run)
    }

    /// Whether [`Self::sample_ms`] comes from steps or a throughput, and not from the time of a whole run.
    pub(super) fn tells_steps(&self) -> bool {
        let has = |run: &&BlockRow, column| value(run, column).is_some();
        let mut runs = self.counted.iter();
        runs.all(|run| has(run, "step_ms") || has(run, "samples_per_s"))
    }

    /// The environment that all counted runs share; `None` without counted runs.
    pub(super) fn env_id(&self) -> Option<&str> {
        self.counted.first().map(|run| &*run.env_id)
    }

    /// The median of [`Self::sample_ms`] over runs of the cell; `None` without runs, or if one of the runs has no such
    /// time.
    pub(super) fn median_sample_ms(&self, runs: &[&BlockRow]) -> Option<f64> {
        let values: Option<Vec<f64>> = runs.iter().map(|run| self.sample_ms(run)).collect();
        median(&values?)
    }
}
