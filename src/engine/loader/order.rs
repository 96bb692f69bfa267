//! Draws the order in which an epoch visits the rows.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Draws as many rows as `rows` has, with replacement; a row has the weight 1 / (number of rows of its class).
///
/// So all non-empty classes are equally likely, and within a class all rows.
pub(super) fn weighted(rows: &[u32], labels: &[u32], rng: &mut ChaCha8Rng) -> Vec<u32> {
    let classes = labels.iter().max().map_or(0, |&last| last as usize + 1);
    let mut members = vec![Vec::new(); classes];
    for &row in rows {
        members[labels[row as usize] as usize].push(row);
    }
    members.retain(|members| !members.is_empty());
    rows.iter()
        .map(|_| {
            let members = &members[rng.gen_range(0..members.len() as u32) as usize];
            members[rng.gen_range(0..members.len() as u32) as usize]
        })
        .collect()
}

/// `rows` in a random order.
pub(super) fn shuffled(rows: &[u32], rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut order = rows.to_vec();
    order.shuffle(rng);
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};

    #[test]
    fn every_class_is_drawn_alike_and_so_is_every_row_of_it() {
        // There are classes of 90, 9 and 1 rows; a row's expected share of the draws is 1/3 ÷ (rows of its class).
        let size = |row: u32| match row {
            0..90 => 90.0,
            90..99 => 9.0,
            _ => 1.0,
        };
        let label = |row: u32| u32::from(row >= 90) + u32::from(row >= 99);
        let labels: Vec<u32> = (0..100).map(label).collect();
        let rows: Vec<u32> = (0..100).collect();
        let mut rng = Seed(1).stream(Purpose::Order);
        let mut counts = [0_u32; 100];
        for row in (0..900).flat_map(|_| weighted(&rows, &labels, &mut rng)) {
            counts[row as usize] += 1;
        }
        for (row, count) in counts.iter().enumerate() {
            let expected = 90_000.0 / 3.0 / size(row as u32);
            let error = (f64::from(*count) - expected) / expected.sqrt();
            assert!(
                error.abs() < 5.0,
                "row {row}: {count} instead of {expected}"
            );
        }
    }
}
