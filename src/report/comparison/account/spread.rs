//! A number computed from several cells' medians, with its interval over runs.

use std::collections::{BTreeMap, BTreeSet};

use rand::Rng;

use crate::base::statistics::{median, quantile, range};
use crate::base::{Purpose, Seed};
use crate::compare::{Ratio, needed_pairs, p_values_within_pairs, paired_p_value};
use crate::report::view::Cell;
use crate::results::{BlockRow, IntervalKind, MIN_RUNS_FOR_BOOTSTRAP};

/// Number of resamples of a bootstrap interval.
const RESAMPLES: usize = 2000;

/// Values of each run of a cell, by seed and block.
pub(in crate::report) type Runs = BTreeMap<(u64, usize), f64>;

/// The value of `get` for every counted run of a cell.
pub(in crate::report) fn of_runs(cell: &Cell<'_>, get: &dyn Fn(&BlockRow) -> Option<f64>) -> Runs {
    let runs = cell.counted.iter();
    let values = runs.filter_map(|run| Some(((run.seed, run.block), get(run)?)));
    values.filter(|(_, value)| value.is_finite()).collect()
}

/// `statistic` of the medians of several cells, over the runs of equal seed and block that all of them have.
///
/// Blocks are resampled as a whole, since a block contains all cells: from [`MIN_RUNS_FOR_BOOTSTRAP`] blocks on the
/// interval contains 95 % of 2000 bootstrap values, with fewer it is the range of the single blocks' values. `None` if
/// no block has all cells.
pub(in crate::report) fn statistic_over_blocks(
    label: &str,
    cells: &[Runs],
    statistic: &dyn Fn(&[f64]) -> f64,
) -> Option<Ratio> {
    let rows = rows(cells);
    let all: Vec<usize> = (0..rows.len()).collect();
    let value = of_medians(&rows, &all, statistic)?;
    let (kind, (low, high)) = match rows.len() {
        1 => (IntervalKind::Single, (value, value)),
        2..MIN_RUNS_FOR_BOOTSTRAP => {
            let single: Vec<f64> = rows.iter().map(|row| statistic(row)).collect();
            let (low, high) = range(&single)?;
            (IntervalKind::Range, (low.min(value), high.max(value)))
        }
        _ => (
            IntervalKind::Bootstrap95,
            resampled(label, &rows, statistic)?,
        ),
    };
    (value.is_finite() && low.is_finite() && high.is_finite()).then_some(Ratio {
        value,
        low,
        high,
        kind,
    })
}

/// The ratio of two medians: the second ÷ the first.
pub(in crate::report) fn ratio_of_medians(medians: &[f64]) -> f64 {
    medians[1] / medians[0]
}

/// P-value over the blocks that both cells have: of the sign-flip test, or of Mann–Whitney if there are too few pairs,
/// as for verdicts; adjusted for `tests` tests (Bonferroni).
pub(super) fn p_value(before: &Runs, after: &Runs, tests: usize) -> Option<f64> {
    let pairs = before
        .iter()
        .filter_map(|(key, value)| Some((*value, *after.get(key)?)));
    let pairs: Vec<(f64, f64)> = pairs.collect();
    let p = if pairs.len() >= needed_pairs(1, tests) {
        paired_p_value(&pairs)?
    } else {
        let sides = pairs.iter().copied().unzip();
        let sides: (Vec<f64>, Vec<f64>) = sides;
        (!pairs.is_empty()).then(|| p_values_within_pairs(&[[sides.0, sides.1]])[0])?
    };
    Some((p * tests as f64).min(1.0))
}

/// A matrix with one row for each block that all cells have, one column per cell.
fn rows(cells: &[Runs]) -> Vec<Vec<f64>> {
    let Some((first, others)) = cells.split_first() else {
        return Vec::new();
    };
    let mut keys: BTreeSet<(u64, usize)> = first.keys().copied().collect();
    for other in others {
        keys.retain(|key| other.contains_key(key));
    }
    let row = |key: (u64, usize)| {
        cells
            .iter()
            .filter_map(|cell| cell.get(&key).copied())
            .collect()
    };
    keys.into_iter().map(row).collect()
}

fn of_medians(
    rows: &[Vec<f64>],
    drawn: &[usize],
    statistic: &dyn Fn(&[f64]) -> f64,
) -> Option<f64> {
    let mut column = vec![0.0; drawn.len()];
    let mut medians = rows.first()?.clone();
    for (place, middle) in medians.iter_mut().enumerate() {
        for (value, row) in column.iter_mut().zip(drawn) {
            *value = rows[*row][place];
        }
        *middle = median(&column)?;
    }
    Some(statistic(&medians))
}

/// The 2.5 % and 97.5 % quantiles of `statistic` over resampled rows. The random stream depends on `label` alone, so
/// that intervals do not influence each other.
fn resampled(
    label: &str,
    rows: &[Vec<f64>],
    statistic: &dyn Fn(&[f64]) -> f64,
) -> Option<(f64, f64)> {
    let digest = *blake3::hash(label.as_bytes()).as_bytes();
    let mut rng = Seed(0).stream_at(Purpose::Bootstrap, &digest.map(u64::from));
    let mut draw = vec![0; rows.len()];
    let mut values = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for place in &mut draw {
            *place = rng.gen_range(0..rows.len());
        }
        values.push(of_medians(rows, &draw, statistic)?);
    }
    Some((quantile(&values, 0.025)?, quantile(&values, 0.975)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Runs {
        values
            .iter()
            .enumerate()
            .map(|(block, value)| ((42, block), *value))
            .collect()
    }

    #[test]
    fn below_six_blocks_the_ends_are_those_of_single_blocks() {
        let (before, after) = (runs(&[10.0, 20.0, 30.0]), runs(&[5.0, 8.0, 18.0]));
        let found =
            statistic_over_blocks("a", &[before, after], &ratio_of_medians).expect("three blocks");
        // 8 ÷ 20; single blocks: 0.5, 0.4, 0.6.
        assert_eq!((found.value, found.low, found.high), (0.4, 0.4, 0.6));
        assert_eq!(found.kind, IntervalKind::Range);
    }

    #[test]
    fn a_drift_that_hits_both_cells_of_a_block_is_no_spread() {
        let drift = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
        let (before, after) = (runs(&drift.map(|d| 2.0 * d)), runs(&drift.map(|d| 3.0 * d)));
        let found =
            statistic_over_blocks("a", &[before, after], &ratio_of_medians).expect("six blocks");
        let ends = [found.value, found.low, found.high];
        assert!(ends.iter().all(|end| (end - 1.5).abs() < 1e-12), "{ends:?}");
        assert_eq!(found.kind, IntervalKind::Bootstrap95);
    }

    #[test]
    fn only_blocks_that_all_cells_have_count() {
        let before = runs(&[10.0, 20.0]);
        let after = Runs::from([((42, 1), 5.0), ((7, 0), 1.0)]);
        let found = statistic_over_blocks("a", &[before.clone(), after], &ratio_of_medians)
            .expect("one block");
        assert_eq!((found.value, found.kind), (0.25, IntervalKind::Single));
        assert_eq!(
            statistic_over_blocks("a", &[before, Runs::new()], &ratio_of_medians),
            None
        );
    }
}
