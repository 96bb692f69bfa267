//! Scalar functions that loops can be vectorised over: no branch, no table, no call.
//!
//! They use multiplications and additions only, never a fused multiply-add, so that a loop over them gives the same
//! bits at every vector level. Call them from inside `simd!`.

/// `eˣ`, at most 2 units in the last place off. Saturates below −87.3 and above 88.3; NaN stays NaN.
///
/// `x = n ln 2 + r` with `|r| ≤ ½ ln 2`; a polynomial of degree 6 for `eʳ`; `2ⁿ` is written into the exponent's bits.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // 1.5 · 2²³: adding it leaves the nearest integer in the lowest bits of the mantissa.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts; the first has so few bits that its product with n is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let x = x.clamp(-87.3, 88.3);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    let p = 1.987_569_1e-4;
    let p = p * r + 1.398_2e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    ((p * (r * r) + r) + 1.0) * power
}

/// `eˣ` in double precision, at most 2 units in the last place off. Saturates beyond ±700; NaN stays NaN.
///
/// As [`exp`], with the series of `eʳ` up to `r¹³ / 13!`, whose remainder is below the last place.
#[inline(always)]
pub fn exp_f64(x: f64) -> f64 {
    // 1.5 · 2⁵²: adding it leaves the nearest integer in the lowest bits of the mantissa.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    // ln 2 in two parts; the first has 33 bits, so that its product with n is exact.
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let x = x.clamp(-700.0, 700.0);
    let shifted = x * std::f64::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN2_HIGH) - n * LN2_LOW;
    // Written out: a loop would keep the loop over values from being vectorised.
    let p = 1.0 / 6_227_020_800.0;
    let p = p * r + 1.0 / 479_001_600.0;
    let p = p * r + 1.0 / 39_916_800.0;
    let p = p * r + 1.0 / 3_628_800.0;
    let p = p * r + 1.0 / 362_880.0;
    let p = p * r + 1.0 / 40_320.0;
    let p = p * r + 1.0 / 5040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r + 1.0;
    let p = p * r + 1.0;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(0x3ff0_0000_0000_0000));
    p * power
}

/// The logistic function `1 / (1 + e⁻ˣ)`.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// `ln(1 + eˣ)` as `max(x, 0) + ln(1 + u)` with `u = e^(−|x|)`, so that nothing overflows; above 17 exactly `x`.
///
/// `ln(1 + u) = 2 artanh(s)` with `s = u / (2 + u)`, at most 1/3: an odd polynomial, a weighted minimax fit of
/// `artanh(s) / s - 1` in `s²`.
#[inline(always)]
pub fn softplus(x: f32) -> f32 {
    let u = exp(-x.abs());
    let s = u / (2.0 + u);
    let square = s * s;
    let p = 1.401_223e-1;
    let p = p * square + 1.399_957e-1;
    let p = p * square + 2.001_085e-1;
    let p = p * square + 3.333_320_7e-1;
    let log = 2.0 * (s + s * square * p);
    // `max` is not used, because it would turn NaN into 0.
    let positive = if x <= 0.0 { 0.0 } else { x };
    positive + log
}

/// The hyperbolic tangent: an odd polynomial where |x| < 0.625, else computed from [`exp`].
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let square = x * x;
    let p = -5.704_988_7e-3;
    let p = p * square + 2.063_909e-2;
    let p = p * square - 5.373_971_6e-2;
    let p = p * square + 1.333_144_2e-1;
    let p = p * square - 3.333_328e-1;
    let small = x + x * square * p;
    let large = 1.0 - 2.0 / (exp(2.0 * x.abs()) + 1.0);
    if x.abs() < 0.625 {
        small
    } else {
        large.copysign(x)
    }
}

