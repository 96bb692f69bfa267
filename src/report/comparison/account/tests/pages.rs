//! Tests of every section: languages, provenance, sentences.

use super::*;
use crate::compare::{Design, NotComparableReason, UnclearReason, Verdict};
use crate::report::comparison::along_treatment;
use crate::report::search::fixture::{ONE_STUDY, Shape, searched};
use crate::report::sections::ranking::is_baseline;
use crate::report::sections::treatment::undeclared_settings;
use crate::report::view::View;
use crate::results::testing::{assert_contains, assert_starts_with};

#[test]
fn both_languages_have_the_same_numbers() {
    let set = results();
    for after in ["after", "network", "validation"] {
        let english = spoken(&set, "before", after, Language::English);
        let german = spoken(&set, "before", after, Language::German);
        assert_eq!(english.len(), german.len());
        for (one, other) in english.iter().zip(&german) {
            assert_eq!((&one.id, one.points.len()), (&other.id, other.points.len()));
            let values = |section: &Section| -> Vec<Option<f64>> {
                let rows = section.tables.iter().flat_map(|table| &table.rows);
                rows.flat_map(|row| row.fields.iter().map(|field| field.value))
                    .collect()
            };
            assert_eq!(values(one), values(other), "{}", one.id);
            let missing = |section: &Section| -> Vec<bool> {
                let rows = section.tables.iter().flat_map(|table| &table.rows);
                rows.map(|row| row.missing.is_some()).collect()
            };
            assert_eq!(missing(one), missing(other), "{}", one.id);
            for (one, other) in one.points.iter().zip(&other.points) {
                assert_eq!(digits(one), digits(other), "{one}\n{other}");
            }
        }
    }
}

/// The sorted digits of a sentence: translations have the same numbers, in another order.
fn digits(text: &str) -> Vec<char> {
    let mut found: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
    found.sort_unstable();
    found
}

#[test]
fn the_answer_has_the_verdict_with_its_interval_and_what_was_not_tested() {
    let comparison = compared(&results(), "before", "after");
    let scene = &Scene::of(&comparison, Language::English);
    let answer = answer::sentences(scene);
    assert_eq!(
        answer[0],
        "Slower: the side after takes 1.65× the time per sample, 0.641 ms → 1.06 ms (95 % interval 1.650–1.650, p = 0.031 after Holm, 6 runs a side)."
    );
    assert_eq!(
        answer[1],
        "Each factor alone: Model 1.50× slower (best loss −7.1 %); no direction shown of Validation; not measured alone: Optimizer."
    );
    let plot = answer::figure(scene).expect("factors");
    assert_eq!(plot.id, "factors");
    assert_contains(&plot.svg, "all together");
    assert_contains(&plot.svg, "product of");
}

#[test]
fn the_answer_names_the_phases_that_the_change_is_in() {
    let said = |set: &ResultSet| {
        let comparison = compared(set, "before", "after");
        answer::sentences(&Scene::of(&comparison, Language::English))[2].clone()
    };
    // 10 × 1.025 and 8 × 1.025 ms before; all are 33 ÷ 20 of it; what makes up 5 % of the change is not named.
    assert_eq!(
        said(&results()),
        "By phase of the mean step, 20.5 ms → 33.8 ms: forward 10.2 ms → 16.9 ms (1.650×, 95 % interval 1.650–1.650), 50 % of the change; backward \
         8.20 ms → 13.5 ms (1.650×, 95 % interval 1.650–1.650), 40 % of the change."
    );
    // 10 × 1.025 ÷ 32 and 16.5 × 1.025 ÷ 64: steps of both sides differ in size.
    let mut set = results();
    set.plan.cells[3].spec["train"]["batch-size"] = 64.into();
    let mut comparison = compared(&set, "before", "after");
    comparison.cells[0].judgement.verdict = Verdict::Faster;
    let by_sample = answer::sentences(&Scene::of(&comparison, Language::English))[2].clone();
    let start = "By phase of the mean step, per sample, 0.641 ms → 0.529 ms: forward 0.320 ms → 0.264 ms (0.825×";
    assert!(by_sample.starts_with(start), "{by_sample}");
    // The side after waits for data in each step (for 2 ms here); its other phases are as long as those of the side
    // before.
    let slower = |waits: f64| {
        let mut set = results();
        set.change_times(|key, times| {
            if key != "variant=after" {
                return;
            }
            let drift = times.step_ms / 33.0;
            let wait = waits * drift;
            times.phases = fixture::phases(20.0 * drift);
            times.phases.data_wait_ms = wait;
            times.step_mean_ms = 20.0 * drift + wait;
        });
        set
    };
    let only_data = said(&slower(2.0));
    assert_starts_with(&only_data, "By phase of the mean step, ");
    assert!(only_data.contains(": data wait "), "{only_data}");
    assert!(only_data.ends_with("100 % of the change."), "{only_data}");
    assert!(!only_data.contains(';'), "{only_data}");
    assert_eq!(said(&slower(0.0)), "By phase: none alone shows the change.");
}

