//! The one-dimensional transforms of Winograd's F(2, 3) and F(4, 3), on vectors of any width.
//!
//! Each is the product with one of the matrices of Lavin and Gray (2015), written out. Two passes of one, over columns
//! and then over rows, make the two-dimensional transform.

use pulp::Simd;

/// A product with a constant matrix of `O × I`.
pub(super) trait Transform<const I: usize, const O: usize> {
    /// The product.
    fn apply<S: Simd>(simd: S, values: [S::f32s; I]) -> [S::f32s; O];
}

/// The minimal algorithm that computes M neighbouring results of a filter of 3 from N = M + 2 values by N products.
pub(super) trait Scheme<const N: usize, const M: usize> {
    /// `Bᵀ d`, from the data.
    type Data: Transform<N, N>;
    /// `G g`, from the filter.
    type Filter: Transform<3, N>;
    /// `Gᵀ u`, back to the filter.
    type FilterAdjoint: Transform<N, 3>;
    /// `Aᵀ m`, to the results.
    type Result: Transform<N, M>;
    /// `A y`, from the results' gradient.
    type ResultAdjoint: Transform<M, N>;
}

/// F(2, 3), with the points 0, 1, -1 and ∞.
pub(super) struct Two;

/// F(4, 3), with the points 0, 1, -1, 2, -2 and ∞.
pub(super) struct Four;

impl Scheme<4, 2> for Two {
    type Data = Data;
    type Filter = Filter;
    type FilterAdjoint = FilterAdjoint;
    type Result = Results;
    type ResultAdjoint = ResultAdjoint;
}

impl Scheme<6, 4> for Four {
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

impl Transform<6, 6> for Data {
    #[inline(always)]
    fn apply<S: Simd>(s: S, d: [S::f32s; 6]) -> [S::f32s; 6] {
        let (two, four) = (s.splat_f32s(2.0), s.splat_f32s(4.0));
        let five = s.splat_f32s(5.0);
        let minus = |factor, a, b| s.negate_mul_add_e_f32s(factor, a, b);
        let (even, odd) = (minus(four, d[2], d[4]), minus(four, d[1], d[3]));
        let (outer, slope) = (
            s.sub_f32s(d[4], d[2]),
            s.mul_f32s(two, s.sub_f32s(d[3], d[1])),
        );
        [
            s.mul_add_e_f32s(four, d[0], minus(five, d[2], d[4])),
            s.add_f32s(even, odd),
            s.sub_f32s(even, odd),
            s.add_f32s(outer, slope),
            s.sub_f32s(outer, slope),
            s.mul_add_e_f32s(four, d[1], minus(five, d[3], d[5])),
        ]
    }
}

impl Transform<3, 6> for Filter {
    #[inline(always)]
    fn apply<S: Simd>(s: S, g: [S::f32s; 3]) -> [S::f32s; 6] {
        let (quarter, sixth, twelfth, twentyfourth) = (
            s.splat_f32s(1.0 / 4.0),
            s.splat_f32s(1.0 / -6.0),
            s.splat_f32s(1.0 / 12.0),
            s.splat_f32s(1.0 / 24.0),
        );
        let near = s.mul_f32s(sixth, s.add_f32s(g[0], g[2]));
        let near_odd = s.mul_f32s(sixth, g[1]);
        let four = s.splat_f32s(4.0);
        let far = s.mul_f32s(twentyfourth, s.mul_add_e_f32s(four, g[2], g[0]));
        let far_odd = s.mul_f32s(twelfth, g[1]);
        [
            s.mul_f32s(quarter, g[0]),
            s.add_f32s(near, near_odd),
            s.sub_f32s(near, near_odd),
            s.add_f32s(far, far_odd),
            s.sub_f32s(far, far_odd),
            g[2],
        ]
    }
}

impl Transform<6, 3> for FilterAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, u: [S::f32s; 6]) -> [S::f32s; 3] {
        let (quarter, sixth, twelfth, twentyfourth) = (
            s.splat_f32s(1.0 / 4.0),
            s.splat_f32s(1.0 / 6.0),
            s.splat_f32s(1.0 / 12.0),
            s.splat_f32s(1.0 / 24.0),
        );
        let (near, near_odd) = (s.add_f32s(u[1], u[2]), s.sub_f32s(u[2], u[1]));
        let (far, far_odd) = (s.add_f32s(u[3], u[4]), s.sub_f32s(u[3], u[4]));
        let first = s.mul_add_e_f32s(twentyfourth, far, s.mul_f32s(quarter, u[0]));
        [
            s.negate_mul_add_e_f32s(sixth, near, first),
            s.mul_add_e_f32s(twelfth, far_odd, s.mul_f32s(sixth, near_odd)),
            s.mul_add_e_f32s(sixth, s.sub_f32s(far, near), u[5]),
        ]
    }
}

impl Transform<6, 4> for Results {
    #[inline(always)]
    fn apply<S: Simd>(s: S, m: [S::f32s; 6]) -> [S::f32s; 4] {
        let (two, four, eight) = (s.splat_f32s(2.0), s.splat_f32s(4.0), s.splat_f32s(8.0));
        let (near, near_odd) = (s.add_f32s(m[1], m[2]), s.sub_f32s(m[1], m[2]));
        let (far, far_odd) = (s.add_f32s(m[3], m[4]), s.sub_f32s(m[3], m[4]));
        [
            s.add_f32s(m[0], s.add_f32s(near, far)),
            s.mul_add_e_f32s(two, far_odd, near_odd),
            s.mul_add_e_f32s(four, far, near),
            s.add_f32s(m[5], s.mul_add_e_f32s(eight, far_odd, near_odd)),
        ]
    }
}

impl Transform<4, 6> for ResultAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, y: [S::f32s; 4]) -> [S::f32s; 6] {
        let (two, four) = (s.splat_f32s(2.0), s.splat_f32s(4.0));
        let (near, near_odd) = (s.add_f32s(y[0], y[2]), s.add_f32s(y[1], y[3]));
        let far = s.mul_add_e_f32s(four, y[2], y[0]);
        let far_odd = s.mul_f32s(two, s.mul_add_e_f32s(four, y[3], y[1]));
        [
            y[0],
            s.add_f32s(near, near_odd),
            s.sub_f32s(near, near_odd),
            s.add_f32s(far, far_odd),
            s.sub_f32s(far, far_odd),
            y[3],
        ]
    }
}
