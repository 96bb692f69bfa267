//! Samplers propose points: the trait [`Sampler`] and its five implementations.
//!
//! Samplers have no state: each point follows from the seed, the space and the trials that may be known. So the order in
//! which trials end, resuming, and the number of jobs have no effect. Logarithms and exponentials come from `libm`, not from
//! the system, so that all machines get the same points.

#[cfg(test)]
mod acceptance;
#[cfg(test)]
mod contract;
mod front;
mod grid;
mod nsga2;
mod random;
mod sobol;
#[cfg(test)]
mod testing;
mod tpe;
mod unit;

use rand_chacha::ChaCha8Rng;

use crate::base::{Purpose, Seed};
use crate::plan::search::{Parameter, Point, SamplerSpec, SearchSpec, Space, Value};

use super::Record;

/// Proposes points. A pure function: equal seed, trials and number give the same point.
pub trait Sampler: Sync {
    /// The point of trial `number` of study `study`, based on the trials `past` (those that may be known, by number); `None`
    /// if the space is exhausted.
    fn propose(&self, space: &Space, study: usize, past: &[Record], number: usize)
    -> Option<Point>;

    /// Maximum number of points; `None` if unlimited.
    fn limit(&self, _space: &Space) -> Option<usize> {
        None
    }
}

/// The sampler of a search.
pub fn sampler(search: &SearchSpec) -> Box<dyn Sampler> {
    let seed = Seed(search.seed);
    match search.sampler {
        SamplerSpec::Grid => Box::new(grid::Grid),
        SamplerSpec::Random => Box::new(random::Random { seed }),
        SamplerSpec::Sobol => Box::new(sobol::Sobol { seed }),
        SamplerSpec::Tpe {
            startup_trials,
            candidates,
        } => Box::new(tpe::Tpe {
            seed,
            startup_trials,
            candidates,
        }),
        SamplerSpec::Nsga2 { population } => Box::new(nsga2::Nsga2 { seed, population }),
    }
}

/// The random stream of one trial.
fn dice(seed: Seed, study: usize, number: usize) -> ChaCha8Rng {
    seed.stream_at(Purpose::Search, &[study as u64, number as u64])
}

/// Sets the parameters in order; `value` is called for each parameter that is active given the point so far.
fn decide(space: &Space, mut value: impl FnMut(usize, &Parameter) -> Value) -> Point {
    let mut point = Point::default();
    for (index, parameter) in space.parameters.iter().enumerate() {
        let is_active = space.is_active(index, &point);
        point
            .values
            .push(is_active.then(|| value(index, parameter)));
    }
    point
}
