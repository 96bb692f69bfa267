//! `fieldtrial run`: from a manifest to results and a report, and errors.

use crate::project::assert_says;
use crate::tiny::{MANIFEST, project};

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];

#[test]
fn a_run_leaves_results_and_a_report_and_a_second_one_changes_nothing() {
    let project = project();
    let first = project.ends(0, "run experiments/tiny.toml");
    assert!(first.stderr.contains("[4/4]"), "{}", first.stderr);
    assert!(project.statuses().values().all(|status| status == "done"));
    for name in [
        "epochs.csv",
        "work.csv",
        "blocks.csv",
        "timings.csv",
        "steps.csv",
        "env.toml",
        "plan.json",
        "report.md",
    ] {
        assert!(project.path("reports/tiny").join(name).is_file(), "{name}");
    }
    let before = project.results();
    let second = project.ends(0, "run experiments/tiny.toml");
    assert_says(&second.stderr, "nothing to run: 4 runs finished before");
    assert!(before == project.results(), "no file is touched");
}

#[test]
fn results_name_the_commit_they_were_measured_at_and_whether_files_were_changed() {
    let project = project();
    project.commit("a manifest");
    let commit = project.git(&["rev-parse", "HEAD"]);
    for is_dirty in [false, true] {
        project.ends(0, "run experiments/tiny.toml --fresh --no-report");
        let environment = project.read("reports/tiny/env.toml");
        let commit = format!("commit = \"{}\"\n", commit.trim());
        assert!(environment.contains(&commit), "{environment}");
        let dirty = format!("dirty = \"{is_dirty}\"\n");
        assert!(environment.contains(&dirty), "{environment}");
        project.write("notes.md", "not committed");
    }
}

#[test]
fn facts_are_the_same_bytes_when_everything_runs_again_two_at_a_time() {
    let project = project();
    project.ends(0, "run experiments/tiny.toml");
    let facts = |name: &str| project.read(&format!("reports/tiny/{name}"));
    let before = ["runs.csv", "epochs.csv", "work.csv"].map(facts);
    let again = project.ends(0, "run experiments/tiny.toml --fresh --jobs 2");
    assert!(again.stderr.contains("--fresh: 4 runs"), "{}", again.stderr);
    assert_eq!(before, ["runs.csv", "epochs.csv", "work.csv"].map(facts));
}

#[test]
fn facts_are_the_same_bytes_with_and_without_a_profile_of_operations() {
    let project = project();
    let facts = |name: &str| project.read(&format!("reports/tiny/{name}"));
    project.ends(0, "run experiments/tiny.toml --set measure.ops=true");
    let with = ["runs.csv", "epochs.csv", "work.csv"].map(facts);
    let operations = facts("ops.csv");
    for op in ["linear", "mse", "adam"] {
        assert!(operations.contains(&format!(",{op},")), "{operations}");
    }
    project.ends(0, "run experiments/tiny.toml --fresh");
    assert_eq!(with, ["runs.csv", "epochs.csv", "work.csv"].map(facts));
}

#[test]
fn a_dry_run_says_what_would_run_and_leaves_nothing() {
    let project = project();
    let dry = project.run(&[&RUN[..], &["--dry-run"]].concat());
    assert_eq!(
        (dry.code, dry.stdout.lines().count()),
        (0, 4),
        "{}",
        dry.stderr
    );
    assert!(
        dry.stdout.lines().all(|line| line.ends_with("run (new)")),
        "{}",
        dry.stdout
    );
    assert!(!project.path("reports").exists());
}

#[test]
fn a_manifest_of_which_no_cell_can_run_is_a_mistake() {
    let project = project();
    let ended = project.ends(
        2,
        "run experiments/tiny.toml --set matrix.batch-size=[1000]",
    );
    assert_says(&ended.stderr, "no cell of `tiny` can run");
}

#[test]
fn an_infeasible_cell_is_a_row_and_the_others_run() {
    let project = project();
    project.ends_with(
        0,
        &[&RUN[..], &["--set", "matrix.batch-size=[8, 1000]"]].concat(),
    );
    let statuses: Vec<String> = project.statuses().into_values().collect();
    assert_eq!(
        statuses
            .iter()
            .filter(|status| *status == "infeasible")
            .count(),
        1
    );
    assert_eq!(
        statuses.iter().filter(|status| *status == "done").count(),
        1
    );
}

#[test]
fn two_manifests_of_one_name_are_refused() {
    let project = project().file("experiments/other.toml", MANIFEST);
    let ended = project.ends(2, "run experiments/tiny.toml");
    assert_says(&ended.stderr, "other.toml");
    assert_says(&ended.stderr, "--as");
    project.ends(0, "run experiments/tiny.toml --as mine");
    assert!(project.path("reports/mine/runs.csv").is_file());
}

#[test]
fn results_are_written_below_reports_only() {
    for name in ["..", "", ".", "/abs", "a/b", "../reports", "templates"] {
        let project = project();
        let ended = project.ends_with(2, &[&RUN[..], &[&format!("--as={name}")]].concat());
        assert!(ended.stderr.contains("--as <NAME>"), "{}", ended.stderr);
        assert!(!project.path("reports").exists(), "{name}");
    }
}

#[test]
fn more_repeats_than_anybody_waits_for_are_refused_at_once() {
    let project = project();
    let ended = project.ends(
        2,
        "run experiments/tiny.toml --set measure.repeats=1000000000000",
    );
    assert!(ended.stderr.contains("100000"), "{}", ended.stderr);
}

#[test]
fn results_that_cannot_be_written_stop_before_anything_runs() {
    let project = project().file("reports", "a file");
    let ended = project.ends(2, "run experiments/tiny.toml");
    assert!(
        ended.stderr.starts_with("error: cannot create"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("[1/4]"));
}

#[test]
fn results_of_another_version_are_refused_with_a_sentence() {
    let project = project();
    project.ends(0, "run experiments/tiny.toml");
    let plan = project.read("reports/tiny/plan.json");
    let other = plan.replacen("\"format_version\": 1", "\"format_version\": 99", 1);
    assert_ne!(plan, other);
    project.write("reports/tiny/plan.json", &other);
    let ended = project.ends(2, "run experiments/tiny.toml");
    assert_says(&ended.stderr, "format version 99");
    project.write("reports/tiny/plan.json", &plan);
    project.write("reports/tiny/.store/format", "99\n");
    let ended = project.ends(2, "run experiments/tiny.toml");
    assert_says(&ended.stderr, "has format version 99");
}
