//! Medians over runs with their intervals, for `timings.csv`. They are computed only here; reports and comparisons read
//! that file.

use std::collections::{BTreeMap, BTreeSet};

use rand_chacha::ChaCha8Rng;

use crate::base::statistics;
use crate::base::units::{exponent_of, round_significant, round_to_exponent};
use crate::base::{Purpose, Seed};
use crate::event::RunTimes;

use super::columns::{
    DURATION_COLUMNS, PARENT_COLUMNS, SESSION_COLUMNS, TIME_COLUMNS, TIMINGS_COLUMNS,
};
use super::command_columns::show_time;
use super::field::Field;
use super::{BlockRow, Interval, IntervalKind, Status, TimingRow, by_key};

/// From this many runs on, the interval is a bootstrap interval; below, it is the range of the runs.
pub const MIN_RUNS_FOR_BOOTSTRAP: usize = 6;
/// Resamples of a bootstrap interval.
const RESAMPLES: usize = 2000;
/// Significant digits of a timing that has no interval.
const SINGLE_DIGITS: usize = 3;

/// Returns one row per cell that has counted runs, in the order in which the cells first appear in `blocks`.
pub fn timings(blocks: &[BlockRow]) -> Vec<TimingRow> {
    let mut cells = by_key(blocks, |block| &block.key);
    let in_order = blocks.iter();
    let in_order = in_order.filter_map(|block| cells.remove_entry(&*block.key));
    let rows = in_order.filter_map(|(key, blocks)| timing_row(key, &blocks));
    rows.collect()
}

/// Returns the row of one cell over its runs; `None` if no run was measured.
///
/// The seed of the bootstrap depends on the key alone, so that no cell changes another's interval.
fn timing_row(key: &str, blocks: &[&BlockRow]) -> Option<TimingRow> {
    let counted = counted_runs(blocks);
    let first = counted.first()?;
    let mut values = BTreeMap::new();
    let own = counted.iter().filter_map(|block| block.times.as_deref());
    let own: BTreeSet<&str> = own
        .flat_map(|times| times.own.keys())
        .map(|name| &**name)
        .collect();
    // Stream `TIMED.len()` is for values without a column (`interval_over_runs`), so times of commands start after it.
    let places = (0..TIMINGS_COLUMNS.len()).chain(TIMINGS_COLUMNS.len() + 1..);
    for (index, name) in places.zip(TIMINGS_COLUMNS.into_iter().chain(own)) {
        let column: Option<Vec<f64>> = counted.iter().map(|block| value(block, name)).collect();
        if let Some(interval) = column.and_then(|column| interval(key, index, &column)) {
            values.insert(name.to_owned(), interval);
        }
    }
    let steps = counted.iter().filter_map(|block| value(block, "step_ms"));
    let steps: Vec<f64> = steps.collect();
    Some(TimingRow {
        key: key.to_owned(),
        n: counted.len(),
        env_id: first.env_id.clone(),
        values,
        outliers: statistics::outliers(&steps),
    })
}

/// Returns the runs of a cell that its timings are computed from: finished and measured runs of the environment with
/// the most such runs; if some of these ran alone on the machine, only those.
pub fn counted_runs<'a>(blocks: &[&'a BlockRow]) -> Vec<&'a BlockRow> {
    let measured = |block: &&&'a BlockRow| {
        block.status == Status::Done && block.times.as_deref().is_some_and(RunTimes::are_measured)
    };
    let mut runs: Vec<&BlockRow> = blocks.iter().filter(measured).copied().collect();
    if runs.iter().any(|run| run.exclusive) {
        runs.retain(|run| run.exclusive);
    }
    // Two environments with equal numbers of runs: the alphabetically first one is taken, so that the order of rows has
    // no effect.
    let environments = by_key(runs, |run| &run.env_id).into_values().rev();
    environments.max_by_key(Vec::len).unwrap_or_default()
}

/// Returns a measured value of a run by its column in `blocks.csv`, rounded as in that file; `None` if it is missing.
pub fn value(block: &BlockRow, column: &str) -> Option<f64> {
    let mut of_parent = PARENT_COLUMNS
        .iter()
        .chain(DURATION_COLUMNS)
        .chain(SESSION_COLUMNS);
    if let Some(found) = of_parent.find(|known| known.name == column) {
        return (found.show)(block).parse().ok();
    }
    timed_value(block.times.as_deref()?, column)
}

/// Value of a time column that the worker measured, rounded as in `blocks.csv`; `None` if it is missing.
pub(super) fn timed_value(times: &RunTimes, column: &str) -> Option<f64> {
    match TIME_COLUMNS.iter().find(|known| known.name == column) {
        Some(found) => show_time(found, times).parse().ok(),
        None => times.own.get(column)?.show_measured().parse().ok(),
    }
}

