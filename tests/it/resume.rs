//! Resuming: finished runs are kept; which runs are repeated, and why.

use crate::project::{Project, assert_says};
use crate::tiny::{project, with};

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];

/// Runs the whole manifest, which ends well.
fn completed(project: &Project) {
    project.ends(0, "run experiments/tiny.toml");
}

#[test]
fn a_new_value_of_an_axis_adds_lines_and_changes_none() {
    let project = project();
    completed(&project);
    let files = [
        "runs.csv",
        "epochs.csv",
        "work.csv",
        "blocks.csv",
        "timings.csv",
    ];
    let read = |name: &str| project.read(&format!("reports/tiny/{name}"));
    let before = files.map(read);
    project.write("experiments/tiny.toml", &with("[8, 16]", "[8, 12, 16]"));
    let ended = project.run(&RUN);
    assert_says(&ended.stderr, "2 runs to do, 4 kept");
    for (old, new) in before.iter().zip(files.map(read)) {
        let mut lines = new.lines();
        assert!(
            old.lines().all(|line| lines.any(|other| other == line)),
            "{old}\n{new}"
        );
        assert!(new.lines().count() > old.lines().count());
    }
}

#[test]
fn more_repeats_run_only_the_missing_blocks() {
    let project = project();
    completed(&project);
    let ended = project.run(&[&RUN[..], &["--set", "measure.repeats=3"]].concat());
    assert_says(&ended.stderr, "2 runs to do, 4 kept");
}

#[test]
fn a_changed_part_is_named_and_a_change_back_runs_nothing() {
    let project = project();
    completed(&project);
    let change = ["--set", "train.optimizer={ kind = \"sgd\", lr = 0.01 }"];
    let changed = project.run(&[&RUN[..], &change].concat());
    assert_says(&changed.stderr, "train.optimizer changed: 4 runs");
    let back = project.run(&RUN);
    assert!(back.stderr.contains("nothing to run"), "{}", back.stderr);
}

#[test]
fn rows_of_cells_that_were_not_chosen_stay() {
    let project = project();
    completed(&project);
    let before = project.read("reports/tiny/runs.csv");
    let ended = project.run(&[&RUN[..], &["--only", "batch-size=8", "--fresh"]].concat());
    assert!(ended.stderr.contains("2 runs to do"), "{}", ended.stderr);
    assert_eq!(before, project.read("reports/tiny/runs.csv"));
}

#[test]
fn rows_stay_when_the_store_is_gone_as_after_a_fresh_clone() {
    let project = project();
    completed(&project);
    let before = project.read("reports/tiny/runs.csv");
    std::fs::remove_dir_all(project.path("reports/tiny/.store")).unwrap();
    project.ends(0, "run experiments/tiny.toml --only batch-size=8");
    assert_eq!(before, project.read("reports/tiny/runs.csv"));
}

#[test]
fn a_run_that_failed_is_kept_until_it_is_to_be_tried_again_or_its_limit_changes() {
    let project = project();
    let long = [
        "--set",
        "train.epochs=1000000",
        "--set",
        "measure.repeats=1",
    ];
    let limited = [
        &RUN[..],
        &long,
        &["--set", "limits.time=0.3", "--only", "batch-size=8"],
    ]
    .concat();
    let first = project.ends_with(1, &limited);
    assert!(first.stderr.contains("timeout  0.3 s"), "{}", first.stderr);
    let kept = project.ends_with(1, &limited);
    assert_says(&kept.stderr, "0 runs to do, 1 kept");
    let retried = project.run(&[&limited[..], &["--retry"]].concat());
    assert_says(&retried.stderr, "--retry: was timeout: 1 run");
    let raised = [
        &RUN[..],
        &long,
        &["--set", "limits.time=0.4", "--only", "batch-size=8"],
    ]
    .concat();
    let raised = project.run(&raised);
    assert_says(&raised.stderr, "limits changed: was timeout: 1 run");
}

#[test]
fn a_measured_row_is_not_overwritten_by_a_timeout() {
    let project = project();
    completed(&project);
    let before = project.read("reports/tiny/runs.csv");
    let ended = project.ends(
        1,
        "run experiments/tiny.toml --fresh --set limits.time=0.000001",
    );
    assert!(ended.stderr.contains("timeout"), "{}", ended.stderr);
    assert_eq!(before, project.read("reports/tiny/runs.csv"));
}
