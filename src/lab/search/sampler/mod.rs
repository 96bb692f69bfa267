//! [`Sampler`]: proposes the points of a search, by one of five algorithms.
//!
//! Samplers have no state: each point follows from the seed, the space and the earlier trials that `search.lag` allows.
//! So the order in which trials end, resuming, and the number of concurrent runs have no effect. Logarithms and
//! exponentials come from `libm`, not from the system, so that all machines get the same points.

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

use std::collections::HashSet;

use rand::Rng;

use crate::base::units::round_significant;
use crate::base::{Purpose, Seed};
use crate::plan::search::{
    Domain, FailedTrials, Point, SamplerSpec, SearchSpec, Space, TpeSection, Value,
};

use super::TrialRecord;

/// Number of points that an algorithm proposes for a trial before a new point is drawn at random.
const TRIES: usize = 16;
/// Number of random draws without a new point after which a space of continuous parameters counts as exhausted: rounded
/// to [`DIGITS`], a narrow range has few values.
const DRAWS: usize = 1000;

/// Significant digits of a proposed number: the seventh digit does not matter for a trial, and keys stay readable.
const DIGITS: usize = 6;

/// Proposes points of the search space. Equal seed, earlier trials and trial number give the same point.
#[derive(Debug, Clone)]
pub struct Sampler {
    kind: SamplerSpec,
    seed: Seed,
    failed: FailedTrials,
}

/// Points that were proposed in a study.
#[derive(Debug, Clone, Default)]
pub struct ProposedPoints {
    points: HashSet<Vec<Option<u64>>>,
}

impl ProposedPoints {
    /// Adds a point.
    pub fn add(&mut self, point: &Point) {
        self.points.insert(point.bits());
    }

    fn has(&self, point: &Point) -> bool {
        self.points.contains(&point.bits())
    }
}

impl Sampler {
    /// The sampler of a search.
    pub fn of(search: &SearchSpec) -> Self {
        Self {
            kind: search.sampler.clone(),
            seed: Seed(search.seed),
            failed: search.failed,
        }
    }

    /// The point of trial `number` of study `study`, based on the finished trials `past` (those that `search.lag`
    /// allows, by number). The point differs from those of all earlier trials, `before`; `None` if no such point is
    /// found.
    ///
    /// If the algorithm's point was proposed before, it is drawn again with other random numbers, a limited number of
    /// times; then any new point of the space is drawn.
    pub fn propose(
        &self,
        space: &Space,
        study: usize,
        past: &[TrialRecord],
        before: &ProposedPoints,
        number: usize,
    ) -> Option<Point> {
        let is_new = |point: &Point| !before.has(point);
        (0..TRIES)
            .map_while(|attempt| self.point(space, study, past, number, attempt))
            .map(|point| rounded(space, point))
            .find(is_new)
            .or_else(|| self.unproposed(space, study, before, number))
    }

    /// The algorithm's point for trial `number`; `attempt` counts from 0.
    fn point(
        &self,
        space: &Space,
        study: usize,
        past: &[TrialRecord],
        number: usize,
        attempt: usize,
    ) -> Option<Point> {
        let stream = [study, number, attempt].map(|part| part as u64);
        // The first attempt does not add its number to the seed, so that searches of earlier versions keep their
        // points.
        let stream = &stream[..if attempt == 0 { 2 } else { 3 }];
        let mut rng = self.seed.stream_at(Purpose::Search, stream);
        Some(match &self.kind {
            // All grid points between the trial's own position and this one were proposed before.
            SamplerSpec::Grid(_) => return grid::point(space, number + attempt),
            SamplerSpec::Sobol(_) => sobol::point(space, self.seed, study, number + attempt),
            SamplerSpec::Random(_) => random::draw(space, &mut rng),
            SamplerSpec::Tpe(settings) => {
                // Further attempts use fewer candidates: the best of many would often be the same point again.
                let settings = TpeSection {
                    candidates: settings.candidates >> attempt,
                    ..settings.clone()
                };
                tpe::point(&settings, space, past, self.failed, &mut rng)
            }
            SamplerSpec::Nsga2(settings) => {
                nsga2::point(settings, space, past, self.failed, &mut rng)
            }
        })
    }

    /// A random point of the space that is not in `before`; `None` if none is found.
    fn unproposed(
        &self,
        space: &Space,
        study: usize,
        before: &ProposedPoints,
        number: usize,
    ) -> Option<Point> {
        let stream = [study, number, TRIES].map(|part| part as u64);
        let mut rng = self.seed.stream_at(Purpose::Search, &stream);
        let is_new = |point: &Point| !before.has(point);
        if space.size().is_none() {
            let draw = || rounded(space, random::draw(space, &mut rng));
            return std::iter::repeat_with(draw).take(DRAWS).find(is_new);
        }
        let size = grid::size(space);
        let start = rng.gen_range(0..size);
        // Of `n + 1` different points at least one is new if `n` were proposed.
        (0..size.min(before.points.len() + 1))
            .filter_map(|step| grid::point(space, start.wrapping_add(step) % size))
            .map(|point| rounded(space, point))
            .find(is_new)
    }
}

/// The point with its numbers rounded, clamped to their ranges.
fn rounded(space: &Space, mut point: Point) -> Point {
    for (parameter, value) in space.parameters.iter().zip(&mut point.values) {
        if let (Domain::Float { low, high, .. }, Some(Value::Float(number))) =
            (&parameter.domain, value)
        {
            *number = round_significant(*number, DIGITS).clamp(*low, *high);
        }
    }
    point
}
