//! Signatures of depth 4 of paths in time, as many at a time as a vector has lanes, and the way back.
#![expect(
    clippy::inline_always,
    reason = "compiled anew for each vector level inside `simd_vectors`"
)]

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::ops::PathBatch;
use crate::ops::chunks::map_chunks;
use crate::ops::signature::{Algebra, Arithmetic, Doubles, increments, rows_of, stream, unwind};
use crate::ops::simd::{simd_vectors, wide_lanes};

/// Highest level.
const DEPTH: usize = 4;
/// Entries of a signature: 2 + 4 + 8 + 16.
pub(super) const ENTRIES: usize = 30;

/// The signatures of whole paths, `(count, 30)`.
pub(super) fn signatures(paths: &PathBatch) -> Vec<f64> {
    let groups = map_chunks(paths.count(), wide_lanes(), work(paths), |group| {
        simd_vectors(Forward { paths, group })
    });
    groups.concat()
}

/// The slopes by the points, `(count, points, 2)`, from those by the signatures, `(count, 30)`.
pub(super) fn signatures_backward(paths: &PathBatch, slopes: &[f64]) -> Vec<f64> {
    let groups = map_chunks(paths.count(), wide_lanes(), work(paths), |group| {
        let slopes = &slopes[group.start * ENTRIES..group.end * ENTRIES];
        simd_vectors(Backward {
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
        let (with, paths) = (Doubles(simd), self.paths);
        let size = (paths.points(), PathBatch::CHANNELS);
        let d = increments(with, paths.values(), size, self.group.start);
        let mut signature = [with.splat(0.0); ENTRIES];
        let mut chain = signature;
        for d in d.chunks_exact(PathBatch::CHANNELS) {
            algebra().extend(with, &mut signature, d, &mut chain);
        }
        rows_of::<Doubles<S>>(&signature, self.group.len())
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
        let (with, paths) = (Doubles(simd), self.paths);
        let size = (paths.points(), PathBatch::CHANNELS);
        let d = increments(with, paths.values(), size, self.group.start);
        let last = paths.points() - 2;
        let mut signatures = vec![with.splat(0.0); (last + 1) * ENTRIES];
        stream(with, algebra(), &d, &mut signatures);
        let gradient = unwind(
            with,
            algebra(),
            &d,
            &signatures,
            #[inline(always)]
            |step, adjoint| {
                if step == last {
                    let numbers = Doubles::<S>::numbers_mut(adjoint);
                    for (lane, row) in self.slopes.chunks_exact(ENTRIES).enumerate() {
                        let own = numbers.iter_mut().skip(lane).step_by(S::F64_LANES);
                        own.zip(row).for_each(|(number, slope)| *number += slope);
                    }
                }
            },
        );
        rows_of::<Doubles<S>>(&gradient, self.group.len())
    }
}

/// Floating-point operations of one more piece, per path.
pub(super) fn extension_flop() -> usize {
    algebra().flop()
}

#[inline(always)]
fn algebra() -> Algebra {
    Algebra::new(PathBatch::CHANNELS, DEPTH)
}

fn work(paths: &PathBatch) -> usize {
    paths.values().len() * ENTRIES
}
