//! Computes the digests of this crate's sources (`base::build_info`) and compiles the CUDA kernels (feature `cuda`).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use fieldtrial_source_hash::SourceHashes;

/// Modules whose sources can change a result.
const MODULES: [&str; 3] = ["base", "device", "ops"];

#[path = "device/cuda/compile.rs"]
mod compile;

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    for watched in MODULES.iter().copied().chain(["build.rs"]) {
        println!("cargo:rerun-if-changed={watched}");
    }
    let kernel_compiler = compile::kernels(&root);
    let mut parts = SourceHashes::of(&root, &MODULES);
    parts
        .gpu
        .push(("kernels (compiler)".into(), kernel_compiler));
    let target = Path::new(&variable("OUT_DIR")).join("build_info.rs");
    fs::write(target, parts.to_rust()).expect("cargo gives a folder that can be written");
}

/// The value of the environment variable `name`, which cargo always sets for build scripts.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
