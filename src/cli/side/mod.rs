//! `fieldtrial side` (hidden): one side of `fieldtrial ab`, possibly of another build. Like `run` it plans a manifest
//! and stores results, but it executes runs only on request on stdin.

mod event_sender;
mod source;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use crate::ab::{Hello, OfferedRun, RunName, SIDE_PROTOCOL, SideMessage};
use crate::base::os;
use crate::build_info::{CodeTarget, code_hash};
use crate::device::DeviceKind;
use crate::event::{RunEvent, RunId, numeric_class};
use crate::execute::{self, Decision, Estimator, ResumeOptions};
use crate::manifest::Manifest;
use crate::plan::{Feasibility, Plan, PlanInputs, Precision, absolute};
use crate::results::store::Store;
use crate::results::{FORMAT_VERSION, Session};

use super::choice::SelectedPlan;
use super::fingerprints::Fingerprints;
use super::problem::mistake;
use super::run_plan::{conditions, plan_manifest, selected};
use super::setup::{self, Setup, record_problem};
use super::{Outcome, Problem, exit_code};

use event_sender::EventSender;
use source::RequestedRuns;

#[derive(Debug, Args)]
pub(super) struct SideArguments {
    /// The manifest
    manifest: PathBuf,
    /// Path of a file; paths in the manifest are relative to its folder
    #[arg(long, value_name = "FILE")]
    located_at: PathBuf,
    /// Folder of the results
    #[arg(long, value_name = "FOLDER")]
    results: PathBuf,
    /// The session that the runs belong to
    #[arg(long, value_name = "UTC")]
    session: String,
    /// Override a value of the manifest
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Offer only some cells
    #[arg(long, value_name = "AXIS=VALUE,…")]
    only: Option<String>,
    /// Offer all runs as new, also those with stored results
    #[arg(long)]
    fresh: bool,
}

pub(super) fn side(arguments: &SideArguments) -> Outcome {
    let event_sender = EventSender::new(os::take_stdout()?);
    let known = Fingerprints::of_results_root(&arguments.located_at);
    let folder = absolute(Path::new("."), &arguments.manifest);
    let folder = folder.parent().unwrap_or(Path::new("/")).to_owned();
    let inputs = || known.inputs().with_programs_in(folder.clone());
    let plan = || plan(arguments, &inputs()).map(SelectedPlan::of);
    let SelectedPlan { plan, cells } = plan()?.with_data(plan)?;
    known.write_to_disk();
    let (environment, conditions) = conditions(&arguments.manifest);
    let setup = Setup {
        plan: &plan,
        cells: &cells,
        conditions: &conditions,
        environment: &environment,
    };
    take_turns(arguments, setup, event_sender)?;
    Ok(exit_code::GOOD)
}

fn plan(arguments: &SideArguments, inputs: &PlanInputs) -> Result<Plan, Problem> {
    let text = fs::read_to_string(&arguments.manifest)?;
    let manifest = Manifest::new(&arguments.located_at, text, &arguments.set)?;
    let mut plan = plan_manifest(&manifest, inputs, arguments.only.as_ref(), None)?;
    plan.results_folder = std::path::absolute(&arguments.results)?;
    Ok(plan)
}

fn take_turns(
    arguments: &SideArguments,
    setup: Setup<'_>,
    mut event_sender: EventSender<impl std::io::Write>,
) -> Result<(), Problem> {
    let id = &arguments.session;
    let session = Session::named(id, SystemTime::now());
    let session =
        session.ok_or_else(|| mistake(format!("`{id}` names no session that has begun")))?;
    let store = setup::open(setup.plan)?;
    let previous = setup.read_previous(&store)?;
    let runs = offered(arguments, setup, &store);
    let launcher = setup.launcher(&store)?;
    let mut recorder = setup.recorder(store, previous, session);
    let (mut source, is_stopped) = RequestedRuns::listen(setup.cells, &runs);
    event_sender.send(&SideMessage::Hello(Box::new(hello(setup, runs))));
    let mut sink = |event: RunEvent<'_>| {
        // The run is stored first, so that a run reported as done is on disk.
        recorder.handle(&event)?;
        event_sender.pass_on(&event);
        Ok(())
    };
    let options = (setup.conditions, None);
    execute::run(&mut source, &launcher, options, &is_stopped, &mut sink)
        .map_err(record_problem)?;
    recorder.finish().map_err(record_problem)?;
    event_sender.send(&SideMessage::Bye);
    Ok(())
}

fn offered(arguments: &SideArguments, setup: Setup<'_>, store: &Store) -> Vec<OfferedRun> {
    let (cells, conditions) = (setup.cells, setup.conditions);
    let options = ResumeOptions {
        fresh: arguments.fresh,
        ..ResumeOptions::default()
    };
    let estimator = Estimator::new(store, conditions);
    let offer = |(id, decision): (RunId, Decision)| {
        let cell = &cells[id.cell];
        let keys = conditions.keys(cell, id.seed, id.block);
        let mut stored = store.runs_of(&keys.cell_hash).iter();
        let stored = stored.find(|run| run.keys == keys);
        let kept = stored.filter(|_| matches!(decision, Decision::Keep(_)));
        OfferedRun {
            name: RunName::of(&cell.spec.key, id),
            estimated_s: estimator
                .expected_run_time(cell, id.block)
                .map(|one| one.seconds),
            kept_in: kept.and_then(|run| run.session.as_deref().map(str::to_owned)),
        }
    };
    let selected = selected(setup.plan, cells);
    let decisions = execute::decide_runs(selected, store, conditions, options, None);
    decisions.into_iter().map(offer).collect()
}

fn hello(setup: Setup<'_>, runs: Vec<OfferedRun>) -> Hello {
    let selected = selected(setup.plan, setup.cells);
    let idle = selected.filter_map(|(_, cell)| match &cell.feasibility {
        Feasibility::Runs => None,
        Feasibility::Skipped(reason) | Feasibility::Infeasible(reason) => {
            Some((cell.spec.key.clone(), reason.clone()))
        }
    });
    Hello {
        side: SIDE_PROTOCOL,
        format: FORMAT_VERSION,
        code_hash: code_hash(CodeTarget::Cpu),
        numeric_class: numeric_class(DeviceKind::Cpu, Precision::F32),
        environment: setup.environment.clone(),
        runs,
        idle: idle.collect(),
    }
}
