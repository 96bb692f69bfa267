//! Helpers for tests: plans, run conditions, jobs, changed times, and assertions about texts.
#![expect(clippy::missing_panics_doc, reason = "a test that fails panics")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::store::RunConditions;
use super::{ResultSet, timings};
use crate::event::{Job, RunId, RunTimes, Trial};
use crate::manifest::Manifest;
use crate::plan::search::TrialInfo;
use crate::plan::{Plan, PlanInputs, PlanOptions};

/// The plan of a manifest, with `--set` of each of `sets`.
pub fn plan(manifest: &str, sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let manifest = Manifest::new(Path::new("test.toml"), manifest.to_owned(), &sets);
    planned(&manifest.unwrap_or_else(|failure| panic!("{failure}")))
}

/// The plan of a manifest.
#[track_caller]
pub fn planned(manifest: &Manifest) -> Plan {
    let inputs = PlanInputs::of_this_machine();
    let plan = Plan::new(manifest, &inputs, PlanOptions::default());
    plan.unwrap_or_else(|failure| panic!("{failure}"))
}

/// Run conditions for tests: one run at a time on two cores.
pub fn conditions() -> RunConditions {
    RunConditions {
        env_id: "5f3a9c01".into(),
        jobs: 1,
        cores: 2,
        classes: HashMap::new(),
    }
}

/// The job that runs a trial.
pub fn job(plan: &Plan, id: RunId, info: TrialInfo) -> Job {
    let cell = plan.trial(info.study, &info.number.to_string(), &info.point);
    Job {
        id,
        spec: Arc::new(cell.spec.clone()),
        estimated_s: None,
        resume: None,
        trial: Some(Arc::new(Trial {
            cell,
            info,
            awaits_verdicts: true,
            members: Vec::new(),
        })),
    }
}

impl ResultSet {
    /// Calls `change` with the cell's key and the times of every measured run, then computes the medians again.
    pub fn change_times(&mut self, mut change: impl FnMut(&str, &mut RunTimes)) {
        for run in &mut self.blocks {
            let key = run.key.clone();
            if let Some(times) = run.times_mut() {
                change(&key, times);
            }
        }
        self.timings = timings(&self.blocks);
    }
}

/// Panics unless the text contains `part`; the message has the whole text.
#[track_caller]
pub fn assert_contains(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.contains(part), "no `{part}` in\n{text}");
}

/// Panics unless the text begins with `part`; the message has the whole text.
#[track_caller]
pub fn assert_starts_with(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.starts_with(part), "no `{part}` begins\n{text}");
}

/// Panics unless the text ends with `part`; the message has the whole text.
#[track_caller]
pub fn assert_ends_with(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.ends_with(part), "no `{part}` ends\n{text}");
}
