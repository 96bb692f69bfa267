//! The Sobol sampler: low-discrepancy points.

use rand::RngCore;

use crate::base::{Purpose, Seed};
use crate::plan::search::{Point, Space};

use super::unit::{self, build_point};

/// Points per sequence; further points come from another sequence with another scrambling.
const LENGTH: usize = 1 << 16;

/// A point of an Owen-scrambled Sobol sequence, one dimension per parameter.
///
/// The first `2ᵏ` points, for any `k`, are spread over each parameter's range more evenly than random points. Each
/// study has its own scrambling.
///
/// # Source
/// Burley 2020, *Practical Hash-based Owen Scrambling* (crate `sobol_burley`).
pub(super) fn point(space: &Space, seed: Seed, study: usize, number: usize) -> Point {
    let dimensions = sobol_burley::NUM_DIMENSIONS as usize;
    build_point(space, |index, parameter| {
        // A sequence ends after 2¹⁶ points and 256 dimensions; beyond that, another scrambling is used.
        let scramble = [study, number / LENGTH, index / dimensions].map(|part| part as u64);
        let scramble = seed.stream_at(Purpose::Search, &scramble).next_u32();
        let (number, dimension) = (number % LENGTH, index % dimensions);
        let place = sobol_burley::sample(number as u32, dimension as u32, scramble);
        unit::value_at(&parameter.domain, f64::from(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::sampler::testing::{float, int, space};

    fn column(seed: u64, study: usize, index: usize, numbers: std::ops::Range<usize>) -> Vec<f64> {
        let space = space([float(0.0, 1.0), float(0.0, 1.0), int(0, 7, 1)]);
        numbers
            .map(|number| point(&space, Seed(seed), study, number))
            .map(|point| point.get(index).unwrap().as_f64())
            .collect()
    }

    #[test]
    fn sixteen_points_fall_into_sixteen_slices() {
        for index in 0..2 {
            let mut slices: Vec<usize> = column(3, 1, index, 0..16)
                .iter()
                .map(|x| (x * 16.0) as usize)
                .collect();
            slices.sort_unstable();
            assert_eq!(slices, (0..16).collect::<Vec<_>>());
        }
        let mut levels = column(3, 1, 2, 0..8);
        levels.sort_by(f64::total_cmp);
        assert_eq!(levels, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }

    #[test]
    fn studies_and_seeds_have_other_points_and_a_long_search_goes_on() {
        assert_ne!(column(3, 1, 0, 0..4), column(3, 2, 0, 0..4));
        assert_ne!(column(3, 1, 0, 0..4), column(4, 1, 0, 0..4));
        let beyond = column(3, 1, 0, LENGTH..LENGTH + 4);
        assert_ne!(beyond, column(3, 1, 0, 0..4));
        assert!(beyond.iter().all(|x| (0.0..1.0).contains(x)));
    }
}
