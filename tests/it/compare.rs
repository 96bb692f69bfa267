//! `fieldtrial compare`, end to end: commits, folders, axes, other machines, and errors.

use std::fs;

use crate::project::{Ended, Project};
use crate::tiny;

/// Three losses and two batch sizes: the manifest on `main`.
const PATHS: &str = r#"
name = "walks"

[models.canned]
kind = "canned-net"

[variants.a]
"train.loss" = "t-statistic"

[variants.b]
"train.loss" = "simplified-scoring"

[variants.c]
"train.loss" = "signature-scoring"

[datasets.brownian]
kind = "paths"
process = "brownian"
samples = 8
points = 10

[matrix]
variant = ["a", "b", "c"]

[train]
model = "canned"
dataset = "brownian"
epochs = 1
batch-size = 4

[measure]
repeats = 1
warmup-steps = 0
"#;

/// A repository whose commit on `main` contains the results of a manifest.
pub(crate) fn repository(name: &str, manifest: &str) -> Project {
    let project = Project::new()
        .file(".gitignore", ".store/\n")
        .file(&format!("experiments/{name}.toml"), manifest);
    run(&project, name);
    project.commit("results");
    project
}

pub(crate) fn run(project: &Project, name: &str) {
    project.ends_with(0, &["run", &format!("experiments/{name}.toml")]);
}

pub(crate) fn change(project: &Project, path: &str, old: &str, new: &str) {
    let text = project.read(path);
    assert!(text.contains(old), "{old}");
    project.write(path, &text.replace(old, new));
}

pub(crate) fn expect(ended: &Ended, code: i32, texts: &[&str]) {
    let all = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(ended.code, code, "{all}");
    // Lines may be wrapped between any words.
    let flat = all.split_whitespace().collect::<Vec<_>>().join(" ");
    for text in texts {
        assert!(flat.contains(text), "`{text}` is missing:\n{all}");
    }
}

#[test]
fn a_branch_tells_added_removed_and_changed_cells() {
    let project = repository("walks", PATHS);
    project.git(&["checkout", "--quiet", "-b", "branch"]);
    let manifest = "experiments/walks.toml";
    change(
        &project,
        manifest,
        "[\"a\", \"b\", \"c\"]",
        "[\"a\", \"c\", \"d\"]",
    );
    change(&project, manifest, "\"t-statistic\"", "\"truncated-mmd\"");
    change(
        &project,
        manifest,
        "[variants.b]\n\"train.loss\" = \"simplified-scoring\"",
        "[variants.d]\n\"train.loss\" = \"kernel-mmd\"",
    );
    run(&project, "walks");
    project.commit("results");
    // The working tree is not read.
    fs::remove_dir_all(project.path("reports")).expect("a folder");
    let ended = project.run(&["compare", "main", "HEAD"]);
    expect(
        &ended,
        0,
        &[
            "Added cells (1): variant=d.",
            "Removed cells (1): variant=b.",
            "Axis “variant”: values only before: b; only after: d.",
            "Facts: 1 cell equal, 1 cell changed:",
            "loss.kind: t-statistic → truncated-mmd (1 cell)",
            "Other work per sample (loss.kind: t-statistic → truncated-mmd",
        ],
    );
    let facts = ended.stdout.lines().find(|line| line.contains("best_loss"));
    let facts = facts.unwrap_or_else(|| panic!("{}", ended.stdout));
    assert!(facts.trim_start().starts_with("a: "), "{facts}");
    assert!(!project.path("reports").exists(), "nothing is checked out");
}

#[test]
fn two_machines_are_refused_with_their_fields_unless_it_is_asked_for() {
    let project = repository("tiny", tiny::MANIFEST);
    let (from, to) = (project.path("reports/tiny"), project.path("other"));
    fs::create_dir(&to).expect("a folder");
    for name in [
        "plan.json",
        "runs.csv",
        "epochs.csv",
        "blocks.csv",
        "timings.csv",
        "env.toml",
    ] {
        fs::copy(from.join(name), to.join(name)).expect("a file");
    }
    let text = project.read("other/env.toml");
    let id = text.split(['[', '.']).nth(1).expect("an id").to_owned();
    for name in ["blocks.csv", "timings.csv", "env.toml"] {
        change(&project, &format!("other/{name}"), &id, "0badcafe");
    }
    let cpu = text.lines().find(|line| line.starts_with("cpu_model"));
    change(
        &project,
        "other/env.toml",
        cpu.expect("a processor"),
        "cpu_model = \"Abacus\"",
    );
    change(&project, "other/blocks.csv", ",2026-", ",1926-");
    let ended = project.run(&["compare", "tiny", "other"]);
    expect(
        &ended,
        3,
        &[
            "cpu model: ",
            "→ Abacus",
            "Other environment (cpu_model)",
            "not comparable",
            "--across-env",
            "Facts: 2 cells equal.",
        ],
    );
    assert!(!ended.stdout.contains('×'), "{}", ended.stdout);
    let across = project.run(&["compare", "tiny", "other", "--across-env"]);
    expect(
        &across,
        0,
        &["Times are compared across environments, as asked"],
    );
    let figures = across.stdout.matches('×').count();
    assert!(figures >= 3, "{}", across.stdout);
    let flat = across
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let told = flat.matches("across environments").count();
    assert_eq!(told, figures + 1, "{flat}");
}

