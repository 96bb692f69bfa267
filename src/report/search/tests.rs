//! Tests of search reports on scripted results: figures, pages and edge cases.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::fixture::{ONE_STUDY, Shape, TWO_STUDIES, searched};
use crate::compare::golden::side;
use crate::compare::{Comparison, Options};
use crate::manifest::load;
use crate::report::section::Section;
use crate::report::view::View;
use crate::report::{Language, Report, ReportOptions, render, render_comparison};
use crate::results::testing::{assert_contains, planned};
use crate::results::{ResultSet, Status, write};

/// Writes results and pages under `name` into the folder of `FIELDTRIAL_GALLERY`, else a temporary one.
fn written(set: &ResultSet, name: &str) -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a temporary folder");
    let base = std::env::var_os("FIELDTRIAL_GALLERY")
        .map_or_else(|| root.path().to_owned(), PathBuf::from);
    let folder = base.join("reports").join(name);
    write(&folder, set).expect("writes");
    let options = ReportOptions {
        templates: ["search", "analysis", "profiling"].map(String::from).into(),
        ..ReportOptions::default()
    };
    render(&folder, &options).expect("renders");
    (root, folder)
}

/// The section with a table of this id.
fn section(set: &ResultSet, id: &str) -> Section {
    let themes = Report::of(set).themes;
    let mut sections = themes.into_iter().flat_map(|theme| theme.sections);
    let found = sections.find(|section| section.tables.iter().any(|table| table.id == id));
    found.expect(id)
}

/// The report's sentences about the trials.
fn points(set: &ResultSet) -> Vec<String> {
    let view = View::of(set);
    super::sections(&view).remove(0).points
}

fn sequential() -> Shape {
    Shape {
        jobs: 1,
        is_pruned: false,
        ..ONE_STUDY
    }
}

#[test]
fn pages_of_every_shape_render() {
    let pruned = Shape {
        is_pruned: true,
        objectives: 1,
        ..TWO_STUDIES
    };
    for (name, shape) in [
        ("one", ONE_STUDY),
        ("two", TWO_STUDIES),
        ("two-pruned", pruned),
        ("sequential", sequential()),
        (
            "three-hundred",
            Shape {
                trials: 300,
                ..TWO_STUDIES
            },
        ),
    ] {
        let (_root, folder) = written(&searched(shape), name);
        for file in ["report.md", "report.html"] {
            let text = fs::read_to_string(folder.join(file)).expect("a page");
            assert!(text.contains("Up to "), "{name}: {file}");
        }
    }
}

#[test]
fn the_answer_is_the_first_row_of_its_table() {
    let answer = Report::of(&searched(ONE_STUDY)).answer;
    let best = &answer.tables[0];
    assert_contains(&answer.sentences[0], &best.rows[0].fields[1].text);
    // The table lists the best trials first, so their losses rise from row to row.
    let losses: Vec<f64> = best
        .rows
        .iter()
        .filter_map(|row| row.fields[1].value)
        .collect();
    assert!(losses.len() > 5 && losses.is_sorted(), "{losses:?}");
}

#[test]
fn the_ledger_counts_what_was_not_trained() {
    let set = searched(ONE_STUDY);
    let pruned = set.runs.iter().filter(|run| run.status == Status::Pruned);
    let left: usize = pruned
        .map(|run| 10 - run.facts.as_ref().map_or(0, |facts| facts.epochs))
        .sum();
    assert!(left > 0);
    let points = points(&set);
    let told = points
        .iter()
        .any(|point| point.contains(&format!("saved at most {left} epochs")));
    assert!(told, "{points:?}");
}

#[test]
fn regret_is_measured() {
    let mut set = searched(ONE_STUDY);
    let told = |set: &ResultSet, words: &str| {
        let sentences = Report::of(set).answer.sentences;
        assert!(
            sentences.iter().any(|said| said.starts_with(words)),
            "{sentences:?}"
        );
    };
    told(&set, "None of 2 pruned trials");
    // A pruned trial that, repeated without pruning, is the best of all.
    let full = set.plan.cells.iter_mut().find_map(|cell| {
        let trial = cell.trial.as_mut()?;
        (cell.axes[0] == "7-full").then_some(trial)
    });
    full.expect("a regret run").values = vec![Some(0.01)];
    told(&set, "1 of 2 pruned trials");
}

#[test]
fn the_front_has_no_dominated_trial_and_a_winner_by_the_stated_rule() {
    let front = section(&searched(TWO_STUDIES), "search-front");
    for study in ["tep", "bp"] {
        let rows = front.tables[0]
            .rows
            .iter()
            .filter(|row| row.fields[0].text == study);
        let points: Vec<(f64, f64)> = rows
            .filter_map(|row| Some((row.fields[2].value?, row.fields[3].value?)))
            .collect();
        assert!(!points.is_empty());
        for one in &points {
            let dominated = points
                .iter()
                .any(|other| other != one && other.0 >= one.0 && other.1 <= one.1);
            assert!(!dominated, "{study}: {one:?} of {points:?}");
        }
    }
    assert!(front.rule.starts_with("the study with more points"));
    let winner = front.points.last().expect("a verdict");
    assert!(winner.starts_with("Winner by rule: "), "{winner}");
}

