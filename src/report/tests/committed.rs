//! Tests of the results in git: rendering them again gives every page and plot byte for byte.

use std::fs;
use std::path::Path;

use crate::report::{ReportOptions, render};

/// Copies the files of a folder, not those of its hidden folders.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("creates");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_file() {
            fs::copy(&path, to.join(&name)).expect("copies");
        } else if !name.to_string_lossy().starts_with('.') {
            copy(&path, &to.join(&name));
        }
    }
}

#[test]
fn every_committed_page_is_what_its_files_give() {
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let root = tempfile::tempdir().expect("a temporary folder");
    let copied = root.path().join("reports");
    // All results are copied, because a report also reads results beside its own.
    copy(&reports, &copied);
    let mut stale = Vec::new();
    let folders = fs::read_dir(&reports).expect("reports").flatten();
    for folder in folders.filter(|entry| entry.path().join("plan.json").is_file()) {
        let name = folder.file_name();
        let files = render(&copied.join(&name), &ReportOptions::default()).expect("renders");
        let is_in_git = |path: &&std::path::PathBuf| !path.ends_with("report.json");
        for path in files.iter().filter(is_in_git) {
            let own = path.strip_prefix(&copied).expect("inside");
            if fs::read(path).ok() != fs::read(reports.join(own)).ok() {
                stale.push(own.display().to_string());
            }
        }
        for plot in fs::read_dir(folder.path().join("plots"))
            .into_iter()
            .flatten()
            .flatten()
        {
            if !files
                .iter()
                .any(|path| path.file_name() == Some(&plot.file_name()))
            {
                stale.push(format!("{}: no longer drawn", plot.path().display()));
            }
        }
    }
    assert!(
        stale.is_empty(),
        "render them again, `fieldtrial report NAME`: {stale:#?}"
    );
}

/// The text files of a folder and of its subfolders.
fn texts(folder: &Path, all: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            texts(&path, all);
        } else if let Some("md" | "html" | "svg") = path.extension().and_then(|end| end.to_str()) {
            let text = fs::read_to_string(&path).expect("UTF-8");
            all.push((path.display().to_string(), text.to_lowercase()));
        }
    }
}

/// The pages and plots in git.
fn committed() -> Vec<(String, String)> {
    let mut all = Vec::new();
    let reports = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    texts(&reports, &mut all);
    all
}

#[test]
fn no_best_value_has_a_second_superlative() {
    let all = committed();
    for (path, text) in &all {
        for phrase in ["best best", "highest best", "lowest best"] {
            assert!(!text.contains(phrase), "{path}: {phrase}");
        }
    }
    let said = |text: &str| all.iter().any(|(_, page)| page.contains(text));
    assert!(said("best validation accuracy"));
}

/// Whether a table field is a text: neither empty nor part of the line below a Markdown header.
fn is_word(text: &&str) -> bool {
    !text.trim_matches([':', '-']).is_empty()
}

#[test]
fn pages_are_short() {
    let all = committed();
    let is_text = |path: &str| Path::new(path).extension().is_some_and(|end| end == "md");
    let pages = all.iter().filter(|(path, _)| is_text(path));
    for (path, page) in pages {
        let words = page.split([' ', '|', '\n']).filter(is_word).count();
        // A search of a hundred trials and several objectives has more to tell.
        let is_long = path.contains("digits-search");
        assert!(
            words <= if is_long { 5000 } else { 2500 },
            "{path}: {words} words"
        );
    }
}
