//! The store and the results files as people find them: damage, and what never enters them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project::{Project, fieldtrial};
use crate::tiny::project;

const RUN: [&str; 2] = ["run", "experiments/tiny.toml"];
const RUNS: &str = "reports/tiny/runs.csv";
const PLAN: &str = "reports/tiny/plan.json";

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
    project.ends(0, "run experiments/tiny.toml");
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

/// Cuts off the end of a results file, in the middle of its last line; returns the rest.
fn damage(project: &Project, file: &str) -> String {
    let text = project.read(file);
    let rest = text[..text.len() - 3].to_owned();
    project.write(file, &rest);
    rest
}

#[test]
fn a_stored_run_with_one_changed_digit_is_set_aside_and_runs_again() {
    let project = finished();
    let before = project.read(RUNS);
    for block in [0, 1] {
        let path = stored(&project, block);
        replace(&path, "\"parameters\":129,", "\"parameters\":139,");
        let name = path.file_name().expect("a name").to_string_lossy();
        let ended = project.ends(0, "run experiments/tiny.toml");
        for words in [
            &*format!("{name}` is damaged: it is set aside in `.store/damaged/`"),
            "1 run to do, 3 kept",
        ] {
            assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        }
        assert_eq!(before, project.read(RUNS));
        let aside = files(&project.path("reports/tiny/.store/damaged"));
        let is_it = |file: &PathBuf| file.to_string_lossy().ends_with(&*name);
        assert_eq!((aside.len(), aside.iter().any(is_it)), (block + 1, true));
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
    let ended = project.ends(2, "run experiments/tiny.toml");
    let name = path.file_name().expect("a name").to_string_lossy();
    for words in [
        "disagree in `parameters`",
        &*format!("{name}` has no checksum"),
        "its run is then done again",
    ] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    fs::remove_file(&path).expect("a run");
    project.ends(0, "run experiments/tiny.toml");
}

#[test]
fn damaged_results_files_are_written_again_from_a_store_that_has_their_rows() {
    let project = finished();
    project.commit("results");
    for file in [RUNS, PLAN, "reports/tiny/blocks.csv"] {
        let before = project.read(file);
        damage(&project, file);
        let ended = project.ends_with(0, &RUN);
        let warning = format!("warning: `{file}`, ");
        assert!(ended.stderr.contains(&warning), "{}", ended.stderr);
        assert_eq!(before, project.read(file), "{file}");
    }
}

#[test]
fn a_damaged_results_file_that_is_the_only_copy_stays_and_git_brings_it_back() {
    for file in [RUNS, PLAN] {
        let project = finished();
        project.commit("results");
        // As in a fresh clone.
        fs::remove_dir_all(project.path("reports/tiny/.store")).expect("a store");
        let rest = damage(&project, file);
        let others = project.results();
        let ended = project.ends_with(2, &RUN);
        let checkout = format!("`git checkout -- {file}` brings the committed file back");
        assert!(ended.stderr.contains(&checkout), "{}", ended.stderr);
        assert_eq!(project.read(file), rest);
        assert!(others == project.results(), "no file was written");
        project.git(&["checkout", "--", file]);
        let only = [&RUN[..], &["--only", "batch-size=8"]].concat();
        project.ends_with(0, &only);
        assert!(!project.read(RUNS).contains("not-run"));
    }
}

#[test]
fn without_git_a_damaged_plan_stays_until_a_person_removes_it() {
    let project = finished();
    let rest = damage(&project, PLAN);
    let ended = project.ends(2, "run experiments/tiny.toml");
    assert!(!ended.stderr.contains("git checkout"), "{}", ended.stderr);
    let help = "restore the file, or remove it and lose its rows";
    assert!(ended.stderr.contains(help), "{}", ended.stderr);
    assert_eq!(project.read(PLAN), rest);
    fs::remove_file(project.path(PLAN)).expect("a plan");
    project.ends(0, "run experiments/tiny.toml");
}

#[test]
fn no_variable_of_the_environment_is_stored() {
    const SECRET: &str = "a-token-that-no-file-may-hold";
    let project = project();
    let ended = |arguments: &[&str]| {
        let output = fieldtrial()
            .args(arguments)
            .current_dir(project.path(""))
            .env("LAB_API_TOKEN", SECRET)
            .env("FIELDTRIAL_TOKEN", SECRET)
            .output()
            .expect("the program");
        assert!(output.status.success(), "{output:?}");
    };
    ended(&RUN);
    ended(&[&RUN[..], &["--shard", "1/1", "--fresh"]].concat());
    let files = files(&project.path("reports"));
    let is_record = |path: &&PathBuf| path.extension().is_some_and(|end| end == "json");
    assert!(files.iter().filter(is_record).count() > 4);
    for path in files {
        let bytes = fs::read(&path).expect("a file");
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(SECRET), "{}", path.display());
    }
}
