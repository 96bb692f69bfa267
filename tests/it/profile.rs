//! The parent's handling of operation profiles from scripted workers.

use std::fs;
use std::time::SystemTime;

use fieldtrial::event::{
    EpochRow, OpRow, PhaseTimes, Profile, RunFacts, RunOutcome, RunTimes, Span, Status, StepRow,
};
use fieldtrial::execute::RunReason;
use fieldtrial::plan::PlannedCell;
use fieldtrial::results::{self, ResultSet};

use crate::project::Project;
use crate::scripted::keep;
use crate::tiny::{MANIFEST, project};

const PATH: &str = "experiments/tiny.toml";

/// Executes by script what the manifest with `more` in `[measure]`, its last section, requires; returns the results.
fn run(project: &Project, more: &str) -> ResultSet {
    project.write(PATH, &format!("{MANIFEST}{more}"));
    keep(project, PATH, |cell, id| outcome(cell, id.seed, id.block));
    results::read(&project.path("reports/tiny")).unwrap()
}

/// The runs that it still requires.
fn required(project: &Project, more: &str) -> Vec<String> {
    project.write(PATH, &format!("{MANIFEST}{more}"));
    let dry = project.ends(0, "run experiments/tiny.toml --dry-run");
    let lines = dry.stdout.lines().filter(|line| line.contains(": run ("));
    lines.map(str::to_owned).collect()
}

/// A run of two steps whose loss halves, with a profile if requested.
fn outcome(cell: &PlannedCell, seed: u64, block: usize) -> RunOutcome {
    let step = |loss| StepRow {
        loss: Some(loss),
        step_ms: 2.0,
    };
    RunOutcome {
        facts: Some(RunFacts {
            parameters: 7,
            ..RunFacts::default()
        }),
        times: Some(RunTimes {
            measured_steps: Some(2),
            step_ms: 2.0,
            step_mean_ms: 2.0,
            samples_per_s: 4000.0,
            ..RunTimes::default()
        }),
        epochs: vec![EpochRow {
            epoch: 0,
            train_loss: Some(0.75),
            validation: [("val_loss".to_owned(), Some(0.5))].into(),
            lr: Some(0.01),
            steps: vec![step(1.0), step(0.5)],
        }],
        profile: cell.spec.measure.is_profiled_run(seed, block).then(profile),
        wall_s: 3.0,
        ..RunOutcome::empty(Status::Done, String::new())
    }
}

fn profile() -> Profile {
    let span = |lane: &str, name: &str, start_us: f64, duration_us: f64| Span {
        lane: lane.into(),
        name: name.into(),
        detail: String::new(),
        start_us,
        duration_us,
    };
    Profile {
        steps: 2,
        samples: 8,
        step_ms: 4.0,
        phases: PhaseTimes {
            forward_ms: 2.0,
            backward_ms: 1.5,
            other_ms: 0.5,
            ..PhaseTimes::default()
        },
        ops: vec![OpRow {
            layer: "layers.0".into(),
            op: "linear".into(),
            phase: "forward".into(),
            calls: 2,
            forward_ms: 1.75,
            backward_ms: 1.25,
            ..OpRow::default()
        }],
        spans: vec![
            span("loader 0", "batch", -500.0, 400.0),
            span("phases", "forward", 0.0, 2000.0),
            span("ops", "linear", 100.0, 1750.0),
        ],
    }
}

const OPS: &str = "ops = true\n";

#[test]
fn first_blocks_without_a_profile_run_again_and_the_others_stay() {
    let project = project();
    run(&project, "");
    assert!(required(&project, "").is_empty());
    assert!(!project.path("reports/tiny/ops.csv").exists());
    let wanted = required(&project, OPS);
    assert_eq!(wanted.len(), 2, "{wanted:?}");
    let is_first = format!(" block 0: run ({})", RunReason::Profile);
    assert!(
        wanted.iter().all(|line| line.ends_with(&is_first)),
        "{wanted:?}"
    );
    run(&project, OPS);
    assert!(
        required(&project, OPS).is_empty(),
        "profiled once is enough"
    );
    let text = MANIFEST.replace("repeats = 2", "repeats = 3") + OPS;
    project.write(PATH, &text);
    let more = project.ends(0, "run experiments/tiny.toml --dry-run");
    assert_eq!(more.stdout.matches(": run (").count(), 2, "{}", more.stdout);
}

#[test]
fn a_profile_outlives_runs_that_are_asked_for_none() {
    let project = project();
    run(&project, OPS);
    let before = project.read("reports/tiny/ops.csv");
    assert_eq!(before.matches("linear").count(), 2, "one a cell: {before}");
    let results = run(&project, "");
    assert_eq!(before, project.read("reports/tiny/ops.csv"));
    assert_eq!(
        results.ops.len(),
        2 * 8,
        "an operation and seven residuals a cell"
    );
}

#[test]
fn what_was_expected_stands_beside_what_it_took() {
    let results = run(&project(), "");
    let block = &results.blocks[0];
    assert_eq!((block.estimated_s, block.wall_s), (Some(2.5), Some(3.0)));
    let sessions = results.blocks.iter().map(|row| row.session.as_deref());
    let sessions: Vec<_> = sessions.collect();
    assert_eq!(sessions, [Some("2026-11-21T19:05:33Z"); 4]);
    assert!(results.blocks.iter().all(|row| row.start_s.is_some()));
}

#[test]
fn traces_and_event_files_are_written_once_and_go_with_their_cells() {
    let project = project();
    let both = format!("{OPS}tensorboard = true\n");
    run(&project, &both);
    let trace = "trace/model=mlp,dataset=plane,batch-size=8-seed-42.json";
    let events = "tensorboard/model=mlp,dataset=plane,batch-size=8/seed-42-block-1/events.out.tfevents.0.fieldtrial";
    let text = project.read(&format!("reports/tiny/{trace}"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let spans = json["traceEvents"].as_array().unwrap().iter();
    assert_eq!(spans.filter(|event| event["ph"] == "X").count(), 3);
    let time = |name: &str| -> Option<SystemTime> {
        let file = fs::metadata(project.path(&format!("reports/tiny/{name}")));
        file.ok()?.modified().ok()
    };
    let before = [time(trace).unwrap(), time(events).unwrap()];
    run(&project, &both);
    assert_eq!(before, [time(trace).unwrap(), time(events).unwrap()]);
    project.write(
        PATH,
        &MANIFEST
            .replace("[8, 16]", "[16]")
            .replace("[measure]\n", &format!("[measure]\n{both}")),
    );
    keep(&project, PATH, |cell, id| outcome(cell, id.seed, id.block));
    assert!(time(trace).is_none() && time(events).is_none());
    assert!(time("trace/model=mlp,dataset=plane,batch-size=16-seed-42.json").is_some());
}

#[test]
fn event_files_are_written_only_where_they_are_asked_for() {
    let project = project();
    run(&project, "");
    let [events, traces] =
        ["tensorboard", "trace"].map(|name| project.path("reports/tiny").join(name));
    assert!(!events.exists() && !traces.exists());
    run(&project, "tensorboard = true\n");
    assert!(
        events.exists(),
        "without a run: the store has what they say"
    );
    run(&project, "");
    assert!(events.exists(), "not asked for again is not taken away");
}
