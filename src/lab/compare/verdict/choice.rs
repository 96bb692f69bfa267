//! Which test a cell gets, and its p-value.

use crate::base::statistics::median;
use crate::compare::Test;
use crate::compare::statistics::{mann_whitney, sign_flip, smallest_mann_whitney};

use super::{ALPHA, Samples, needed_pairs, tests};

/// Pairs from which on it can be seen whether they hold together.
const PAIRS_TO_SEE: usize = 4;
/// Pairs hold together where runs differ within pairs by less than this share of how pairs differ.
const HELD_TOGETHER: f64 = 0.5;

/// A cell's own test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CellTest {
    pub test: Test,
    pub p: f64,
}

/// Tests every cell that has enough runs for any p-value to survive the correction.
///
/// Interleaved cells are tested by their pairs' signs where there are enough pairs for it and pairs hold together, and as
/// two sets of runs elsewhere: these are interleaved too, so that a drift hits both sets alike and makes the test milder, not
/// wilder. Whether pairs hold together is asked of the *other* cells, so that no cell's runs choose their own test.
pub(super) fn test_cells(samples: &[Samples]) -> Vec<Option<CellTest>> {
    let cells = samples.iter().filter(|cell| cell.counts()).count();
    let held: Vec<Option<f64>> = samples.iter().map(within_pairs).collect();
    let test = |(index, cell): (usize, &Samples)| {
        let (n, m) = (cell.before.len(), cell.after.len());
        let can_be_called = smallest_mann_whitney(n, m) * tests(cells) as f64 <= ALPHA;
        if !cell.counts() || !can_be_called {
            return None;
        }
        if cell.is_paired() && n >= needed_pairs(cells) && others_hold(&held, index) {
            let p = sign_flip(&cell.sides().differences())?;
            return Some(CellTest {
                test: Test::SignFlip,
                p,
            });
        }
        let p = mann_whitney(&cell.before, &cell.after)?;
        Some(CellTest {
            test: Test::MannWhitney,
            p,
        })
    };
    samples.iter().enumerate().map(test).collect()
}

/// Whether the pairs of the cells other than `own` hold together; taken as given where there are none.
fn others_hold(held: &[Option<f64>], own: usize) -> bool {
    let others = held.iter().enumerate().filter(|(index, _)| *index != own);
    let others: Vec<f64> = others.filter_map(|(_, held)| *held).collect();
    median(&others).is_none_or(|held| held < HELD_TOGETHER)
}

/// How far runs differ within pairs over how far pairs differ: the median distance between two pairs' differences of
/// logarithms over that between their sums. It is 1 where pairs mean nothing; a constant effect does not change it.
fn within_pairs(cell: &Samples) -> Option<f64> {
    if !cell.counts() || !cell.is_paired() || cell.before.len() < PAIRS_TO_SEE {
        return None;
    }
    let pairs = || cell.before.iter().zip(&cell.after);
    let differences: Vec<f64> = pairs().map(|(b, a)| a.ln() - b.ln()).collect();
    let sums: Vec<f64> = pairs().map(|(b, a)| a.ln() + b.ln()).collect();
    let (within, among) = (distance(&differences)?, distance(&sums)?);
    (among > 0.0).then(|| within / among)
}

/// Median distance between two of the values.
fn distance(values: &[f64]) -> Option<f64> {
    let rest = |index: usize| values[index + 1..].iter();
    let distances = values.iter().enumerate();
    let distances = distances.flat_map(|(index, a)| rest(index).map(move |b| (a - b).abs()));
    median(&distances.collect::<Vec<f64>>())
}
