//! How fast matrix products are on this machine.

use std::time::{Duration, Instant};

use super::{Into, Matrix, MatrixMut, product};
use crate::base::statistics::mean;

/// Rows and columns of the matrices: three of them fit a core's second-level cache, as a convolution's blocks do.
const SIDE: usize = 256;

/// Floating-point operations a second that each core does in matrix products, all cores at once, timed for `time`.
pub fn product_flops_per_core_s(time: Duration) -> f64 {
    let rates = rayon::broadcast(|_| flops_s(time));
    mean(&rates).unwrap_or_default()
}

/// That of the fastest product: what disturbs a core only makes it slower.
fn flops_s(time: Duration) -> f64 {
    let factor = vec![0.5; SIDE * SIDE];
    let factor = Matrix::new(&factor, SIDE, SIDE);
    let mut result = vec![0.0; SIDE * SIDE];
    let mut multiply = || {
        let mut target = MatrixMut::new(&mut result, SIDE, SIDE);
        product(&mut target, Into::Replace, factor, factor);
    };
    // The first one maps memory, and finds out the sizes of the caches.
    multiply();
    let begin = Instant::now();
    let mut fastest = f64::INFINITY;
    loop {
        let start = Instant::now();
        multiply();
        fastest = fastest.min(start.elapsed().as_secs_f64());
        if begin.elapsed() >= time {
            return 2.0 * (SIDE as f64).powi(3) / fastest.max(1e-9);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_core_does_a_plausible_number_of_operations() {
        let rate = product_flops_per_core_s(Duration::from_millis(5));
        // How slow it is says how busy the machine is.
        assert!(rate > 0.0 && rate < 1e13, "{rate}");
    }
}