#[test]
fn the_answer_for_several_cells_counts_those_in_which_a_phase_changed() {
    let set = results();
    let mut comparison = compared(&set, "before", "after");
    let other = compared(&set, "before", "network").cells.remove(0);
    comparison.cells.push(other);
    let answer = answer::sentences(&Scene::of(&comparison, Language::English));
    let said = "Cells with a verdict: 2; their change is in forward (2 cells), backward (2 cells).";
    assert!(answer.iter().any(|sentence| sentence == said), "{answer:?}");
}

/// Every row of every table in the sections, with its table.
fn rows(sections: &[Section]) -> impl Iterator<Item = (&Table, &Row)> {
    let tables = sections.iter().flat_map(|section| &section.tables);
    tables.flat_map(|table| table.rows.iter().map(move |row| (table, row)))
}

/// The scripted results with runs of the side after that are now slower, now faster than those before.
fn noisy() -> ResultSet {
    let (mut set, mut place) = (results(), 0);
    set.change_times(|key, times| {
        if key != "variant=after" {
            return;
        }
        let factor = if place % 2 == 0 {
            0.6
        } else {
            0.55 + 0.08 * f64::from(place)
        };
        place += 1;
        for value in [
            &mut times.train_s,
            &mut times.total_s,
            &mut times.samples_per_s,
            &mut times.validation_s,
        ] {
            *value *= factor;
        }
    });
    set
}

#[test]
fn a_direction_stands_only_where_the_test_shows_it() {
    let set = noisy();
    let directed = [
        "faster",
        "slower",
        "less",
        "more",
        "better",
        "worse",
        "schneller",
        "langsamer",
        "weniger",
        "mehr",
        "besser",
        "schlechter",
    ];
    for language in Language::ALL {
        let all = spoken(&set, "before", "after", language);
        let mut open = 0;
        for (table, row) in rows(&all).filter(|(table, _)| table.id != "cells") {
            let ratios = row.fields.iter().filter(|field| field.text.ends_with('×'));
            let ratios = ratios.chain(row.fields.last());
            let mut intervals = ratios.filter_map(|field| field.interval);
            let is_open = intervals.any(|(low, high)| low <= 1.0 && high >= 1.0);
            if is_open && table.id == "summary" {
                open += 1;
                for field in row.fields.iter().skip(3) {
                    let words = field.text.split_whitespace();
                    let found = words.map(|word| word.trim_matches(['(', ')']));
                    let said: Vec<&str> = found.filter(|word| directed.contains(word)).collect();
                    assert!(said.is_empty(), "{}: {:?}", table.id, field.text);
                }
            }
        }
        assert!(open > 3, "{open} rows without a direction");
    }
}

#[test]
fn times_of_two_sessions_have_no_direction() {
    let mut comparison = compared(&results(), "before", "after");
    comparison.cells[0].judgement.design = Design::Sessions;
    comparison.cells[0].judgement.verdict = Verdict::Unclear(UnclearReason::NoSessionFloor);
    let scene = &Scene::of(&comparison, Language::English);
    let all = [crate::report::comparison::sections::summary::section(scene).expect("a table")];
    assert_eq!(
        texts(table(&all, "summary"), "training")[3],
        "no direction shown (two sessions)"
    );
    let whiskers = |comparison: &Comparison| {
        let scene = &Scene::of(comparison, Language::English);
        let plot = answer::figure(scene).expect("factors");
        plot.svg.matches("whisker s1").count()
    };
    // In pairs, an interval is drawn as a line with two ends.
    let in_pairs = whiskers(&compared(&results(), "before", "after"));
    assert_eq!(whiskers(&comparison), in_pairs - 3);
}

