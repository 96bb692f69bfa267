//! Input that is meant to do harm: files that never end, numbers without bound, paths out of the results.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::project::{Ended, Project};
use crate::tiny::{project, with};

const RUN: [&str; 3] = ["run", "experiments/tiny.toml", "--no-report"];

fn refused(ended: &Ended, sentence: &str) {
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains(sentence), "{}", ended.stderr);
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}

#[test]
fn a_manifest_is_a_regular_file() {
    let project = project();
    pipe(&project.path("experiments/pipe.toml"));
    for path in ["experiments/pipe.toml", "/dev/zero", "/dev/null"] {
        refused(&project.run(&["plan", path]), "not a regular file");
    }
    refused(&project.run(&["plan", "experiments"]), "is a folder");
}

#[test]
fn neighbours_of_a_manifest_are_read_where_they_are_regular_files() {
    let project = project();
    pipe(&project.path("experiments/pipe.toml"));
    std::os::unix::fs::symlink("/dev/zero", project.path("experiments/endless.toml")).unwrap();
    project.ends(0, "plan experiments/tiny.toml");
}

#[test]
fn data_and_weights_are_regular_files() {
    let csv = "[datasets.plane]\nkind = \"csv\"\npath = \"pipe\"\ntarget = \"y\"";
    let generated = "[datasets.plane]\nkind = \"regression-5d\"\ntarget = \"linear\"\nsamples = 64";
    let manifests = [
        with(generated, csv),
        with("epochs = 2", "epochs = 2\ninit-from = \"pipe\""),
    ];
    for manifest in manifests {
        let project = Project::new().file("experiments/tiny.toml", &manifest);
        pipe(&project.path("experiments/pipe"));
        refused(&project.run(&RUN), "not a regular file");
    }
}

#[test]
fn results_are_regular_files() {
    let project = project();
    project.ends(0, "run experiments/tiny.toml --no-report");
    let runs = project.path("reports/tiny/runs.csv");
    std::fs::remove_file(&runs).unwrap();
    pipe(&runs);
    let ended = project.run(&["report", "reports/tiny"]);
    refused(&ended, "not a regular file");
}

#[test]
fn a_pipe_in_the_store_is_set_aside() {
    let project = project();
    project.ends(0, "run experiments/tiny.toml --no-report");
    let runs = project.path("reports/tiny/.store/runs");
    let cell = std::fs::read_dir(runs).unwrap().next().unwrap().unwrap();
    pipe(&cell.path().join("0-0-pipe.json"));
    let ended = project.ends(0, "run experiments/tiny.toml --no-report");
    assert!(ended.stderr.contains("0-0-pipe.json"), "{}", ended.stderr);
}

#[test]
fn runs_are_counted_before_they_are_made() {
    let seeds: Vec<String> = (0..1000).map(|seed: u32| seed.to_string()).collect();
    let seeds = format!("measure.seeds=[{}]", seeds.join(", "));
    let sets = ["--set", &seeds, "--set", "measure.repeats=100000"];
    let ended = project().run(&[&["plan", "experiments/tiny.toml"][..], &sets].concat());
    refused(&ended, "the plan is too large");
    refused(&ended, "200000000 runs of 2 cells");
    refused(&ended, "at most 10000000 runs");
}

#[test]
fn repeats_on_an_axis_count_with_their_own_values() {
    let axis = |repeats: &str| {
        let axis = format!("batch-size = [8, 16]\n\"measure.repeats\" = [{repeats}]");
        let manifest = with("batch-size = [8, 16]", &axis).replace("repeats = 2\n", "");
        let seeds: Vec<String> = (0..100).map(|seed: u32| seed.to_string()).collect();
        let manifest = manifest.replace(
            "[measure]",
            &format!("[measure]\nseeds = [{}]", seeds.join(", ")),
        );
        let project = Project::new().file("experiments/tiny.toml", &manifest);
        project.run(&["plan", "experiments/tiny.toml"])
    };
    let ended = axis("1, 60000");
    refused(&ended, "12000200 runs of 4 cells");
    assert_eq!(axis("1, 40").code, 0);
}

#[test]
fn mistakes_beyond_a_hundred_are_counted() {
    let mut manifest = with("[train]", "[train]\n");
    for number in 0..900 {
        writeln!(manifest, "wrong-{number} = 1").unwrap();
    }
    let project = Project::new().file("experiments/tiny.toml", &manifest);
    let ended = project.run(&["plan", "experiments/tiny.toml"]);
    refused(&ended, "… and 800 more");
    refused(&ended, "error: 900 mistakes in");
    assert_eq!(ended.stderr.matches(" --> ").count(), 100);
}

#[test]
fn threads_have_a_bound_and_a_warning_below_it() {
    let threads = |number: usize| {
        let set = format!("train.threads={number}");
        project().run(&["plan", "experiments/tiny.toml", "--set", &set])
    };
    refused(&threads(1025), "`train.threads`");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if cores < 128 {
        let ended = threads(1024);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        let warning = format!("`train.threads` is 1024, and this machine has {cores} cores");
        assert!(ended.stderr.contains(&warning), "{}", ended.stderr);
    }
}

#[test]
fn mistakes_in_arguments_show_no_control_characters() {
    for argument in ["\u{9b}31m", "a\r\nb", "\u{1b}[31m"] {
        let ended = project().ends_with(2, &["list", argument]);
        let is_shown = |letter: char| !letter.is_control() || letter == '\n';
        assert!(ended.stderr.chars().all(is_shown), "{:?}", ended.stderr);
    }
}

#[test]
fn weights_are_saved_below_the_results_only() {
    for name in ["/tmp/x", "../../../../experiments/tiny", "a/b", "..", ""] {
        let manifest = with("epochs = 2", &format!("epochs = 2\nsave-to = {name:?}"));
        let project = Project::new().file("experiments/tiny.toml", &manifest);
        refused(&project.run(&RUN), "`train.save-to`");
        assert!(!project.path("reports").exists(), "{name}");
    }
}

#[test]
fn a_limit_of_the_size_of_files_is_told_like_a_full_disk() {
    let project = project();
    let limited = format!(
        "ulimit -f 4; exec '{}' run experiments/tiny.toml --no-report",
        env!("CARGO_BIN_EXE_fieldtrial")
    );
    let output = Command::new("bash")
        .args(["-c", &limited])
        .current_dir(project.path(""))
        .output()
        .expect("bash");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{said}");
    assert!(said.contains("File too large"), "{said}");
}

#[test]
fn a_small_stack_of_threads_is_ignored() {
    let project = project();
    let output = Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .args(["run", "experiments/tiny.toml"])
        .current_dir(project.path(""))
        .env("RUST_MIN_STACK", "1")
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_string_of_a_manifest_shows_no_control_character() {
    let manifest = "name = 'x'\n[models.m]\nkind = 'command'\nrun = ['true']\ncode = []\n\
                    metrics = { size = { better = 'lower', unit = \"\\u009b31m\" } }\n";
    let project = Project::new().file("experiments/tiny.toml", manifest);
    for arguments in [&["plan", RUN[1], "--explain"][..], &["plan", RUN[1]]] {
        let said = project.ends_with(0, arguments);
        assert!(!said.stdout.contains('\u{9b}'), "{}", said.stdout);
        assert!(!said.stderr.contains('\u{9b}'), "{}", said.stderr);
    }
}
