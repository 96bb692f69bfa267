//! Search reports of scripted results: the figures, the pages, and what they say of edges.

use super::fixture::{ONE, Shape, TWO, searched};
use crate::report::{Report, ReportOptions, render};
use crate::results::{ResultSet, write};

/// Writes results and pages under `name` into the folder of `FIELDTRIAL_GALLERY`, else a temporary one.
fn written(set: &ResultSet, name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let root = tempfile::tempdir().expect("a temporary folder");
    let base = std::env::var_os("FIELDTRIAL_GALLERY")
        .map_or_else(|| root.path().to_owned(), std::path::PathBuf::from);
    let folder = base.join("reports").join(name);
    write(&folder, set).expect("writes");
    let options = ReportOptions {
        templates: ["search", "analysis", "profiling"].map(String::from).into(),
        ..ReportOptions::default()
    };
    render(&folder, &options).expect("renders");
    (root, folder)
}

#[test]
fn pages_of_every_shape_render() {
    for (name, shape) in [
        ("one", ONE),
        ("two", TWO),
        (
            "two-pruned",
            Shape {
                is_pruned: true,
                objectives: 1,
                ..TWO
            },
        ),
        (
            "sequential",
            Shape {
                jobs: 1,
                is_pruned: false,
                ..ONE
            },
        ),
        ("three-hundred", Shape { trials: 300, ..TWO }),
    ] {
        let (_root, folder) = written(&searched(shape), name);
        let text = std::fs::read_to_string(folder.join("report.md")).expect("a page");
        assert!(text.contains("Time of the search"), "{name}");
    }
}

#[test]
fn a_search_without_trials_has_a_report() {
    let mut set = searched(ONE);
    set.plan.cells.clear();
    set.runs.clear();
    set.blocks.clear();
    set.epochs.clear();
    set.timings.clear();
    let report = Report::of(&set).search.expect("a search");
    assert_eq!(report.summary, "No trial has ended");
    assert!(report.headlines.is_empty());
}
