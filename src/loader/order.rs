//! The rows of an epoch, in order.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Draws as many rows as `rows` has, with replacement, every row with a weight of 1 / (rows of its class).
///
/// That is: a class first, all classes that have rows alike, then one of its rows.
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

/// `rows` in random order.
pub(super) fn shuffled(rows: &[u32], rng: &mut ChaCha8Rng) -> Vec<u32> {
    let mut order = rows.to_vec();
    order.shuffle(rng);
    order
}
