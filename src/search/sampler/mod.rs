//! Where to look next.

use crate::plan::search::{Point, SearchSpec, Space};

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
    let _ = search;
    Box::new(Nothing)
}

/// Until there are samplers.
struct Nothing;

impl Sampler for Nothing {
    fn propose(&self, _: &Space, _: usize, _: &[Record], _: usize) -> Option<Point> {
        None
    }
}
