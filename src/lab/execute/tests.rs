//! Workers are shell scripts; every behaviour of a worker must give a well-defined outcome.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::event::{RunEvent, RunFacts, RunId, RunTimes, Status, StopReason};
use crate::plan::{CellSpec, LimitsSpec};
use crate::results::store::RunConditions;
use crate::results::testing::assert_starts_with;
use crate::results::testing::plan;

pub(super) const HELLO: &str = r#"{"event":"hello","protocol":2,"code_hash":"c"}"#;

pub(super) fn job(limits: LimitsSpec) -> Job {
    job_of(0, limits)
}

pub(super) fn job_of(cell: usize, limits: LimitsSpec) -> Job {
    let spec = CellSpec {
        key: "model=none".into(),
        model_name: "none".into(),
        model: Arc::new(serde_json::from_str(r#"{"kind": "mlp"}"#).unwrap()),
        dataset_name: "none".into(),
        dataset: Arc::new(serde_json::from_str(r#"{"kind": "digits"}"#).unwrap()),
        loss: Arc::new(serde_json::from_str(r#"{"kind": "mse"}"#).unwrap()),
        train: Arc::default(),
        loader: Arc::default(),
        validation: Arc::default(),
        measure: Arc::default(),
        limits: Arc::new(limits),
        program: None,
        checkpoint_folder: None,
    };
    let id = RunId {
        cell,
        seed: 42,
        block: 0,
    };
    Job {
        id,
        spec: Arc::new(spec),
        estimated_s: None,
        resume: None,
        trial: None,
    }
}

/// A worker that does not end by itself: a test that fails to kill it hangs.
pub(super) const FOR_A_DAY: &str = "exec sleep 86400";

fn worker(script: &str) -> WorkerProgram {
    WorkerProgram::new("/bin/sh".into(), vec!["-c".into(), script.into()], None)
}

/// A share of one thread, on all cores.
pub(super) const ONE: CpuShare = CpuShare {
    threads: 1,
    cores: None,
};

fn launched(script: &str, limits: LimitsSpec) -> (RunOutcome, Vec<Event>) {
    let mut events = Vec::new();
    let stop = AtomicBool::new(false);
    let outcome = worker(script).launch(&job(limits), ONE, &stop, &mut |event| {
        events.push(event);
        None
    });
    (outcome, events)
}

fn end_of(script: &str) -> (Status, String) {
    let (outcome, _) = launched(script, LimitsSpec::default());
    (outcome.status, outcome.reason)
}

pub(super) fn finished() -> String {
    serde_json::to_string(&Event::Finished {
        facts: Box::new(RunFacts {
            parameters: 7,
            ..RunFacts::default()
        }),
        times: Box::new(RunTimes {
            measured_steps: Some(4),
            ..RunTimes::default()
        }),
    })
    .unwrap()
}

#[test]
fn a_worker_that_finishes_hands_over_facts_epochs_and_its_own_figures() {
    let epoch = serde_json::to_string(&Event::Epoch(Box::default())).unwrap();
    let script = format!(
        "read order; echo '{HELLO}'; echo '{epoch}'; echo '{}'",
        finished()
    );
    let (outcome, events) = launched(&script, LimitsSpec::default());
    assert_eq!(
        (outcome.status, outcome.reason.as_str()),
        (Status::Done, "")
    );
    assert_eq!(outcome.facts.unwrap().parameters, 7);
    assert_eq!((outcome.epochs.len(), events.len()), (1, 3));
    assert!(outcome.peak_rss_bytes.unwrap() > 0 && outcome.cpu_s.is_some());
}

#[test]
fn a_peak_memory_counter_reset_by_the_worker_is_replaced_by_its_reported_peaks() {
    let times = RunTimes {
        peak_train_bytes: Some(1 << 50),
        peak_validation_bytes: Some(1 << 40),
        ..RunTimes::default()
    };
    let end = serde_json::to_string(&Event::Finished {
        facts: Box::default(),
        times: Box::new(times),
    });
    let script = format!("read order; echo '{HELLO}'; echo '{}'", end.unwrap());
    let (outcome, _) = launched(&script, LimitsSpec::default());
    assert_eq!(outcome.peak_rss_bytes, Some(1 << 50));
}

#[test]
fn an_invalid_line_kills_the_worker_and_is_quoted_in_the_reason() {
    let (status, reason) = end_of(&format!("echo '{HELLO}'; echo half a line; {FOR_A_DAY}"));
    assert_eq!(status, Status::Panicked);
    assert_eq!(
        reason,
        "protocol: the worker wrote `half a line`, which is no event"
    );
}

#[test]
fn half_a_line_at_the_end_is_nonsense_too() {
    let (status, reason) = end_of(&format!("echo '{HELLO}'; printf '{{\"event\":\"fini'"));
    assert_eq!(status, Status::Panicked);
    assert!(reason.contains("`{\"event\":\"fini`"), "{reason}");
}

#[test]
fn another_version_of_the_protocol_is_refused() {
    let hello = HELLO.replace("\"protocol\":2", "\"protocol\":99");
    let script = format!("echo '{hello}'; {FOR_A_DAY}");
    let expected = "protocol: the worker speaks version 99, this program 2";
    assert_eq!(end_of(&script), (Status::Panicked, expected.into()));
}

#[test]
fn a_worker_that_is_killed_says_by_which_signal() {
    let script = format!("echo '{HELLO}'; kill -9 $$");
    assert_eq!(end_of(&script), (Status::Killed, "killed: signal 9".into()));
}

#[test]
fn a_worker_that_does_not_start_is_a_result() {
    let program = WorkerProgram::new(Path::new("/no/such/program").into(), Vec::new(), None);
    let stop = AtomicBool::new(false);
    let outcome = program.launch(&job(LimitsSpec::default()), ONE, &stop, &mut |_| None);
    assert_eq!(outcome.status, Status::Failed);
    assert_starts_with(&outcome.reason, "cannot start a worker");
}

#[test]
fn a_worker_that_times_out_is_killed_and_its_stderr_is_kept() {
    let never = AtomicBool::new(false);
    let worker = worker(&format!(
        "echo busy >&2; echo '{HELLO}'; read order; {FOR_A_DAY}"
    ));
    // On a busy machine a shell may need longer than the first limits before it writes anything.
    for time in [0.3, 3.0, 30.0] {
        let limits = LimitsSpec {
            time: Some(time),
            ..LimitsSpec::default()
        };
        let outcome = worker.launch(&job(limits), ONE, &never, &mut |_| None);
        assert_eq!(outcome.status, Status::Timeout);
        assert_eq!(outcome.reason, format!("timeout: {time} s"));
        if outcome.stderr == "busy\n" {
            return;
        }
    }
    panic!("the worker's stderr is lost");
}

#[test]
fn output_of_a_worker_is_read_to_its_end_after_the_worker_has_exited() {
    // As on an overloaded machine: the last line is written only after the parent has seen the end (until then a process
    // with this ID exists).
    let script = format!(
        "read order; echo '{HELLO}'; (while kill -0 $$; do sleep 0.01; done 2> /dev/null; echo '{}') & exit 0",
        finished()
    );
    assert_eq!(end_of(&script), (Status::Done, String::new()));
}

#[test]
fn what_a_worker_says_is_short_lines_without_control_characters() {
    let warning = r#"{"event":"warning","message":"a\u001b[2J\nb"}"#;
    let script = format!(
        "printf '%s\\n' '{HELLO}' '{warning}'
        printf '{{\"event\":\"failed\",\"status\":\"error\",\"reason\":\"'
        head -c 4000000 /dev/zero | tr '\\0' x
        printf '\"}}\\n'; printf '\\033[31mred\\rover\\n' >&2"
    );
    let (outcome, events) = launched(&script, LimitsSpec::default());
    let is_shown =
        |event: &Event| matches!(event, Event::Warning { message } if message == "a\\u{1b}[2J b");
    assert!(events.iter().any(is_shown), "{:?}", &events[..2]);
    assert_eq!(outcome.status, Status::Failed);
    assert_eq!(outcome.reason, "x".repeat(299) + "…");
    assert_eq!(outcome.stderr, "\\u{1b}[31mred\nover\n");
    // A line that is not an event is quoted in the reason.
    let (_, reason) = end_of(&format!(
        "echo '{HELLO}'; printf '\\033[2J\\n'; {FOR_A_DAY}"
    ));
    assert!(reason.contains(r"`\u{1b}[2J`"), "{reason}");
}

#[test]
fn a_flood_on_standard_error_keeps_its_end_only() {
    let (outcome, _) = launched(
        "yes noise | head -c 3000000 >&2; echo end >&2",
        LimitsSpec::default(),
    );
    assert!(outcome.stderr.len() <= 64 << 10 && outcome.stderr.ends_with("end\n"));
}

#[test]
fn of_a_flood_of_warnings_a_hundred_are_passed_on_and_the_others_counted() {
    let warning = r#"{"event":"warning","message":"again"}"#;
    let script = format!(
        "echo '{HELLO}'; yes '{warning}' | head -n 20000; echo '{}'",
        finished()
    );
    let (outcome, events) = launched(&script, LimitsSpec::default());
    assert_eq!(outcome.status, Status::Done);
    let warnings = events.iter().filter_map(|event| match event {
        Event::Warning { message } => Some(message.as_str()),
        _ => None,
    });
    let warnings: Vec<&str> = warnings.collect();
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[100], "not shown: 19900 further warnings");
}

fn conditions(jobs: usize) -> RunConditions {
    RunConditions {
        env_id: String::new(),
        jobs,
        cores: 2,
        classes: HashMap::new(),
    }
}

/// Events of a whole schedule as short strings; without a maximum of failures, the run of the second cell is interrupted.
fn seen(
    source: &mut dyn Source,
    launcher: &dyn Launch,
    (conditions, max_failures): (&RunConditions, Option<usize>),
) -> (Summary, Vec<String>) {
    let (mut words, interrupted) = (Vec::new(), AtomicBool::new(false));
    let shared = (conditions, max_failures);
    let summary = run(source, launcher, shared, &interrupted, &mut |event| {
        words.push(match event {
            RunEvent::Start { runs, slots } => format!("start {runs}/{slots}"),
            RunEvent::RunStarted { job, slot } => {
                if job.id.cell == 1 {
                    interrupted.store(max_failures.is_none(), Ordering::SeqCst);
                }
                format!("run {} in {slot}", job.id.cell)
            }
            RunEvent::RunEnded { job, outcome } => {
                format!("end {} {}", job.id.cell, outcome.status)
            }
            RunEvent::Stopping { reason, running } => format!("stop {reason:?} {running}"),
            RunEvent::End { left } => format!("end, {left} left"),
            RunEvent::NotNeeded { job } => format!("not needed {} {}", job.id.cell, job.id.block),
            RunEvent::Worker { .. } | RunEvent::Kept(_) | RunEvent::Tick => return Ok(()),
        });
        Ok::<(), ()>(())
    });
    (summary.unwrap(), words)
}

fn listed(n: usize) -> RunList {
    let jobs = (0..n).map(|cell| job_of(cell, LimitsSpec::default()));
    RunList::new(jobs.collect(), PrecisionTracker::default())
}

#[test]
fn an_interruption_kills_running_workers_and_starts_no_further_run() {
    let second = job_of(1, LimitsSpec::default()).id;
    let launcher = ScriptedLauncher::new().endless(second);
    let (summary, words) = seen(&mut listed(4), &launcher, (&conditions(1), None));
    let expected = [
        "start 4/1",
        "run 0 in 0",
        "end 0 done",
        "run 1 in 0",
        "stop Interrupted 1",
        "end 1 not-run",
        "end, 3 left",
    ];
    assert_eq!(words, expected);
    assert_eq!((summary.ended, summary.left), (1, 3));
    assert_eq!(summary.stopped, Some(StopReason::Interrupted));
}

#[test]
fn no_run_starts_after_the_maximum_number_of_failures() {
    let failure = RunOutcome::empty(Status::Killed, "killed: signal 9".into());
    let launcher =
        ScriptedLauncher::new().with_outcome(job(LimitsSpec::default()).id, Vec::new(), failure);
    let (summary, words) = seen(&mut listed(3), &launcher, (&conditions(1), Some(1)));
    assert_eq!(
        words[2..],
        [
            "end 0 killed",
            "stop Failures { limit: 1 } 0",
            "end, 2 left"
        ]
    );
    assert_eq!((summary.failed, summary.left), (1, 2));
}

#[test]
fn several_slots_do_every_run_once() {
    // Runs take some time, so that those of several slots overlap.
    let launcher = ScriptedLauncher::new().with_default_outcome(|_| {
        std::thread::sleep(Duration::from_millis(5));
        (Vec::new(), RunOutcome::empty(Status::Done, String::new()))
    });
    let (summary, words) = seen(&mut listed(10), &launcher, (&conditions(3), Some(9)));
    assert_eq!((summary.ended, summary.left), (10, 0));
    for cell in 0..10 {
        assert!(words.contains(&format!("end {cell} done")));
    }
}

#[test]
fn a_sink_that_fails_ends_the_workers_at_once() {
    let worker = worker(&format!("echo '{HELLO}'; {FOR_A_DAY}"));
    let never = AtomicBool::new(false);
    let ended = run(
        &mut listed(2),
        &worker,
        (&conditions(1), None),
        &never,
        &mut |event| match event {
            RunEvent::Worker { .. } => Err("disk full"),
            _ => Ok(()),
        },
    );
    assert_eq!(ended, Err("disk full"));
}

#[test]
#[should_panic(expected = "no thread for a pipe")]
fn a_panic_of_a_slot_ends_the_schedule_where_it_would_wait_forever() {
    let launcher = ScriptedLauncher::new().with_default_outcome(|_| panic!("no thread for a pipe"));
    let _ = seen(&mut listed(2), &launcher, (&conditions(1), None));
}

mod blocking;
mod precise;
mod verdicts;
