//! The random sampler: independent draws.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::plan::search::{Point, Space};

use super::unit::{self, build_point};

/// Draws every parameter uniformly over its domain, independent of earlier trials.
pub(super) fn draw(space: &Space, rng: &mut ChaCha8Rng) -> Point {
    build_point(space, |_, parameter| {
        unit::value_at(&parameter.domain, rng.gen_range(0.0..1.0))
    })
}

#[cfg(test)]
mod tests {
    use crate::search::sampler::ProposedPoints;
    use crate::search::sampler::testing::{choice, float, random, space, when};

    #[test]
    fn a_trial_has_its_own_numbers_by_seed_study_and_number() {
        let space = space([float(0.0, 1.0)]);
        let at = |seed, study, number| {
            let sampler = random(seed);
            sampler
                .propose(&space, study, &[], &ProposedPoints::default(), number)
                .unwrap()
        };
        assert_eq!(at(1, 2, 3), at(1, 2, 3));
        for other in [at(0, 2, 3), at(1, 3, 2), at(1, 2, 4)] {
            assert_ne!(at(1, 2, 3), other);
        }
    }

    #[test]
    fn what_does_not_exist_is_not_drawn() {
        let sampler = random(0);
        let without = space([choice(2), float(0.0, 1.0)]);
        let with = when(
            space([choice(2), float(0.0, 1.0), float(0.0, 1.0)]),
            1,
            0,
            &[1],
        );
        let (mut inactive, before) = (0, ProposedPoints::default());
        for number in 0..40 {
            let point = sampler.propose(&with, 0, &[], &before, number).unwrap();
            assert_eq!(point.values.len(), 3);
            assert_eq!(point.get(1).is_some(), point.choice(0) == Some(1));
            if point.choice(0) == Some(0) {
                inactive += 1;
                let same = sampler.propose(&without, 0, &[], &before, number).unwrap();
                assert_eq!(point.get(2), same.get(1));
            }
        }
        assert!(inactive > 5);
    }
}
