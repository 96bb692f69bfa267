//! [`numeric_class`]: what, beside cell, code and seed, the bits of a result depend on.

use crate::device::DeviceKind;
use crate::ops::simd::vector_level;

/// Architecture, vector level in use, device: `x86_64-avx512-cpu`.
///
/// Two runs of one cell, seed and code in one numeric class have the same facts to the bit. Worker and parent compute it
/// alike, from the machine that they share.
pub fn numeric_class(device: DeviceKind) -> String {
    let device = match device {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Cuda(_) => "cuda",
    };
    format!("{}-{}-{device}", std::env::consts::ARCH, vector_level())
}
