//! [`Splits`]: the rows for training, validation and test.

use rand::seq::SliceRandom;

use super::DatasetError;
use crate::base::{Purpose, Seed};

/// Row numbers of each split, in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splits {
    /// Rows to train on.
    pub train: Vec<u32>,
    /// Rows to validate on; may be empty.
    pub validation: Vec<u32>,
    /// Rows to test on; may be empty.
    pub test: Vec<u32>,
}

/// A split, as given by the files or folders of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SplitKind {
    Train,
    Validation,
    Test,
}

impl SplitKind {
    pub(super) const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];
}

impl Splits {
    /// Cuts a permutation of all rows, drawn from the run's seed: training rows first, then validation, then test.
    pub(crate) fn random(rows: usize, [validation, test]: [usize; 2], seed: Seed) -> Self {
        let mut rows: Vec<u32> = (0..rows as u32).collect();
        rows.shuffle(&mut seed.stream(Purpose::Split));
        Self::cut(rows, [validation, test])
    }

    /// Splits drawn at random from the run's seed, stratified by class unless `labels` is empty.
    pub(crate) fn random_stratified(
        rows: usize,
        labels: &[u32],
        [validation, test]: [usize; 2],
        seed: Seed,
    ) -> Self {
        if labels.is_empty() {
            return Self::random(rows, [validation, test], seed);
        }
        let mut train: Vec<u32> = (0..rows as u32).collect();
        let test = take_stratified(&mut train, labels, test, 0, seed);
        let validation = take_stratified(&mut train, labels, validation, 1, seed);
        Self {
            train,
            validation,
            test,
        }
    }

    /// Cuts `rows` at these numbers of rows: the last ones are the test split, those before them the validation split.
    pub(crate) fn cut(mut rows: Vec<u32>, [validation, test]: [usize; 2]) -> Self {
        let test = rows.split_off(rows.len() - test);
        let validation = rows.split_off(rows.len() - validation);
        Self {
            train: rows,
            validation,
            test,
        }
    }

    /// Splits of these sizes from consecutive rows.
    pub(crate) fn consecutive([train, validation, test]: [usize; 3]) -> Self {
        let rows = 0..(train + validation + test) as u32;
        Self::cut(rows.collect(), [validation, test])
    }

    /// Splits from the split of every row, in row order.
    pub(super) fn from_row_splits(parts: impl IntoIterator<Item = SplitKind>) -> Self {
        let mut splits = Self::default();
        for (row, part) in (0..).zip(parts) {
            let rows = match part {
                SplitKind::Train => &mut splits.train,
                SplitKind::Validation => &mut splits.validation,
                SplitKind::Test => &mut splits.test,
            };
            rows.push(row);
        }
        splits
    }

    /// Moves `count` training rows to the validation split at random, stratified by class unless `labels` is empty.
    pub(crate) fn move_to_validation(&mut self, count: usize, labels: &[u32], seed: Seed) {
        self.validation = take_stratified(&mut self.train, labels, count, 0, seed);
    }

    /// Numbers of rows to train, validate and test on.
    pub(super) fn sizes(&self) -> [usize; 3] {
        [&self.train, &self.validation, &self.test].map(Vec::len)
    }
}

/// Default fraction of the rows to validate on, and to test on.
pub(super) fn default_share() -> f64 {
    0.15
}

/// Default value of settings that are `true` by default.
pub(super) fn default_true() -> bool {
    true
}

/// `floor(share × rows)`, where a fraction such as 0.15 means the decimal number, not its nearest float.
pub(crate) fn share_of(rows: usize, share: f64) -> usize {
    // 0.15 × 1,000,020 must be 150,003, not 150,002: the tolerance is far below one row.
    (rows as f64 * share + 1e-6).floor() as usize
}

