//! Signatures of depth 4 of paths (time, value), one path per vector lane, and their backward pass.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::levels::{Levels, Piece, backward_step, extend};
use crate::ops::PathBatch;
use crate::ops::chunks::map_chunks;
use crate::ops::signature::{
    Doubles, LaneArithmetic, TruncatedTensorAlgebra, add_difference, increments, rows_of, to_lanes,
};
use crate::ops::simd::{dispatch_simd, f64_lanes};

const DEPTH: usize = 4;
/// Number of entries of a signature: 2 + 4 + 8 + 16.
pub(super) const ENTRIES: usize = 30;

/// The signatures of the whole paths, `(count, 30)`.
pub(super) fn signatures(paths: &PathBatch) -> Vec<f64> {
    let groups = map_chunks(paths.count(), f64_lanes(), work(paths), |group| {
        dispatch_simd(Forward { paths, group })
    });
    groups.concat()
}

/// The gradients of the points, `(count, points, 2)`, from `slopes`, those of the signatures, `(count, 30)`.
pub(super) fn signatures_backward(paths: &PathBatch, slopes: &[f64]) -> Vec<f64> {
    let groups = map_chunks(paths.count(), f64_lanes(), work(paths), |group| {
        let slopes = &slopes[group.start * ENTRIES..group.end * ENTRIES];
        dispatch_simd(Backward {
            paths,
            slopes,
            group,
        })
    });
    groups.concat()
}

struct Forward<'a> {
    paths: &'a PathBatch,
    group: Range<usize>,
}

impl WithSimd for Forward<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        let with = Doubles(simd);
        let mut signature = Levels::from_entries(&[with.splat(0.0); ENTRIES]);
        for d in steps(with, self.paths, self.group.start).as_chunks().0 {
            extend(with, &mut signature, &Piece::new(with, d));
        }
        rows_of::<Doubles<S>>(&signature.entries(), self.group.len())
    }
}

struct Backward<'a> {
    paths: &'a PathBatch,
    slopes: &'a [f64],
    group: Range<usize>,
}

impl WithSimd for Backward<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        let with = Doubles(simd);
        let steps = steps(with, self.paths, self.group.start);
        let pieces = steps.as_chunks().0;
        let zero = [with.splat(0.0); ENTRIES];
        let mut signature = Levels::from_entries(&zero);
        let mut before = Vec::with_capacity(pieces.len());
        for d in pieces {
            before.push(signature.lower);
            extend(with, &mut signature, &Piece::new(with, d));
        }
        let mut slopes = zero;
        to_lanes::<Doubles<S>>(self.slopes.chunks_exact(ENTRIES), &mut slopes);
        let mut adjoint = Levels::from_entries(&slopes);
        let mut gradient = vec![with.splat(0.0); (pieces.len() + 1) * PathBatch::CHANNELS];
        for (step, (d, before)) in pieces.iter().zip(&before).enumerate().rev() {
            let dd = backward_step(with, before, &Piece::new(with, d), &mut adjoint);
            add_difference(with, &mut gradient[step * PathBatch::CHANNELS..], &dd);
        }
        rows_of::<Doubles<S>>(&gradient, self.group.len())
    }
}

/// The increments of the paths from `first` on, `(points − 1, 2)`, one path per lane.
#[inline(always)]
fn steps<A: LaneArithmetic<Number = f64>>(
    with: A,
    paths: &PathBatch,
    first: usize,
) -> Vec<A::Vector> {
    let size = (paths.points(), PathBatch::CHANNELS);
    increments(with, paths.values(), size, first)
}

/// Floating-point operations of extending a signature by one piece, per path.
pub(super) fn extension_flop() -> usize {
    TruncatedTensorAlgebra::new(PathBatch::CHANNELS, DEPTH).flop()
}

/// Cost of the computation, as the number of values of an elementwise loop that takes as long.
fn work(paths: &PathBatch) -> usize {
    paths.values().len() * 8
}