#[test]
fn a_tie_of_points_is_decided_by_a_clear_lead_then_by_time() {
    let mut set = searched(Shape {
        trials: 1,
        ..TWO_STUDIES
    });
    let mut values = |tep: [f64; 2], bp: [f64; 2]| {
        for (cell, values) in set.plan.cells.iter_mut().zip([tep, bp]) {
            let trial = cell.trial.as_mut().expect("a trial");
            trial.values = values.map(Some).into();
        }
        let front = section(&set, "search-front");
        front.points.last().expect("a verdict").clone()
    };
    assert!(
        values([0.9, 100.0], [0.8, 200.0])
            .contains("tep, with 1 point of its Pareto front that no trial of another study dominates, against 0 of")
    );
    assert!(values([0.9, 200.0], [0.8, 100.0]).contains("tep, equal in points (1 each) and ahead"));
    assert!(values([0.9, 200.0], [0.86, 100.0]).contains("by the wall time of the best trial"));
}

#[test]
fn what_depends_on_the_clock_is_said() {
    let mut set = searched(ONE_STUDY);
    let known = points(&set).len();
    let search = set.plan.search.as_mut().expect("a search");
    search.max_time_s = Some(60.0);
    search.objectives[0].depends_on_clock = true;
    let told = points(&set).remove(known);
    assert_contains(&told, "the objective best_loss; the budget in time");
}

#[test]
fn a_search_without_trials_has_a_report() {
    let mut set = searched(ONE_STUDY);
    set.plan.cells.clear();
    set.runs.clear();
    set.blocks.clear();
    set.epochs.clear();
    set.timings.clear();
    let sentences = Report::of(&set).answer.sentences;
    assert_eq!(sentences, ["The plan has no cell."]);
    let (_root, folder) = written(&set, "none");
    assert!(!folder.join("best.toml").exists());
}

#[test]
fn no_rule_recommends_anything_of_a_search() {
    let report = Report::of(&searched(TWO_STUDIES));
    assert!(report.advice.recommendations.is_empty());
}

#[test]
fn best_toml_is_a_manifest_of_the_best_configurations() {
    for (shape, cells) in [(ONE_STUDY, 1), (TWO_STUDIES, 2)] {
        let mut set = searched(shape);
        set.plan.report["answer"] = json!(["best_loss", "cost", { "along": "trial" }]);
        let (_root, folder) = written(&set, if cells == 1 { "best-one" } else { "best-two" });
        let text = fs::read_to_string(folder.join("best.toml")).expect("best.toml");
        let read: toml::Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert!(!read.contains_key("search"), "{text}");
        assert_eq!(read["train"]["epochs"].as_integer(), Some(50), "{text}");
        assert_eq!(
            read["report"]["answer"],
            vec!["best_loss", "cost"].into(),
            "{text}"
        );
        let name = folder
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        assert_eq!(read["name"].as_str(), Some(&*format!("{name}-best")));
        let manifest = load(&folder.join("best.toml"), &[]).expect("loads");
        assert_eq!(planned(&manifest).cells().count(), cells, "{text}");
    }
}

#[test]
fn a_best_toml_of_the_users_own_stays() {
    let (_root, folder) = written(&searched(ONE_STUDY), "own");
    fs::write(folder.join("best.toml"), "name = \"mine\"\n").expect("writes");
    render(&folder, &ReportOptions::default()).expect("renders");
    let text = fs::read_to_string(folder.join("best.toml")).expect("still there");
    assert_eq!(text, "name = \"mine\"\n");
}

#[test]
fn two_searches_are_held_against_each_other_in_both_languages() {
    let (before, after) = (searched(sequential()), searched(ONE_STUDY));
    let sides = (side("before", "1", before), side("after", "2", after));
    let comparison = Comparison::between(sides.0, sides.1, &Options::default()).expect("compares");
    let root = tempfile::tempdir().expect("a temporary folder");
    let base = std::env::var_os("FIELDTRIAL_GALLERY")
        .map_or_else(|| root.path().to_owned(), PathBuf::from);
    let folder = base.join("reports/compared");
    fs::create_dir_all(&folder).expect("a folder");
    let languages = [Language::English, Language::German];
    render_comparison(&comparison, &folder, &languages).expect("renders");
    for (file, words) in [
        (
            "comparison.en.md",
            ["Search, makespan: ", "Trials and the best of them"],
        ),
        (
            "comparison.de.md",
            ["Suche, Gesamtdauer: ", "Versuche und der beste"],
        ),
    ] {
        let text = fs::read_to_string(folder.join(file)).expect("a page");
        for words in words {
            assert!(text.contains(words), "{file}: {words}");
        }
    }
    assert!(
        folder.join("plots/comparison-search.svg").exists()
            || fs::read_dir(folder.join("plots"))
                .expect("plots")
                .flatten()
                .any(|f| f.file_name().to_string_lossy().contains("search"))
    );
}

mod told;
