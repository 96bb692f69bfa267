//! One plan on several machines: shards, journals and merging.

use std::fs;
use std::sync::LazyLock;

use fieldtrial::base::hash::Digest;

use crate::project::{Ended, Project, assert_says};
use crate::tiny::{project, with};

const MANIFEST: &str = "experiments/tiny.toml";

/// Files that a rerun on a single machine repeats byte for byte.
const FACTS: [&str; 3] = ["runs.csv", "epochs.csv", "plan.json"];

fn shard(project: &Project, share: &str) -> Ended {
    project.run(&["run", MANIFEST, "--shard", share])
}

fn merge(project: &Project) -> Ended {
    project.run(&["merge", MANIFEST])
}

fn facts(project: &Project) -> [String; 3] {
    FACTS.map(|name| project.read(&format!("reports/tiny/{name}")))
}

fn lines(project: &Project, journal: &str) -> usize {
    project
        .read(&format!("reports/tiny/shards/{journal}"))
        .lines()
        .count()
}

/// Three cells, two seeds, two blocks: twelve runs, and one cell that is infeasible.
fn manifest() -> String {
    let manifest = with("[8, 16]", "[8, 16, 32, 4096]");
    manifest.replace("repeats = 2", "repeats = 2\nseeds = [1, 2]")
}

fn sharded() -> Project {
    project().file(MANIFEST, &manifest())
}

/// What one machine gives: the facts, and `work.csv`.
static WHOLE: LazyLock<([String; 3], String)> = LazyLock::new(|| {
    let whole = sharded();
    whole.ends(0, "run experiments/tiny.toml");
    (facts(&whole), whole.read("reports/tiny/work.csv"))
});

#[test]
fn two_shards_and_a_merge_give_what_one_machine_gives_byte_for_byte() {
    let project = sharded();
    for share in ["1/2", "2/2"] {
        let ended = shard(&project, share);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
        assert!(ended.stderr.contains("6 runs to do"), "{}", ended.stderr);
    }
    assert!(!project.path("reports/tiny/runs.csv").exists());
    assert!(!project.path("reports/tiny/.store").exists());
    let files: Vec<_> = fs::read_dir(project.path("reports/tiny/shards"))
        .unwrap()
        .collect();
    assert_eq!(files.len(), 2, "one file per shard");
    let merged = merge(&project);
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    assert_says(&merged.stderr, "2 journals: 12 runs taken");
    assert_eq!(facts(&project), WHOLE.0);
    assert_eq!(project.read("reports/tiny/work.csv"), WHOLE.1);
    assert!(project.path("reports/tiny/report.md").exists());
    let again = merge(&project);
    assert_says(&again.stderr, "0 runs taken, 12 known before");
    let run = project.run(&["run", MANIFEST]);
    assert_says(&run.stderr, "nothing to run: 12 runs finished before");
}

#[test]
fn a_merge_says_what_is_missing_and_which_command_does_it() {
    let project = sharded();
    assert_eq!(shard(&project, "1/3").code, 0);
    assert_eq!(shard(&project, "3/3").code, 0);
    let merged = merge(&project);
    assert_eq!(merged.code, 1, "{}", merged.stderr);
    let command = format!("shard 2/3: 4 runs  `fieldtrial run {MANIFEST} --shard 2/3`");
    assert!(merged.stderr.contains(&command), "{}", merged.stderr);
    assert!(project.read("reports/tiny/runs.csv").contains("not-run"));
    // The merging machine's store has them now, so that any number of shards can continue from there.
    assert!(
        shard(&project, "1/1")
            .stderr
            .contains("4 runs to do, 8 kept")
    );
    assert_eq!(merge(&project).code, 0);
}

#[test]
fn journals_can_be_carried_to_a_machine_that_has_only_the_manifest() {
    let home = sharded();
    fs::create_dir_all(home.path("reports/tiny/shards")).unwrap();
    for (share, name) in [("1/2", "1-of-2.jsonl"), ("2/2", "2-of-2.jsonl")] {
        let elsewhere = sharded();
        assert_eq!(shard(&elsewhere, share).code, 0);
        let file = format!("reports/tiny/shards/{name}");
        fs::copy(elsewhere.path(&file), home.path(&file)).unwrap();
    }
    assert_eq!(
        home.run(&["merge", "tiny"]).code,
        2,
        "a name alone says no manifest yet"
    );
    assert_eq!(merge(&home).code, 0);
    assert_eq!(facts(&home), WHOLE.0);
    assert_eq!(home.run(&["merge", "tiny"]).code, 0, "now it does");
}

