//! The store as people find it: damage.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project::Project;
use crate::tiny::project;

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];
const RUNS: &str = "reports/tiny/runs.csv";

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.map(|entry| entry.path());
    below
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// A project whose results are complete.
fn finished() -> Project {
    let project = project();
    assert_eq!(project.run(&RUN).code, 0);
    project
}

/// The stored run of block `block` of one of the cells.
fn stored(project: &Project, block: usize) -> PathBuf {
    let mut runs = files(&project.path("reports/tiny/.store/runs"));
    runs.sort();
    let name = format!("42-{block}-");
    let is_wanted = |path: &PathBuf| {
        let file = path.file_name().unwrap_or_default();
        file.to_string_lossy().starts_with(&name)
    };
    runs.into_iter().find(is_wanted).expect("a run")
}

/// Replaces a text that stands once in a file.
fn replace(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).expect("a file");
    assert_eq!(text.matches(from).count(), 1, "{from} in {text}");
    fs::write(path, text.replace(from, to)).expect("a file");
}

#[test]
fn a_stored_run_with_one_changed_digit_is_set_aside_and_runs_again() {
    let project = finished();
    let before = project.read(RUNS);
    for block in [0, 1] {
        let path = stored(&project, block);
        replace(&path, "\"parameters\":129,", "\"parameters\":139,");
        let name = path.file_name().expect("a name").to_string_lossy();
        let ended = project.run(&RUN);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        for words in [
            &*format!("{name}` is damaged: it is set aside in `.store/damaged/`"),
            "1 run to do, 3 kept",
        ] {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
        assert_eq!(before, project.read(RUNS));
        let aside = files(&project.path("reports/tiny/.store/damaged"));
        assert!(aside[block].to_string_lossy().ends_with(&*name));
    }
    let idle = project.run(&RUN);
    assert!(!idle.stderr.contains("damaged"), "{}", idle.stderr);
    assert!(idle.stderr.contains("nothing to run"), "{}", idle.stderr);
}

#[test]
fn blocks_that_disagree_are_our_bug_only_if_both_have_a_checksum() {
    let project = finished();
    let path = stored(&project, 1);
    replace(&path, "\"parameters\":129,", "\"parameters\":139,");
    let text = fs::read_to_string(&path).expect("a run");
    let (body, _) = text.rsplit_once(",\"checksum\":").expect("a checksum");
    fs::write(&path, format!("{body}}}")).expect("a run");
    let ended = project.run(&RUN);
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    let name = path.file_name().expect("a name").to_string_lossy();
    for words in [
        "disagree in `parameters`",
        &*format!("{name}` has no checksum"),
        "its run is then done again",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    fs::remove_file(&path).expect("a run");
    assert_eq!(project.run(&RUN).code, 0);
}
