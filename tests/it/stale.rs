//! `fieldtrial stale`: which results the manifests and this build would no longer give.

use crate::project::{Project, assert_says};
use crate::search::{self, LEARNING};
use crate::tiny;

/// What it says of `tiny`, after its name; it must end with the code for it.
fn said(project: &Project) -> String {
    let ended = project.run(&["stale"]);
    let line = ended.stdout.lines().nth(1).unwrap_or(&ended.stderr);
    let words: Vec<&str> = line.split_whitespace().skip(1).collect();
    let is_fresh = words.first() == Some(&"fresh");
    assert_eq!(ended.code, i32::from(!is_fresh), "{}", ended.stderr);
    words.join(" ")
}

#[test]
fn every_change_of_a_manifest_is_named_and_a_comment_is_not_one() {
    let project = tiny::project();
    project.ends(0, "run experiments/tiny.toml");
    std::fs::remove_dir_all(project.path("reports/tiny/.store")).expect("a store");
    assert_eq!(said(&project), "fresh");

    let changed = |line: &str, replacement: &str| {
        project.write("experiments/tiny.toml", &tiny::with(line, replacement));
        said(&project)
    };
    let title = "name = \"tiny\"";
    assert_eq!(
        changed(title, &format!("# A comment.\n{title}")),
        "fresh the text of its manifest changed, no setting did"
    );
    assert_eq!(
        changed(title, &format!("{title}\ntitle = \"T\"")),
        "stale other title"
    );
    assert_eq!(
        changed("epochs = 2", "epochs = 3"),
        "stale 2 cells with other settings or data"
    );
    assert_eq!(
        changed("[8, 16]", "[4, 16, 32]"),
        "stale 2 cells without results; 1 cell that the manifest no longer has; other axes"
    );
    assert_eq!(changed("repeats = 2", "repeats = 3"), "stale other measure");
    assert_eq!(
        changed("epochs = 2", "epoch = 2"),
        "stale unknown key `epoch` in `[train]`"
    );
    std::fs::remove_file(project.path("experiments/tiny.toml")).expect("a manifest");
    assert_eq!(
        said(&project),
        "stale its manifest `experiments/tiny.toml` is not there"
    );
}

#[test]
fn results_of_other_code_are_stale() {
    let project = tiny::project();
    project.ends(0, "run experiments/tiny.toml");
    let plan = project.read("reports/tiny/plan.json");
    let hash = plan.split("\"code_hash\":\"").nth(1).expect("a code hash");
    let hash = &hash[..16];
    // Only the first cell.
    project.write(
        "reports/tiny/plan.json",
        &plan.replacen(hash, "0123456789abcdef", 1),
    );
    assert_eq!(said(&project), "stale 1 cell measured by other code");
    let none = project.ends(2, "stale tyni");
    assert_says(&none.stderr, "did you mean `tiny`?");
}

#[test]
fn trials_of_a_search_are_compared_at_their_points() {
    let project = search::project(LEARNING);
    project.search(&[]);
    assert_eq!(said(&project), "fresh");
    let manifest = project.read("experiments/tiny.toml");
    project.write(
        "experiments/tiny.toml",
        &manifest.replace("samples = 64", "samples = 65"),
    );
    assert_eq!(said(&project), "stale 10 cells with other settings or data");
    project.write(
        "experiments/tiny.toml",
        &manifest.replace("[2, 4, 8, 16]", "[2, 4, 8]"),
    );
    assert_eq!(said(&project), "stale other axes, search");
}

/// A command that can run only where `experiments/needed` is.
const COMMAND: &str = r#"
name = "tiny"

[models.answer]
kind = "command"
run = ["echo", "answer 42"]
code = []
requires = [["test", "-f", "needed"]]
scrape = { answer = 'answer (\d+)' }
metrics = { answer = { better = "higher" } }

[matrix]
model = ["answer"]
"#;

#[test]
fn a_cell_that_cannot_run_here_is_not_called_stale() {
    let project = Project::new()
        .file("experiments/tiny.toml", COMMAND)
        .file("experiments/needed", "");
    project.ends(0, "run experiments/tiny.toml");
    assert_eq!(said(&project), "fresh");
    std::fs::remove_file(project.path("experiments/needed")).expect("a file");
    assert_eq!(said(&project), "fresh without 1 cell that cannot run here");
}
