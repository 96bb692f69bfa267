//! Results of comparing a build with itself (A/A), as rows of `noise.csv`.

use std::collections::BTreeSet;

use crate::base::statistics::median;
use crate::results::NoiseRow;

use super::cells::{Cell, cells};
use super::timings::Runs;
use super::{CellPair, Comparison, Design};

/// Fewest pairs for a row: from six pairs on the ratio has a bootstrap interval, below only a range.
const FEWEST_PAIRS: usize = 6;

impl Comparison {
    /// The A/A results of a build in `session`: one row per cell, in plan order. Cells with fewer than six pairs in that
    /// session, or without a ratio, are left out.
    pub fn noise(&self, session: &str) -> Vec<NoiseRow> {
        let (before, after) = (cells(&self.before.set), cells(&self.after.set));
        let row = |pair: &CellPair| {
            let old = before.iter().find(|cell| cell.info.key == pair.before)?;
            let new = after.iter().find(|cell| cell.info.key == pair.after)?;
            row(pair, old, new, session)
        };
        self.cells.iter().filter_map(row).collect()
    }
}

fn row(pair: &CellPair, old: &Cell<'_>, new: &Cell<'_>, session: &str) -> Option<NoiseRow> {
    let runs = Runs::of(old, new, old.env_id() == new.env_id(), &BTreeSet::new());
    let both = || runs.before.iter().chain(&runs.after);
    let is_whole = runs.design == Design::Interleaved
        && runs.before.len() >= FEWEST_PAIRS
        && both().all(|run| run.session.as_deref() == Some(session));
    let ratio = pair.judgement.ratio.filter(|_| is_whole)?;
    let of_old = runs.before.iter().map(|run| old.sample_ms(run));
    let of_new = runs.after.iter().map(|run| new.sample_ms(run));
    let times: Option<Vec<f64>> = of_old.chain(of_new).collect();
    Some(NoiseRow {
        env_id: new.env_id()?.to_owned(),
        session: session.to_owned(),
        key: pair.after.clone(),
        cell_hash: new.info.cell_hash.clone(),
        pairs: runs.before.len(),
        median_ms_per_sample: median(&times?)?,
        ratio: ratio.value,
        ratio_low: ratio.low,
        ratio_high: ratio.high,
    })
}
