//! What this build is made of: digests of the sources that decide a result, compiler, features, profile.
//!
//! `build.rs` hashes the rooms base, device, ops, layers, models, losses, optim, datasets, loader, tasks and train,
//! file by file; a change in a report or in this program's commands leaves the code hash alone. Sources that only GPUs
//! use (modules and folders named `cuda`, `*.cu`) are parts of their own, which the code hash of the CPU does not hold.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::hash::Digest;

mod generated {
    include!(concat!(env!("OUT_DIR"), "/build_info.rs"));
}

/// The version of dfdx.
pub const DFDX: &str = env!("FIELDTRIAL_DFDX");

/// The compiler, as it names itself.
pub const RUSTC: &str = env!("FIELDTRIAL_RUSTC");

/// What arithmetic a cell uses, for the features that belong into its code hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arithmetic {
    /// The processor's: feature `x86-v4`.
    Cpu,
    /// A GPU's: features `cuda` and `cuda-stand-in`, whose driver is another code than NVIDIA's.
    Gpu,
}

/// The digest over everything of this build that can change a fact of a cell.
pub fn code_hash(arithmetic: Arithmetic) -> String {
    // A million cells ask.
    static HASHES: OnceLock<[String; 2]> = OnceLock::new();
    let hashes = HASHES.get_or_init(|| [digest(Arithmetic::Cpu), digest(Arithmetic::Gpu)]);
    hashes[arithmetic as usize].clone()
}

fn digest(arithmetic: Arithmetic) -> String {
    let mut digest = Digest::new();
    for (name, value) in code_parts(arithmetic) {
        digest = digest.with(name).with(value);
    }
    digest.short()
}

/// The parts of [`code_hash`] by name (`ops/conv2d`, `ops/conv2d (cuda)`, `Cargo.lock`, `rustc`, `features`): what
/// `plan --explain` names.
pub fn code_parts(arithmetic: Arithmetic) -> BTreeMap<String, String> {
    let own: &[(&str, &str)] = match arithmetic {
        Arithmetic::Cpu => &[],
        Arithmetic::Gpu => generated::CUDA_PARTS,
    };
    let mut parts: BTreeMap<String, String> = generated::PARTS
        .iter()
        .chain(own)
        .map(|&(name, digest)| (name.to_owned(), digest.to_owned()))
        .collect();
    parts.insert("features".into(), features(arithmetic));
    parts
}

/// The compiler, as it names itself.
pub fn rustc() -> &'static str {
    generated::PARTS
        .iter()
        .find(|(name, _)| *name == "rustc")
        .map_or("unknown", |(_, version)| version)
}

/// The features that change the arithmetic, in a fixed order.
pub fn features(arithmetic: Arithmetic) -> String {
    let compiled: &[(&str, bool)] = match arithmetic {
        Arithmetic::Cpu => &[("x86-v4", cfg!(feature = "x86-v4"))],
        Arithmetic::Gpu => &[
            ("cuda", cfg!(feature = "cuda")),
            ("cuda-stand-in", cfg!(feature = "cuda-stand-in")),
        ],
    };
    let names: Vec<&str> = compiled
        .iter()
        .filter(|(_, is_on)| *is_on)
        .map(|(name, _)| *name)
        .collect();
    names.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_hash_has_a_part_for_every_unit_of_a_room() {
        let parts = code_parts(Arithmetic::Cpu);
        for name in [
            "base/seed",
            "device/cpu",
            "ops/simd",
            "Cargo.lock",
            "rustc",
            "features",
        ] {
            assert!(parts.contains_key(name), "{name} is missing in {parts:?}");
        }
        assert!(!parts.keys().any(|name| name.starts_with("report")));
    }

    #[test]
    fn what_only_gpus_use_is_no_part_of_the_cpus_code() {
        let (cpu, gpu) = (code_parts(Arithmetic::Cpu), code_parts(Arithmetic::Gpu));
        assert!(!cpu.keys().any(|name| name.contains("cuda")), "{cpu:?}");
        for name in ["ops/silu (cuda)", "device/cuda", "kernels (compiler)"] {
            assert!(gpu.contains_key(name), "{name} is missing in {gpu:?}");
        }
        for (name, digest) in cpu.iter().filter(|(name, _)| *name != "features") {
            assert_eq!(gpu.get(name), Some(digest), "{name}");
        }
    }

    #[test]
    fn processors_and_gpus_have_code_hashes_of_their_own() {
        assert_ne!(code_hash(Arithmetic::Cpu), code_hash(Arithmetic::Gpu));
    }
}
