use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::journal_path;
use super::super::tests::{A, B, CODE, MACHINE, run};
use super::*;
use crate::base::hash::Digest;
use crate::event::{EpochRow, Profile, RunFacts, Sample, Span, StepRow};
use crate::results::Environment;
use crate::results::testing::{assert_contains, assert_ends_with};

struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn shard(&self, share: &str) -> Store {
        Store::open_shard(self.0.path(), share.parse().unwrap()).unwrap()
    }

    fn journal(&self, share: &str) -> PathBuf {
        journal_path(self.0.path(), share.parse().unwrap())
    }

    fn text(&self, share: &str) -> String {
        fs::read_to_string(self.journal(share)).unwrap()
    }

    /// Replaces the text of the journal `1/1`, which has all runs, by `change` of it.
    fn rewrite(&self, change: impl FnOnce(&str) -> String) {
        let text = change(&self.text("1/1"));
        fs::write(self.journal("1/1"), text).unwrap();
    }

    /// The store, with all journals merged into it.
    fn merged(&self) -> Store {
        let mut store = Store::open(self.0.path()).unwrap();
        for journal in journals(self.0.path()).unwrap() {
            for entry in JournalEntries::of(&journal.path).unwrap() {
                store.add_entry(entry.unwrap()).unwrap();
            }
        }
        store
    }
}

/// A run with steps, in session `session`, with `loss` as its final loss.
fn full(hash: &str, seed: u64, session: &str, loss: f64) -> StoredRun {
    let mut run = run(hash, seed);
    run.session = Some(session.into());
    let facts = RunFacts {
        best_loss: Some(loss),
        ..RunFacts::default()
    };
    run.facts = Some(facts.into());
    let epoch = EpochRow {
        train_loss: Some(0.1 + 0.2),
        steps: vec![StepRow {
            loss: Some(1.0 / 3.0),
            step_ms: 2.5,
        }],
        ..EpochRow::default()
    };
    run.epochs = vec![epoch].into();
    run
}

/// An image that a worker has left for a run.
fn image(shard: &Store) -> Sample {
    let path = shard.temporary_folder().join("x");
    fs::write(&path, b"png").unwrap();
    Sample {
        name: "x".into(),
        caption: "x".into(),
        path,
        digest: Digest::new().with(b"png").short(),
    }
}

/// The error message if the journal of `share` cannot be opened.
fn refused(lab: &Lab, share: &str) -> String {
    let opened = Store::open_shard(lab.0.path(), share.parse().unwrap());
    opened.unwrap_err().to_string()
}

fn without_steps(mut run: StoredRun) -> StoredRun {
    run.take_steps();
    run
}

#[test]
fn runs_of_a_shard_are_read_again_at_the_next_start_and_are_only_in_its_journal() {
    let lab = Lab::new();
    let mut shard = lab.shard("1/2");
    shard.put(full(A, 1, "s", 0.5)).unwrap();
    shard.put(run(A, 2)).unwrap();
    drop(shard);
    assert_eq!(
        lab.shard("1/2").runs_of(A),
        [without_steps(full(A, 1, "s", 0.5)), run(A, 2)]
    );
    assert!(lab.shard("2/2").runs_of(A).is_empty());
    assert!(!lab.0.path().join(".store").exists());
    assert_eq!(lab.text("1/2").lines().count(), 2);
}

#[test]
fn a_torn_last_line_is_cut_off_and_the_next_run_follows_the_last_whole_one() {
    let lab = Lab::new();
    let mut shard = lab.shard("1/1");
    shard.put(run(A, 1)).unwrap();
    let whole = fs::read(lab.journal("1/1")).unwrap();
    shard.put(run(A, 2)).unwrap();
    drop(shard);
    let all = fs::read(lab.journal("1/1")).unwrap();
    // Every position at which a kill may have cut the second line.
    for length in [
        whole.len() + 1,
        whole.len().midpoint(all.len()),
        all.len() - 1,
    ] {
        fs::write(lab.journal("1/1"), &all[..length]).unwrap();
        let mut entries = JournalEntries::of(&lab.journal("1/1")).unwrap();
        assert_eq!(entries.by_ref().count(), 1);
        assert!(entries.is_torn);
        let mut shard = lab.shard("1/1");
        assert_eq!(shard.runs_of(A), [run(A, 1)]);
        shard.put(run(A, 2)).unwrap();
        assert_eq!(fs::read(lab.journal("1/1")).unwrap(), all);
    }
}

