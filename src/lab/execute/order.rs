//! The order of runs: block after block, each in a seeded random order.

use rand::seq::SliceRandom;

use crate::base::{Purpose, Seed};

use crate::event::RunId;

/// Sorts runs into blocks, and each block into a seeded random order.
///
/// The order within a block does not depend on which of its runs are requested: a resumed block continues in its original
/// order, so that a drift of the machine affects the same cells equally.
pub fn in_block_order(cells: usize, seeds: &[u64], wanted: &[RunId]) -> Vec<RunId> {
    let Some(blocks) = wanted.iter().map(|run| run.block + 1).max() else {
        return Vec::new();
    };
    let wanted: std::collections::HashSet<&RunId> = wanted.iter().collect();
    let mut order = Vec::with_capacity(wanted.len());
    for block in 0..blocks {
        let mut whole: Vec<RunId> = (0..cells)
            .flat_map(|cell| seeds.iter().map(move |&seed| RunId { cell, seed, block }))
            .collect();
        whole.shuffle(&mut Seed(0).stream_at(Purpose::Blocks, &[block as u64]));
        order.extend(whole.into_iter().filter(|run| wanted.contains(run)));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(blocks: usize) -> Vec<RunId> {
        let runs =
            |block| (0..4).flat_map(move |cell| [1, 2].map(|seed| RunId { cell, seed, block }));
        (0..blocks).flat_map(runs).collect()
    }

    #[test]
    fn blocks_follow_one_another_and_differ_in_order() {
        let order = in_block_order(4, &[1, 2], &all(2));
        assert_eq!(order.len(), 16);
        let (first, second) = order.split_at(8);
        assert!(first.iter().all(|run| run.block == 0) && second.iter().all(|run| run.block == 1));
        let places = |runs: &[RunId]| runs.iter().map(|r| (r.cell, r.seed)).collect::<Vec<_>>();
        assert_ne!(places(first), places(second));
    }

    #[test]
    fn a_resumed_block_goes_on_in_the_order_in_which_it_began() {
        let whole = in_block_order(4, &[1, 2], &all(1));
        let rest: Vec<RunId> = whole[3..].to_vec();
        let mut asked = rest.clone();
        asked.sort();
        assert_eq!(in_block_order(4, &[1, 2], &asked), rest);
    }
}
