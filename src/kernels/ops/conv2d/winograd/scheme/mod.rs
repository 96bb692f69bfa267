//! The one-dimensional transforms of Winograd's F(2, 3), F(4, 3) and F(5, 3), on vectors of any width.
//!
//! Each is the product with one of three matrices, written out. They follow from the points at which the polynomials of
//! filter and data are evaluated: with points `p`, `f = Π (p − q)` over the others `q`, and ∞ as the last point,
//!
//! * `G`: at p the filter's polynomial through f, `(1, p, p²) / f`; at ∞ its last value,
//! * `Bᵀ`: at p the coefficients of `Π (x − q)` over the others; at ∞ those of the product over all,
//! * `Aᵀ`: row i the powers `pⁱ`; at ∞ one in the last row.
//!
//! The two-dimensional transform is the one-dimensional one over columns, then over rows.
//!
//! In exact arithmetic any points work; these are fractions with few bits, so that their powers are exact, near the
//! points for which the bound `Σ (A G B)²` of the rounding errors is smallest. With Lavin and Gray's 0, ±1 and ±2 the
//! errors of F(4, 3) are three times as large, as large as those of F(5, 3) here.

mod five;
mod four;

use pulp::Simd;

/// A product with a constant matrix of `O × I`.
pub(super) trait Transform<const I: usize, const O: usize> {
    fn apply<S: Simd>(simd: S, values: [S::f32s; I]) -> [S::f32s; O];
}

/// The minimal algorithm for M neighbouring results of a 3-tap filter from N = M + 2 values by N products.
pub(super) trait Scheme<const N: usize, const M: usize> {
    /// `Bᵀ d`, from the data.
    type Data: Transform<N, N>;
    /// `G g`, from the filter.
    type Filter: Transform<3, N>;
    /// Transform `Gᵀ u` of a filter gradient, back to the shape of the filter.
    type FilterAdjoint: Transform<N, 3>;
    /// `Aᵀ m`, to the results.
    type Result: Transform<N, M>;
    /// `A y`, from the results' gradient.
    type ResultAdjoint: Transform<M, N>;
}

/// Implemented for M = 2 (with the points 0, 1, -1 and ∞), 4 and 5.
pub(super) struct Minimal;

impl<const N: usize, const M: usize> Scheme<N, M> for Minimal
where
    Data: Transform<N, N>,
    Filter: Transform<3, N>,
    FilterAdjoint: Transform<N, 3>,
    Results: Transform<N, M>,
    ResultAdjoint: Transform<M, N>,
{
    type Data = Data;
    type Filter = Filter;
    type FilterAdjoint = FilterAdjoint;
    type Result = Results;
    type ResultAdjoint = ResultAdjoint;
}

/// `Bᵀ`.
pub(super) struct Data;
/// `G`.
pub(super) struct Filter;
/// `Gᵀ`.
pub(super) struct FilterAdjoint;
/// `Aᵀ`.
pub(super) struct Results;
/// `A`.
pub(super) struct ResultAdjoint;

impl Transform<4, 4> for Data {
    #[inline(always)]
    fn apply<S: Simd>(s: S, d: [S::f32s; 4]) -> [S::f32s; 4] {
        [
            s.sub_f32s(d[0], d[2]),
            s.add_f32s(d[1], d[2]),
            s.sub_f32s(d[2], d[1]),
            s.sub_f32s(d[1], d[3]),
        ]
    }
}

impl Transform<3, 4> for Filter {
    #[inline(always)]
    fn apply<S: Simd>(s: S, g: [S::f32s; 3]) -> [S::f32s; 4] {
        let half = s.splat_f32s(0.5);
        let (even, odd) = (
            s.mul_f32s(half, s.add_f32s(g[0], g[2])),
            s.mul_f32s(half, g[1]),
        );
        [g[0], s.add_f32s(even, odd), s.sub_f32s(even, odd), g[2]]
    }
}

impl Transform<4, 3> for FilterAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, u: [S::f32s; 4]) -> [S::f32s; 3] {
        let half = s.splat_f32s(0.5);
        let even = s.mul_f32s(half, s.add_f32s(u[1], u[2]));
        let odd = s.mul_f32s(half, s.sub_f32s(u[1], u[2]));
        [s.add_f32s(u[0], even), odd, s.add_f32s(even, u[3])]
    }
}

impl Transform<4, 2> for Results {
    #[inline(always)]
    fn apply<S: Simd>(s: S, m: [S::f32s; 4]) -> [S::f32s; 2] {
        [
            s.add_f32s(s.add_f32s(m[0], m[1]), m[2]),
            s.sub_f32s(s.sub_f32s(m[1], m[2]), m[3]),
        ]
    }
}

impl Transform<2, 4> for ResultAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, y: [S::f32s; 2]) -> [S::f32s; 4] {
        [
            y[0],
            s.add_f32s(y[0], y[1]),
            s.sub_f32s(y[0], y[1]),
            s.neg_f32s(y[1]),
        ]
    }
}
