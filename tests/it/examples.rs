//! Every shipped manifest plans and names its schema.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn manifests() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root().join("experiments"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    found.sort();
    assert!(
        found.len() >= 3,
        "quickstart, mlp-scaling and ddpm are shipped"
    );
    found
}

/// Manifests that reports have written, `next.toml` and `best.toml`.
fn written_by_reports() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("reports")).unwrap().flatten();
    let of = |folder: PathBuf| ["next.toml", "best.toml"].map(|name| folder.join(name));
    let all = folders.flat_map(|folder| of(folder.path()));
    all.filter(|path| path.is_file()).collect()
}

#[test]
fn every_shipped_manifest_plans() {
    let written = written_by_reports();
    assert!(written.len() >= 10, "{written:?}");
    for manifest in manifests().into_iter().chain(written) {
        let output = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
            .arg("plan")
            .arg(&manifest)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}: {}",
            manifest.display(),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn every_shipped_manifest_names_the_schema_beside_it() {
    assert!(root().join("experiments/manifest.schema.json").is_file());
    for manifest in manifests() {
        let text = fs::read_to_string(&manifest).unwrap();
        assert!(
            text.starts_with("#:schema manifest.schema.json\n"),
            "{} does not name its schema in the first line",
            manifest.display()
        );
    }
}

#[test]
fn the_changelog_has_a_place_for_what_is_not_released() {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let mut headings = changelog.lines().filter(|line| line.starts_with("## "));
    let first = headings.next().unwrap();
    assert!(
        first.to_lowercase().contains("unreleased") || first.contains(env!("CARGO_PKG_VERSION")),
        "{first}"
    );
}
