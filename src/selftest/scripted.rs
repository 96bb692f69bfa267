//! Scripted runs, recorded into results folders and compared by the gate.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, UNIX_EPOCH};

use crate::diag::Failure;
use crate::event::{Event, Job, RunEvent, RunId};
use crate::execute::{self, Listed, Options, Scripted};
use crate::manifest::Manifest;
use crate::plan::{Plan, PlanInputs, PlanOptions, PlannedCell};
use crate::record::{RecordError, Recorder};
use crate::results::environment::{self, env_id};
use crate::results::store::{RunConditions, Store};
use crate::results::{self, Session};

use super::plant::{Plant, manifest};
use super::script::outcome;
use super::{Check, Kind, REPEATS, SelftestError};

/// Four cells for scripted runs; nothing is trained.
const MANIFEST: &str = r#"
name = "gate-selftest"
title = "Self-test of the gate, from scripted runs"

[models.mlp]
kind = "mlp"
hidden = 8
depth = 2

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 64

[matrix]
model = ["mlp"]
dataset = ["plane"]
batch-size = [8, 16]
workers = [0, 2]

[measure]
seeds = {seeds}
repeats = {repeats}
"#;

/// Time stamp of the scripted session of both sides, whose runs alternate; an arbitrary value.
const SESSION: Duration = Duration::from_secs(1_795_287_933);

/// Factors on the times, the losses, the work and the memory of the planted cell.
const PLANTS: [Plant<[f64; 4]>; 5] = [
    Plant::new("alike", None, [1.0; 4]),
    Plant::new(
        "slower",
        Some((2, Kind::Slowdown, "steps take 10 % longer")),
        [1.10, 1.0, 1.0, 1.0],
    ),
    Plant::new(
        "worse",
        Some((1, Kind::Loss, "losses are 1 % larger")),
        [1.0, 1.01, 1.0, 1.0],
    ),
    Plant::new(
        "busier",
        Some((3, Kind::Work, "a product is computed twice")),
        [1.0, 1.0, 2.0, 1.0],
    ),
    Plant::new(
        "larger",
        Some((2, Kind::Memory, "runs take 10 % more memory")),
        [1.0, 1.0, 1.0, 1.10],
    ),
];

/// Writes results of scripted runs into folders below `folder`, one side before and five sides after, and runs the gate on
/// each pair.
///
/// # Errors
/// [`SelftestError`].
pub fn scripted(folder: &Path) -> Result<Vec<Check>, SelftestError> {
    let plan = plan(folder).map_err(|failure| SelftestError::bug(&failure))?;
    let cells: Vec<PlannedCell> = plan.cells().collect();
    let script = Script {
        plan: &plan,
        cells: &cells,
        folder,
    };
    let keys: Vec<String> = cells.iter().map(|cell| cell.spec.key.clone()).collect();
    let before = script.play("before", 0, |_| [1.0; 4])?;
    let check = |(number, plant): (u64, &Plant<[f64; 4]>)| {
        let factors = |cell| match plant.what {
            Some((planted, ..)) if planted == cell => plant.change,
            _ => [1.0; 4],
        };
        let after = script.play(plant.name, number, factors)?;
        plant.check(&keys, &before, &after)
    };
    (1..).zip(&PLANTS).map(check).collect()
}

fn plan(folder: &Path) -> Result<Plan, Failure> {
    let path = folder.join("gate-selftest.toml");
    let manifest = Manifest::new(&path, manifest(MANIFEST), &[])?;
    let inputs = PlanInputs::of_this_machine();
    Plan::new(&manifest, &inputs, PlanOptions::default())
}

struct Script<'a> {
    plan: &'a Plan,
    cells: &'a [PlannedCell],
    folder: &'a Path,
}

impl Script<'_> {
    fn play(
        &self,
        name: &str,
        side: u64,
        factors: impl Fn(usize) -> [f64; 4],
    ) -> Result<PathBuf, SelftestError> {
        let folder = self.folder.join(name).join(&self.plan.name);
        let environment = environment::collect(self.folder);
        let conditions = RunConditions {
            env_id: env_id(&environment),
            jobs: 1,
            cores: 1,
            classes: HashMap::new(),
        };
        let store = Store::open(&folder).map_err(RecordError::from)?;
        let header = results::plan_header(self.plan);
        let session = Session::at(UNIX_EPOCH + SESSION);
        let mut recorder = Recorder::new(
            &folder,
            store,
            self.cells,
            &conditions,
            header,
            environment,
            None,
            session,
        );
        let options = Options {
            jobs: 1,
            cores: 1,
            max_failures: None,
        };
        let mut launcher = Scripted::new();
        for job in self.jobs() {
            let outcome = outcome(&job.spec, job.id, side, factors(job.id.cell));
            let told = outcome.epochs.iter().cloned();
            let told = told.map(|row| Event::Epoch(Box::new(row))).collect();
            launcher = launcher.with(job.id, told, outcome);
        }
        let (mut source, never) = (Listed::new(self.jobs()), AtomicBool::new(false));
        let mut sink = |event: RunEvent<'_>| recorder.handle(&event);
        execute::run(&mut source, &launcher, &options, &never, &mut sink)?;
        recorder.finish()?;
        Ok(folder)
    }

    /// All runs, in the order of a real `run`.
    fn jobs(&self) -> Vec<Job> {
        let seeds = &self.plan.measure.seeds;
        let every = |block| {
            let cells = 0..self.cells.len();
            cells.flat_map(move |cell| seeds.iter().map(move |&seed| RunId { cell, seed, block }))
        };
        let wanted: Vec<RunId> = (0..REPEATS).flat_map(every).collect();
        let order = execute::in_block_order(self.cells.len(), seeds, &wanted);
        let job = |id: RunId| Job {
            id,
            spec: Arc::new(self.cells[id.cell].spec.clone()),
            estimated_s: None,
            resume: None,
            trial: None,
        };
        order.into_iter().map(job).collect()
    }
}
