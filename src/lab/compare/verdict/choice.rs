//! Chooses the test of each cell, and computes its p-value.

use crate::base::statistics::median;
use crate::compare::Test;
use crate::compare::statistics::{mann_whitney, sign_flip, smallest_mann_whitney};

use super::samples::{ALPHA, Samples, needed_pairs, tests};

/// Number of pairs needed to estimate whether pairing helps.
const MIN_PAIRS: usize = 4;
/// Pairing helps if runs within pairs differ by less than this fraction of the differences between pairs.
const HELPFUL_RATIO: f64 = 0.5;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CellTest {
    pub test: Test,
    pub p: f64,
}

/// Tests every cell with enough runs for a p-value that can survive the correction.
///
/// Interleaved cells get the sign-flip test if there are enough pairs and pairing helps, otherwise the two-sample test. The
/// latter is safe for interleaved runs: drift affects both samples alike and makes the test conservative. Whether pairing
/// helps is estimated from the *other* cells, so that a cell's own runs do not choose its test.
pub(super) fn test_cells(samples: &[Samples], comparisons: usize) -> Vec<Option<CellTest>> {
    let cells = samples
        .iter()
        .filter(|cell| cell.has_usable_values())
        .count();
    let ratios: Vec<Option<f64>> = samples.iter().map(relative_spread).collect();
    let test = |(index, cell): (usize, &Samples)| {
        let (n, m) = (cell.before.len(), cell.after.len());
        let all = (tests(cells) * comparisons) as f64;
        let can_be_called = smallest_mann_whitney(n, m) * all <= ALPHA;
        if !cell.has_usable_values() || !can_be_called {
            return None;
        }
        let has_pairs = cell.is_paired() && n >= needed_pairs(cells, comparisons);
        let (test, p) = if has_pairs && pairing_helps_elsewhere(&ratios, index) {
            (Test::SignFlip, sign_flip(&cell.sides().differences()))
        } else {
            (Test::MannWhitney, mann_whitney(&cell.before, &cell.after))
        };
        Some(CellTest { test, p: p? })
    };
    samples.iter().enumerate().map(test).collect()
}

/// Whether pairing helps, estimated from the cells other than `own`; true if none of them gives an estimate.
fn pairing_helps_elsewhere(ratios: &[Option<f64>], own: usize) -> bool {
    let others = ratios.iter().enumerate().filter(|(index, _)| *index != own);
    let others: Vec<f64> = others.filter_map(|(_, ratio)| *ratio).collect();
    median(&others).is_none_or(|ratio| ratio < HELPFUL_RATIO)
}

/// Spread within pairs relative to the spread between pairs: the median distance between two pairs' log differences divided
/// by that between their log sums. It is 1 if pairing has no effect; a constant effect does not change it.
fn relative_spread(cell: &Samples) -> Option<f64> {
    if !cell.has_usable_values() || !cell.is_paired() || cell.before.len() < MIN_PAIRS {
        return None;
    }
    let pairs = || cell.before.iter().zip(&cell.after);
    let differences: Vec<f64> = pairs().map(|(b, a)| a.ln() - b.ln()).collect();
    let sums: Vec<f64> = pairs().map(|(b, a)| a.ln() + b.ln()).collect();
    let (within, among) = (distance(&differences)?, distance(&sums)?);
    (among > 0.0).then(|| within / among)
}

/// Median distance between any two of the values.
fn distance(values: &[f64]) -> Option<f64> {
    let pairs = values.iter().zip(1..);
    let distances = pairs.flat_map(|(a, next)| values[next..].iter().map(move |b| (a - b).abs()));
    median(&distances.collect::<Vec<f64>>())
}
