//! Searches without processes: simulated slots in which trials advance epoch by epoch, in a random order.

use std::collections::BTreeMap;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::event::{EpochRow, Job, Pruned, RunFacts, RunOutcome, Status};
use crate::execute::{Source, SourceItem};
use crate::plan::Plan;
use crate::results::Share;
use crate::results::store::Store;
use crate::results::testing;

use super::{Search, SearchOptions};

const EPOCHS: usize = 6;

const MANIFEST: &str = r#"
name = "tiny-search"
[models.mlp]
kind = "mlp"
[datasets.toy]
kind = "regression-5d"
samples = 100
[train]
epochs = 6
[matrix]
model = ["mlp"]
dataset = ["toy"]
[search]
trials = 24
objective = "best_loss"
sampler = { kind = "tpe", startup-trials = 6 }
pruner = { kind = "median", startup-trials = 4 }
[search.space]
"train.optimizer.lr" = { float = [1e-5, 1e-1], log = true }
"train.batch-size" = [8, 16, 32]
"#;

fn plan(sets: &[&str]) -> Plan {
    testing::plan(MANIFEST, sets)
}

/// Calls `ask` with the search of a plan of which no trial has run.
fn searching<T>(plan: &Plan, options: SearchOptions, ask: impl FnOnce(&mut Search<'_>) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::read(folder.path()).unwrap();
    let (conditions, spec) = (testing::conditions(), plan.search.as_ref().unwrap());
    ask(&mut Search::new(plan, spec, &store, &conditions, options))
}

/// A trial's report after an epoch: decreases over time, lowest at lr 1e-3 and large batches.
fn loss(job: &Job, epoch: usize) -> f64 {
    let train = &job.spec.train;
    let far = (train.optimizer.lr().log10() + 3.0).abs();
    far + 1.0 / train.batch_size as f64 + 1.0 / (epoch + 1) as f64
}

fn row(job: &Job, epoch: usize) -> EpochRow {
    EpochRow {
        epoch,
        train_loss: Some(loss(job, epoch)),
        ..EpochRow::default()
    }
}

fn outcome(job: &Job, epochs: usize, pruned: Option<Pruned>) -> RunOutcome {
    let rows: Vec<EpochRow> = (0..epochs).map(|epoch| row(job, epoch)).collect();
    let status = if pruned.is_some() {
        Status::Pruned
    } else {
        Status::Done
    };
    RunOutcome {
        facts: Some(RunFacts {
            best_loss: Some(loss(job, epochs - 1)),
            epochs,
            ..RunFacts::default()
        }),
        epochs: rows,
        pruned: pruned.clone(),
        wall_s: 1.0,
        ..RunOutcome::empty(status, pruned.map(|p| p.reason).unwrap_or_default())
    }
}

struct RunningTrial {
    job: Job,
    epoch: usize,
}

/// The result of every trial: key, status, reason.
type Ends = BTreeMap<usize, (String, Status, String)>;

/// Advances one trial by an epoch; `Some` if it has ended.
fn step(search: &mut Search<'_>, trial: &mut RunningTrial) -> Option<(Status, String)> {
    let row = row(&trial.job, trial.epoch);
    trial.epoch += 1;
    let asks = trial
        .job
        .trial
        .as_ref()
        .is_some_and(|trial| trial.awaits_verdicts);
    let asked = asks.then(|| search.verdict(trial.job.id, &row));
    let pruned = asked.flatten();
    if pruned.is_none() && trial.epoch < EPOCHS {
        return None;
    }
    let outcome = outcome(&trial.job, trial.epoch, pruned);
    search.ended(&mut trial.job, &outcome);
    Some((outcome.status, outcome.reason))
}

/// Runs a search in `slots` slots; `dice` chooses which trial advances.
fn drive(search: &mut Search<'_>, slots: usize, dice: u64) -> Ends {
    let mut dice = ChaCha8Rng::seed_from_u64(dice);
    let mut running: Vec<RunningTrial> = Vec::new();
    let mut ends = Ends::new();
    loop {
        while running.len() < slots {
            match search.next() {
                Some(SourceItem::Run(job)) => running.push(RunningTrial { job, epoch: 0 }),
                Some(SourceItem::Kept(kept)) => {
                    let job = kept.job;
                    ends.insert(
                        job.id.cell,
                        (job.spec.key.clone(), kept.status, kept.reason),
                    );
                }
                Some(SourceItem::NotNeeded(_)) => panic!("every trial is needed"),
                None => break,
            }
        }
        if running.is_empty() {
            return ends;
        }
        let chosen = dice.gen_range(0..running.len());
        if let Some((status, reason)) = step(search, &mut running[chosen]) {
            let job = running.swap_remove(chosen).job;
            ends.insert(job.id.cell, (job.spec.key.clone(), status, reason));
        }
    }
}

fn ends(plan: &Plan, slots: usize, dice: u64) -> Ends {
    let drive = |search: &mut Search<'_>| drive(search, slots, dice);
    searching(plan, SearchOptions::default(), drive)
}

/// The trials of a search that is divided into `of` shares. The search of each share also proposes the trials of the
/// others.
fn shared(plan: &Plan, of: usize) -> Ends {
    let share = |share| {
        let options = SearchOptions {
            share: Some(share),
            ..SearchOptions::default()
        };
        searching(plan, options, |search| drive(search, 2, 0))
    };
    let shares: Vec<Ends> = Share::all(of).map(share).collect();
    let all: usize = shares.iter().map(BTreeMap::len).sum();
    let ends: Ends = shares.into_iter().flatten().collect();
    assert_eq!(ends.len(), all, "they are disjoint");
    ends
}

#[test]
fn any_number_of_slots_and_any_order_give_the_same_trials_and_prunings() {
    let plan = plan(&[]);
    let alone = ends(&plan, 1, 0);
    assert_eq!(alone.len(), 24);
    let pruned = alone
        .values()
        .filter(|(_, status, _)| *status == Status::Pruned);
    assert!(pruned.count() >= 3, "{alone:#?}");
    for (slots, dice) in [(2, 1), (4, 2), (5, 3), (9, 4)] {
        assert_eq!(ends(&plan, slots, dice), alone, "{slots} slots");
    }
}

#[test]
fn another_seed_gives_other_trials_and_more_trials_begin_with_the_same() {
    let first = ends(&plan(&[]), 1, 0);
    let other = ends(&plan(&["search.seed=1"]), 1, 0);
    assert_ne!(first, other);
    let longer = ends(&plan(&["search.trials=30"]), 1, 0);
    assert_eq!(longer.len(), 30);
    let begins: Vec<_> = longer.values().take(24).collect();
    assert_eq!(begins, first.values().collect::<Vec<_>>());
}

#[test]
fn a_trial_waits_for_the_trials_that_its_proposal_depends_on() {
    let plan = plan(&["search.lag=0"]);
    searching(&plan, SearchOptions::default(), |search| {
        let Some(SourceItem::Run(mut job)) = search.next() else {
            panic!("a first trial");
        };
        assert!(search.next().is_none(), "lag 0: one after the other");
        let outcome = outcome(&job, EPOCHS, None);
        search.ended(&mut job, &outcome);
        let value = job.trial.unwrap().info.values[0].unwrap();
        let loss = outcome.facts.as_ref().unwrap().best_loss.unwrap();
        assert!((value - loss).abs() < 1e-8);
        assert!(matches!(search.next(), Some(SourceItem::Run(_))));
    });
}

/// The batch sizes of the trials of the [`finite`] search, from their keys.
fn batch_sizes(ends: &Ends) -> Vec<&str> {
    let keys = ends.values().map(|(key, _, _)| key.as_str());
    let mut sizes: Vec<&str> = keys
        .filter_map(|key| key.split("batch-size=").nth(1))
        .collect();
    sizes.sort_unstable();
    sizes
}

/// The manifest of a search without the learning rate, the parameter with infinitely many values.
fn finite() -> String {
    let rate = "\"train.optimizer.lr\" = { float = [1e-5, 1e-1], log = true }\n";
    let finite = MANIFEST.replace(rate, "");
    assert_ne!(finite, MANIFEST);
    finite
}

#[test]
fn a_search_ends_when_every_configuration_has_run_once() {
    for sampler in ["random", "grid", "sobol", "tpe", "nsga2"] {
        let sampler = format!("search.sampler='{sampler}'");
        let plan = testing::plan(&finite(), &[&sampler, "search.pruner='none'"]);
        let alone = ends(&plan, 1, 0);
        assert_eq!(batch_sizes(&alone), ["16", "32", "8"], "{sampler}");
        assert_eq!(ends(&plan, 5, 3), alone, "{sampler}");
    }
}

#[test]
fn shares_of_a_search_that_does_not_learn_are_disjoint_and_whole() {
    for text in [MANIFEST, &finite()] {
        let plan = testing::plan(text, &["search.sampler='random'", "search.pruner='none'"]);
        let whole = ends(&plan, 2, 0);
        assert_eq!(shared(&plan, 2), whole);
        assert_eq!(shared(&plan, 3), whole);
    }
}

#[test]
fn with_only_kept_no_trial_runs() {
    let options = SearchOptions {
        only_kept: true,
        ..SearchOptions::default()
    };
    searching(&plan(&[]), options, |search| {
        assert!(search.next().is_none());
        let missing = &search.missing;
        assert!(
            missing.len() == 1 && missing[0].contains("trial=0"),
            "{missing:?}"
        );
    });
}
