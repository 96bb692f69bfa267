//! Packages of the crates have the code hash of the repository, and what the program is built of.

use std::fs;
use std::path::Path;
use std::process::Command;

use fieldtrial::build_info::{CodeTarget, code_parts};
use fieldtrial_source_hash::{CRATES, Lock, PACKAGES, SourceHashes};

#[test]
fn a_package_has_the_code_hash_of_the_repository() {
    let built = code_parts(CodeTarget::Gpu);
    let crates = [
        ("kernels", &["base", "device", "ops"][..]),
        (
            "engine",
            &[
                "layers", "models", "losses", "optim", "datasets", "loader", "tasks", "train",
            ],
        ),
    ];
    let mut count = 0;
    for (name, modules) in crates {
        let package = format!("fieldtrial-{name}");
        let files = files_of(&package);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(name);
        let copy = tempfile::tempdir().expect("a temporary folder");
        // Cargo makes the two others: the manifest that is published, and its lock file.
        for file in files.lines().filter(|file| folder.join(file).is_file()) {
            let to = copy.path().join(file);
            fs::create_dir_all(to.parent().expect("a folder")).expect("folders");
            fs::copy(folder.join(file), to).expect("a copy");
        }
        let parts = SourceHashes::of(copy.path(), modules);
        for (name, digest) in parts.cpu.iter().chain(&parts.gpu) {
            assert_eq!(built.get(name), Some(digest), "{name}");
            count += 1;
        }
    }
    let of_the_build = ["Cargo.lock", "rustc", "features", "kernels (compiler)"];
    assert_eq!(count, built.len() - of_the_build.len());
}

/// Cargo resolves a package's lock file without the rest of the workspace, whose features it then lacks.
#[test]
fn the_lock_file_of_a_package_names_the_packages_of_the_repositorys() {
    let target = tempfile::tempdir().expect("a temporary folder");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "package",
        "--workspace",
        "--offline",
        "--allow-dirty",
        "--no-verify",
        "--target-dir",
    ]);
    let packed = cargo
        .arg(target.path())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    assert!(packed.status.success(), "{packed:?}");
    let version = env!("CARGO_PKG_VERSION");
    let lock = Command::new("tar")
        .args(["-xzOf", &format!("fieldtrial-engine-{version}.crate")])
        .arg(format!("fieldtrial-engine-{version}/Cargo.lock"))
        .current_dir(target.path().join("package"))
        .output()
        .expect("tar");
    let lock = Lock::read(&String::from_utf8(lock.stdout).expect("UTF-8"));
    for package in PACKAGES {
        assert!(lock.version(package).is_some(), "{package}");
    }
    let built = code_parts(CodeTarget::Cpu);
    assert_eq!(built["Cargo.lock"], lock.digest(CRATES, PACKAGES));
}

#[test]
fn the_program_is_packed_with_its_templates_and_without_results() {
    let files = files_of("fieldtrial");
    let reports: Vec<&str> = files
        .lines()
        .filter(|file| file.starts_with("reports/"))
        .collect();
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports/templates");
    assert_eq!(
        reports.len(),
        fs::read_dir(templates).expect("templates").count()
    );
    assert!(
        reports
            .iter()
            .all(|file| file.starts_with("reports/templates/"))
    );
    for package in ["", "-lab", "-engine", "-kernels", "-source-hash"] {
        let files = files_of(&format!("fieldtrial{package}"));
        for needed in ["Cargo.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(
                files.lines().any(|file| file == needed),
                "{package}: {needed}"
            );
        }
    }
}

/// The files in the package of a crate, a line each.
fn files_of(package: &str) -> String {
    let listed = Command::new(env!("CARGO"))
        .args([
            "package",
            "--offline",
            "--allow-dirty",
            "--list",
            "--package",
            package,
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo");
    String::from_utf8(listed.stdout).expect("names of files")
}
