//! What holds of every section: languages, provenance, sentences.

use super::*;

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

/// The digits of a sentence, in the order of their size: languages put the same numbers in other places.
fn digits(text: &str) -> Vec<char> {
    let mut found: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
    found.sort_unstable();
    found
}

#[test]
fn every_column_of_numbers_says_where_they_come_from() {
    for section in whole() {
        for table in &section.tables {
            for column in table.columns.iter().filter(|column| column.is_number) {
                let kinds = ["measured (", "derived (", "assumed ("];
                let is_said = kinds.iter().any(|kind| column.provenance.starts_with(kind));
                assert!(is_said, "{}: {}", table.id, column.heading);
            }
            for row in &table.rows {
                let is_whole = row.fields.len() == table.columns.len() || row.missing.is_some();
                assert!(is_whole, "{}: {row:?}", table.id);
            }
        }
    }
}

#[test]
fn the_answer_has_the_verdict_with_its_interval_and_what_was_not_tested() {
    let comparison = compared(&results(), "before", "after");
    let scene = &Scene::of(&comparison, Language::English);
    let answer = answer::sentences(scene);
    assert_eq!(
        answer[0],
        "Slower: after takes 1.65× the time per sample (95 % interval 1.650–1.650, p = 0.031 after Holm, 6 runs a side)."
    );
    assert!(
        answer
            .iter()
            .any(|sentence| sentence.starts_with("Peak memory")),
        "{answer:?}"
    );
    let plot = answer::figure(scene).expect("factors");
    assert_eq!(plot.id, "factors");
    assert!(
        plot.svg.contains("all together") && plot.svg.contains("product of"),
        "{}",
        plot.svg
    );
}
