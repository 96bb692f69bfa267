//! Sources that decide during execution: verdicts after epochs, kept trials, changes to a job when its run has ended.

use std::collections::VecDeque;

use super::*;
use crate::event::{EpochRow, Event, KeptTrial, Pruned, Trial};
use crate::plan::PlannedCell;
use crate::plan::search::{Point, PrunedInfo, TrialInfo, TrialRole};

const MANIFEST: &str = r#"
name = "one"
title = "One cell"

[models.mlp]
kind = "mlp"

[datasets.plane]
kind = "regression-5d"
samples = 64
"#;

fn planned() -> PlannedCell {
    plan(MANIFEST, &[]).cells().next().unwrap()
}

fn info(number: usize) -> TrialInfo {
    TrialInfo {
        study: 0,
        number,
        role: TrialRole::Trial,
        point: Point::default(),
        values: Vec::new(),
        pruned: None,
    }
}

/// A trial whose worker waits for verdicts.
fn trial(number: usize, limits: LimitsSpec) -> Job {
    let trial = Trial {
        cell: planned(),
        info: info(number),
        awaits_verdicts: true,
        members: Vec::new(),
    };
    Job {
        trial: Some(Arc::new(trial)),
        ..job_of(number, limits)
    }
}

fn kept(number: usize) -> SourceItem {
    SourceItem::Kept(KeptTrial {
        job: trial(number, LimitsSpec::default()),
        status: Status::Done,
        reason: String::new(),
    })
}

fn pruned(step: usize) -> Pruned {
    Pruned {
        info: PrunedInfo {
            step,
            metric: "val_loss".into(),
            value: 2.0,
            threshold: 1.0,
            trials: vec![0],
        },
        reason: format!("pruned after epoch {step}"),
    }
}

/// Prunes trial `prunes.0` after epoch `prunes.1`, and logs all calls.
#[derive(Default)]
struct Search {
    queue: VecDeque<SourceItem>,
    prunes: Option<(usize, usize)>,
    heard: Vec<String>,
}

impl Source for Search {
    fn remaining(&self) -> usize {
        self.queue.len()
    }

    fn next(&mut self) -> Option<SourceItem> {
        self.queue.pop_front()
    }

    fn verdict(&mut self, id: RunId, epoch: &EpochRow) -> Option<Pruned> {
        self.heard
            .push(format!("{} epoch {}", id.cell, epoch.epoch));
        if self.prunes == Some((id.cell, epoch.epoch)) {
            Some(pruned(epoch.epoch))
        } else {
            None
        }
    }

    fn ended(&mut self, job: &mut Job, outcome: &RunOutcome) {
        self.heard
            .push(format!("{} {}", job.id.cell, outcome.status));
        let trial = job.trial.as_mut().unwrap();
        Arc::make_mut(trial).info.values = vec![Some(0.5)];
    }
}

fn row(epoch: usize) -> Event {
    Event::Epoch(Box::new(EpochRow {
        epoch,
        ..EpochRow::default()
    }))
}

fn three_epochs() -> ScriptedLauncher {
    ScriptedLauncher::new().with_default_outcome(|_| {
        let events: Vec<Event> = (0..3).map(row).collect();
        let rows = events.iter().filter_map(|event| match event {
            Event::Epoch(row) => Some(row.as_ref().clone()),
            _ => None,
        });
        let mut outcome = RunOutcome::empty(Status::Done, String::new());
        outcome.epochs = rows.collect();
        outcome.facts = Some(RunFacts::default());
        (events, outcome)
    })
}

#[test]
fn a_verdict_is_asked_for_after_every_epoch_until_one_ends_the_run() {
    let queue = [0, 1].map(|number| SourceItem::Run(trial(number, LimitsSpec::default())));
    let mut source = Search {
        queue: queue.into(),
        prunes: Some((0, 1)),
        ..Search::default()
    };
    let mut ends = Vec::new();
    let never = AtomicBool::new(false);
    run(
        &mut source,
        &three_epochs(),
        (&conditions(1), Some(9)),
        &never,
        &mut |event| {
            if let RunEvent::RunEnded { job, outcome } = event {
                let values = &job.trial.as_ref().unwrap().info.values;
                // The source fills in the values before the sink sees the outcome.
                assert_eq!(values, &[Some(0.5)]);
                ends.push((outcome.status, outcome.epochs.len()));
            }
            Ok::<(), ()>(())
        },
    )
    .unwrap();
    let expected = [
        "0 epoch 0",
        "0 epoch 1",
        "0 pruned",
        "1 epoch 0",
        "1 epoch 1",
        "1 epoch 2",
        "1 done",
    ];
    assert_eq!(source.heard, expected);
    assert_eq!(ends, [(Status::Pruned, 2), (Status::Done, 3)]);
}

