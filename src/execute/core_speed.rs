//! [`flops_per_core_s`]: what a core of this machine does in a second, for estimates of runs like none before.

use std::sync::OnceLock;
use std::time::Duration;

use crate::ops::gemm::product_flops_per_core_s;

/// Share of a matrix product's speed that a training step is taken to reach: the U-Net's steps reach about half, small
/// layers less.
pub const EFFICIENCY: f64 = 0.5;

/// How long products are timed: a run waits for it, and an estimate needs no more than ten of them.
const TIMED: Duration = Duration::from_millis(3);

/// Floating-point operations a second and core that an estimate counts with: [`EFFICIENCY`] times those of matrix
/// products, which are timed when this is first asked for.
pub fn flops_per_core_s() -> f64 {
    static RATE: OnceLock<f64> = OnceLock::new();
    *RATE.get_or_init(|| EFFICIENCY * product_flops_per_core_s(TIMED))
}
