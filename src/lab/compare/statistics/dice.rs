//! [`Dice`]: many small random integers from one stream.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Draws integers below a bound. Resampling draws millions of them, so random words are generated in blocks.
pub(in crate::compare) struct Dice {
    rng: ChaCha8Rng,
    words: [u32; 256],
    next: usize,
}

impl Dice {
    pub(in crate::compare) fn new(rng: ChaCha8Rng) -> Self {
        Self {
            rng,
            words: [0; 256],
            next: 256,
        }
    }

    /// Returns a number from 0 to `bound − 1`, each with probability `1 / bound` up to 2⁻³².
    pub(super) fn below(&mut self, bound: usize) -> usize {
        if self.next == self.words.len() {
            self.rng.fill(&mut self.words[..]);
            self.next = 0;
        }
        let word = u64::from(self.words[self.next]);
        self.next += 1;
        ((word * bound as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};

    #[test]
    fn every_number_below_the_bound_comes_about_equally_often() {
        let mut dice = Dice::new(Seed(1).stream(Purpose::Bootstrap));
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
