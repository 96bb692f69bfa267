//! Sums of squares on the CPU.

use crate::ops::simd::simd;

/// Partial sums per vector; with [`SUMS`] vectors of them the latency of an addition is hidden.
const LANES: usize = 8;
const SUMS: usize = 4;

/// Sum of squares `Σ x²` in f64, on the calling thread.
pub(in crate::ops) fn squares(x: &[f32]) -> f64 {
    simd!(add_squares(x))
}

#[inline(always)]
fn add_squares(x: &[f32]) -> f64 {
    let mut sums = [[0.0_f64; LANES]; SUMS];
    // Whole groups have a loop of their own: an inner loop of unknown length would not be vectorised.
    let (groups, rest) = x.as_chunks::<{ LANES * SUMS }>();
    for x in groups {
        let (vectors, _) = x.as_chunks::<LANES>();
        for (sums, x) in sums.iter_mut().zip(vectors) {
            for (sum, x) in sums.iter_mut().zip(x) {
                *sum += f64::from(*x) * f64::from(*x);
            }
        }
    }
    let rest: f64 = rest.iter().map(|x| f64::from(*x).powi(2)).sum();
    sums.as_flattened().iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::random_values;

    #[test]
    fn sums_of_all_lengths_are_those_of_the_definition() {
        for len in [0, 1, 3, 7, 8, 9, 31, 32, 33, 1000, 4099] {
            // Includes values whose squares overflow or underflow f32.
            for factor in [1e-30, 1.0, 1e30] {
                let x: Vec<f32> = random_values(len, 1).iter().map(|x| x * factor).collect();
                let expected: f64 = x.iter().map(|x| f64::from(*x).powi(2)).sum();
                let found = squares(&x);
                assert!((found - expected).abs() <= 1e-13 * expected, "{found:e}");
            }
        }
    }
}