/// Converts the fractions `validation` and `test` to numbers of rows.
///
/// # Errors
/// [`DatasetError::Mismatch`] when no row would be left to train on.
pub(crate) fn held_out(
    rows: usize,
    validation: f64,
    test: f64,
) -> Result<[usize; 2], DatasetError> {
    if validation >= 0.0 && test >= 0.0 && validation + test < 1.0 {
        return Ok([share_of(rows, validation), share_of(rows, test)]);
    }
    Err(DatasetError::Mismatch(format!(
        "`validation` and `test` must be at least 0 and together less than 1, not {validation} and {test}"
    )))
}

/// Moves `count` of `rows` out, each class in proportion to its size, drawn from the run's seed; rows stay ascending.
///
/// The class counts are proportional, rounded down; the remaining rows go to the largest remainders, ties to the lower
/// class. So every split has the exact size, and no class is off by more than one.
///
/// # Source
/// As scikit-learn's `StratifiedShuffleSplit`, which breaks ties between remainders at random.
fn take_stratified(
    rows: &mut Vec<u32>,
    labels: &[u32],
    count: usize,
    place: u64,
    seed: Seed,
) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let classes = labels.iter().max().map_or(1, |last| *last as usize + 1);
    let mut members = vec![Vec::new(); classes];
    for &row in rows.iter() {
        let label = labels.get(row as usize).copied().unwrap_or(0);
        members[label as usize].push(row);
    }
    let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
    let mut rng = seed.stream_at(Purpose::Split, &[place]);
    let mut taken = Vec::with_capacity(count);
    for (members, quota) in members.iter_mut().zip(quotas(&sizes, count)) {
        members.shuffle(&mut rng);
        taken.extend(members.drain(..quota));
    }
    taken.sort_unstable();
    *rows = members.concat();
    rows.sort_unstable();
    taken
}

/// Numbers of rows to take of each class, which sum to `count`; `sizes` are the numbers of rows of each class.
fn quotas(sizes: &[usize], count: usize) -> Vec<usize> {
    let total = sizes.iter().sum::<usize>().max(1);
    let mut quotas: Vec<usize> = sizes.iter().map(|size| size * count / total).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&class| std::cmp::Reverse(sizes[class] * count % total)); // stable: lower class first
    let missing = count - quotas.iter().sum::<usize>();
    for &class in order.iter().take(missing) {
        quotas[class] += 1;
    }
    quotas
}

/// Converts `validation.fraction` to a number of rows.
///
/// # Errors
/// [`DatasetError::Mismatch`] when the fraction is not in 0 ≤ f < 1.
pub(crate) fn validation_rows(rows: usize, fraction: f64) -> Result<usize, DatasetError> {
    if (0.0..1.0).contains(&fraction) {
        Ok(share_of(rows, fraction))
    } else {
        Err(DatasetError::Mismatch(format!(
            "`validation.fraction` must be at least 0 and less than 1, not {fraction}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stratified_split_takes_every_class_in_proportion() {
        let labels: Vec<u32> = (0..100).map(|row| u32::from(row >= 70)).collect();
        let mut rows: Vec<u32> = (0..100).collect();
        let taken = take_stratified(&mut rows, &labels, 21, 0, Seed(3));
        assert_eq!((taken.len(), rows.len()), (21, 79));
        assert_eq!(taken.iter().filter(|&&row| row >= 70).count(), 6); // 30 % of 21 is 6.3
        let mut all = [taken, rows].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<u32>>());
    }

    #[test]
    fn quotas_sum_to_the_count() {
        assert_eq!(quotas(&[1, 1, 1], 2), [1, 1, 0]);
        assert_eq!(quotas(&[546, 106], 65), [54, 11]);
        assert_eq!(quotas(&[0, 5], 5), [0, 5]);
    }

    #[test]
    fn shares_are_floors_of_the_written_decimal() {
        for rows in (0..2_000_000).step_by(17) {
            assert_eq!(share_of(rows, 0.15), rows * 15 / 100, "{rows}");
        }
    }
}
