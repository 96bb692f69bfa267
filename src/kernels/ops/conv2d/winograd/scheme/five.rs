//! F(5, 3) with the evaluation points 0, ±5/8, ±17/16, 9/4 and ∞.

use pulp::Simd;

use super::four::pairs;
use super::{Data, Filter, FilterAdjoint, ResultAdjoint, Results, Transform};

/// The pair of evaluation points ±a nearer to 0.
const A: f32 = 5.0 / 8.0;
/// The pair of evaluation points ±b farther from 0.
const B: f32 = 17.0 / 16.0;
/// The evaluation point c, which has no negative partner.
const C: f32 = 9.0 / 4.0;
const A2: f32 = A * A;
const B2: f32 = B * B;
const C2: f32 = C * C;

impl Transform<7, 7> for Data {
    #[inline(always)]
    fn apply<S: Simd>(s: S, d: [S::f32s; 7]) -> [S::f32s; 7] {
        let minus = |factor, x, y| s.negate_mul_add_e_f32s(s.splat_f32s(factor), x, y);
        // All polynomials except that of c have the factor x − c; the remaining factors are the ones that [`pairs`]
        // applies.
        let mut rest = [d[0]; 6];
        for (rest, values) in rest.iter_mut().zip(d.array_windows::<2>()) {
            *rest = minus(C, values[0], values[1]);
        }
        let [zero, near, near_negative, far, far_negative, last] = pairs(s, (A, B), rest);
        // The polynomial of c: x (x² − a²)(x² − b²).
        let own = minus(A2, minus(B2, d[1], d[3]), minus(B2, d[3], d[5]));
        [zero, near, near_negative, far, far_negative, own, last]
    }
}

/// `1 / f` (see the parent module) at the points 0, a, −a, b, −b and c.
const ZERO: f32 = -1.0 / (A2 * B2 * C);
const NEAR: f32 = 1.0 / (2.0 * A2 * (A2 - B2) * (A - C));
const NEAR_NEGATIVE: f32 = 1.0 / (2.0 * A2 * (A2 - B2) * (-A - C));
const FAR: f32 = 1.0 / (2.0 * B2 * (B2 - A2) * (B - C));
const FAR_NEGATIVE: f32 = 1.0 / (2.0 * B2 * (B2 - A2) * (-B - C));
const OWN: f32 = 1.0 / (C * (C2 - A2) * (C2 - B2));

impl Transform<3, 7> for Filter {
    #[inline(always)]
    fn apply<S: Simd>(s: S, g: [S::f32s; 3]) -> [S::f32s; 7] {
        let add = |factor, x, y| s.mul_add_e_f32s(s.splat_f32s(factor), x, y);
        let minus = |factor, x, y| s.negate_mul_add_e_f32s(s.splat_f32s(factor), x, y);
        let times = |factor, x| s.mul_f32s(s.splat_f32s(factor), x);
        let (near, far) = (add(A2, g[2], g[0]), add(B2, g[2], g[0]));
        [
            times(ZERO, g[0]),
            times(NEAR, add(A, g[1], near)),
            times(NEAR_NEGATIVE, minus(A, g[1], near)),
            times(FAR, add(B, g[1], far)),
            times(FAR_NEGATIVE, minus(B, g[1], far)),
            times(OWN, add(C, add(C, g[2], g[1]), g[0])),
            g[2],
        ]
    }
}

impl Transform<7, 3> for FilterAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, u: [S::f32s; 7]) -> [S::f32s; 3] {
        let add = |factor, x, y| s.mul_add_e_f32s(s.splat_f32s(factor), x, y);
        let times = |factor, x| s.mul_f32s(s.splat_f32s(factor), x);
        let (near, far, own) = (times(NEAR, u[1]), times(FAR, u[3]), times(OWN, u[5]));
        let (near_negative, far_negative) = (times(NEAR_NEGATIVE, u[2]), times(FAR_NEGATIVE, u[4]));
        let (near, near_odd) = (
            s.add_f32s(near, near_negative),
            s.sub_f32s(near, near_negative),
        );
        let (far, far_odd) = (s.add_f32s(far, far_negative), s.sub_f32s(far, far_negative));
        [
            add(ZERO, u[0], s.add_f32s(s.add_f32s(near, far), own)),
            add(A, near_odd, add(B, far_odd, times(C, own))),
            add(A2, near, add(B2, far, add(C2, own, u[6]))),
        ]
    }
}

impl Transform<7, 5> for Results {
    #[inline(always)]
    fn apply<S: Simd>(s: S, m: [S::f32s; 7]) -> [S::f32s; 5] {
        let add = |factor, x, y| s.mul_add_e_f32s(s.splat_f32s(factor), x, y);
        let times = |factor, x| s.mul_f32s(s.splat_f32s(factor), x);
        let (near, near_odd) = (s.add_f32s(m[1], m[2]), s.sub_f32s(m[1], m[2]));
        let (far, far_odd) = (s.add_f32s(m[3], m[4]), s.sub_f32s(m[3], m[4]));
        let own = m[5];
        [
            s.add_f32s(s.add_f32s(m[0], own), s.add_f32s(near, far)),
            add(A, near_odd, add(B, far_odd, times(C, own))),
            add(A2, near, add(B2, far, times(C2, own))),
            add(A2 * A, near_odd, add(B2 * B, far_odd, times(C2 * C, own))),
            add(A2 * A2, near, add(B2 * B2, far, add(C2 * C2, own, m[6]))),
        ]
    }
}

impl Transform<5, 7> for ResultAdjoint {
    #[inline(always)]
    fn apply<S: Simd>(s: S, y: [S::f32s; 5]) -> [S::f32s; 7] {
        let add = |factor, x, y| s.mul_add_e_f32s(s.splat_f32s(factor), x, y);
        let minus = |factor, x, y| s.negate_mul_add_e_f32s(s.splat_f32s(factor), x, y);
        let (near, near_odd) = (add(A2, add(A2, y[4], y[2]), y[0]), add(A2, y[3], y[1]));
        let (far, far_odd) = (add(B2, add(B2, y[4], y[2]), y[0]), add(B2, y[3], y[1]));
        let high = add(C, add(C, y[4], y[3]), y[2]);
        [
            y[0],
            add(A, near_odd, near),
            minus(A, near_odd, near),
            add(B, far_odd, far),
            minus(B, far_odd, far),
            add(C, add(C, high, y[1]), y[0]),
            y[4],
        ]
    }
}
