//! Scripted runs, recorded into results folders and compared by the gate.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, UNIX_EPOCH};

use crate::diag::Failure;
use crate::event::{Event, Job, RunId};
use crate::execute::{self, Listed, Options, Scripted};
use crate::manifest::Manifest;
use crate::plan::{Plan, PlanInputs, PlanOptions, PlannedCell};
use crate::record::{RecordError, Recorder};
use crate::results::environment::{self, env_id};
use crate::results::store::{RunConditions, Store};
use crate::results::{self, Session};

use super::folders::compare;
use super::script::{Factors, outcome};
use super::{Check, Kind, Planted, REPEATS, SEEDS, SelftestError};

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

/// A difference planted on a side after.
struct Plant {
    name: &'static str,
    /// Index of the cell, kind and description.
    what: Option<(usize, Kind, &'static str)>,
    factors: Factors,
}

const ALIKE: Factors = Factors {
    time: 1.0,
    loss: 1.0,
};

const PLANTS: [Plant; 3] = [
    Plant {
        name: "alike",
        what: None,
        factors: ALIKE,
    },
    Plant {
        name: "slower",
        what: Some((2, Kind::Slowdown, "steps take 10 % longer")),
        factors: Factors {
            time: 1.10,
            ..ALIKE
        },
    },
    Plant {
        name: "worse",
        what: Some((1, Kind::Loss, "losses are 1 % larger")),
        factors: Factors {
            loss: 1.01,
            ..ALIKE
        },
    },
];

/// Writes results of scripted runs into folders below `folder`, one side before and three sides after, and runs the gate on
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
    let before = script.play("before", 0, None)?;
    let mut checks = Vec::new();
    for (number, plant) in (1..).zip(&PLANTS) {
        let planted = plant.what.map(|(cell, ..)| (cell, plant.factors));
        let after = script.play(plant.name, number, planted)?;
        let planted = plant.what.map(|(cell, kind, words)| Planted {
            cell: cells[cell].spec.key.clone(),
            kind,
            words: words.to_owned(),
        });
        checks.push(Check::new(planted, &compare(&before, &after)?));
    }
    Ok(checks)
}

fn plan(folder: &Path) -> Result<Plan, Failure> {
    let text = MANIFEST.replace("{seeds}", &format!("{SEEDS:?}"));
    let text = text.replace("{repeats}", &REPEATS.to_string());
    let path = folder.join("gate-selftest.toml");
    let manifest = Manifest::new(&path, text, &[])?;
    Plan::new(
        &manifest,
        &PlanInputs::of_this_machine(),
        PlanOptions::default(),
    )
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
        planted: Option<(usize, Factors)>,
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
        let launcher = self.launcher(side, planted);
        execute::run(
            &mut Listed::new(self.jobs()),
            &launcher,
            &options,
            &AtomicBool::new(false),
            &mut |event| recorder.see(&event),
        )?;
        recorder.finish()?;
        Ok(folder)
    }

    fn launcher(&self, side: u64, planted: Option<(usize, Factors)>) -> Scripted {
        self.jobs()
            .into_iter()
            .fold(Scripted::new(), |launcher, job| {
                let planted = planted.filter(|(cell, _)| *cell == job.id.cell);
                let factors = planted.map_or(ALIKE, |(_, factors)| factors);
                let outcome = outcome(&job.spec, job.id, side, factors);
                let told = outcome.epochs.iter().cloned();
                let told = told.map(|row| Event::Epoch(Box::new(row))).collect();
                launcher.with(job.id, told, outcome)
            })
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
            trial: None,
        };
        order.into_iter().map(job).collect()
    }
}