/// The distribution function and the density of the standard normal, `Φ(x)` and `φ(x) = e^(−x²/2) / √(2π)`, with one
/// exponential: `Φ(−t) = φ(t) M(t)` for `t ≥ 0`, where M is a polynomial up to t = 5 and constant above, where Φ(−t)
/// is below 3e-7.
///
/// The coefficients are a minimax fit (Lawson's iteration) of `M(t) = √(π/2) e^(t²/2) erfc(t/√2)`, with the errors
/// weighted by φ; the error of Φ is at most 1.5e-7.
#[inline(always)]
pub fn normal_cdf_and_density(x: f32) -> (f32, f32) {
    const INVERSE_SQRT_TAU: f32 = 0.398_942_3;
    let density = INVERSE_SQRT_TAU * exp(-0.5 * x * x);
    let t = x.abs().min(5.0);
    let p = -8.056_373e-7;
    let p = p * t + 1.959_03e-5;
    let p = p * t - 2.145_500_5e-4;
    let p = p * t + 1.421_673_8e-3;
    let p = p * t - 6.515_297e-3;
    let p = p * t + 2.260_678_6e-2;
    let p = p * t - 6.388_697e-2;
    let p = p * t + 1.552_445_3e-1;
    let p = p * t - 3.329_034_4e-1;
    let p = p * t + 6.265_899e-1;
    let p = p * t - 9.999_959e-1;
    let p = p * t + 1.253_314_1;
    let tail = density * p;
    (if x < 0.0 { tail } else { 1.0 - tail }, density)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::simd::simd;

    #[inline(always)]
    fn map(values: &mut [f32], f: impl Fn(f32) -> f32) {
        for value in values {
            *value = f(*value);
        }
    }

    fn grid() -> Vec<f32> {
        (-8700..=8800).map(|i| i as f32 * 0.01).collect()
    }

    fn worst(f: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) -> f64 {
        let error = |x: f32| {
            let wanted = exact(f64::from(x));
            ((f64::from(f(x)) - wanted) / wanted.abs().max(f64::from(f32::MIN_POSITIVE))).abs()
        };
        grid().into_iter().map(error).fold(0.0, f64::max)
    }

    #[test]
    fn functions_are_exact_to_single_precision() {
        assert!(worst(exp, f64::exp) < 2.5e-7);
        assert!(worst(tanh, f64::tanh) < 2.5e-7);
        assert!(worst(sigmoid, |x| 1.0 / (1.0 + (-x).exp())) < 3e-7);
        assert!(worst(softplus, |x| x.max(0.0) + (-x.abs()).exp().ln_1p()) < 3e-7);
    }

    #[test]
    fn the_normal_distribution_is_exact_to_single_precision() {
        for x in grid() {
            let exact = 0.5 * libm::erfc(-f64::from(x) * std::f64::consts::FRAC_1_SQRT_2);
            let (cdf, density) = normal_cdf_and_density(x);
            assert!((f64::from(cdf) - exact).abs() < 1.5e-7, "{x}");
            let exact = (-0.5 * f64::from(x).powi(2)).exp() / std::f64::consts::TAU.sqrt();
            assert!((f64::from(density) - exact).abs() < 1.5e-7, "{x}");
        }
    }

    #[test]
    fn the_wide_exponential_is_exact_to_double_precision() {
        let error = |i: i32| {
            let x = f64::from(i) * 0.173;
            (exp_f64(x) / x.exp() - 1.0).abs()
        };
        assert!((-4000..=4000).map(error).fold(0.0, f64::max) < 5e-16);
        assert!(exp_f64(0.0).to_bits() == 1.0_f64.to_bits() && exp_f64(f64::NAN).is_nan());
    }

    #[test]
    fn a_vectorised_loop_gives_the_bits_of_a_scalar_one() {
        for f in [exp, tanh, sigmoid, softplus, |x| {
            normal_cdf_and_density(x).0
        }] {
            let (mut plain, mut vector) = (grid(), grid());
            map(&mut plain, f);
            simd!(map(&mut vector, f));
            assert_eq!(plain, vector);
        }
    }

    #[test]
    fn not_a_number_stays_one() {
        for f in [exp, tanh, sigmoid, softplus, |x| {
            normal_cdf_and_density(x).0
        }] {
            assert!(f(f32::NAN).is_nan());
        }
    }
}