#[test]
fn cells_that_are_not_comparable_have_no_ratio() {
    let mut comparison = compared(&results(), "before", "after");
    let reason = NotComparableReason::Environment(vec!["cpu_model".into()]);
    comparison.cells[0].judgement.verdict = Verdict::NotComparable(vec![reason]);
    comparison.cells[0].judgement.ratio = None;
    let scene = &Scene::of(&comparison, Language::English);
    let all = [crate::report::comparison::sections::summary::section(scene).expect("a table")];
    let rows = &table(&all, "summary").rows;
    let of_runs = rows
        .iter()
        .filter(|row| !row.fields[0].text.contains("loss ↓"));
    assert!(of_runs.clone().all(|row| row.fields[3].text == "–"));
    assert!(of_runs.count() > 2);
}

/// The scripted comparison beside two searches, of which one has trials side by side.
fn beside_searches() -> Comparison {
    let sequential = Shape {
        jobs: 1,
        is_pruned: false,
        ..ONE_STUDY
    };
    let named = [
        ("found-in-parallel", ONE_STUDY),
        ("found-in-turn", sequential),
    ]
    .map(|(name, shape)| {
        let mut set = searched(shape);
        set.plan.name = name.into();
        set
    });
    let mut set = results();
    let names = ["found-in-parallel", "found-in-turn", "never-run"];
    set.plan.report = serde_json::json!({ "searches": names });
    let mut comparison = compared(&set, "before", "after");
    comparison.after.searches = named.to_vec();
    comparison
}

#[test]
fn named_searches_are_sentences_of_the_answer() {
    let comparison = beside_searches();
    for (language, makespan, missing) in [
        (
            Language::English,
            "Search, makespan: found-in-turn ",
            "Not measured: no results of “never-run” lie beside these.",
        ),
        (
            Language::German,
            "Suche, Gesamtdauer: found-in-turn ",
            "Nicht gemessen: neben diesen Ergebnissen liegen keine von „never-run“.",
        ),
    ] {
        let scene = &Scene::of(&comparison, language);
        let answer = answer::sentences(scene);
        assert!(
            answer
                .iter()
                .any(|told| told.starts_with(makespan) && told.contains("→ found-in-parallel")),
            "{answer:?}"
        );
        assert_eq!(answer.last().map(String::as_str), Some(missing));
        let all = crate::report::comparison::sections::comparison_sections(scene);
        assert!(all.iter().all(|section| section.id != "search"));
    }
}

#[test]
fn what_a_treatment_sets_is_declared_and_nothing_else_is() {
    let mut set = results();
    // `train.model` sets everything about the model, including its name.
    for (cell, name) in set.plan.cells.iter_mut().zip(["alt", "neu", "alt", "neu"]) {
        cell.spec["model_name"] = name.into();
    }
    assert_eq!(undeclared_settings(&View::of(&set)), [""; 0]);
    set.plan.cells[2].spec["train"]["accumulate"] = 2.into();
    assert_eq!(undeclared_settings(&View::of(&set)), ["train.accumulate"]);
}

#[test]
fn the_baseline_of_the_treatment_is_the_one_of_rankings_too() {
    let mut set = results();
    set.plan.compare["baseline"] = "validation".into();
    let view = View::of(&set);
    let is_it = |cell: &&crate::report::view::Cell<'_>| is_baseline(&view, cell);
    let baselines = view.cells.iter().filter(is_it);
    let keys: Vec<&str> = baselines.map(|cell| &*cell.info.key).collect();
    assert_eq!(keys, ["variant=validation"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let all = along_treatment(folder.path(), &set).expect("compares");
    assert!(!all.is_empty());
    for comparison in all {
        assert_eq!(comparison.before.name, "variant validation");
    }
}
