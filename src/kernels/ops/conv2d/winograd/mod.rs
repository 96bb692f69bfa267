//! Winograd's minimal algorithms for 3×3 kernels with stride 1: F(2×2, 3×3), F(4×4, 3×3) and F(5×5, 3×3).
//!
//! A tile of M × M results needs N × N values of data, N = M + 2, and takes N² products of matrices instead of 9 M²
//! (16 instead of 36, 36 instead of 144, 49 instead of 225). Results beyond an image's border are wasted: 10 × 10
//! pixels are covered exactly by tiles of 5 (196 products), while tiles of 4 overlap the border (324 products).
//!
//! `Y = Aᵀ [Σ_c (G g Gᵀ) ⊙ (Bᵀ d B)] A`
//!
//! where `U = G g Gᵀ` is a matrix `(C × K)` at each of N² points, `V = Bᵀ d B` a matrix `(tiles × C)`, and the sum over
//! channels is the product of the two at each point. The gradient of the filter is the adjoint, `Gᵀ [Vᵀ (A dY Aᵀ)] G`.
//! The gradient of the input is computed by the same algorithm, as the convolution of the result's gradient with the
//! filter rotated by 180°: its tiles do not overlap, whereas those of the adjoint would.
//!
//! Transforms work on vectors of channels, and on blocks of tiles whose points stay in the L2 cache. U and V are
//! computed anew in backward: they are up to four times as large as weight and input, so that saving and reading them
//! would take as long. When tiles are few and U is large, U is never stored as a whole (`few`). Work is split by shape
//! alone.
//!
//! # Accuracy
//! Largest error against sums in f64, relative to the largest value, for values and filters uniform in (-1, 1), of
//! result / input's gradient / filter's gradient (`accuracy.rs` holds each below a bound):
//!
//! | B, side, C → K | direct | F(2×2) | F(4×4) | F(5×5) |
//! |---|---|---|---|---|
//! | 1, 40, 16 → 16 | 4.1e-7 / 6.1e-7 / 8.7e-7 | 1.9e-7 / 2.0e-7 / 4.3e-7 | 8.4e-7 / 8.6e-7 / 9.8e-7 | 2.6e-6 / 3.7e-6 / 2.5e-6 |
//! | 1, 20, 64 → 64 | 4.2e-7 / 3.8e-7 / 6.9e-7 | 3.1e-7 / 3.2e-7 / 5.6e-7 | 1.7e-6 / 2.1e-6 / 8.4e-7 | 4.4e-6 / 5.4e-6 / 3.0e-6 |
//! | 2, 10, 128 → 64 | 6.4e-7 / 3.4e-7 / 5.0e-7 | 5.1e-7 / 3.2e-7 / 3.7e-7 | 2.6e-6 / 1.5e-6 / 6.7e-7 | 7.6e-6 / 7.9e-6 / 2.5e-6 |
//! | 1, 10, 256 → 64 | 5.4e-7 / 3.3e-7 / 4.1e-7 | 5.7e-7 / 2.9e-7 / 3.1e-7 | 2.9e-6 / 1.2e-6 / 6.2e-7 | 8.9e-6 / 6.8e-6 / 2.2e-6 |
//!
//! # Source
//! A. Lavin, S. Gray, "Fast Algorithms for Convolutional Neural Networks", 2015, <https://arxiv.org/abs/1509.09308>.

mod few;
mod forward;
mod scheme;
mod shape;
mod spread;
mod target;
mod transform;
mod weight;

pub(super) use few::are_few;
pub(super) use shape::Shape;

use forward::convolve;
use scheme::MinimalFiltering;
use target::StoreMode;
use weight::add_gradient;

use crate::ops::gemm::{Accumulate, Matrix, stack_rows};
use crate::ops::scratch::with_scratch;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tile {
    /// F(2×2, 3×3).
    Two,
    /// F(4×4, 3×3).
    Four,
    /// F(5×5, 3×3).
    Five,
}

pub(super) fn forward(
    tile: Tile,
    shape: &Shape,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    y: &mut [f32],
) {
    convolve_by(tile, shape, x, weight, y, &StoreMode::Replace(bias));
}

/// The input's gradient: overwrites `grad_x` or is added to it, as `accumulate` says. `taps` are the filter's `(K, C)`
/// matrices, rotated by 180°.
pub(super) fn backward_x(
    tile: Tile,
    shape: &Shape,
    grad: &[f32],
    taps: &[Matrix<'_>],
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    with_scratch(9 * shape.channels.0 * shape.channels.1, |turned| {
        stack_rows(taps, turned);
        let store = match accumulate {
            Accumulate::Replace => StoreMode::Replace(None),
            Accumulate::Add => StoreMode::Add,
        };
        convolve_by(tile, &shape.turned(), grad, turned, grad_x, &store);
    });
}

fn convolve_by(
    tile: Tile,
    shape: &Shape,
    x: &[f32],
    weight: &[f32],
    y: &mut [f32],
    store: &StoreMode<'_>,
) {
    match tile {
        Tile::Two => convolve::<MinimalFiltering, 4, 2>(shape, x, weight, y, store),
        Tile::Four => convolve::<MinimalFiltering, 6, 4>(shape, x, weight, y, store),
        Tile::Five => convolve::<MinimalFiltering, 7, 5>(shape, x, weight, y, store),
    }
}

/// The weight's gradient: overwrites `grad_weight` or is added to it, as `accumulate` says.
pub(super) fn backward_weight(
    tile: Tile,
    shape: &Shape,
    x: &[f32],
    grad: &[f32],
    grad_weight: (&mut [f32], Accumulate),
) {
    match tile {
        Tile::Two => add_gradient::<MinimalFiltering, 4, 2>(shape, x, grad, grad_weight),
        Tile::Four => add_gradient::<MinimalFiltering, 6, 4>(shape, x, grad, grad_weight),
        Tile::Five => add_gradient::<MinimalFiltering, 7, 5>(shape, x, grad, grad_weight),
    }
}
