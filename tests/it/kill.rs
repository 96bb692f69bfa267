//! Killed workers and parents, Ctrl-C, limits: statuses are right, finished runs are kept, no process is left.

use crate::processes::{
    assert_nothing_temporary, children_called, is_alive, long_worker, signal, signal_all, start,
    wait_for, wait_until,
};
use crate::project::{Project, assert_says, fieldtrial};
use crate::tiny::{project, with};

/// Output when the short cell is done.
const SHORT: &str = "[1/2]";

/// One cell that ends at once and one that would train for hours.
fn with_a_long_cell() -> Project {
    let manifest = with("batch-size = [8, 16]", "\"train.epochs\" = [1, 100000000]");
    let manifest = manifest.replace("repeats = 2", "repeats = 1");
    project().file("experiments/tiny.toml", &manifest)
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
    let mut parent = start(&project, &[]);
    signal(long_worker(&project, parent.id(), SHORT), "-KILL");
    assert_eq!(parent.wait().unwrap().code(), Some(1));
    assert_eq!(status_of(&project, "100000000"), "killed");
    assert_eq!(status_of(&project, "1"), "done");
    assert!(
        project
            .read("reports/tiny/runs.csv")
            .contains("killed: signal 9")
    );
    let again = project.ends(1, "run experiments/tiny.toml");
    let next = "next     `fieldtrial run experiments/tiny.toml --retry` tries what failed again";
    assert!(again.stderr.contains(next), "{}", again.stderr);
    assert_says(&again.stderr, "killed: signal 9");
}

#[test]
fn a_worker_whose_parent_was_killed_ends_itself_and_the_next_start_cleans_up() {
    let project = with_a_long_cell();
    let mut parent = start(&project, &[]);
    let worker = long_worker(&project, parent.id(), SHORT);
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("the worker ends", || !is_alive(worker));
    project.write("reports/tiny/.store/tmp/.tmpLeft", "half a run");
    for folder in [
        "",
        "plots/",
        "samples/",
        "slurm/",
        "trace/",
        "tensorboard/a/b/",
        "checkpoints/a/",
    ] {
        let left = format!("reports/tiny/{folder}.writing-Left");
        let path = project.path(&left);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        project.write(&left, "half a file");
    }
    project.ends(0, "run experiments/tiny.toml --only train.epochs=1");
    assert_eq!(status_of(&project, "1"), "done");
    assert_eq!(status_of(&project, "100000000"), "not-run");
    assert_nothing_temporary(&project.path("reports"));
}

/// A stopped worker cannot see that its parent is gone until the system continues it.
#[test]
fn a_stopped_worker_of_a_command_ends_with_its_parent_and_leaves_no_order() {
    let manifest = "name = \"tiny\"\n[models.mine]\nkind = \"command\"\nrun = [\"sh\", \"a.sh\"]\ncode = [\"a.sh\"]\n";
    let project = Project::new()
        .file("experiments/tiny.toml", manifest)
        .file("experiments/a.sh", "echo $$ > started\nexec sleep 1000\n");
    let orders = project.path("temporary");
    std::fs::create_dir(&orders).unwrap();
    let number = || std::fs::read_dir(&orders).unwrap().count();
    let mut parent = fieldtrial()
        .args(["run", "experiments/tiny.toml", "--no-report"])
        .current_dir(project.path(""))
        .env("TMPDIR", &orders)
        .spawn()
        .expect("the program");
    let started = project.path("experiments/started");
    let program: u32 = wait_for("the command runs", || {
        let text = std::fs::read_to_string(&started).ok()?;
        text.trim().parse().ok()
    });
    let worker = children_called(parent.id(), "worker")[0];
    assert_eq!(number(), 1);
    signal(worker, "-STOP");
    parent.kill().unwrap();
    parent.wait().unwrap();
    wait_until("both end", || !is_alive(worker) && !is_alive(program));
    wait_until("the order is removed", || number() == 0);
}

#[test]
fn ctrl_c_ends_the_workers_keeps_what_is_finished_and_says_so_by_its_code() {
    let project = with_a_long_cell();
    let mut parent = start(&project, &[]);
    let worker = long_worker(&project, parent.id(), SHORT);
    // A parent process (`timeout`, `just`) may forward the signal that the terminal has sent already.
    signal_all(&[parent.id(), parent.id()], "-INT");
    assert_eq!(parent.wait().unwrap().code(), Some(130));
    wait_until("the worker ends", || !is_alive(worker));
    assert_eq!(status_of(&project, "100000000"), "not-run");
    let said = project.read("stderr");
    assert!(said.contains(": 1 of 2 runs finished and kept"), "{said}");
    let next =
        "next     `fieldtrial run experiments/tiny.toml --no-report` goes on where this stopped";
    assert!(said.contains(next), "{said}");
    assert_nothing_temporary(&project.path("reports"));
    project.ends(0, "run experiments/tiny.toml --only train.epochs=1");
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
    let ended = project.ends_with(
        1,
        &[&["run", "experiments/tiny.toml"][..], &limits, &memory].concat(),
    );
    assert!(ended.stderr.contains("oom"), "{}", ended.stderr);
    assert!(
        project.statuses().values().any(|status| status == "oom"),
        "{}",
        ended.stderr
    );
}

#[test]
fn every_run_over_its_memory_limit_has_the_same_reason() {
    let project = project();
    project.ends(1, "run experiments/tiny.toml --set limits.memory=1");
    for row in project.rows_of("tiny", "blocks.csv") {
        let (status, reason) = (&*row["status"], &*row["reason"]);
        assert_eq!((status, reason), ("oom", "oom: over the limit of 1 B"));
    }
}
