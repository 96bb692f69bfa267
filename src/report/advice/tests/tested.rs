//! Tests: measured effects replace predicted ones, and refuted or unclear changes are not recommended again.

use std::fs;
use std::path::Path;

use crate::report::search::fixture::{ONE_STUDY, searched};
use crate::report::{ReportOptions, render};
use crate::results::write;

use super::super::next::prediction;
use super::*;
use crate::results::testing::{assert_contains, assert_starts_with};

/// Results that test every recommendation of `set`. That of the batch size is tested on measured cells, with a
/// predicted ratio of 2.5 (`low` to 3); the others on measured cells only if `is_measured`.
fn followed(set: &ResultSet, low: f64, is_measured: bool) -> ResultSet {
    let advice_data = AdviceData::of(&View::of(set)).recommendations;
    assert!(advice_data.iter().any(|one| one.rule == "batch-size"));
    let predictions = advice_data.iter().map(|one| {
        let mut prediction = prediction(one);
        let axes = |batch: usize| {
            let axes = json!({"batch-size": batch, "workers": 0});
            axes.as_object().cloned().expect("axes")
        };
        (prediction.against, prediction.cell) = (axes(8), axes(16));
        if one.rule == "batch-size" {
            (prediction.predicted, prediction.low, prediction.high) = (Some(2.5), low, 3.0);
        } else if !is_measured {
            prediction.cell = axes(1024);
        }
        serde_json::to_value(prediction).expect("a prediction")
    });
    let predictions: Vec<Value> = predictions.collect();
    let mut next = set.clone();
    next.plan.name = "followed-next".into();
    next.plan.follows = Some("followed".into());
    next.plan.report["predictions"] = json!(predictions);
    next
}

/// The same cells with complete specifications, so that `next.toml` can be written.
fn in_full(mut set: ResultSet) -> ResultSet {
    let whole = searched(ONE_STUDY).plan.cells.remove(0).spec;
    for cell in &mut set.plan.cells {
        let value = |name: &str| -> u64 {
            let mut parts = cell.key.split(',');
            let text = parts.find_map(|part| part.strip_prefix(name));
            text.and_then(|text| text.parse().ok()).expect("a number")
        };
        let mut spec = whole.clone();
        spec["train"]["batch-size"] = json!(value("batch-size="));
        spec["loader"]["workers"] = json!(value("workers="));
        cell.spec = spec;
    }
    set
}

/// The report's page of `set` when the results `next`, which test its recommendations, exist.
fn page(root: &Path, set: &ResultSet, next: &ResultSet) -> String {
    let folder = root.join("reports/followed");
    write(&folder, set).expect("writes");
    write(&root.join("reports/followed-next"), next).expect("writes");
    render(&folder, &ReportOptions::default()).expect("renders");
    fs::read_to_string(folder.join("report.md")).expect("a page")
}

#[test]
fn a_test_replaces_the_prediction_everywhere_and_leaves_nothing_to_run() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let set = in_full(set(&small(), |_, _, _| {}));
    let text = page(root.path(), &set, &followed(&set, 2.0, true));
    let next = text
        .split("\n## Recommendations\n")
        .nth(1)
        .expect("a section");
    let next = next.split("\n## ").next().expect("its text");
    assert!(next.contains("tested: refuted: measured "), "{next}");
    assert!(!next.contains("predicted "), "{next}");
    assert!(!text.contains("Predicted: "), "{text}");
    assert!(!text.contains("next.toml"), "all are tested: {text}");
}

#[test]
fn what_was_not_measured_yet_keeps_its_prediction_and_its_command() {
    let root = tempfile::tempdir().expect("a temporary folder");
    let set = in_full(set(&small(), |times, _, workers| {
        if workers == 0.0 {
            lengthen(times, |times| &mut times.phases.data_wait_ms, 0.3);
        }
    }));
    let text = page(root.path(), &set, &followed(&set, 2.0, false));
    assert!(text.contains("tested: refuted: measured "), "{text}");
    assert!(text.contains("predicted at most "), "{text}");
    assert_contains(&text, "`fieldtrial run reports/followed/next.toml`");
}

#[test]
fn no_headline_says_what_the_test_did_not() {
    let set = set(&small(), |_, _, _| {});
    let next = followed(&set, 2.0, true);
    let report = crate::report::Report::of(&next);
    let first = &report.answer.sentences[0];
    assert_starts_with(
        first,
        "train.batch-size = 16 instead of 8: refuted: measured 1.",
    );
    assert!(
        report
            .advice
            .recommendations
            .iter()
            .all(|one| !one.change.contains("= 16 "))
    );
}
