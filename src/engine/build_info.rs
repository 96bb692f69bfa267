//! What this build is made of: digests of the sources that determine results, versions of compiler and dfdx, features.
//!
//! The build scripts of the engine and kernels crates compute one digest per file or folder of a module that determines
//! results. The code of reports and commands is not included, so that changes of it leave the code hash unchanged.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::base::build_info as kernels;
use crate::base::hash::Digest;
use crate::device::DeviceKind;

pub use kernels::{CodeTarget, features};

mod generated {
    include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
}

/// The version of dfdx.
pub const DFDX: &str = env!("FIELDTRIAL_DFDX");

/// The version of the compiler.
pub const RUSTC: &str = env!("FIELDTRIAL_RUSTC");

/// The digest over all parts of this build that can change the results of a cell.
pub fn code_hash(arithmetic: CodeTarget) -> String {
    // Computed once per process, since every cell of a plan needs it.
    static HASHES: OnceLock<[String; 2]> = OnceLock::new();
    let hashes = HASHES.get_or_init(|| [digest(CodeTarget::Cpu), digest(CodeTarget::Gpu)]);
    hashes[arithmetic as usize].clone()
}

fn digest(arithmetic: CodeTarget) -> String {
    let mut digest = Digest::new();
    for (name, value) in code_parts(arithmetic) {
        digest = digest.with(name).with(value);
    }
    digest.short()
}

/// The parts of [`code_hash`] by name (`ops/conv2d`, `ops/conv2d (cuda)`, `Cargo.lock`, `rustc`, `features`), for `plan
/// --explain`.
pub fn code_parts(arithmetic: CodeTarget) -> BTreeMap<String, String> {
    let own: &[(&str, &str)] = match arithmetic {
        CodeTarget::Cpu => &[],
        CodeTarget::Gpu => generated::GPU_PARTS,
    };
    let parts = generated::CPU_PARTS.iter().chain(own).copied();
    let parts = parts.chain(kernels::source_digests(arithmetic));
    let mut parts: BTreeMap<String, String> = parts
        .map(|(name, digest)| (name.to_owned(), digest.to_owned()))
        .collect();
    parts.insert("features".into(), features(arithmetic));
    parts
}

/// Which code computes a cell's results on this device: that for CPUs or that for GPUs.
pub fn code_target(device: DeviceKind) -> CodeTarget {
    match device {
        DeviceKind::Cpu => CodeTarget::Cpu,
        DeviceKind::Cuda(_) => CodeTarget::Gpu,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_hash_has_a_part_for_every_file_and_folder_of_its_modules() {
        let parts = code_parts(CodeTarget::Cpu);
        for name in [
            "base/seed",
            "device/cpu",
            "ops/simd",
            "models/mlp",
            "train/session",
            "Cargo.lock",
            "rustc",
            "features",
        ] {
            assert!(parts.contains_key(name), "{name} is missing in {parts:?}");
        }
        assert!(!parts.keys().any(|name| name.starts_with("plan")));
    }

    #[test]
    fn what_only_gpus_use_is_no_part_of_the_cpus_code() {
        let (cpu, gpu) = (code_parts(CodeTarget::Cpu), code_parts(CodeTarget::Gpu));
        assert!(!cpu.keys().any(|name| name.contains("cuda")), "{cpu:?}");
        for name in ["ops/activate (cuda)", "device/cuda", "kernels (compiler)"] {
            assert!(gpu.contains_key(name), "{name} is missing in {gpu:?}");
        }
        for (name, digest) in cpu.iter().filter(|(name, _)| *name != "features") {
            assert_eq!(gpu.get(name), Some(digest), "{name}");
        }
    }

    #[test]
    fn processors_and_gpus_have_code_hashes_of_their_own() {
        assert_ne!(code_hash(CodeTarget::Cpu), code_hash(CodeTarget::Gpu));
    }
}
