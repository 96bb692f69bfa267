//! The one-dimensional transforms of Winograd's F(2, 3), F(4, 3) and F(5, 3), on vectors of any width.
//!
//! A transform multiplies by one of the constant matrices `G`, `Bᵀ` and `Aᵀ` or a transpose, written out as arithmetic.
//! The matrices follow from the points p at which the polynomials of filter and data are evaluated; the last point is
//! ∞. With `f = Π_q (p − q)` over all other finite points q:
//!
//! * `G`: row p is `(1, p, p²) / f`, the filter's polynomial at p divided by f; row ∞ is its highest coefficient,
//! * `Bᵀ`: row p has the coefficients of `Π_q (x − q)` over the other finite points, row ∞ those over all of them,
//! * `Aᵀ`: row i has the powers `pⁱ`; the column of ∞ is 1 in the last row and 0 elsewhere.
//!
//! The two-dimensional transform is the one-dimensional one over columns, then over rows.
//!
//! In exact arithmetic any distinct points work. These are fractions with few bits, so that their powers are exact,
//! near the points for which the bound `Σ (A G B)²` of the rounding errors is smallest. With Lavin and Gray's points 0,
//! ±1 and ±2 the errors of F(4, 3) would be three times as large, as large as those of F(5, 3) here.

mod five;
mod four;

use pulp::Simd;

/// Multiplication of a vector of `I` values by a constant `O × I` matrix; each value is a SIMD vector of channels.
pub(super) trait Transform<const I: usize, const O: usize> {
    fn apply<S: Simd>(simd: S, values: [S::f32s; I]) -> [S::f32s; O];
}

/// The transforms of F(M, 3), which computes M neighbouring results of a 3-tap filter from N = M + 2 values with N
/// products.
pub(super) trait Scheme<const N: usize, const M: usize> {
    /// `Bᵀ d` of the data.
    type Data: Transform<N, N>;
    /// `G g` of the filter.
    type Filter: Transform<3, N>;
    /// `Gᵀ u`, from the transformed filter's gradient to the filter's gradient.
    type FilterAdjoint: Transform<N, 3>;
    /// `Aᵀ m`, from the products to the results.
    type Result: Transform<N, M>;
    /// `A y` of the results' gradient.
    type ResultAdjoint: Transform<M, N>;
}

/// Implements [`Scheme`] for M = 2 (with the points 0, 1, -1 and ∞), 4 and 5.
pub(super) struct MinimalFiltering;

impl<const N: usize, const M: usize> Scheme<N, M> for MinimalFiltering
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

/// The matrix `Bᵀ`.
pub(super) struct Data;
/// The matrix `G`.
pub(super) struct Filter;
/// The matrix `Gᵀ`.
pub(super) struct FilterAdjoint;
/// The matrix `Aᵀ`.
pub(super) struct Results;
/// The matrix `A`.
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
