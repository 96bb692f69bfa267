//! Tests: pages of scripted comparisons, in two languages, and with rows in another order. `FIELDTRIAL_PAGES=FOLDER`
//! writes the pages into that folder.

use std::collections::BTreeSet;
use std::fs;

use super::golden::{comparison, one_cell, with_other_processor};
use super::{Language, Words, render_comparison};
use super::{account, sections};
use crate::compare::golden::branches;
use crate::compare::testing::memory_cost;
use crate::compare::{Comparison, NotComparableReason, UnclearReason, Verdict, Waiting};
use crate::results::testing::assert_contains;

/// Every file that a comparison writes, by name.
fn rendered(of: &Comparison) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = render_comparison(of, folder.path(), &Language::ALL).expect("renders");
    let read = files.iter().map(|path| {
        let name = path
            .strip_prefix(folder.path())
            .expect("inside")
            .display()
            .to_string();
        (name, fs::read_to_string(path).expect("written"))
    });
    let texts = read.collect();
    if let Some(to) = std::env::var_os("FIELDTRIAL_PAGES") {
        let kind = format!("{}-{}", of.cells.len(), of.environment.is_across);
        let to = std::path::Path::new(&to).join(kind);
        render_comparison(of, &to, &Language::ALL).expect("renders");
    }
    texts
}

#[test]
fn rows_in_another_order_give_the_same_bytes() {
    let honest = comparison();
    let mut shuffled = honest.clone();
    for set in [&mut shuffled.before.set, &mut shuffled.after.set] {
        set.runs.reverse();
        set.blocks.reverse();
        set.epochs.reverse();
        set.timings.reverse();
    }
    assert_eq!(rendered(&honest), rendered(&shuffled));
}

/// The parts of a message between its placeholders that have more than one word.
fn pieces(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_once('{').unwrap_or((rest, ""));
        found.push(piece.trim().to_owned());
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    found.retain(|piece| piece.split_whitespace().count() > 1);
    found
}

#[test]
fn no_english_sentence_is_left_in_german_and_no_german_one_in_english() {
    let catalogues = || sections::CATALOGUES.iter().chain(account::CATALOGUES);
    let known: BTreeSet<&str> = catalogues()
        .flat_map(|messages| *messages)
        .map(|(name, ..)| *name)
        .collect();
    assert!(known.len() > 60, "{} messages", known.len());
    for of in [comparison(), with_other_processor(), one_cell(), of_costs()] {
        for (name, text) in rendered(&of) {
            let is_german = name.contains("de.");
            for (message, english, german) in catalogues().flat_map(|messages| *messages) {
                let (foreign, own) = if is_german {
                    (english, german)
                } else {
                    (german, english)
                };
                let own = own.to_lowercase();
                for piece in pieces(foreign) {
                    let is_shared = own.contains(&piece.to_lowercase());
                    assert!(
                        is_shared || !text.contains(&piece),
                        "{name}: {message} “{piece}”"
                    );
                }
            }
        }
    }
}

/// A comparison of one cell that takes more memory, and whose wall time exceeds its CPU time.
fn of_costs() -> Comparison {
    let mut comparison = one_cell();
    comparison.cells[0].costs = vec![memory_cost(Verdict::More, 1.2)];
    comparison.cells[0].waiting = Some(Waiting {
        wall_per_cpu: (0.55, 1.9),
        is_far: (false, true),
    });
    comparison
}

fn page(of: &Comparison, name: &str) -> String {
    let pages = rendered(of);
    let page = pages.into_iter().find(|(known, _)| known == name);
    page.expect("a page").1
}

#[test]
fn what_takes_more_is_in_the_answer_and_a_table_and_waiting_is_a_warning() {
    let english = page(&of_costs(), "comparison.en.md");
    let german = page(&of_costs(), "comparison.de.md");
    for (page, texts) in [
        (
            english,
            [
                "Peak memory: more, 95.4 MiB → 114 MiB (after ÷ before = 1.200, 95 % interval 1.190–1.210, p = 0.094 after Holm).",
                "wall time is far above CPU time after in 1 of 1 cells (in batch-size 8, workers 0 a run takes 0.55 s before and 1.9 s after for a second of CPU time)",
                "| peak memory | 95.4 MiB | 114 MiB | 1.200× (1.190–1.210) | more (p = 0.094 after Holm) |",
            ],
        ),
        (
            german,
            [
                "Spitzenspeicher: mehr, 95,4 MiB → 114 MiB (nachher ÷ vorher = 1,200, ",
                "die Dauer liegt nachher in 1 von 1 Zellen weit über der CPU-Zeit",
                "| Spitzenspeicher | 95,4 MiB | 114 MiB | 1,200× ",
            ],
        ),
    ] {
        for text in texts {
            assert!(page.contains(text), "{text}\n{page}");
        }
    }
}