#[test]
fn every_experiment_of_two_places_is_compared_and_the_others_are_named() {
    let project = repository("tiny", tiny::MANIFEST);
    let second = tiny::MANIFEST.replace("name = \"tiny\"", "name = \"second\"");
    fs::write(project.path("experiments/second.toml"), second).expect("a manifest");
    run(&project, "second");
    let ended = project.run(&["compare", "main"]);
    expect(
        &ended,
        0,
        &[
            "tiny: main (",
            "working tree",
            "Only `working tree` has results of `second`.",
        ],
    );
    project.commit("results");
    let ended = project.run(&["compare", "HEAD"]);
    expect(&ended, 0, &["no difference in `second`, `tiny`."]);
    let ended = project.run(&["compare", "HEAD:reports/second", "HEAD:tiny"]);
    expect(
        &ended,
        0,
        &["tiny: HEAD:reports/second (", "Facts: 2 cells equal."],
    );
    let ended = project.run(&["compare", "HEAD~1", "second"]);
    expect(
        &ended,
        4,
        &["nothing to compare: no experiment and no cell that both sides have"],
    );
    let ended = project.run(&["compare", "reports", "HEAD"]);
    expect(&ended, 0, &["no difference in `second`, `tiny`."]);
}

#[test]
fn an_axis_of_one_result_is_compared_value_by_value() {
    let project = repository("tiny", tiny::MANIFEST);
    let ended = project.run(&["compare", "tiny", "--along", "batch-size"]);
    expect(
        &ended,
        0,
        &["tiny: batch-size 8 → 16", "train.batch-size: 8 → 16"],
    );
    let values = ["--before", "16", "--after", "8"];
    let ended = project.run(&[&["compare", "tiny", "--along", "batch-size"][..], &values].concat());
    expect(&ended, 0, &["tiny: batch-size 16 → 8"]);
    let out = ["--out", "seen", "--lang", "en,de"];
    let ended = project.run(&[&["compare", "tiny", "--along", "batch-size"][..], &out].concat());
    expect(&ended, 0, &["tiny: batch-size 8 → 16"]);
    for name in ["en.md", "en.html", "de.md", "de.html", "csv", "json"] {
        let text = project.read(&format!("seen/comparison.{name}"));
        assert!(text.contains("batch-size"), "{name}");
    }
    let ended = project.run(&["compare", "tiny", "--along", "model"]);
    expect(&ended, 4, &["axis `model` has one value only: `mlp`"]);
    let ended = project.run(&["compare", "tiny", "--along", "batch"]);
    expect(
        &ended,
        2,
        &["the results have no axis `batch`", "`batch-size`"],
    );
    let ended = project.run(&["compare", "tiny"]);
    expect(
        &ended,
        2,
        &["`tiny` is to be compared with what?", "--along AXIS"],
    );
    let ended = project.run(&[
        "compare",
        "tiny",
        "--along",
        "batch-size",
        "--only",
        "model=mpl",
    ]);
    expect(&ended, 2, &["`mlp`"]);
}

#[test]
fn what_is_no_result_is_refused_with_the_nearest_name() {
    let project = repository("tiny", tiny::MANIFEST);
    for (arguments, texts) in [
        (
            &["mian"][..],
            &[
                "`mian` is neither a results folder nor a git ref",
                "did you mean `main`?",
            ][..],
        ),
        (&["tniy", "main"], &["did you mean `tiny`?"]),
        (
            &["main:reports/tniy"],
            &[
                "commit `main` has no results in `reports/tniy`",
                "did you mean `tiny`?",
            ],
        ),
        (&["--", "-rf"], &["`-rf` is neither"]),
        (&["--", "ref:--output=x"], &["`ref:--output=x` is neither"]),
        (&["ref:tiny", "tiny"], &["`ref:tiny` is neither"]),
    ] {
        let ended = project.run(&[&["compare"], arguments].concat());
        expect(&ended, 2, texts);
    }
    let plan = project.read("reports/tiny/plan.json");
    project.write(
        "reports/tiny/plan.json",
        &plan.replacen("\"format_version\": 1", "\"format_version\": 99", 1),
    );
    let ended = project.run(&["compare", "main"]);
    expect(&ended, 2, &["has format version 99"]);
    project.commit("results");
    let ended = project.run(&["compare", "HEAD~1", "HEAD"]);
    expect(
        &ended,
        2,
        &["`HEAD:reports/tiny/plan.json` has format version 99"],
    );
}

#[test]
fn a_folder_without_repository_or_commit_says_so() {
    let empty = Project::new();
    let ended = empty.run(&["compare", "main"]);
    expect(
        &ended,
        2,
        &["`main` is no results folder, and there is no git repository here"],
    );
    empty.git(&["init", "--quiet"]);
    let ended = empty.run(&["compare", "main"]);
    expect(
        &ended,
        2,
        &["`main` is neither", "no commit on a branch yet"],
    );
}