#[test]
fn a_line_that_is_not_a_run_is_listed_and_skipped() {
    let lab = Lab::new();
    let mut shard = lab.shard("1/1");
    shard.put(run(A, 1)).unwrap();
    shard.put(run(A, 2)).unwrap();
    drop(shard);
    lab.rewrite(|text| text.replacen("\"seed\":1", "\"seed\":?", 1));
    let shard = lab.shard("1/1");
    assert_eq!(shard.runs_of(A), [run(A, 2)]);
    let named = format!("{}:1", lab.journal("1/1").display());
    assert_eq!(shard.damaged(), [PathBuf::from(named)]);
}

/// Lines without checksum, as earlier versions and other programs write them.
fn unsealed(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let (entry, _) = line.rsplit_once(",\"checksum\":").unwrap();
        format!("{entry}}}\n")
    });
    lines.collect()
}

#[test]
fn a_line_with_one_changed_digit_is_skipped_and_its_run_is_appended_anew() {
    // A line with a changed version has a wrong checksum: it counts as damaged, not as a line of another version.
    let changes = [
        ("\"best_loss\":0.5", "\"best_loss\":0.6"),
        ("\"journal\":1", "\"journal\":7"),
    ];
    for (from, to) in changes {
        let lab = Lab::new();
        let mut shard = lab.shard("1/1");
        shard.put(full(A, 1, "s", 0.5)).unwrap();
        shard.put(full(A, 2, "s", 0.5)).unwrap();
        drop(shard);
        let whole = lab.text("1/1");
        let damaged = whole.replacen(from, to, 1);
        assert_ne!(damaged, whole);
        fs::write(lab.journal("1/1"), damaged).unwrap();
        let mut shard = lab.shard("1/1");
        assert_eq!(shard.damaged().len(), 1);
        assert_eq!(shard.runs_of(A), [without_steps(full(A, 2, "s", 0.5))]);
        shard.put(full(A, 1, "s", 0.5)).unwrap();
        drop(shard);
        assert_eq!(lab.text("1/1").lines().count(), 3);
        let mut runs: Vec<StoredRun> = lab.merged().runs().cloned().collect();
        runs.sort_by_key(|run| run.keys.seed);
        let expected = [1, 2].map(|seed| without_steps(full(A, seed, "s", 0.5)));
        assert_eq!(runs, expected);
    }
}

#[test]
fn lines_without_a_checksum_are_read() {
    let lab = Lab::new();
    lab.shard("1/1").put(run(A, 1)).unwrap();
    lab.rewrite(unsealed);
    assert_eq!(lab.shard("1/1").runs_of(A), [run(A, 1)]);
}

#[test]
fn a_line_whose_ids_are_no_digests_is_skipped_and_nothing_is_written_elsewhere() {
    let lab = Lab::new();
    let mut shard = lab.shard("1/1");
    let sample = image(&shard);
    shard.put_code(CODE, BTreeMap::new()).unwrap();
    shard
        .put_environment(MACHINE, Environment::default())
        .unwrap();
    shard.add_sample(&sample).unwrap();
    shard.put(run(A, 1)).unwrap();
    drop(shard);
    let line = unsealed(&lab.text("1/1"));
    for id in [A, CODE, MACHINE, &sample.digest] {
        for forged in ["../../outside", &id.to_uppercase(), &id[1..]] {
            let text = line.replace(id, forged);
            assert_ne!(text, line);
            fs::write(lab.journal("1/1"), text).unwrap();
            let merged = lab.merged();
            assert_eq!(merged.runs().count(), 0, "{forged}");
            let shard = lab.shard("1/1");
            assert_eq!(shard.damaged().len(), 1, "{forged}");
        }
    }
    let mut names: Vec<_> = fs::read_dir(lab.0.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, [".store", "shards"]);
}

#[test]
fn an_image_that_is_not_what_its_digest_says_makes_its_line_damaged() {
    let lab = Lab::new();
    let mut shard = lab.shard("1/1");
    shard.add_sample(&image(&shard)).unwrap();
    shard.put(run(A, 1)).unwrap();
    drop(shard);
    lab.rewrite(|text| unsealed(text).replace("\"cG5n\"", "\"cG5m\""));
    assert_eq!(lab.merged().runs().count(), 0);
    assert_eq!(lab.shard("1/1").damaged().len(), 1);
}

