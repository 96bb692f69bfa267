//! The parent's handling of operation profiles from scripted workers.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, UNIX_EPOCH};

use fieldtrial::event::{
    EpochRow, Event, Job, OpRow, PhaseTimes, Profile, RunEvent, RunFacts, RunId, RunOutcome,
    RunTimes, Span, Status, StepRow,
};
use fieldtrial::execute::{self, Decision, Listed, Options, ResumeOptions, Scripted, Why, decide};
use fieldtrial::manifest::Manifest;
use fieldtrial::plan::{Plan, PlanOptions, PlannedCell};
use fieldtrial::record::Recorder;
use fieldtrial::results::store::{RunConditions, Store};
use fieldtrial::results::{Environment, FORMAT_VERSION, PlanFile, ResultSet, Session};

use crate::inputs::inputs;
use crate::tiny::MANIFEST;

/// A results folder with scripted workers.
struct Lab {
    folder: tempfile::TempDir,
    conditions: RunConditions,
}

impl Lab {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            conditions: RunConditions {
                env_id: "5f3a9c01".into(),
                jobs: 1,
                cores: 2,
                classes: std::collections::HashMap::new(),
            },
        }
    }

    fn results(&self) -> std::path::PathBuf {
        self.folder.path().join("reports/tiny")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.results().join(name)).unwrap()
    }

    /// The required runs with their reasons; `sets` as on the command line.
    fn reasons(&self, sets: &[&str]) -> Vec<(RunId, String)> {
        let cells = cells(sets);
        let store = Store::read(&self.results()).unwrap();
        let all = decide(
            cells.iter().enumerate(),
            &store,
            &self.conditions,
            ResumeOptions::default(),
            None,
        );
        let runs = all.into_iter().filter_map(|(id, decision)| match decision {
            Decision::Run(why) => Some((id, why.to_string())),
            Decision::Keep(_) | Decision::NotNeeded => None,
        });
        runs.collect()
    }

    /// Executes the required runs by script and returns the results.
    fn run(&self, sets: &[&str]) -> ResultSet {
        let cells = cells(sets);
        fs::create_dir_all(self.results()).unwrap();
        let store = Store::open(&self.results()).unwrap();
        let decisions = decide(
            cells.iter().enumerate(),
            &store,
            &self.conditions,
            ResumeOptions::default(),
            None,
        );
        let mut jobs = Vec::new();
        let mut launcher = Scripted::new();
        for (id, decision) in decisions {
            if matches!(decision, Decision::Keep(_)) {
                continue;
            }
            let spec = cells[id.cell].spec.clone();
            launcher =
                launcher.with_outcome(id, Vec::<Event>::new(), outcome(&cells[id.cell], id.block));
            jobs.push(Job {
                id,
                spec: spec.into(),
                estimated_s: Some(2.5),
                resume: None,
                trial: None,
            });
        }
        let header = PlanFile {
            format_version: FORMAT_VERSION,
            name: "tiny".into(),
            axes: plan(sets).axes,
            ..PlanFile::default()
        };
        let results = self.results();
        let mut recorder = Recorder::new(
            &results,
            store,
            &cells,
            &self.conditions,
            header,
            Environment::default(),
            None,
            Session::at(UNIX_EPOCH + Duration::from_secs(1_795_287_933)),
        );
        let options = Options {
            jobs: 1,
            cores: 2,
            max_failures: None,
        };
        let mut sink = |event: RunEvent<'_>| recorder.handle(&event);
        let never = AtomicBool::new(false);
        execute::run(
            &mut Listed::new(jobs),
            &launcher,
            &options,
            &never,
            &mut sink,
        )
        .unwrap();
        recorder.finish().unwrap()
    }
}

fn plan(sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let manifest = Manifest::new(Path::new("x.toml"), MANIFEST.to_owned(), &sets)
        .unwrap_or_else(|failure| panic!("{failure}"));
    Plan::new(&manifest, &inputs(), PlanOptions::default())
        .unwrap_or_else(|failure| panic!("{failure}"))
}

fn cells(sets: &[&str]) -> Vec<PlannedCell> {
    plan(sets).cells().collect()
}