#[test]
fn costs_of_which_nothing_takes_more_add_few_words() {
    let with = branches();
    let mut without = with.clone();
    without.costs.clear();
    for pair in &mut without.cells {
        pair.costs.clear();
    }
    for name in ["comparison.en.md", "comparison.de.md"] {
        let words = |of: &Comparison| page(of, name).split_whitespace().count();
        let added = words(&with) - words(&without);
        assert!((5..=25).contains(&added), "{name}: {added}");
    }
}

#[test]
fn templates_say_nothing_of_their_own() {
    for file in ["comparison.md.j2", "comparison.html.j2"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("reports/templates")
            .join(file);
        let text = fs::read_to_string(path).expect("a template");
        let mut words = Vec::new();
        let style = text.split("{% block style %}").nth(1).unwrap_or_default();
        let style = style.split("{% endblock %}").next().unwrap_or_default();
        for line in text.replace(style, "").lines() {
            let mut rest = line.to_owned();
            for (open, close) in [("{%", "%}"), ("{{", "}}"), ("{#", "#}"), ("<", ">")] {
                while let Some(begin) = rest.find(open) {
                    let end = rest[begin..]
                        .find(close)
                        .map_or(rest.len(), |end| begin + end + close.len());
                    rest.replace_range(begin..end, " ");
                }
            }
            words.extend(
                rest.split_whitespace()
                    .filter(|word| word.chars().any(char::is_alphabetic))
                    .map(str::to_owned),
            );
        }
        assert_eq!(words, [""; 0], "{file}");
    }
}

#[test]
fn the_english_reasons_of_pages_are_those_of_comparison_csv() {
    let reasons = [
        UnclearReason::WideInterval,
        UnclearReason::NotSure,
        UnclearReason::FewRuns,
        UnclearReason::AtThreshold(0.02),
        UnclearReason::NoSessionFloor,
        UnclearReason::OtherSession,
        UnclearReason::FilePages,
        UnclearReason::WithinSessionFloor(0.0614),
        UnclearReason::SessionNoise,
    ];
    for reason in reasons {
        let why = Words::default().reason_texts(&Verdict::Unclear(reason), None);
        assert_eq!(why, [reason.to_string()]);
    }
    let reasons = vec![
        NotComparableReason::NotMeasured(true, false),
        NotComparableReason::SameRuns,
        NotComparableReason::OtherCode(false, true),
        NotComparableReason::Environment(vec!["cpu_model".into()]),
        NotComparableReason::Work(vec!["train.batch-size".into()]),
        NotComparableReason::Threads("1".into(), "2".into()),
        NotComparableReason::Exclusive(true, false),
    ];
    let shown: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    let why = Words::default().reason_texts(&Verdict::NotComparable(reasons), None);
    assert_eq!(why, shown);
}

#[test]
fn named_searches_are_read_from_the_folders_beside() {
    let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let root = tempfile::tempdir().expect("a temporary folder");
    for name in ["detector", "detector-search", "detector-search-sequential"] {
        let folder = root.path().join(name);
        fs::create_dir(&folder).expect("creates");
        for file in fs::read_dir(committed.join(name))
            .expect("results")
            .flatten()
        {
            if file.path().is_file() {
                fs::copy(file.path(), folder.join(file.file_name())).expect("copies");
            }
        }
    }
    let folder = root.path().join("detector");
    let plan = fs::read_to_string(folder.join("plan.json")).expect("a plan");
    let mut plan: serde_json::Value = serde_json::from_str(&plan).expect("JSON");
    let names = [
        "detector-search",
        "detector-search-sequential",
        "../detector",
    ];
    plan["report"]["searches"] = serde_json::json!(names);
    fs::write(folder.join("plan.json"), plan.to_string()).expect("writes");
    let options = crate::report::ReportOptions {
        templates: vec!["comparison".into()],
        languages: vec![Language::English],
    };
    crate::report::render(&folder, &options).expect("renders");
    let text = fs::read_to_string(folder.join("comparison.en.md")).expect("a page");
    assert_contains(&text, "\nSearch, makespan: detector-search-sequential ");
    assert!(!text.contains("Hyperparameter search: not measured"));
    assert!(text.contains("no results of “../detector” lie beside"));
}