#[test]
fn runs_that_await_no_verdict_are_asked_about_by_nobody() {
    let mut job = trial(0, LimitsSpec::default());
    Arc::make_mut(job.trial.as_mut().unwrap()).awaits_verdicts = false;
    let mut source = Search {
        queue: [SourceItem::Run(job)].into(),
        ..Search::default()
    };
    seen(&mut source, &three_epochs(), (&conditions(1), Some(9)));
    assert_eq!(source.heard, ["0 done"]);
}

#[test]
fn an_interruption_comes_through_between_trials_that_are_kept() {
    let mut source = Search {
        queue: (0..1000).map(kept).collect(),
        ..Search::default()
    };
    let interrupted = AtomicBool::new(false);
    let mut shown = 0;
    let summary = run(
        &mut source,
        &ScriptedLauncher::new(),
        (&conditions(1), Some(9)),
        &interrupted,
        &mut |event| {
            if let RunEvent::Kept(_) = event {
                shown += 1;
                interrupted.store(shown == 10, Ordering::SeqCst);
            }
            Ok::<(), ()>(())
        },
    );
    let summary = summary.unwrap();
    assert_eq!((shown, summary.left, summary.ended), (10, 990, 0));
}

/// Executes a run whose worker waits for the reply to its first epoch, and then executes `rest`.
fn asked(
    rest: &str,
    limits: LimitsSpec,
    stop: &AtomicBool,
    verdict: Option<&Pruned>,
) -> RunOutcome {
    let epoch = serde_json::to_string(&row(0)).unwrap();
    let script = format!("read order; echo '{HELLO}'; echo '{epoch}'; {rest}");
    let job = trial(0, limits);
    let mut answer = |event| match event {
        Event::Epoch(_) => verdict.cloned(),
        _ => None,
    };
    worker(&script).launch(&job, ONE, stop, &mut answer)
}

/// Echoes the reply to standard error, and finishes.
fn repeats_the_answer() -> String {
    format!("read answer; echo \"$answer\" >&2; echo '{}'", finished())
}

#[test]
fn a_worker_is_told_the_verdict_and_its_end_is_a_pruned_run_with_facts() {
    let (never, limits) = (AtomicBool::new(false), LimitsSpec::default());
    let rest = repeats_the_answer();
    let outcome = asked(&rest, limits.clone(), &never, Some(&pruned(0)));
    assert_eq!(outcome.stderr, "\"stop\"\n");
    assert_eq!(outcome.status, Status::Pruned);
    assert_eq!(outcome.reason, "pruned after epoch 0");
    assert_eq!(outcome.pruned, Some(pruned(0)));
    assert_eq!(outcome.facts.unwrap().parameters, 7);
    let outcome = asked(&rest, limits, &never, None);
    assert_eq!(outcome.stderr, "\"go-on\"\n");
    assert_eq!((outcome.status, outcome.pruned), (Status::Done, None));
}

#[test]
fn a_worker_that_dies_while_it_waits_is_killed_and_not_pruned() {
    let never = AtomicBool::new(false);
    let limits = LimitsSpec::default();
    let outcome = asked("kill -9 $$", limits, &never, Some(&pruned(0)));
    assert_eq!(outcome.status, Status::Killed);
    assert_eq!((outcome.pruned, outcome.facts), (None, None));
}

#[test]
fn time_runs_out_for_a_worker_that_does_not_end_when_it_is_told_to() {
    let limits = LimitsSpec {
        time: Some(0.3),
        ..LimitsSpec::default()
    };
    let never = AtomicBool::new(false);
    let outcome = asked(FOR_A_DAY, limits, &never, Some(&pruned(0)));
    assert_eq!((outcome.status, outcome.pruned), (Status::Timeout, None));
}

#[test]
fn after_a_failed_sink_no_worker_waits_for_a_verdict() {
    let queue = [SourceItem::Run(trial(0, LimitsSpec::default()))];
    let mut source = Search {
        queue: queue.into(),
        ..Search::default()
    };
    // The second epoch is reported while the sink still handles the first one's end, and gets no reply.
    let epochs = [row(0), row(1)].map(|row| serde_json::to_string(&row).unwrap());
    let script = format!(
        "read order; echo '{HELLO}'; echo '{}'; read answer; echo '{}'; read answer; {FOR_A_DAY}",
        epochs[0], epochs[1]
    );
    let never = AtomicBool::new(false);
    let ended = run(
        &mut source,
        &worker(&script),
        (&conditions(1), Some(9)),
        &never,
        &mut |event| match event {
            RunEvent::Worker {
                event: Event::Epoch(_),
                ..
            } => {
                std::thread::sleep(Duration::from_millis(100));
                Err("disk full")
            }
            _ => Ok(()),
        },
    );
    assert_eq!(ended, Err("disk full"));
}
