//! [`Seed`]: independent random streams by purpose, so that additional draws in one place do not change others.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The seed of a run (`measure.seeds`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

/// Purpose of random numbers. Each has its own stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Initial weights.
    Weights,
    /// The division into training, validation and test rows.
    Split,
    /// The order of samples in an epoch.
    Order,
    /// Augmentation of one sample in one epoch.
    Augmentation,
    /// Noise, timesteps and dropped labels of training steps.
    Noise,
    /// Evaluation noise, the same at every evaluation.
    Evaluation,
    /// Dropout masks.
    Dropout,
    /// Values of a generated dataset.
    Data,
    /// New samples from a generator, for a metric on data outside the training data.
    Fresh,
    /// The order in which the cells of a block (one pass over all cells) run.
    Blocks,
    /// Resampling in bootstrap intervals and tests.
    Bootstrap,
    /// Samples drawn from a model.
    Sampling,
    /// Points that a search proposes, by study and trial.
    Search,
    /// `MixUp` and `CutMix` of a batch, by epoch and batch.
    Mixing,
}

impl Seed {
    /// The random stream for `purpose`.
    pub fn stream(self, purpose: Purpose) -> ChaCha8Rng {
        self.stream_at(purpose, &[])
    }

    /// The stream for `purpose` at indices such as epoch, step and sample.
    ///
    /// Each index has its own stream, so that work may be done in any order by any thread.
    pub fn stream_at(self, purpose: Purpose, place: &[u64]) -> ChaCha8Rng {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0.to_le_bytes());
        hasher.update(&[purpose as u8]);
        for number in place {
            hasher.update(&number.to_le_bytes());
        }
        ChaCha8Rng::from_seed(*hasher.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngCore;

    #[test]
    fn streams_differ_by_seed_purpose_and_place() {
        let draws = [
            Seed(1).stream(Purpose::Order).next_u64(),
            Seed(2).stream(Purpose::Order).next_u64(),
            Seed(1).stream(Purpose::Split).next_u64(),
            Seed(1).stream_at(Purpose::Order, &[0]).next_u64(),
            Seed(1).stream_at(Purpose::Order, &[1]).next_u64(),
        ];
        for (i, a) in draws.iter().enumerate() {
            assert!(draws.iter().skip(i + 1).all(|b| a != b), "{draws:?}");
        }
    }

    #[test]
    fn the_same_place_gives_the_same_numbers() {
        let draw = || {
            Seed(7)
                .stream_at(Purpose::Augmentation, &[3, 14])
                .next_u64()
        };
        assert_eq!(draw(), draw());
    }
}