/// Replaces the first `from` in a file.
fn damage(project: &Project, path: &str, from: &str, to: &str) {
    let text = project.read(path);
    assert!(text.contains(from), "{from} is not in {text}");
    project.write(path, &text.replacen(from, to, 1));
}

#[test]
fn one_changed_digit_of_a_journal_is_named_and_its_shard_heals_it() {
    let project = sharded();
    for share in ["1/2", "2/2"] {
        assert_eq!(shard(&project, share).code, 0);
    }
    let journal = "reports/tiny/shards/2-of-2.jsonl";
    damage(
        &project,
        journal,
        "\"parameters\":129,",
        "\"parameters\":130,",
    );
    let merged = merge(&project);
    assert_eq!(merged.code, 1, "{}", merged.stderr);
    let command = format!("shard 2/2: 1 run  `fieldtrial run {MANIFEST} --shard 2/2`");
    for words in [
        &*format!("`{journal}:1` is damaged"),
        "missing  1 run:",
        &*command,
    ] {
        assert!(merged.stderr.contains(words), "{}", merged.stderr);
    }
    let again = shard(&project, "2/2");
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_says(&again.stderr, "1 run to do, 5 kept");
    let merged = merge(&project);
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    assert!(!merged.stderr.contains("damaged"), "{}", merged.stderr);
    assert_eq!(facts(&project), WHOLE.0);
}

#[test]
fn a_merge_writes_a_damaged_results_file_again_from_the_journals() {
    let project = sharded();
    assert_eq!(shard(&project, "1/1").code, 0);
    assert_eq!(merge(&project).code, 0);
    let before = facts(&project);
    fs::remove_dir_all(project.path("reports/tiny/.store")).unwrap();
    project.write("reports/tiny/runs.csv", "key,seed\n");
    let merged = merge(&project);
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    let warning = "warning: `reports/tiny/runs.csv`, ";
    assert!(merged.stderr.contains(warning), "{}", merged.stderr);
    assert_eq!(facts(&project), before);
}

/// The first line of the only shard's journal with a changed fact, its ID of a machine if `machine` names another one, and a
/// checksum of what it says now.
fn forged(project: &Project, machine: Option<&str>) -> String {
    assert_eq!(shard(project, "1/1").code, 0);
    let journal = project.read("reports/tiny/shards/1-of-1.jsonl");
    let (body, _) = journal.split_once(",\"checksum\":").expect("a checksum");
    let mut forged = body.replacen("\"parameters\":129,", "\"parameters\":130,", 1);
    assert!(forged != body);
    if let Some(machine) = machine {
        let (before, after) = forged.split_once("\"env_id\":\"").expect("an env_id");
        forged = format!("{before}\"env_id\":\"{machine}{}", &after[8..]);
    }
    let checksum = Digest::new().with(&forged).short();
    format!("{forged},\"checksum\":\"{checksum}\"}}\n")
}

#[test]
fn two_journals_of_one_machine_that_disagree_in_a_fact_are_our_bug() {
    let project = sharded();
    let line = forged(&project, None);
    project.write("reports/tiny/shards/1-of-2.jsonl", &line);
    let merged = merge(&project);
    assert_eq!(merged.code, 70, "{}", merged.stderr);
    assert_says(&merged.stderr, "disagree in `parameters`");
}

/// That a merge with `line` in a second journal is no bug, names both places of the disagreement, and gives `cause`.
fn assert_names_both_places(project: &Project, line: &str, cause: &str) {
    project.write("reports/tiny/shards/1-of-2.jsonl", line);
    let merged = merge(project);
    assert_eq!(merged.code, 2, "{}", merged.stderr);
    for words in [
        "disagree in `parameters`",
        cause,
        "reports/tiny/.store/runs/",
        "reports/tiny/shards/1-of-2.jsonl:1",
    ] {
        assert!(merged.stderr.contains(words), "{words}: {}", merged.stderr);
    }
    // What it says helps.
    project.write("reports/tiny/shards/1-of-2.jsonl", "");
    assert_eq!(merge(project).code, 0);
}

