//! Workers and parents that are killed, Ctrl-C, limits: statuses are right, nothing finished is lost, nothing is left.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::project::Project;
use crate::tiny::{project, with};

/// One cell that ends at once and one that would train for hours.
fn with_a_long_cell() -> Project {
    let manifest = with("batch-size = [8, 16]", "\"train.epochs\" = [1, 100000000]");
    let manifest = manifest.replace("repeats = 2", "repeats = 1");
    project().file("experiments/tiny.toml", &manifest)
}

fn start(project: &Project) -> Child {
    Command::new(env!("CARGO_BIN_EXE_fieldtrial"))
        .args(["run", "experiments/tiny.toml", "--no-report"])
        .current_dir(project.path(""))
        .stderr(Stdio::null())
        .spawn()
        .expect("the program")
}

fn signal(process: u32, name: &str) {
    let sent = Command::new("kill")
        .args([name, &process.to_string()])
        .status();
    assert!(sent.expect("kill").success());
}

fn children(process: u32) -> Vec<u32> {
    let list = Command::new("pgrep")
        .args(["-P", &process.to_string()])
        .output()
        .expect("pgrep");
    let text = String::from_utf8_lossy(&list.stdout);
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn is_alive(process: u32) -> bool {
    // A zombie has no command line.
    fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
}

/// The worker of the long cell: the one that is still there after a while.
fn long_worker(parent: u32) -> u32 {
    let began = Instant::now();
    let mut since: Option<(u32, Instant)> = None;
    while began.elapsed() < Duration::from_secs(60) {
        let worker = children(parent).first().copied();
        match (worker, since) {
            (Some(now), Some((before, when))) if now == before => {
                if when.elapsed() > Duration::from_millis(1500) {
                    return now;
                }
            }
            (Some(now), _) => since = Some((now, Instant::now())),
            (None, _) => since = None,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("no worker trains");
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn assert_nothing_temporary(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        assert!(
            !name.to_string_lossy().starts_with(".tmp"),
            "{}",
            path.display()
        );
        if path.is_dir() {
            assert_nothing_temporary(&path);
        }
    }
}

fn status_of(project: &Project, epochs: &str) -> String {
    let statuses = project.statuses();
    let row = statuses
        .iter()
        .find(|(key, _)| key.ends_with(&format!("train.epochs={epochs}")));
    row.map(|(_, status)| status.clone()).unwrap_or_default()
}

#[test]
fn a_killed_worker_is_a_killed_row_and_the_others_are_done() {
    let project = with_a_long_cell();
    let mut parent = start(&project);
    signal(long_worker(parent.id()), "-KILL");
    assert_eq!(parent.wait().unwrap().code(), Some(1));
    assert_eq!(status_of(&project, "100000000"), "killed");
    assert_eq!(status_of(&project, "1"), "done");
    assert!(
        project
            .read("reports/tiny/runs.csv")
            .contains("killed: signal 9")
    );
    let again = project.run(&["run", "experiments/tiny.toml"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("--retry"), "{}", again.stderr);
}

#[test]
fn a_worker_whose_parent_was_killed_ends_itself_and_the_next_start_cleans_up() {
    let project = with_a_long_cell();
    let mut parent = start(&project);
    let worker = long_worker(parent.id());
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("the worker ends", || !is_alive(worker));
    project.write("reports/tiny/.store/tmp/.tmpLeft", "half a run");
    project.write("reports/tiny/.tmpLeft", "half a file");
    let ended = project.run(&["run", "experiments/tiny.toml", "--only", "train.epochs=1"]);
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(status_of(&project, "1"), "done");
    assert_eq!(status_of(&project, "100000000"), "not-run");
    assert_nothing_temporary(&project.path("reports"));
}

#[test]
fn ctrl_c_ends_the_workers_keeps_what_is_finished_and_says_so_by_its_code() {
    let project = with_a_long_cell();
    let mut parent = start(&project);
    let worker = long_worker(parent.id());
    signal(parent.id(), "-INT");
    assert_eq!(parent.wait().unwrap().code(), Some(130));
    wait_until("the worker ends", || !is_alive(worker));
    assert_eq!(status_of(&project, "100000000"), "not-run");
    assert_nothing_temporary(&project.path("reports"));
    let again = project.run(&["run", "experiments/tiny.toml", "--only", "train.epochs=1"]);
    assert_eq!(again.code, 0, "{}", again.stderr);
}

#[test]
fn a_second_run_into_the_same_results_is_told_who_holds_them() {
    let project = with_a_long_cell();
    let mut parent = start(&project);
    let worker = long_worker(parent.id());
    let second = project.run(&["run", "experiments/tiny.toml"]);
    signal(parent.id(), "-TERM");
    assert_eq!(parent.wait().unwrap().code(), Some(130));
    assert_eq!(second.code, 2);
    let holder = format!("is in use by process {}", parent.id());
    assert!(second.stderr.contains(&holder), "{}", second.stderr);
    wait_until("the worker ends", || !is_alive(worker));
}

#[test]
fn a_model_that_does_not_fit_into_its_limit_is_out_of_memory() {
    let project = project();
    let limits = [
        "--set",
        "models.mlp.hidden=8000",
        "--set",
        "models.mlp.depth=3",
    ];
    let memory = [
        "--set",
        "limits.memory=200000000",
        "--only",
        "batch-size=8",
        "--fail-fast",
    ];
    let ended = project.run(&[&["run", "experiments/tiny.toml"][..], &limits, &memory].concat());
    assert_eq!(ended.code, 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("oom"), "{}", ended.stderr);
    assert!(
        project.statuses().values().any(|status| status == "oom"),
        "{}",
        ended.stderr
    );
}