/// Returns the median of a value over the runs of a cell with its interval, rounded as in `timings.csv`.
///
/// For values that have no column in that file; `None` without values.
pub fn interval_over_runs(key: &str, values: &[f64]) -> Option<Interval> {
    interval(key, TIMINGS_COLUMNS.len(), values)
}

/// Like [`interval_over_runs`], but not rounded.
pub fn exact_interval_over_runs(key: &str, values: &[f64]) -> Option<Interval> {
    exact_interval(key, TIMINGS_COLUMNS.len(), values)
}

/// The random stream for resampling `column` of the cell `key`, so that no cell and no column changes another's
/// interval.
pub(crate) fn bootstrap_stream(key: &str, column: usize) -> ChaCha8Rng {
    let place = (*blake3::hash(key.as_bytes()).as_bytes()).map(u64::from);
    Seed(column as u64).stream_at(Purpose::Bootstrap, &place)
}

/// Returns median and interval of values over runs: the range below [`MIN_RUNS_FOR_BOOTSTRAP`] values, else a bootstrap
/// interval seeded by `key` and `column`; rounded to two significant digits of the interval, or to three significant
/// digits without one. A value that this would round to 0 keeps two significant digits of its own: a throughput of 0
/// was never measured.
pub fn interval(key: &str, column: usize, values: &[f64]) -> Option<Interval> {
    let exact = exact_interval(key, column, values)?;
    let round = |value: f64| match exact.high - exact.low {
        width if width > 0.0 => match round_to_exponent(value, exponent_of(width) - 1) {
            0.0 => round_significant(value, 2),
            rounded => rounded,
        },
        _ => round_significant(value, SINGLE_DIGITS),
    };
    Some(Interval {
        median: round(exact.median),
        low: round(exact.low),
        high: round(exact.high),
        kind: exact.kind,
    })
}

fn exact_interval(key: &str, column: usize, values: &[f64]) -> Option<Interval> {
    let median = statistics::median(values)?;
    let (kind, (low, high)) = match values.len() {
        1 => (IntervalKind::Single, (median, median)),
        2..MIN_RUNS_FOR_BOOTSTRAP => (IntervalKind::Range, statistics::range(values)?),
        _ => {
            let mut rng = bootstrap_stream(key, column);
            let ends = statistics::bootstrap_median(values, 0.95, RESAMPLES, &mut rng)?;
            (IntervalKind::Bootstrap95, ends)
        }
    };
    Some(Interval {
        median,
        low,
        high,
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::RunTimes;

    fn run(block: usize, step_ms: f64, env_id: &str) -> BlockRow {
        let times = RunTimes {
            measured_steps: Some(5),
            step_ms,
            ..RunTimes::default()
        };
        BlockRow {
            key: "a".into(),
            seed: 1,
            block,
            status: Status::Done,
            reason: String::new(),
            env_id: env_id.into(),
            exclusive: true,
            times: Some(times.into()),
            peak_rss_bytes: None,
            cpu_s: None,
            wall_s: None,
            estimated_s: None,
            session: None,
            start_s: None,
        }
    }

    fn step(values: &[f64]) -> Interval {
        let blocks: Vec<BlockRow> = values
            .iter()
            .enumerate()
            .map(|(block, &ms)| run(block, ms, "e"))
            .collect();
        timings(&blocks)[0].values["step_ms"]
    }

    #[test]
    fn one_run_is_single_and_has_three_digits() {
        let found = step(&[123.456]);
        assert_eq!(found.kind, IntervalKind::Single);
        assert!((found.median - 123.0).abs() < 1e-9);
    }

    #[test]
    fn few_runs_give_their_range_with_two_digits_of_it() {
        let found = step(&[100.04, 103.51, 101.22]);
        assert_eq!(found.kind, IntervalKind::Range);
        let ends = [found.median, found.low, found.high].map(|end| end.to_string());
        assert_eq!(ends, ["101.2", "100", "103.5"]);
        // An end that is much smaller than the interval is not rounded to 0.
        let found = step(&[24_605.0, 119_000.0, 2_169_000.0]);
        let ends = [found.median, found.low, found.high].map(|end| end.to_string());
        assert_eq!(ends, ["100000", "25000", "2200000"]);
    }

    #[test]
    fn six_runs_give_a_bootstrap_interval_that_repeats() {
        let values = [10.0, 10.4, 9.9, 10.1, 10.2, 14.0];
        let found = step(&values);
        assert_eq!(found.kind, IntervalKind::Bootstrap95);
        assert!(found.low >= 9.9 && found.high <= 14.0 && found.low < found.high);
        assert_eq!(found, step(&values));
    }

    #[test]
    fn runs_of_one_environment_count_and_failed_ones_do_not() {
        let mut blocks = vec![run(0, 1.0, "b"), run(1, 2.0, "b"), run(2, 50.0, "a")];
        blocks.push(BlockRow {
            status: Status::Killed,
            ..run(3, 90.0, "b")
        });
        let row = &timings(&blocks)[0];
        assert_eq!((row.n, row.env_id.as_str()), (2, "b"));
    }
}
