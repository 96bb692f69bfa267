//! Arguments that recipes of the justfile pass on. Needs `just` on PATH (`pip install rust-just`), else prints a note.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::project::Project;

/// Arguments that a shell would split, expand or interpret.
const ARGUMENTS: [&str; 9] = [
    "--only",
    "a=1|2",
    "--set",
    "matrix.batch-size=[8, 16]",
    "an 'only' \"word\"",
    "$HOME `id` $(id) > file; id & id",
    "*",
    "",
    "{{FILE}}",
];

/// Records its path and its arguments, each ended by a zero byte, and a line break after the last.
const STUB: &str =
    "#!/bin/sh\nprintf '%s\\0' \"$0\" \"$@\" >> \"$CALLS\"\nprintf '\\n\\0' >> \"$CALLS\"\n";

/// Programs that recipes start, other than those on PATH.
const SCRIPTS: [&str; 3] = [
    ".ci/cuda-build",
    "tests/gpu/check.sh",
    "tests/slurm/check.sh",
];

#[test]
fn every_recipe_hands_on_its_arguments_as_they_were_typed() {
    let Some(just) = on_path("just") else {
        println!("skipped: `just` is not on PATH; `pip install rust-just` brings it");
        return;
    };
    let project = stubs();
    let recipes = recipes(&just, &project);
    let mut seen = 0;
    for (name, recipe) in recipes.as_object().expect("recipes") {
        let parameters = recipe["parameters"].as_array().expect("parameters");
        if parameters.is_empty() {
            continue;
        }
        seen += 1;
        let arguments = arguments(parameters, &project);
        let _ = fs::remove_file(project.path("calls"));
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let Output { status, stderr, .. } =
            run(&just, &project, &[&[name.as_str()], &*words].concat());
        let stderr = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "{name}: {stderr}");
        let calls = calls(&project);
        let has_them = |call: &Vec<String>| {
            let mut windows = call.windows(arguments.len());
            windows.any(|window| window == arguments)
        };
        assert!(calls.iter().any(has_them), "{name}: {calls:#?}");
    }
    assert!(seen > 10, "{seen} recipes take arguments");
}

/// The justfile, with stubs for all programs that its recipes start.
fn stubs() -> Project {
    let justfile = Path::new(env!("CARGO_MANIFEST_DIR")).join("justfile");
    let mut project = Project::new().file("justfile", &fs::read_to_string(justfile).expect("text"));
    let programs = ["cargo", "python3", "git", "a python"].map(|name| format!("bin/{name}"));
    for stub in SCRIPTS.map(str::to_owned).iter().chain(&programs) {
        project = project.file(stub, STUB);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(project.path(stub), mode).expect("a mode");
    }
    project
}

/// One for each parameter, and all of [`ARGUMENTS`] for the last one where it takes any number.
fn arguments(parameters: &[Value], project: &Project) -> Vec<String> {
    let mut arguments = Vec::new();
    for parameter in parameters {
        if parameter["kind"] == "singular" {
            // Python is started; everything else is only passed on.
            arguments.push(if parameter["name"] == "PYTHON" {
                project.path("bin/a python").to_string_lossy().into_owned()
            } else {
                "my experiments/one|two.toml".to_owned()
            });
        } else {
            arguments.extend(ARGUMENTS.map(str::to_owned));
        }
    }
    arguments
}

fn recipes(just: &Path, project: &Project) -> Value {
    let output = run(just, project, &["--dump", "--dump-format", "json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let dump: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    dump["recipes"].clone()
}

fn run(just: &Path, project: &Project, arguments: &[&str]) -> Output {
    Command::new(just)
        .args(arguments)
        .current_dir(project.path(""))
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", project.path("bin").display()),
        )
        .env("CALLS", project.path("calls"))
        .env_remove("PYTHON")
        .output()
        .expect("just")
}

/// Every call of a stub: its path and its arguments.
fn calls(project: &Project) -> Vec<Vec<String>> {
    let text = fs::read_to_string(project.path("calls")).unwrap_or_default();
    let calls = text.split_terminator("\0\n\0");
    calls
        .map(|call| call.split('\0').map(str::to_owned).collect())
        .collect()
}

pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}
