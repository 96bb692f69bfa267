//! `fieldtrial history`, end to end: a repository of 60 commits with a lasting change and a blip.

use std::fmt::Write;
use std::process::Command;

use crate::compare::{expect, repository};
use crate::project::{Project, assert_says};
use crate::tiny;

const SESSIONS: usize = 60;

/// A number between −1 and 1 that looks random.
fn noise(session: usize, cell: usize) -> f64 {
    let word = (session * 2 + cell + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (word >> 32) as f64 / f64::from(1_u32 << 31) - 1.0
}

/// `blocks.csv` of a session: times of both cells with noise, the first one slower from the 31st session on, the second one in
/// the 46th.
fn blocks(original: &str, session: usize) -> String {
    let mut rows = original.lines();
    let header = rows.next().expect("a header");
    let place = |name: &str| {
        let mut columns = header.split(',');
        columns.position(|column| column == name).expect(name)
    };
    // Keys are quoted and have a comma for each axis but the first.
    let (step, name) = (place("step_ms"), place("session"));
    let mut text = format!("{header}\n");
    for row in rows {
        let (key, rest) = row[1..].split_once('"').expect("a quoted key");
        let cell = usize::from(key.contains("batch-size=16"));
        let factor = match (cell, session) {
            (0, 30..) => 1.15,
            (1, 45) => 1.3,
            _ => 1.0,
        };
        let mut fields: Vec<String> = rest.split(',').map(str::to_owned).collect();
        let ms = factor * (1.0 + 0.06 * noise(session, cell));
        fields[step] = format!("{ms:.6}");
        fields[name] = format!("2026-01-01T00:{session:02}:00Z");
        let _ = writeln!(text, "\"{key}\"{}", fields.join(","));
    }
    text
}

fn sixty_commits() -> Project {
    let project = repository("tiny", tiny::MANIFEST);
    let original = project.read("reports/tiny/blocks.csv");
    project.git(&["rm", "-r", "--quiet", "--cached", "reports"]);
    project.git(&["commit", "--quiet", "--amend", "--message", "no results"]);
    for session in 0..SESSIONS {
        project.write("reports/tiny/blocks.csv", &blocks(&original, session));
        project.commit(&format!("session {}", session + 1));
        if session == 10 {
            // Measures nothing: no point.
            project.write("note.txt", "a note");
            project.commit("a note");
        }
    }
    project
}

#[test]
fn changes_and_blips_of_a_repository_are_told_with_their_commits() {
    let project = sixty_commits();
    let ended = project.run(&["history", "tiny", "--out", "pages"]);
    expect(
        &ended,
        0,
        &[
            ": 60 sessions",
            "Of 2 cells, 1 changed lastingly, and 1 had a session apart from the others.",
            "pages/history.html",
        ],
    );
    let said: Vec<&str> = ended.stdout.lines().map(str::trim).collect();
    let below = |subject: &str| {
        let place = said.iter().position(|line| line.ends_with(subject));
        let place = place.unwrap_or_else(|| panic!("no {subject}:\n{}", ended.stdout));
        said[place + 1..].join(" ")
    };
    let change = below("session 31");
    assert!(change.starts_with("batch-size 8: 1"), "{change}");
    assert!(change.contains("% slower from here on ("), "{change}");
    let blip = below("session 46");
    assert!(blip.starts_with("batch-size 16: "), "{blip}");
    assert!(blip.contains("% slower in this session only ("), "{blip}");
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80));
    for page in ["pages/history.md", "pages/history.html"] {
        let text = project.read(page);
        assert!(text.contains("slower from here on"), "{page}");
        assert!(text.contains("session 46"), "{page}");
    }
    assert!(project.path("pages/plots/history-tiny-1.svg").is_file());

    let ended = project.run(&["history", "--since", "HEAD~19", "--only", "batch-size=8"]);
    expect(
        &ended,
        0,
        &[": 20 sessions", "Of 1 cell, 0 changed lastingly."],
    );
    let ended = project.run(&["history", "--since", "HEAD~2"]);
    expect(
        &ended,
        0,
        &["Too few sessions of a cell", "6 are needed", "tiny 3."],
    );

    // What matters is what the newest commit says, with times or without.
    let plan = project.read("reports/tiny/plan.json");
    let stricter = plan.replace("\"threshold\": null", "\"threshold\": 0.2");
    assert_ne!(plan, stricter);
    project.write("reports/tiny/plan.json", &stricter);
    project.commit("a fifth matters");
    let ended = project.run(&["history", "tiny"]);
    let summary = "Of 2 cells, 0 changed lastingly, and 1 had a session apart from the others.";
    expect(&ended, 0, &[summary]);

    for (arguments, help) in [
        (["history", "tin"], "did you mean `tiny`?"),
        (["history", "--since=mian"], "did you mean `main`?"),
        (["history", "--only=batch=8"], "batch-size"),
    ] {
        expect(&project.run(&arguments), 2, &[help]);
    }
}

#[test]
fn a_shallow_clone_has_a_short_history_and_says_how_to_get_the_rest() {
    let project = repository("tiny", tiny::MANIFEST);
    let original = project.read("reports/tiny/blocks.csv");
    project.write("reports/tiny/blocks.csv", &blocks(&original, 0));
    project.commit("again");
    let clone = Project::new();
    let cloned = Command::new("git")
        .args(["clone", "--quiet", "--depth", "1"])
        .arg(format!("file://{}", project.path("").display()))
        .arg(clone.path("clone"))
        .status();
    assert!(cloned.expect("git").success());
    let ended = crate::project::fieldtrial()
        .args(["history", "tiny"])
        .current_dir(clone.path("clone"))
        .output()
        .expect("the program");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("git fetch --unshallow"), "{said}");
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_says(&said, "1 session of a cell: changes can be found from 6 on");
}

#[test]
fn a_commit_that_cannot_be_read_is_left_out_with_its_reason() {
    let project = repository("tiny", tiny::MANIFEST);
    let original = project.read("reports/tiny/blocks.csv");
    project.write("reports/tiny/blocks.csv", "key,seed\n");
    project.commit("damaged");
    project.write("reports/tiny/blocks.csv", &blocks(&original, 0));
    project.commit("mended");
    let ended = project.run(&["history", "tiny"]);
    expect(
        &ended,
        0,
        &[
            "note: left out: ",
            "reports/tiny/blocks.csv",
            ": 2 sessions",
        ],
    );
    project.git(&["rm", "-r", "--quiet", "reports"]);
    project.commit("removed");
    let ended = project.run(&["history", "tiny"]);
    expect(&ended, 2, &["commit `HEAD` has no results"]);
}
