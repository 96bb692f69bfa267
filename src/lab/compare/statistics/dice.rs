//! [`Dice`]: many small random integers from one stream.

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

/// Draws integers below a bound.
pub(in crate::compare) struct Dice(pub(in crate::compare) ChaCha8Rng);

impl Dice {
    /// Returns a number from 0 to `bound − 1`, each with probability `1 / bound` up to 2⁻³².
    pub(super) fn below(&mut self, bound: usize) -> usize {
        let word = u64::from(self.0.next_u32());
        ((word * bound as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};

    #[test]
    fn every_number_below_the_bound_comes_about_equally_often() {
        let mut dice = Dice(Seed(1).stream(Purpose::Bootstrap));
        let mut counts = [0; 6];
        for _ in 0..6000 {
            counts[dice.below(6)] += 1;
        }
        // Four standard deviations of a binomial count.
        assert!(
            counts.iter().all(|count| (885..=1115).contains(count)),
            "{counts:?}"
        );
    }
}