#[test]
fn a_journal_of_another_version_is_refused_with_a_sentence() {
    let lab = Lab::new();
    lab.shard("1/1").put(run(A, 1)).unwrap();
    lab.rewrite(|text| unsealed(text).replacen("\"journal\":1", "\"journal\":7", 1));
    let error = refused(&lab, "1/1");
    assert_contains(&error, "has format version 7, this program reads version 1");
}

#[test]
fn a_second_program_is_refused_and_another_shard_is_not() {
    let lab = Lab::new();
    let _first = lab.shard("1/2");
    let error = refused(&lab, "1/2");
    assert_ends_with(&error, "1-of-2.jsonl` is in use by another program");
    let files = |lab: &Lab| journals(lab.0.path()).unwrap();
    assert!(files(&lab)[0].is_in_use());
    let _second = lab.shard("2/2");
    assert_eq!(files(&lab).len(), 2);
}

#[test]
fn runs_in_the_store_and_in_shards_of_another_total_count() {
    let lab = Lab::new();
    Store::open(lab.0.path()).unwrap().put(run(A, 1)).unwrap();
    lab.shard("1/2").put(run(B, 1)).unwrap();
    let shard = lab.shard("3/3");
    assert_eq!((shard.runs_of(A).len(), shard.runs_of(B).len()), (1, 1));
    // Shares with the same total belong to other machines and are not read.
    assert!(lab.shard("2/2").runs_of(B).is_empty());
}

#[test]
fn a_journal_contains_all_data_of_its_runs() {
    let lab = Lab::new();
    let mut shard = lab.shard("1/1");
    let sample = image(&shard);
    let profile = Profile {
        steps: 3,
        spans: vec![Span::default()],
        ..Profile::default()
    };
    let environment = Environment {
        must_match: [("os".to_owned(), "linux".to_owned())].into(),
        ..Environment::default()
    };
    let keys = run(A, 1).keys;
    shard
        .put_code(CODE, [("ops".to_owned(), "1".to_owned())].into())
        .unwrap();
    shard.put_environment(MACHINE, environment.clone()).unwrap();
    shard.add_sample(&sample).unwrap();
    shard.put_profile(&keys, &profile).unwrap();
    shard.put(full(A, 1, "s", 0.1 + 0.2)).unwrap();
    shard.put(run(A, 2)).unwrap();
    drop(shard);
    assert!(!sample.path.exists());
    let systems = lab.text("1/1").matches("\"os\":\"linux\"").count();
    assert_eq!(systems, 1, "once is enough");

    let store = lab.merged();
    assert_eq!(
        store.runs_of(A),
        [without_steps(full(A, 1, "s", 0.1 + 0.2)), run(A, 2)]
    );
    assert_eq!(
        store.steps_of(&keys),
        [full(A, 1, "s", 0.0).epochs[0].steps.clone()]
    );
    assert_eq!(store.sample(&sample.digest).unwrap(), b"png");
    assert_eq!(store.environments()[MACHINE], environment);
    assert_eq!(store.code_parts(CODE).unwrap()["ops"], "1");
    assert_eq!(store.profile_of(&keys).unwrap().steps, 3);
    assert_eq!(store.spans_of(&keys), profile.spans);
}

#[test]
fn of_two_runs_under_the_same_keys_the_measured_one_counts_then_the_later() {
    let lab = Lab::new();
    let mut store = Store::open(lab.0.path()).unwrap();
    let mut take = |run: StoredRun| {
        lab.shard("1/1").put(run).unwrap();
        let entry = JournalEntries::of(&lab.journal("1/1"))
            .unwrap()
            .last()
            .unwrap()
            .unwrap();
        store.add_entry(entry).unwrap()
    };
    let mut failed = run(A, 1);
    failed.session = Some("2026-01-03T00:00:00Z".into());
    assert!(take(failed.clone()));
    assert!(take(full(A, 1, "2026-01-02T00:00:00Z", 0.5)));
    assert!(!take(failed), "a failure is no measurement");
    assert!(!take(full(A, 1, "2026-01-02T00:00:00Z", 0.5)));
    assert!(take(full(A, 1, "2026-01-04T00:00:00Z", 0.5)));
    assert!(!take(full(A, 1, "2026-01-01T00:00:00Z", 0.5)));
    let mut elsewhere = full(A, 1, "2026-01-01T00:00:00Z", 0.5);
    Arc::make_mut(&mut elsewhere.keys.conditions).env_id = "07e37e37".into();
    assert!(take(elsewhere), "times of another machine stand beside");
    assert_eq!(store.runs_of(A).len(), 2);
}
