//! [`numeric_class`]: the properties of machine and device that determine a result bit by bit.

use crate::device::{DeviceFacts, DeviceKind};
use crate::ops::gemm::{Bf16Products, bf16_products};
use crate::ops::simd::vector_level;
use crate::plan::{Precision, device_facts};

/// The numeric class of a run: architecture, vector level in use, device; for a GPU also its name, compute capability
/// and the versions of its libraries: `x86_64-avx512-cpu`, `x86_64-avx512-cuda-nvidia-h200-sm90-cuda13.0-cublas13.0.2`.
/// With `bf16` on a CPU that has instructions for it, their name follows: `x86_64-avx512-cpu-bf16` (`vdpbf16ps`),
/// `x86_64-avx512-cpu-amx`.
///
/// Two runs with the same cell, seed, code and numeric class have the same facts to the bit. Worker and parent run on
/// the same machine and each compute the class. Of a GPU that is not available only `cuda` is known.
pub fn numeric_class(device: DeviceKind, precision: Precision) -> String {
    let kind = match device {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Cuda(_) => "cuda",
    };
    let absent = |_| DeviceFacts {
        kind: kind.to_owned(),
        ..DeviceFacts::default()
    };
    numeric_class_of(&device_facts(device).unwrap_or_else(absent), precision)
}

/// Numeric class of an open device.
pub fn numeric_class_of(device: &DeviceFacts, precision: Precision) -> String {
    let class = device.numeric_class_name();
    // Without an instruction for bf16, products are computed in `f32`, with another order of summation.
    let in_bf16 = precision == Precision::Bf16 && device.kind == "cpu";
    let products = match bf16_products().filter(|_| in_bf16) {
        None => "",
        Some(Bf16Products::Avx512) => "-bf16",
        Some(Bf16Products::Amx) => "-amx",
    };
    let architecture = std::env::consts::ARCH;
    format!("{architecture}-{}-{class}{products}", vector_level())
}
