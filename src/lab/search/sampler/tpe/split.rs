//! [`split`]: selects the good trials.

use std::cmp::Ordering;

use crate::plan::search::FailedTrials;
use crate::search::sampler::front;
use crate::search::{TrialRecord, TrialResult};

/// Trials split by quality, each part sorted by number.
#[derive(Debug)]
pub(super) struct Split<'a> {
    pub(super) good: Vec<&'a TrialRecord>,
    pub(super) bad: Vec<&'a TrialRecord>,
}

impl<'a> Split<'a> {
    pub(super) fn count(&self) -> usize {
        self.good.len() + self.bad.len()
    }

    /// The failed trials, and all other trials.
    pub(super) fn by_failure(&self) -> (Vec<&'a TrialRecord>, Vec<&'a TrialRecord>) {
        let all = self.good.iter().chain(&self.bad).copied();
        all.partition(|record| record.ending == TrialResult::Failed)
    }
}

/// Splits the trials that samplers learn from into the best `min(⌈n / 10⌉, 25)` and the others.
///
/// Done trials rank first: by value; with several objectives by front, and the least crowded first within the front
/// that does not fit as a whole. Then pruned trials: those with a later last step first, then by their last value.
/// Failed trials and those with a NaN are never good; `failed` says whether they count at all.
pub(super) fn split(past: &[TrialRecord], failed: FailedTrials) -> Split<'_> {
    let mut done: Vec<(usize, &[f64])> = Vec::new();
    let mut pruned: Vec<(usize, (i128, f64))> = Vec::new();
    let mut is_good = vec![None; past.len()];
    for (index, record) in past.iter().enumerate() {
        match &record.ending {
            TrialResult::Done(values) if !values.iter().any(|value| value.is_nan()) => {
                done.push((index, values));
            }
            TrialResult::Pruned => pruned.push((index, progress(record))),
            TrialResult::Done(_) | TrialResult::Failed if failed == FailedTrials::Ignore => {
                continue;
            }
            TrialResult::Done(_) | TrialResult::Failed => {}
        }
        is_good[index] = Some(false);
    }
    let count = is_good.iter().flatten().count().div_ceil(10).min(25);
    let of_done = count.min(done.len());
    for index in best_done(&mut done, of_done) {
        is_good[index] = Some(true);
    }
    pruned.sort_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    for (index, _) in pruned.iter().take(count - of_done) {
        is_good[*index] = Some(true);
    }
    let side = |wanted| {
        let records = past.iter().zip(&is_good);
        let records = records.filter(|(_, is_good)| **is_good == Some(wanted));
        records.map(|(record, _)| record).collect()
    };
    Split {
        good: side(true),
        bad: side(false),
    }
}

/// Returns the indices of the `count` best; of equal ones the earlier.
fn best_done(done: &mut [(usize, &[f64])], count: usize) -> Vec<usize> {
    if done.first().is_some_and(|(_, values)| values.len() > 1) {
        let values: Vec<&[f64]> = done.iter().map(|(_, values)| *values).collect();
        let best = front::best(&values, count);
        return best.into_iter().map(|i| done[i].0).collect();
    }
    let value = |values: &[f64]| values.first().copied().unwrap_or(f64::INFINITY);
    let order = |a: &(usize, &[f64]), b: &(usize, &[f64])| -> Ordering {
        value(a.1).total_cmp(&value(b.1)).then(a.0.cmp(&b.0))
    };
    // A partial sort is enough: the order among the best does not matter.
    if 0 < count && count < done.len() {
        done.select_nth_unstable_by(count - 1, order);
    }
    done.iter().take(count).map(|(index, _)| *index).collect()
}

/// Sort key of a pruned trial, smaller is better: minus its last step, then the value there.
fn progress(record: &TrialRecord) -> (i128, f64) {
    match record.curve.last() {
        Some((step, value)) if value.is_nan() => (-(*step as i128), f64::INFINITY),
        Some((step, value)) => (-(*step as i128), *value),
        None => (1, 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::search::Point;

    fn record(number: usize, ending: TrialResult, curve: &[(usize, f64)]) -> TrialRecord {
        TrialRecord {
            number,
            point: Point::default(),
            ending,
            curve: curve.to_vec(),
        }
    }

    fn numbers(side: &[&TrialRecord]) -> Vec<usize> {
        side.iter().map(|record| record.number).collect()
    }

    #[test]
    fn a_tenth_is_good_and_never_more_than_25() {
        for (count, good) in [(1, 1), (10, 1), (11, 2), (250, 25), (900, 25)] {
            let past: Vec<TrialRecord> = (0..count)
                .map(|number| record(number, TrialResult::Done(vec![-(number as f64)]), &[]))
                .collect();
            let split = split(&past, FailedTrials::Worst);
            assert_eq!(
                numbers(&split.good),
                (count - good..count).collect::<Vec<_>>()
            );
            assert_eq!(split.count(), count);
        }
    }

    #[test]
    fn pruned_trials_come_after_all_that_are_done_the_furthest_first() {
        let mut past = vec![
            record(0, TrialResult::Pruned, &[(0, 1.0), (1, 7.0)]),
            record(1, TrialResult::Pruned, &[(0, 0.1)]),
            record(2, TrialResult::Pruned, &[]),
            record(3, TrialResult::Pruned, &[(1, f64::NAN)]),
            record(4, TrialResult::Pruned, &[(1, 6.0)]),
            record(5, TrialResult::Done(vec![99.0]), &[]),
            record(6, TrialResult::Failed, &[(5, 0.0)]),
            record(7, TrialResult::Done(vec![f64::NAN]), &[]),
        ];
        for number in 8..40 {
            past.push(record(number, TrialResult::Pruned, &[]));
        }
        // 38 count: 4 are good. The order is 5 (done), 4, 0, 3 (step 1), 1 (step 0), 2, 8, … (no report).
        let found = split(&past, FailedTrials::Ignore);
        assert_eq!(numbers(&found.good), [0, 3, 4, 5]);
        assert_eq!(found.count(), 38);
        assert_eq!(numbers(&found.bad)[..3], [1, 2, 8]);
        let found = split(&past, FailedTrials::Worst);
        assert_eq!(numbers(&found.good), [0, 3, 4, 5]);
        assert_eq!(numbers(&found.bad)[..5], [1, 2, 6, 7, 8]);
        let failed = split(&past[6..8], FailedTrials::Worst);
        assert!(failed.good.is_empty() && failed.count() == 2);
    }

    #[test]
    fn several_objectives_are_split_by_front_and_crowding() {
        let values = [[5.0, 5.0], [1.0, 9.0], [9.0, 1.0], [2.0, 8.0], [4.0, 4.0]];
        let past: Vec<TrialRecord> = (0..20)
            .map(|number| {
                let values = values.get(number).map_or(vec![20.0, 20.0], |v| v.to_vec());
                record(number, TrialResult::Done(values), &[])
            })
            .collect();
        assert_eq!(numbers(&split(&past, FailedTrials::Worst).good), [1, 2]);
    }
}