#[test]
fn a_disagreement_of_two_machines_names_both_places() {
    let project = sharded();
    let line = forged(&project, Some("0123abcd"));
    let cause = "the machine or the build changed between them";
    assert_names_both_places(&project, &line, cause);
}

#[test]
fn a_disagreement_with_a_line_without_checksum_names_both_places() {
    let project = sharded();
    let line = forged(&project, None);
    let (body, _) = line.split_once(",\"checksum\":").expect("a checksum");
    let cause = "1-of-2.jsonl:1` has no checksum";
    assert_names_both_places(&project, &format!("{body}}}\n"), cause);
}

#[test]
fn nothing_to_merge_and_no_such_share_are_mistakes() {
    let project = sharded();
    let merged = merge(&project);
    assert_eq!(merged.code, 2);
    assert_says(&merged.stderr, "there are no journals of shards in");
    let wrong = shard(&project, "3/2");
    assert_eq!(wrong.code, 2);
    assert_says(&wrong.stderr, "expected `i/n` with 1 ≤ i ≤ n");
}

/// Trials that do not depend on each other.
const RANDOM: &str = r#"
[search]
trials = 7
seed = 3
objective = "best_loss"
sampler = "random"

[search.space]
"models.mlp.hidden" = [2, 4, 8, 16]
"train.optimizer.lr" = { float = [1e-4, 3e-1], log = true }
"#;

#[test]
fn a_random_search_is_divided_by_trials_and_merged_to_what_one_machine_gives() {
    let whole = crate::search::project(RANDOM);
    whole.search(&[]);
    let project = crate::search::project(RANDOM);
    assert_eq!(shard(&project, "1/2").code, 0);
    let early = merge(&project);
    assert_eq!(early.code, 1, "{}", early.stderr);
    let command = format!("shard 2/2: 4 runs  `fieldtrial run {MANIFEST} --shard 2/2`");
    assert!(early.stderr.contains(&command), "{}", early.stderr);
    let ended = shard(&project, "2/2");
    assert_eq!(ended.code, 0, "{}", ended.stderr);
    assert_eq!(
        (
            lines(&project, "1-of-2.jsonl"),
            lines(&project, "2-of-2.jsonl")
        ),
        (3, 4)
    );
    let merged = merge(&project);
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    assert_eq!(facts(&project), facts(&whole));
    let status = project.ends(0, "status experiments/tiny.toml");
    assert_says(&status.stdout, "1/2    complete");
}

#[test]
fn a_search_that_learns_is_divided_by_studies_or_not_at_all() {
    let alone = crate::search::project(crate::search::LEARNING);
    let refused = shard(&alone, "1/2");
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    let why = "it has 1 study, fewer than 2 shares";
    assert!(refused.stderr.contains(why), "{}", refused.stderr);

    let studies = format!(
        "{}\n[matrix]\n\"train.batch-size\" = [8, 16]\n",
        crate::search::LEARNING
    );
    let whole = crate::search::project(&studies);
    whole.search(&[]);
    let project = crate::search::project(&studies);
    for share in ["1/2", "2/2"] {
        let ended = shard(&project, share);
        assert_eq!(ended.code, 0, "{}", ended.stderr);
    }
    let merged = merge(&project);
    assert_eq!(merged.code, 0, "{}", merged.stderr);
    assert_eq!(facts(&project), facts(&whole));
}

#[test]
fn status_shows_every_shard_without_any_batch_system() {
    let project = sharded();
    assert_eq!(shard(&project, "2/3").code, 0);
    let status = project.ends_with(1, &["status", MANIFEST]);
    let rows: Vec<Vec<&str>> = status
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[1], ["1/3", "not", "started", "0", "0", "4"]);
    assert_eq!(rows[2][..5], ["2/3", "complete", "4", "0", "0"]);
    assert_eq!(rows[4], ["all", "4", "0", "8"]);
    let next = format!("`fieldtrial run {MANIFEST} --shard 1/3` goes on");
    assert!(status.stderr.contains(&next), "{}", status.stderr);
}
