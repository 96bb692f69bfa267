//! [`Splits`]: the rows for training, validation and test.

use std::io;
use std::path::Path;

use rand::seq::SliceRandom;

use super::{DatasetError, OpenDataset};
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

/// The split that the files or folders of a dataset say a row is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Train,
    Validation,
    Test,
}

impl Part {
    pub(super) const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];
}

impl Splits {
    /// Cuts a permutation of all rows, drawn from the run's seed: training rows first, then validation, then test.
    pub(crate) fn random(rows: usize, validation: usize, test: usize, seed: Seed) -> Self {
        let mut train: Vec<u32> = (0..rows as u32).collect();
        train.shuffle(&mut seed.stream(Purpose::Split));
        let test = train.split_off(rows - test);
        let validation = train.split_off(train.len() - validation);
        Self {
            train,
            validation,
            test,
        }
    }

    /// As [`Self::random`], of each class in proportion.
    pub(crate) fn stratified(
        labels: &[u32],
        classes: usize,
        [validation, test]: [usize; 2],
        seed: Seed,
    ) -> Self {
        let mut train: Vec<u32> = (0..labels.len() as u32).collect();
        let test = take_stratified(&mut train, labels, classes, test, 0, seed);
        let validation = take_stratified(&mut train, labels, classes, validation, 1, seed);
        Self {
            train,
            validation,
            test,
        }
    }
}

impl OpenDataset {
    /// Writes a CSV file `row,part`: what every row is called where it comes from ([`super::Dataset::source`]), and whether it is of
    /// `train`, `validation` or `test`.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn write_split(&self, path: &Path) -> io::Result<()> {
        let Splits {
            train,
            validation,
            test,
        } = &self.splits;
        let parts = [("train", train), ("validation", validation), ("test", test)];
        let rows = parts
            .into_iter()
            .flat_map(|(part, rows)| rows.iter().map(move |&row| (row, part)));
        let mut rows: Vec<(u32, &str)> = rows.collect();
        rows.sort_unstable();
        let mut table = csv::Writer::from_path(path)?;
        table.write_record(["row", "part"])?;
        for (row, part) in rows {
            table.write_record([self.dataset.source(row).as_str(), part])?;
        }
        table.flush()
    }
}

/// `floor(share × rows)`, where a share such as 0.15 means the decimal number, not its nearest float.
pub(crate) fn share_of(rows: usize, share: f64) -> usize {
    // 0.15 × 1,000,020 must be 150,003, not 150,002: the tolerance is far below one row.
    (rows as f64 * share + 1e-6).floor() as usize
}

/// The shares `validation` and `test` of `rows` as numbers of rows.
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
/// The class counts are the proportional shares rounded down; the rest goes to the largest remainders, ties to the lower
/// class. So every split has the exact size, and no class is off by more than one.
///
/// # Source
/// As scikit-learn's `StratifiedShuffleSplit`, which breaks ties between remainders at random.
pub(crate) fn take_stratified(
    rows: &mut Vec<u32>,
    labels: &[u32],
    classes: usize,
    count: usize,
    place: u64,
    seed: Seed,
) -> Vec<u32> {
    if count == 0 {
        return Vec::new();
    }
    let mut members = vec![Vec::new(); classes];
    for &row in rows.iter() {
        members[labels[row as usize] as usize].push(row);
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

/// Numbers of rows to take of each class, which sum to `count`.
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

/// `validation.fraction` of `rows` as a number of rows.
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
        let taken = take_stratified(&mut rows, &labels, 2, 21, 0, Seed(3));
        assert_eq!((taken.len(), rows.len()), (21, 79));
        assert_eq!(taken.iter().filter(|&&row| row >= 70).count(), 6); // 6.3
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
