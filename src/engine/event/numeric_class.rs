//! [`numeric_class`]: the properties of machine and device on which the bits of a result depend.

use crate::device::{DeviceFacts, DeviceKind};
use crate::ops::simd::vector_level;
use crate::plan::device_facts;

/// Architecture, vector level in use, device; for a GPU also its name, capability and the versions of its libraries:
/// `x86_64-avx512-cpu`, `x86_64-avx512-cuda-nvidia-h200-sm90-cuda13.0-cublas13.0.2`.
///
/// Two runs with the same cell, seed, code and numeric class have the same facts to the bit. Worker and parent compute
/// it from the machine that they share; an absent GPU is `cuda`.
pub fn numeric_class(device: DeviceKind) -> String {
    let kind = match device {
        DeviceKind::Cpu => "cpu",
        DeviceKind::Cuda(_) => "cuda",
    };
    let absent = |_| DeviceFacts {
        kind: kind.to_owned(),
        ..DeviceFacts::default()
    };
    numeric_class_of(&device_facts(device).unwrap_or_else(absent))
}

/// The same for an open device.
pub fn numeric_class_of(device: &DeviceFacts) -> String {
    let class = device.class();
    format!("{}-{}-{class}", std::env::consts::ARCH, vector_level())
}
