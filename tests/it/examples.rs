//! Every shipped manifest plans and names its schema; every command in the README exists.

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

#[test]
fn every_shipped_manifest_plans() {
    for manifest in manifests() {
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
fn every_command_of_the_readme_is_one_of_the_program() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut seen = 0;
    for line in fenced_lines(&readme) {
        let Some(arguments) = line
            .split_once("fieldtrial ")
            .map(|(_, rest)| rest)
            .or_else(|| line.strip_prefix("cargo run --release -- "))
        else {
            continue;
        };
        let command = arguments.split_whitespace().next().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
            .args([command, "--help"])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "README: `{line}`: no command `{command}`"
        );
        for file in arguments
            .split_whitespace()
            .filter(|word| word.starts_with("experiments/"))
        {
            assert!(
                root().join(file).is_file(),
                "README: `{line}`: no file `{file}`"
            );
        }
        seen += 1;
    }
    assert!(seen >= 3, "the README shows commands");
}

#[test]
fn every_recipe_of_the_readme_is_in_the_justfile() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let justfile = fs::read_to_string(root().join("justfile")).unwrap();
    for line in fenced_lines(&readme) {
        if let Some(recipe) = line
            .strip_prefix("just ")
            .and_then(|r| r.split_whitespace().next())
        {
            let defined = justfile
                .lines()
                .any(|l| l.split([' ', ':']).next() == Some(recipe) && l.contains(':'));
            assert!(defined, "README: `{line}`: no recipe `{recipe}`");
        }
    }
}

#[test]
fn the_changelog_has_a_place_for_what_is_not_released() {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    assert!(changelog.contains("## Unreleased") || changelog.contains(env!("CARGO_PKG_VERSION")));
}

/// Lines inside code fences with shell commands.
fn fenced_lines(text: &str) -> Vec<&str> {
    let mut inside = false;
    text.lines()
        .filter(|line| {
            if line.starts_with("```") {
                inside = line.starts_with("```sh");
                return false;
            }
            inside && !line.starts_with('#')
        })
        .collect()
}
