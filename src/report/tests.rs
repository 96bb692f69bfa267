//! Whole reports, from files.

use std::fs;
use std::path::Path;

use super::*;
use crate::results::golden::ddpm;
use crate::results::write;

/// A results folder of the golden set, as `reports/ddpm` in a folder of its own.
fn results() -> (tempfile::TempDir, PathBuf) {
    let root = tempfile::tempdir().expect("a temporary folder");
    let folder = root.path().join("reports/ddpm");
    write(&folder, &ddpm()).expect("writes");
    (root, folder)
}

fn rendered() -> (tempfile::TempDir, PathBuf) {
    let (root, folder) = results();
    render(&folder, &ReportOptions::default()).expect("renders");
    (root, folder)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a file of the report")
}

#[test]
fn the_report_is_as_it_was() {
    let (_root, folder) = rendered();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/ddpm");
    for name in [
        "report.md",
        "report.html",
        "plots/phases.svg",
        "plots/train-loss.svg",
    ] {
        let to = golden.join(name);
        if std::env::var_os("FIELDTRIAL_ACCEPT").is_some() {
            fs::create_dir_all(to.parent().expect("a folder")).expect("creates");
            fs::copy(folder.join(name), &to).expect("copies");
        }
        assert!(
            text(&folder.join(name)) == text(&to),
            "{name} differs from {}",
            to.display()
        );
    }
}
