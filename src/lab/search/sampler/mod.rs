//! [`Sampler`]: proposes the points of a search, by one of five algorithms.
//!
//! Samplers have no state: each point follows from the seed, the space and the trials that may be known. So the order in
//! which trials end, resuming, and the number of jobs have no effect. Logarithms and exponentials come from `libm`, not from
//! the system, so that all machines get the same points.

mod front;
mod grid;
mod nsga2;
mod random;
mod sobol;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod tpe;
mod unit;

use crate::base::{Purpose, Seed};
use crate::plan::search::{Parameter, Point, SamplerSpec, SearchSpec, Space, Value};

use super::Record;

/// Proposes points. Equal seed, trials and number give the same point.
#[derive(Debug, Clone)]
pub struct Sampler {
    kind: SamplerSpec,
    seed: Seed,
}

impl Sampler {
    /// The sampler of a search.
    pub fn of(search: &SearchSpec) -> Self {
        Self {
            kind: search.sampler.clone(),
            seed: Seed(search.seed),
        }
    }

    /// The point of trial `number` of study `study`, based on the trials `past` (those that may be known, by number); `None`
    /// if the space is exhausted.
    pub fn propose(
        &self,
        space: &Space,
        study: usize,
        past: &[Record],
        number: usize,
    ) -> Option<Point> {
        let stream = [study as u64, number as u64];
        let mut rng = self.seed.stream_at(Purpose::Search, &stream);
        Some(match &self.kind {
            SamplerSpec::Grid(_) => return grid::point(space, number),
            SamplerSpec::Random(_) => random::draw(space, &mut rng),
            SamplerSpec::Sobol(_) => sobol::point(space, self.seed, study, number),
            SamplerSpec::Tpe(settings) => tpe::point(settings, space, past, &mut rng),
            SamplerSpec::Nsga2(settings) => nsga2::point(settings, space, past, &mut rng),
        })
    }

    /// Maximum number of points; `None` if unlimited.
    pub fn limit(&self, space: &Space) -> Option<usize> {
        self.kind.is_grid().then(|| grid::size(space))
    }
}

/// Sets the parameters in order; `value` is called for each parameter that is active given the point so far.
fn decide(space: &Space, mut value: impl FnMut(usize, &Parameter) -> Value) -> Point {
    let mut point = Point::default();
    for (index, parameter) in space.parameters.iter().enumerate() {
        let is_active = space.is_active(index, &point);
        let value = is_active.then(|| value(index, parameter));
        point.values.push(value);
    }
    point
}
