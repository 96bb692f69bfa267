//! [`SequentialTests`]: the times of each cell's pairs so far, and whether they give a significant verdict.

use std::collections::HashMap;

use crate::compare::has_sequential_verdict;
use crate::results::{BlockRow, ResultSet};

use super::RunName;

/// Times per sample of one cell's pairs, in the order in which they ran, and the smallest effect that matters.
#[derive(Debug, Clone, Default)]
struct Cell {
    before: Vec<f64>,
    after: Vec<f64>,
    threshold: f64,
}

/// The times of all compared cells, by key.
#[derive(Debug, Clone, Default)]
pub struct SequentialTests {
    cells: HashMap<String, Cell>,
}

impl SequentialTests {
    /// Starts without pairs for the cells `keys`. `threshold` returns the smallest relative effect that matters in a
    /// cell (0.02 is 2 %).
    pub fn new(keys: &[String], threshold: impl Fn(&str) -> f64) -> Self {
        let cell = |key: &String| Cell {
            threshold: threshold(key),
            ..Cell::default()
        };
        Self {
            cells: keys.iter().map(|key| (key.clone(), cell(key))).collect(),
        }
    }

    /// Adds the stored pairs of both results: their two runs are of one session, for which `counts` returns true.
    pub fn add_kept(&mut self, sides: [&ResultSet; 2], counts: impl Fn(&str) -> bool) {
        let [before, after] = sides.map(|set| finished(set, &counts));
        let mut pairs: Vec<(&Run<'_>, &Run<'_>)> = (after.iter())
            .filter_map(|(name, run)| Some((before.get(name)?, run)))
            .filter(|(old, new)| old.session == new.session)
            .collect();
        pairs.sort_by(|(_, one), (_, other)| {
            let sessions = one.session.cmp(other.session);
            sessions.then(one.start_s.total_cmp(&other.start_s))
        });
        for (old, new) in pairs {
            self.add(new.key, old.sample_ms, new.sample_ms);
        }
    }

    /// Adds a pair of the cell `key`: time per sample in milliseconds before and after.
    pub fn add(&mut self, key: &str, before: f64, after: f64) {
        if let Some(cell) = self.cells.get_mut(key) {
            cell.before.push(before);
            cell.after.push(after);
        }
    }

    /// Number of a cell's pairs if its verdict is significant; `None` if it is not.
    pub fn pairs_if_significant(&self, key: &str) -> Option<usize> {
        let cell = self.cells.get(key)?;
        let is_enough =
            has_sequential_verdict(&cell.before, &cell.after, self.cells.len(), cell.threshold);
        is_enough.then_some(cell.after.len())
    }
}

struct Run<'a> {
    key: &'a str,
    session: &'a str,
    start_s: f64,
    sample_ms: f64,
}

fn finished<'a>(set: &'a ResultSet, counts: &impl Fn(&str) -> bool) -> HashMap<RunName, Run<'a>> {
    let cells = set.plan.cells.iter().map(|cell| (&*cell.key, cell));
    let cells: HashMap<&str, _> = cells.collect();
    let run = |row: &'a BlockRow| {
        let cell = cells.get(&*row.key)?;
        let session = row.session.as_deref().filter(|id| counts(id))?;
        let name = RunName {
            key: row.key.clone(),
            seed: row.seed,
            block: row.block,
        };
        let run = Run {
            key: &cell.key,
            session,
            start_s: row.start_s.unwrap_or_default(),
            sample_ms: set.plan.sample_ms(cell, row)?,
        };
        Some((name, run))
    };
    set.blocks.iter().filter_map(run).collect()
}
