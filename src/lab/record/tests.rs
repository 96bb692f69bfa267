//! Results of searches: rows of trials that just ended and of kept trials.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::Recorder;
use crate::event::{
    EpochRow, Job, KeptTrial, Pruned, RunEvent, RunFacts, RunId, RunOutcome, Status,
};
use crate::plan::Plan;
use crate::plan::search::{Point, PrunedInfo, TrialInfo, TrialRole, Value};
use crate::results::environment::env_id;
use crate::results::store::{RunConditions, Store};
use crate::results::testing::{conditions, job, plan};
use crate::results::{self, Environment, ResultSet, Session, plan_header};

const MANIFEST: &str = r#"
name = "tiny"
[models.mlp]
kind = "mlp"
[datasets.plane]
kind = "regression-5d"
samples = 64
[search]
trials = 20
objective = "best_loss"
sampler = "random"
pruner = "median"
[search.space]
"train.optimizer.lr" = { float = [1e-5, 1e-1], log = true }
"#;

struct Lab {
    folder: tempfile::TempDir,
    plan: Plan,
    conditions: RunConditions,
}

impl Lab {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            plan: plan(MANIFEST, &[]),
            conditions: conditions(),
        }
    }

    /// Content of the files after an invocation with `events`.
    fn recorded(&self, events: impl FnOnce(&mut Recorder<'_>)) -> ResultSet {
        self.recorded_at(("0", 0), None, events)
    }

    /// The same at a commit, this many seconds after 1970, with the files as they were before.
    fn recorded_at(
        &self,
        (commit, seconds): (&str, u64),
        previous: Option<ResultSet>,
        events: impl FnOnce(&mut Recorder<'_>),
    ) -> ResultSet {
        let store = Store::open(self.folder.path()).unwrap();
        let mut environment = Environment::default();
        environment.info.insert("commit".into(), commit.into());
        let mut recorder = Recorder::new(
            self.folder.path(),
            store,
            &[],
            &self.conditions,
            plan_header(&self.plan),
            environment,
            previous,
            Session::at(UNIX_EPOCH + Duration::from_secs(seconds)),
        );
        events(&mut recorder);
        let told = recorder.finish().unwrap();
        let read = results::read(self.folder.path()).unwrap();
        assert_eq!(told.runs, read.runs);
        assert_eq!(told.plan, read.plan);
        read
    }

    /// A job of trial `number` with the point of trial `twin`, which may be `number` itself.
    fn trial(&self, number: usize, twin: usize) -> Job {
        let point = Point {
            values: vec![Some(Value::Float(1e-4 * (twin + 1) as f64))],
        };
        let info = TrialInfo {
            study: 0,
            number,
            role: TrialRole::Trial,
            point,
            values: vec![Some(number as f64)],
            pruned: None,
        };
        let id = RunId {
            cell: 3 * number,
            seed: 42,
            block: 0,
        };
        job(&self.plan, id, info)
    }
}

fn pruned(step: usize, reason: &str) -> Pruned {
    Pruned {
        info: PrunedInfo {
            step,
            metric: "val_loss".into(),
            value: 2.0,
            threshold: 1.0,
            trials: vec![0, 1],
        },
        reason: reason.into(),
    }
}

/// The outcome of a run with this number of epochs, pruned or not.
fn end(epochs: usize, pruned: Option<Pruned>) -> RunOutcome {
    let status = match pruned {
        Some(_) => Status::Pruned,
        None => Status::Done,
    };
    let row = |epoch| EpochRow {
        epoch,
        train_loss: Some(1.0 / (epoch + 1) as f64),
        ..EpochRow::default()
    };
    let reason = pruned.as_ref().map(|why| why.reason.clone());
    RunOutcome {
        facts: Some(RunFacts {
            epochs,
            ..RunFacts::default()
        }),
        epochs: (0..epochs).map(row).collect(),
        pruned,
        ..RunOutcome::empty(status, reason.unwrap_or_default())
    }
}

fn see_end(recorder: &mut Recorder<'_>, mut job: Job, outcome: &RunOutcome) {
    if let (Some(why), Some(trial)) = (&outcome.pruned, &mut job.trial) {
        // The search's source also copies the pruner's decision into the trial.
        Arc::make_mut(trial).info.pruned = Some(why.info.clone());
    }
    recorder
        .handle(&RunEvent::RunEnded { job: &job, outcome })
        .unwrap();
}

fn see_kept(recorder: &mut Recorder<'_>, mut job: Job, why: Option<&Pruned>) {
    let trial = Arc::make_mut(job.trial.as_mut().unwrap());
    trial.info.pruned = why.map(|why| why.info.clone());
    let kept = KeptTrial {
        job,
        status: why.map_or(Status::Done, |_| Status::Pruned),
        reason: why.map_or_else(String::new, |why| why.reason.clone()),
    };
    recorder.handle(&RunEvent::Kept(&kept)).unwrap();
}

/// Value of the axis `trial`, status, epochs and reason of every row.
fn rows(results: &ResultSet) -> Vec<(&str, Status, usize, &str)> {
    let rows = results.runs.iter().map(|row| {
        let epochs = row.facts.as_ref().map_or(0, |facts| facts.epochs);
        (&*row.axes[0], row.status, epochs, &*row.reason)
    });
    rows.collect()
}

#[test]
fn trials_are_rows_by_number_however_they_end() {
    let lab = Lab::new();
    let results = lab.recorded(|recorder| {
        let why = pruned(1, "pruned: step 1");
        see_end(recorder, lab.trial(10, 10), &end(5, None));
        see_end(recorder, lab.trial(2, 2), &end(2, Some(why)));
        let killed = RunOutcome::empty(Status::Killed, "killed: signal 9".into());
        see_end(recorder, lab.trial(1, 1), &killed);
        // Trial 0 was interrupted, so it has no row.
        see_end(recorder, lab.trial(0, 0), &RunOutcome::interrupted());
    });
    let expected = [
        ("1", Status::Killed, 0, "killed: signal 9"),
        ("2", Status::Pruned, 2, "pruned: step 1"),
        ("10", Status::Done, 5, ""),
    ];
    assert_eq!(rows(&results), expected);
    assert_eq!(results.plan.cells.len(), 3);
    assert!(results.plan.search.is_some());
    let info = results.plan.cells[1].trial.as_ref().unwrap();
    assert_eq!(info.values, [Some(2.0)]);
    assert_eq!(info.pruned.as_ref().unwrap().trials, [0, 1]);
    let curve = results.epochs.iter().filter(|row| row.key.contains("=2,"));
    assert_eq!(curve.count(), 2);
    let statuses: Vec<Status> = results.blocks.iter().map(|block| block.status).collect();
    assert_eq!(statuses, [Status::Killed, Status::Pruned, Status::Done]);
}

#[test]
fn a_pruned_trial_is_shown_by_its_beginning_beside_a_whole_run_of_the_same_point() {
    let lab = Lab::new();
    let results = lab.recorded(|recorder| {
        let why = pruned(1, "pruned: step 1");
        see_end(recorder, lab.trial(3, 3), &end(2, Some(why)));
        // A later trial with the same point that runs to its end has another row with the same cell hash.
        see_end(recorder, lab.trial(7, 3), &end(5, None));
    });
    let hashes: Vec<&str> = results
        .plan
        .cells
        .iter()
        .map(|cell| cell.cell_hash.as_str())
        .collect();
    assert_eq!(hashes[0], hashes[1]);
    let expected = [
        ("3", Status::Pruned, 2, "pruned: step 1"),
        ("7", Status::Done, 5, ""),
    ];
    assert_eq!(rows(&results), expected);
    // A pruner that sees other trials ends the trial at the same step for another reason: the search's reason is used.
    let results = lab.recorded(|recorder| {
        let why = pruned(1, "pruned: another reason");
        see_kept(recorder, lab.trial(3, 3), Some(&why));
    });
    assert_eq!(
        rows(&results),
        [("3", Status::Pruned, 2, "pruned: another reason")]
    );
}

#[test]
fn a_trial_that_cannot_run_is_a_row_without_facts() {
    let lab = Lab::new();
    let results = lab.recorded(|recorder| {
        let kept = KeptTrial {
            job: lab.trial(4, 4),
            status: Status::Infeasible,
            reason: "batch of 128 of 64 samples".into(),
        };
        recorder.handle(&RunEvent::Kept(&kept)).unwrap();
    });
    let expected = [("4", Status::Infeasible, 0, "batch of 128 of 64 samples")];
    assert_eq!(rows(&results), expected);
    assert!(results.blocks.is_empty());
}

#[test]
fn results_keep_the_commit_of_the_session_that_measured_them() {
    let mut lab = Lab::new();
    lab.conditions.env_id = env_id(&Environment::default());
    let commit = |results: &ResultSet| {
        let found = results.environments.values().next().expect("one");
        found.info["commit"].clone()
    };
    let measure = |trial: usize| {
        let job = lab.trial(trial, trial);
        move |recorder: &mut Recorder<'_>| see_end(recorder, job, &end(1, None))
    };
    let first = lab.recorded_at(("a", 0), None, measure(0));
    let second = lab.recorded_at(("b", 9), Some(first.clone()), measure(1));
    assert_eq!((&*commit(&first), &*commit(&second)), ("a", "b"));
    // A run of the first session that is kept, not measured again, has the commit of that session, whatever the
    // previous files are.
    for previous in [None, Some(first), Some(second)] {
        let again = lab.recorded_at(("c", 99), previous, |recorder| {
            see_kept(recorder, lab.trial(0, 0), None);
        });
        assert_eq!(commit(&again), "a");
    }
}
