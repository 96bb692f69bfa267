//! Two branches, end to end: which runs a change of code, template or data repeats.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// One cell without and one with attention, on different datasets.
pub(crate) const MANIFEST: &str = r#"
name = "branches"

[models.mlp]
kind = "mlp"
hidden = 8
depth = 2

[models.unet]
kind = "ddpm-unet"
base-channels = 8
embed = 16

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 64

[datasets.surfaces]
kind = "image-folder"
path = "../data/surfaces"
size = 8
generate = { kind = "surface-textures", normal = 12, abnormal = 4, size = 8, seed = 7 }

[[matrices]]
name = "table"
model = ["mlp"]
dataset = ["plane"]

[[matrices]]
name = "images"
model = ["unet"]
dataset = ["surfaces"]

[train]
epochs = 1
batch-size = 8

[measure]
repeats = 1
warmup-steps = 1
"#;

/// A clone of this repository, with its own build folder.
pub(crate) struct Clone {
    folder: tempfile::TempDir,
}

impl Clone {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let clone = Self { folder };
        let whole = clone.path("");
        succeed(
            Command::new("git")
                .args(["clone", "--quiet", env!("CARGO_MANIFEST_DIR")])
                .arg(&whole),
        );
        clone.git(&["config", "user.name", "test"]);
        clone.git(&["config", "user.email", "test@localhost"]);
        copy_built_dependencies(&clone.profile_folder());
        clone
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("clone").join(path)
    }

    fn profile_folder(&self) -> PathBuf {
        self.folder
            .path()
            .join("target")
            .join(profile().file_name().expect("a profile"))
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        succeed(
            Command::new("git")
                .args(arguments)
                .current_dir(self.path("")),
        )
    }

    fn build(&self) {
        let mut cargo = Command::new(option_env!("CARGO").unwrap_or("cargo"));
        cargo.args([
            "build",
            "--quiet",
            "--locked",
            "--bin",
            "fieldtrial",
            "--target-dir",
        ]);
        cargo
            .arg(self.folder.path().join("target"))
            .current_dir(self.path(""));
        // Faster; dependencies are not recompiled.
        cargo
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        if profile().ends_with("release") {
            cargo.arg("--release");
        }
        succeed(&mut cargo);
    }

    /// Runs the manifest and returns its output.
    fn run(&self) -> String {
        let mut program = Command::new(self.profile_folder().join("fieldtrial"));
        program
            .args(["run", "experiments/branches.toml"])
            .current_dir(self.path(""));
        let output = program.output().expect("the program");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    }

    pub(crate) fn replace(&self, path: &str, old: &str, new: &str) {
        let path = self.path(path);
        let text = fs::read_to_string(&path).expect("a source");
        assert_eq!(text.matches(old).count(), 1, "{old}");
        fs::write(path, text.replace(old, new)).expect("a source");
    }

    pub(crate) fn commit(&self, subject: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", subject]);
    }
}

/// The folder that this test's program was built into: `target/debug` or `target/release`.
use crate::project::assert_says;
fn profile() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .parent()
        .expect("a folder")
}

/// Dependencies that this test's own build has compiled; without them the test takes minutes longer.
pub(crate) fn copy_built_dependencies(target: &Path) {
    fs::create_dir_all(target).expect("folders");
    for part in ["deps", "build", ".fingerprint"] {
        let from = profile().join(part);
        fs::create_dir(target.join(part)).expect("a folder");
        for entry in fs::read_dir(from).expect("a build").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_own = ["fieldtrial-", "libfieldtrial-", "it-", "ops-"];
            if !is_own.iter().any(|start| name.starts_with(start)) {
                let to = target.join(part).join(&name);
                succeed(Command::new("cp").arg("-a").arg(entry.path()).arg(to));
            }
        }
    }
}

fn succeed(command: &mut Command) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("a program");
    assert!(
        status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8_lossy(&stdout).into_owned()
}

#[test]
#[ignore = "builds the program four times: minutes"]
fn a_change_on_a_branch_runs_again_what_it_can_have_changed_and_the_way_back_runs_nothing() {
    let clone = Clone::new();
    clone.git(&["checkout", "--quiet", "-b", "a"]);
    clone.build();
    fs::write(clone.path("experiments/branches.toml"), MANIFEST).expect("a manifest");
    assert!(clone.run().contains("2 runs to do"));
    clone.commit("results of a");

    // One constant of one operation: every cell runs again, since the code's digest is over whole modules, ...
    clone.git(&["checkout", "--quiet", "-b", "b"]);
    clone.replace(
        "src/kernels/ops/attention/mod.rs",
        "1.0 / (self.head_width()",
        "2.0 / (self.head_width()",
    );
    clone.build();
    let said = clone.run();
    assert!(said.contains("code: ops/attention: 2 runs"), "{said}");
    // ... but facts differ only in cells that use the operation.
    let diff = clone.git(&["diff", "a", "--", "reports/*/runs.csv"]);
    let changed = changed_rows(&diff);
    assert_eq!(changed.len(), 2, "{changed:?}");
    assert!(
        changed.iter().all(|line| line.contains("model=unet")),
        "{changed:?}"
    );
    clone.commit("results of b");

    // A report template runs nothing.
    let template = clone.path("reports/templates/analysis.md.j2");
    let text = fs::read_to_string(&template).expect("a template");
    fs::write(&template, text + "\nThe last line of branch b.\n").expect("a template");
    clone.build();
    let said = clone.run();
    assert!(said.contains("0 runs to do, 2 kept"), "{said}");
    let report = fs::read_to_string(clone.path("reports/branches/report.md")).expect("a report");
    assert!(report.contains("The last line of branch b."), "{report}");

    // One image: the cells of its dataset run again; after restoring it nothing runs.
    let image = clone.path("data/surfaces/normal/000000.png");
    let original = fs::read(&image).expect("an image");
    fs::copy(clone.path("data/surfaces/abnormal/000000.png"), &image).expect("another image");
    let said = clone.run();
    assert_says(&said, "1 run to do, 1 kept");
    assert_says(&said, "dataset changed: 1 run");
    fs::write(&image, original).expect("an image");
    assert!(clone.run().contains("0 runs to do, 2 kept"));
    clone.commit("a template");

    // Back on the first branch: nothing runs, and neither facts nor times change.
    clone.git(&["checkout", "--quiet", "a"]);
    clone.build();
    let said = clone.run();
    assert!(said.contains("0 runs to do, 2 kept"), "{said}");
    assert_eq!(clone.git(&["status", "--porcelain"]), "");
}

/// Added and removed lines of a diff.
fn changed_rows(diff: &str) -> Vec<&str> {
    let is_row = |line: &&str| {
        line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
    };
    diff.lines().filter(is_row).collect()
}
