//! HTML and Markdown of one report: the same sections, tables and figures, in the same order.

use std::fs;
use std::path::{Path, PathBuf};

/// What stands between two marks, at each place where both are.
fn between<'t>(text: &'t str, start: &str, end: &str) -> Vec<&'t str> {
    let pieces = text.split(start).skip(1);
    pieces
        .filter_map(|piece| Some(piece.split_once(end)?.0))
        .collect()
}

/// The words of a piece of HTML or Markdown.
fn words(text: &str) -> String {
    let mut text = text.replace('\\', "");
    for tag in between(&text.clone(), "<", ">") {
        text = text.replace(&format!("<{tag}>"), "");
    }
    for (entity, letter) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, letter);
    }
    text.trim().to_owned()
}

/// Headings and tables of a page.
fn of_page(html: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in html.lines() {
        for name in ["h1", "h2", "h3", "h4", "summary"] {
            let all = between(line, &format!("<{name}"), &format!("</{name}>"));
            let inner = all.iter().filter_map(|one| Some(one.split_once('>')?.1));
            found.extend(inner.map(words));
        }
        found.extend(line.matches("<table").map(|_| "(table)".to_owned()));
    }
    found
}

/// Headings and tables of a text; a figure's title is its heading on a page.
fn of_markdown(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if is_code {
            continue;
        }
        if line.starts_with('#') {
            found.push(words(line.trim_start_matches('#')));
        }
        for (start, end) in [("<summary>", "</summary>"), ("![", "](")] {
            found.extend(between(line, start, end).into_iter().map(words));
        }
        if line.starts_with("| --- |") || line.starts_with("| ---: |") {
            found.push("(table)".to_owned());
        }
    }
    found
}

/// Whether it is no ruler of a table, and not empty.
fn is_word(text: &&str) -> bool {
    !text.trim_matches([':', '-']).is_empty()
}

#[test]
fn html_and_markdown_have_the_same_sections_tables_and_figures() {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let folders = fs::read_dir(reports).expect("reports").flatten();
    let files = folders.filter_map(|folder| fs::read_dir(folder.path()).ok());
    let files = files.flat_map(|files| files.flatten().map(|file| file.path()));
    let pages: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|end| end == "html"))
        .collect();
    assert!(pages.len() > 10, "{pages:?}");
    for page in pages {
        let read = |path: &Path| fs::read_to_string(path).expect("a page");
        let html = of_page(&read(&page));
        let markdown = of_markdown(&read(&page.with_extension("md")));
        let other = html.iter().zip(&markdown).find(|(a, b)| a != b);
        assert_eq!(other, None, "{}", page.display());
        assert_eq!(html.len(), markdown.len(), "{}", page.display());
        assert!(html.iter().filter(|part| *part == "(table)").count() >= 3);
        let words = read(&page.with_extension("md"));
        let words = words.split([' ', '|', '\n']).filter(is_word).count();
        // A search of a hundred trials and several objectives has more to tell.
        let most = if page.to_string_lossy().contains("digits-search") {
            5000
        } else {
            2500
        };
        assert!(words <= most, "{}: {words} words", page.display());
    }
}
