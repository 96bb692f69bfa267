//! The cells of a side with their result rows.

use std::collections::BTreeMap;

use crate::base::statistics::median;
use crate::results::{BlockRow, CellInfo, PlanFile, ResultSet, RunRow, counted_runs};

pub(super) struct Cell<'a> {
    pub(super) info: &'a CellInfo,
    /// Its rows of `runs.csv` by seed.
    pub(super) runs: BTreeMap<u64, &'a RunRow>,
    /// The runs that its times are computed from, sorted by seed and block.
    pub(super) counted: Vec<&'a BlockRow>,
    /// Whether it was measured with other code than most cells of its side.
    pub(super) is_other_code: bool,
    set: &'a ResultSet,
}

/// Every cell of a result, in plan order.
pub(super) fn cells(set: &ResultSet) -> Vec<Cell<'_>> {
    let mut runs: BTreeMap<&str, BTreeMap<u64, &RunRow>> = BTreeMap::new();
    for row in &set.runs {
        runs.entry(&row.key).or_default().insert(row.seed, row);
    }
    let mut blocks: BTreeMap<&str, Vec<&BlockRow>> = BTreeMap::new();
    for row in &set.blocks {
        blocks.entry(&row.key).or_default().push(row);
    }
    let usual = usual_code(set);
    let all = set.plan.cells.iter().map(|info| {
        let rows = blocks.get(&*info.key).map_or(&[][..], Vec::as_slice);
        let mut counted = counted_runs(rows);
        // The order of rows in a file has no meaning.
        counted.sort_by_key(|row| (row.seed, row.block));
        let usual = usual.get(class(info)).copied();
        Cell {
            info,
            runs: runs.get(&*info.key).cloned().unwrap_or_default(),
            counted,
            is_other_code: info.code_hash.is_some() && info.code_hash.as_deref() != usual,
            set,
        }
    });
    all.collect()
}

/// The code hash of most cells, per numeric class; of equally frequent ones, that of the first cell. Cells of different
/// classes have different code hashes by construction.
fn usual_code(set: &ResultSet) -> BTreeMap<&str, &str> {
    let mut counts: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
    for info in &set.plan.cells {
        let Some(code) = info.code_hash.as_deref() else {
            continue;
        };
        let known = counts.entry(class(info)).or_default();
        match known.iter_mut().find(|(hash, _)| *hash == code) {
            Some((_, count)) => *count += 1,
            None => known.push((code, 1)),
        }
    }
    let most = counts.into_iter().filter_map(|(class, codes)| {
        let most = codes.iter().map(|(_, count)| *count).max()?;
        let (code, _) = codes.into_iter().find(|(_, count)| *count == most)?;
        Some((class, code))
    });
    most.collect()
}

fn class(info: &CellInfo) -> &str {
    info.numeric_class.as_deref().unwrap_or_default()
}

impl Cell<'_> {
    pub(super) fn is_nondeterministic(&self) -> bool {
        let mut facts = self.runs.values().filter_map(|row| row.facts.as_ref());
        facts.any(|facts| !facts.nondeterministic.is_empty())
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

    /// The environment of the counted runs; they share one.
    pub(super) fn env_id(&self) -> Option<&str> {
        self.counted.first().map(|run| &*run.env_id)
    }

    /// The median of [`Self::sample_ms`] over the counted runs; `None` if one of them has none.
    pub(super) fn median_sample_ms(&self) -> Option<f64> {
        let values: Option<Vec<f64>> = self.counted.iter().map(|run| self.sample_ms(run)).collect();
        median(&values?)
    }
}
