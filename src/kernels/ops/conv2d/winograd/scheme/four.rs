//! F(4, 3) with the evaluation points 0, ±11/16, ±23/16 and ∞.

use pulp::Simd;

use super::{Data, Filter, FilterAdjoint, ResultAdjoint, Results, Transform};

/// The pair of evaluation points ±a nearer to 0.
const A: f32 = 11.0 / 16.0;
/// The pair of evaluation points ±b farther from 0.
const B: f32 = 23.0 / 16.0;
const A2: f32 = A * A;
const B2: f32 = B * B;

/// Products of six values with the coefficients of the polynomials of the points 0, ±a, ±b and ∞: `(x² − a²)(x² − b²)`,
/// `x (x ± a)(x² − b²)`, `x (x ± b)(x² − a²)` and `x (x² − a²)(x² − b²)`.
#[inline(always)]
pub(super) fn pairs<S: Simd>(s: S, (a, b): (f32, f32), d: [S::f32s; 6]) -> [S::f32s; 6] {
    let minus = |factor, x, y| s.negate_mul_add_e_f32s(factor, x, y);
    let (a2, b2) = (s.splat_f32s(a * a), s.splat_f32s(b * b));
    let (near, near_odd) = (minus(b2, d[2], d[4]), minus(b2, d[1], d[3]));
    let (far, far_odd) = (minus(a2, d[2], d[4]), minus(a2, d[1], d[3]));
    let (a, b) = (s.splat_f32s(a), s.splat_f32s(b));
    [
        // The first entry is (x² − a²)(x² − b²); the last is x times the same polynomial.
        minus(a2, minus(b2, d[0], d[2]), near),
        s.mul_add_e_f32s(a, near_odd, near),
        minus(a, near_odd, near),
        s.mul_add_e_f32s(b, far_odd, far),
        minus(b, far_odd, far),
        minus(a2, near_odd, minus(b2, d[3], d[5])),
    ]
}

impl Transform<6, 6> for Data {
    #[inline(always)]
    fn apply<S: Simd>(s: S, d: [S::f32s; 6]) -> [S::f32s; 6] {
        pairs(s, (A, B), d)
    }
}

/// `1 / f` (see the parent module) at the points 0, ±a and ±b.
const ZERO: f32 = 1.0 / (A2 * B2);
const NEAR: f32 = 1.0 / (2.0 * A2 * (A2 - B2));
const FAR: f32 = 1.0 / (2.0 * B2 * (B2 - A2));

impl Transform<3, 6> for Filter {
    #[inline(always)]
    fn apply<S: Simd>(s: S, g: [S::f32s; 3]) -> [S::f32s; 6] {
        let splat = |value| s.splat_f32s(value);
        let near = s.mul_add_e_f32s(splat(A2 * NEAR), g[2], s.mul_f32s(splat(NEAR), g[0]));
        let far = s.mul_add_e_f32s(splat(B2 * FAR), g[2], s.mul_f32s(splat(FAR), g[0]));
        let (a, b) = (splat(A * NEAR), splat(B * FAR));
        [
            s.mul_f32s(splat(ZERO), g[0]),
            s.mul_add_e_f32s(a, g[1], near),
            s.negate_mul_add_e_f32s(a, g[1], near),
            s.mul_add_e_f32s(b, g[1], far),
            s.negate_mul_add_e_f32s(b, g[1], far),
            g[2],
        ]
    }
}

impl Transform<6, 3> for FilterAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, u: [S::f32s; 6]) -> [S::f32s; 3] {
        let splat = |value| s.splat_f32s(value);
        let (near, near_odd) = (s.add_f32s(u[1], u[2]), s.sub_f32s(u[1], u[2]));
        let (far, far_odd) = (s.add_f32s(u[3], u[4]), s.sub_f32s(u[3], u[4]));
        let ends = s.mul_f32s(splat(ZERO), u[0]);
        let first = s.mul_add_e_f32s(splat(FAR), far, ends);
        let last = s.mul_add_e_f32s(splat(B2 * FAR), far, u[5]);
        let middle = s.mul_f32s(splat(B * FAR), far_odd);
        [
            s.mul_add_e_f32s(splat(NEAR), near, first),
            s.mul_add_e_f32s(splat(A * NEAR), near_odd, middle),
            s.mul_add_e_f32s(splat(A2 * NEAR), near, last),
        ]
    }
}

impl Transform<6, 4> for Results {
    #[inline(always)]
    fn apply<S: Simd>(s: S, m: [S::f32s; 6]) -> [S::f32s; 4] {
        let splat = |value| s.splat_f32s(value);
        let (near, near_odd) = (s.add_f32s(m[1], m[2]), s.sub_f32s(m[1], m[2]));
        let (far, far_odd) = (s.add_f32s(m[3], m[4]), s.sub_f32s(m[3], m[4]));
        let (first, third) = (s.mul_f32s(splat(B), far_odd), s.mul_f32s(splat(B2), far));
        let last = s.mul_add_e_f32s(splat(B2 * B), far_odd, m[5]);
        [
            s.add_f32s(m[0], s.add_f32s(near, far)),
            s.mul_add_e_f32s(splat(A), near_odd, first),
            s.mul_add_e_f32s(splat(A2), near, third),
            s.mul_add_e_f32s(splat(A2 * A), near_odd, last),
        ]
    }
}

impl Transform<4, 6> for ResultAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, y: [S::f32s; 4]) -> [S::f32s; 6] {
        let splat = |value| s.splat_f32s(value);
        let (a2, b2) = (splat(A2), splat(B2));
        let (near, far) = (
            s.mul_add_e_f32s(a2, y[2], y[0]),
            s.mul_add_e_f32s(b2, y[2], y[0]),
        );
        let (near_odd, far_odd) = (
            s.mul_add_e_f32s(a2, y[3], y[1]),
            s.mul_add_e_f32s(b2, y[3], y[1]),
        );
        let (a, b) = (splat(A), splat(B));
        [
            y[0],
            s.mul_add_e_f32s(a, near_odd, near),
            s.negate_mul_add_e_f32s(a, near_odd, near),
            s.mul_add_e_f32s(b, far_odd, far),
            s.negate_mul_add_e_f32s(b, far_odd, far),
            y[3],
        ]
    }
}
