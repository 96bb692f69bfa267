//! The answers of the committed pages: each paragraph stands word for word in the table of those that pandas and `SciPy` recomputed,
//! with all of its figures equal.

use std::fs;
use std::path::Path;

const REDO: &str = "run tests/reference/report/answers.py again: its first lines say how";

/// The paragraphs of a page's answer but the line that says what decided.
fn paragraphs(page: &str) -> Vec<&str> {
    let (_, answer) = page
        .split_once("\n## Answer\n")
        .expect("a page with an answer");
    let ends = ["\n![", "\n## "].map(|end| answer.find(end).unwrap_or(answer.len()));
    let answer = &answer[..ends[0].min(ends[1])];
    let parts = answer.split("\n\n").map(str::trim);
    parts
        .filter(|part| !part.is_empty() && !part.starts_with("<sub>"))
        .collect()
}

/// The rows of a folder: each with its sentence and whether its figures are equal.
fn rows<'t>(table: &'t str, folder: &str) -> Vec<(&'t str, bool)> {
    let head = format!("\n## {folder}\n");
    let own = table.split_once(&*head).map_or("", |(_, rest)| rest);
    let own = own.split("\n## ").next().unwrap_or_default();
    let cells = own.lines().filter_map(|line| {
        let (sentence, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
        Some((sentence, rest.ends_with(" | yes |")))
    });
    cells.collect()
}

/// What a page says that the table does not have as equal.
fn missing(page: &str, table: &str, folder: &str) -> Vec<String> {
    let rows = rows(table, folder);
    let is_equal = |part: &&str| rows.contains(&(&*part.replace('|', "\\|"), true));
    let parts = paragraphs(page).into_iter();
    parts
        .filter(|part| !is_equal(part))
        .map(|part| format!("{folder}: {part}"))
        .collect()
}

#[test]
fn every_answer_was_recomputed_by_other_tools() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table =
        fs::read_to_string(root.join("tests/reference/report/answers.md")).expect("a table");
    let mut found = Vec::new();
    let mut pages = 0;
    for entry in fs::read_dir(root.join("reports")).expect("reports") {
        let folder = entry.expect("a folder").path();
        let Ok(page) = fs::read_to_string(folder.join("report.md")) else {
            continue;
        };
        let name = folder.file_name().expect("a name").to_string_lossy();
        assert!(!paragraphs(&page).is_empty(), "{name} has no answer");
        found.extend(missing(&page, &table, &name));
        pages += 1;
    }
    assert!(pages > 15, "the walk finds the pages");
    assert!(
        found.is_empty(),
        "not in the table, or not equal; {REDO}\n{}",
        found.join("\n")
    );
}

#[test]
fn a_changed_or_an_unequal_sentence_and_a_new_page_are_found() {
    let page = "# T\n\n## Answer\n\nFast: 2 s.\n\nSlow | 3 s.\n\n<sub>Decided by x.</sub>\n\n![F](f.svg)\n\nMore.\n";
    let table = "# H\n\n## a\n\n| sentence | figures | equal |\n| --- | --- | --- |\n| Fast: 2 s. | 2 = 2 | yes |\n\
                 | Slow \\| 3 s. | 3 = 3 | yes |\n\n## b\n\n| Fast: 2 s. | 2 ≠ 4 | NO |\n";
    assert_eq!(missing(page, table, "a"), [""; 0]);
    assert_eq!(
        missing(&page.replace("2 s", "4 s"), table, "a"),
        ["a: Fast: 4 s."]
    );
    assert_eq!(missing(page, table, "b").len(), 2);
    assert_eq!(missing(page, table, "c").len(), 2);
}
