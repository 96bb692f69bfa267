//! [`build`]: builds this program from a working tree, with cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::AbError;
use super::output::{Output, Outputs};

/// Name of this program's package, and of its binary.
const PACKAGE: &str = "fieldtrial";

/// Whether the folder has the source of this program, by the package name in its `Cargo.toml`.
pub fn has_package(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = text.parse().unwrap_or_default();
    let package = manifest.get("package");
    package.and_then(|package| package.get("name")?.as_str()) == Some(PACKAGE)
}

/// Builds the release binary of the working tree at `folder`, with the features of this program; returns its path. If
/// `is_checkout`, it gets a `target/` of its own and `Cargo.lock` must not change. Every line that cargo prints is
/// passed to `say`; `label` is the name of the tree in messages.
///
/// # Errors
/// A failed build, with the last lines of its output; an interruption by Ctrl-C.
pub fn build(
    label: &str,
    (folder, is_checkout): (&Path, bool),
    interrupted: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Result<PathBuf, AbError> {
    let mut cargo = command(folder, is_checkout);
    let mut child = cargo.spawn().map_err(|error| {
        let help = "`ab` builds with cargo: https://rustup.rs".to_owned();
        AbError::mistake(format!("cannot start cargo: {error}"), help)
    })?;
    let mut outputs = Outputs::of(&mut child);
    let program = follow(&mut outputs, &mut child, interrupted, say);
    let status = child.wait()?;
    if interrupted.load(Ordering::SeqCst) {
        return Err(AbError::Interrupted);
    }
    program.filter(|_| status.success()).ok_or_else(|| {
        let last = outputs.stderr_tail.join("\n");
        let title = format!("cannot build {label}:\n{last}");
        let folder = folder.display();
        let help = format!("`cargo build --release` in `{folder}` shows all of it");
        AbError::mistake(title, help)
    })
}

fn command(folder: &Path, is_checkout: bool) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--release", "--bin", PACKAGE])
        .arg("--no-default-features")
        .args(["--message-format", "json-render-diagnostics"])
        .arg(format!("--features={}", features()))
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
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

/// Reads cargo's output until it ends; returns the path of the built binary.
fn follow(
    outputs: &mut Outputs,
    child: &mut Child,
    interrupted: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Option<PathBuf> {
    let mut program = None;
    loop {
        match outputs.next() {
            Output::Line(text) => program = executable(&text).or(program),
            Output::StderrLine(text) => say(&text),
            Output::Silence => {}
            Output::End => return program,
        }
        if interrupted.load(Ordering::SeqCst) {
            // An error is ignored, because it means that cargo has ended already.
            let _ = child.kill();
        }
    }
}

/// The path of the built binary, if this JSON message of cargo has it.
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
        let mut said = Vec::new();
        let label = "HEAD~1 at 0150c8c";
        let failed = build(
            label,
            (folder.path(), false),
            &AtomicBool::new(false),
            &mut |line| {
                said.push(line.to_owned());
            },
        );
        let Err(AbError::Mistake(failure)) = failed else {
            panic!("{failed:?}");
        };
        let text = failure.render(false);
        assert!(text.contains("cannot build HEAD~1 at 0150c8c"), "{text}");
        assert!(text.contains("nothing") && !said.is_empty(), "{text}");
    }
}
