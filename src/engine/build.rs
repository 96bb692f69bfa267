//! Computes digests of this crate's sources and of the packages that it is built from (`build_info`).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fieldtrial_source_hash::{CRATES, Lock, PACKAGES, SourceHashes};

/// Modules whose sources can change a run's results; a change anywhere else keeps stored results valid.
const MODULES: [&str; 8] = [
    "layers", "models", "losses", "optim", "datasets", "loader", "tasks", "train",
];

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    for watched in MODULES.iter().copied().chain(["build.rs"]) {
        println!("cargo:rerun-if-changed={watched}");
    }
    // A package that Cargo downloads contains a lock file, but the crate can also be built without one.
    let (mut dfdx, mut packages) = ("unknown".to_owned(), "unknown".to_owned());
    if let Some((file, lock)) = Lock::of(&root, "fieldtrial-engine") {
        println!("cargo:rerun-if-changed={}", file.display());
        dfdx = lock.version("dfdx").map_or(dfdx, str::to_owned);
        packages = lock.digest(CRATES, PACKAGES);
    }
    println!("cargo:rustc-env=FIELDTRIAL_DFDX={dfdx}");
    let rustc = rustc_version();
    println!("cargo:rustc-env=FIELDTRIAL_RUSTC={rustc}");
    let mut parts = SourceHashes::of(&root, &MODULES);
    parts.cpu.push(("Cargo.lock".into(), packages));
    parts.cpu.push(("rustc".into(), rustc));
    let target = Path::new(&variable("OUT_DIR")).join("build_info.rs");
    fs::write(target, parts.to_rust()).expect("cargo gives a folder that can be written");
}

fn rustc_version() -> String {
    let output = Command::new(variable("RUSTC")).arg("--version").output();
    output.map_or_else(
        |_| "unknown".into(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

/// A variable that cargo always sets for build scripts.
fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
