//! Signatures of depth 4 of paths in time, eight at a time, one in each lane, and the way back.

use crate::ops::PathBatch;
use crate::ops::chunks::map_chunks;
use crate::ops::signature::{Algebra, increments, stream, unwind};
use crate::ops::simd::simd;

/// Paths of a group.
const LANES: usize = 8;
/// Highest level.
const DEPTH: usize = 4;
/// Entries of a signature: 2 + 4 + 8 + 16.
pub(super) const ENTRIES: usize = 30;

/// The signatures of whole paths, `(count, 30)`.
pub(super) fn signatures(paths: &PathBatch) -> Vec<f64> {
    let groups = map_chunks(paths.count(), LANES, work(paths), |group| {
        simd(
            #[inline(always)]
            || {
                let d = lanes(paths, group.start);
                let mut signature = [[0.0; LANES]; ENTRIES];
                let mut chain = [[0.0; LANES]; ENTRIES];
                for d in d.chunks_exact(PathBatch::CHANNELS) {
                    algebra().extend(&mut signature, d, &mut chain);
                }
                transposed(&signature, group.len())
            },
        )
    });
    groups.concat()
}

/// The slopes by the points, `(count, points, 2)`, from those by the signatures, `(count, 30)`.
pub(super) fn signatures_backward(paths: &PathBatch, slopes: &[f64]) -> Vec<f64> {
    let last = paths.points() - 2;
    let groups = map_chunks(paths.count(), LANES, work(paths), |group| {
        let own = &slopes[group.start * ENTRIES..group.end * ENTRIES];
        simd(
            #[inline(always)]
            || {
                let d = lanes(paths, group.start);
                let signatures = stream(algebra(), &d);
                let gradient = unwind(
                    algebra(),
                    &d,
                    &signatures,
                    #[inline(always)]
                    |step, adjoint| {
                        if step == last {
                            add_transposed(adjoint, own);
                        }
                    },
                );
                transposed(&gradient, group.len())
            },
        )
    });
    groups.concat()
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

#[inline(always)]
fn lanes(paths: &PathBatch, first: usize) -> Vec<[f64; LANES]> {
    let size = (paths.points(), PathBatch::CHANNELS);
    increments(paths.values(), size, first, |value: f64| value)
}

/// `(entries, LANES)` to `(count, entries)`.
#[inline(always)]
fn transposed(values: &[[f64; LANES]], count: usize) -> Vec<f64> {
    let mut rows = Vec::with_capacity(count * values.len());
    for lane in 0..count {
        rows.extend(values.iter().map(|lanes| lanes[lane]));
    }
    rows
}

/// Adds `(count, entries)` to `(entries, LANES)`.
#[inline(always)]
fn add_transposed(target: &mut [[f64; LANES]], rows: &[f64]) {
    for (lane, row) in rows.chunks_exact(target.len()).enumerate() {
        for (target, value) in target.iter_mut().zip(row) {
            target[lane] += value;
        }
    }
}