/// A run of two steps whose loss halves, with a profile if requested.
fn outcome(cell: &PlannedCell, block: usize) -> RunOutcome {
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
        profile: cell.spec.measure.profiles(block).then(profile),
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

const OPS: &str = "measure.ops=true";

#[test]
fn first_blocks_without_a_profile_run_again_and_the_others_stay() {
    let lab = Lab::new();
    lab.run(&[]);
    assert!(lab.reasons(&[]).is_empty());
    assert!(!lab.results().join("ops.csv").exists());
    let wanted = lab.reasons(&[OPS]);
    let blocks: Vec<(usize, usize)> = wanted.iter().map(|(id, _)| (id.cell, id.block)).collect();
    assert_eq!(blocks, [(0, 0), (1, 0)]);
    assert_eq!(wanted[0].1, Why::Profile.to_string());
    lab.run(&[OPS]);
    assert!(lab.reasons(&[OPS]).is_empty(), "profiled once is enough");
    assert!(
        lab.reasons(&["measure.ops=true", "measure.repeats=3"])
            .len()
            == 2
    );
}

#[test]
fn a_profile_outlives_runs_that_are_asked_for_none() {
    let lab = Lab::new();
    lab.run(&[OPS]);
    let before = lab.read("ops.csv");
    assert_eq!(before.matches("linear").count(), 2, "one a cell: {before}");
    lab.run(&[]);
    assert_eq!(before, lab.read("ops.csv"));
    let read = fieldtrial::results::read(&lab.results()).unwrap();
    assert_eq!(
        read.ops.len(),
        2 * 8,
        "an operation and seven residuals a cell"
    );
}

#[test]
fn what_was_expected_stands_beside_what_it_took() {
    let lab = Lab::new();
    let results = lab.run(&[]);
    let block = &results.blocks[0];
    assert_eq!((block.estimated_s, block.wall_s), (Some(2.5), Some(3.0)));
    let sessions: Vec<_> = results
        .blocks
        .iter()
        .map(|row| row.session.as_deref())
        .collect();
    assert_eq!(sessions, [Some("2026-11-21T19:05:33Z"); 4]);
    assert!(results.blocks.iter().all(|row| row.start_s.is_some()));
    let read = fieldtrial::results::read(&lab.results()).unwrap();
    assert_eq!(read.blocks, results.blocks);
}

#[test]
fn traces_and_event_files_are_written_once_and_go_with_their_cells() {
    let lab = Lab::new();
    let both = [OPS, "measure.tensorboard=true"];
    lab.run(&both);
    let trace = "trace/model=mlp,dataset=plane,batch-size=8-seed-42.json";
    let events = "tensorboard/model=mlp,dataset=plane,batch-size=8/seed-42-block-1/events.out.tfevents.0.fieldtrial";
    let json: serde_json::Value = serde_json::from_str(&lab.read(trace)).unwrap();
    let spans = json["traceEvents"].as_array().unwrap().iter();
    assert_eq!(spans.filter(|event| event["ph"] == "X").count(), 3);
    let time = |name: &str| fs::metadata(lab.results().join(name)).and_then(|d| d.modified());
    let before = [time(trace).unwrap(), time(events).unwrap()];
    lab.run(&both);
    assert_eq!(before, [time(trace).unwrap(), time(events).unwrap()]);
    lab.run(&[both[0], both[1], "matrix.batch-size=[16]"]);
    assert!(time(trace).is_err() && time(events).is_err());
    assert!(time("trace/model=mlp,dataset=plane,batch-size=16-seed-42.json").is_ok());
}

#[test]
fn event_files_are_written_only_where_they_are_asked_for() {
    let lab = Lab::new();
    lab.run(&[]);
    assert!(!lab.results().join("tensorboard").exists());
    assert!(!lab.results().join("trace").exists());
    lab.run(&["measure.tensorboard=true"]);
    let events = lab.results().join("tensorboard");
    assert!(
        events.exists(),
        "without a run: the store has what they say"
    );
    lab.run(&[]);
    assert!(events.exists(), "not asked for again is not taken away");
}
