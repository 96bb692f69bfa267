//! [`build`]: builds the program of a working tree with cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::AbError;
use super::output::LAST_LINES;

/// Name of the package and of its program.
const PACKAGE: &str = "fieldtrial";

/// Whether the working tree at `folder` is a clone of this program.
pub fn has_package(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let package = manifest.get("package");
    package.and_then(|package| package.get("name")?.as_str()) == Some(PACKAGE)
}

/// Builds the release program of the working tree at `folder` with this program's features, and returns its path; `label`
/// is its name in messages. A checkout gets a separate `target/`, and its `Cargo.lock` is not changed.
///
/// # Errors
/// A failed build, with its last output lines; an interruption by Ctrl-C.
pub fn build(
    label: &str,
    (folder, is_checkout): (&Path, bool),
    interrupted: &AtomicBool,
) -> Result<PathBuf, AbError> {
    let built = run_to_end(&mut command(folder, is_checkout));
    if interrupted.load(Ordering::SeqCst) {
        return Err(AbError::Interrupted);
    }
    let program = built.and_then(|messages| {
        let program = messages.lines().rev().find_map(executable);
        program.ok_or_else(|| "cargo names no program".to_owned())
    });
    program.map_err(|reason| {
        let title = format!("cannot build {label}:\n{reason}");
        let folder = folder.display();
        let help = format!("`cargo build --release` in `{folder}` shows all of it; cargo is part of Rust (https://rustup.rs)");
        AbError::mistake(title, help)
    })
}

/// Runs a command that builds something to its end, and returns its standard output; an error is what it said last.
pub fn run_to_end(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = said.lines().collect();
    Err(lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"))
}

fn command(folder: &Path, is_checkout: bool) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--release", "--bin", PACKAGE])
        .arg("--no-default-features")
        .args(["--message-format", "json-render-diagnostics"])
        .arg(format!("--features={}", features()))
        .current_dir(folder);
    if is_checkout {
        let target = folder.join("target");
        cargo.args(["--locked", "--target-dir"]).arg(target);
    }
    cargo
}

fn features() -> String {
    let all = [
        cfg!(feature = "x86-v4").then_some("x86-v4"),
        cfg!(feature = "cuda").then_some("cuda"),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(",")
}

/// The path of the program, if this message of cargo contains it.
fn executable(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = message["executable"].as_str()?;
    (message["target"]["name"] == PACKAGE).then(|| path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_repository_holds_the_package_and_its_sources_do_not() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(has_package(root));
        assert!(!has_package(&root.join("src")));
    }

    #[test]
    fn the_program_is_where_cargo_says() {
        let library =
            r#"{"reason":"compiler-artifact","target":{"name":"fieldtrial"},"executable":null}"#;
        let program = r#"{"reason":"compiler-artifact","target":{"name":"fieldtrial"},"executable":"/t/release/fieldtrial"}"#;
        assert_eq!(executable(library), None);
        assert_eq!(executable(program), Some("/t/release/fieldtrial".into()));
    }

    #[test]
    fn the_error_of_a_failed_build_has_its_last_lines() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        fs::write(folder.path().join("src/main.rs"), "fn main() { nothing }").unwrap();
        let manifest = "[package]\nname = \"fieldtrial\"\nedition = \"2024\"\n[workspace]\n[features]\nx86-v4 = []\ncuda = []\ncuda-stand-in = []\n";
        fs::write(folder.path().join("Cargo.toml"), manifest).unwrap();
        let label = "HEAD~1 at 0150c8c";
        let failed = build(label, (folder.path(), false), &AtomicBool::new(false));
        let Err(AbError::Mistake(failure)) = failed else {
            panic!("{failed:?}");
        };
        let text = failure.render(false);
        assert!(text.contains("cannot build HEAD~1 at 0150c8c"), "{text}");
        assert!(text.contains("nothing"), "{text}");
    }
}
