//! Where to look next: [`Sampler`], and the five of them.
//!
//! A sampler keeps nothing: it works out each point from the seed, the space and the trials that it may know. So the
//! order in which trials end, a resumed search and the number of jobs change nothing. Logarithms and exponentials are
//! `libm`'s, not the system's: the same points on every machine.

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

/// Proposes points. A pure function: the same seed, trials and number give the same point.
pub trait Sampler: Sync {
    /// The point of trial `number` of study `study`, from the trials `past` (those that it may know, by number); `None`
    /// when the space is exhausted.
    fn propose(&self, space: &Space, study: usize, past: &[Record], number: usize)
    -> Option<Point>;

    /// Points that there are at most; `None` where there is no such number.
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

/// The random numbers of one trial.
fn dice(seed: Seed, study: usize, number: usize) -> ChaCha8Rng {
    seed.stream_at(Purpose::Search, &[study as u64, number as u64])
}

/// Decides the parameters in their order; `value` is asked for each that exists at the point so far.
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
