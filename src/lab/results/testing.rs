//! Plans, and the conditions of their runs, for tests.

use std::collections::HashMap;
use std::path::Path;

use super::store::RunConditions;
use crate::manifest::Manifest;
use crate::plan::{Plan, PlanInputs, PlanOptions};

/// The plan of a manifest, with `--set` of each of `sets`.
pub(crate) fn plan(manifest: &str, sets: &[&str]) -> Plan {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let manifest = Manifest::new(Path::new("test.toml"), manifest.to_owned(), &sets);
    let manifest = manifest.unwrap_or_else(|failure| panic!("{failure}"));
    let inputs = PlanInputs::of_this_machine();
    let plan = Plan::new(&manifest, &inputs, PlanOptions::default());
    plan.unwrap_or_else(|failure| panic!("{failure}"))
}

/// One run at a time on two cores.
pub(crate) fn conditions() -> RunConditions {
    RunConditions {
        env_id: "5f3a9c01".into(),
        jobs: 1,
        cores: 2,
        classes: HashMap::new(),
    }
}
