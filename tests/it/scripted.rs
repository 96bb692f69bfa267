//! Scripted runs, stored as if this program had done them on this machine, with times set by the test.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;
use std::time::{Duration, UNIX_EPOCH};

use fieldtrial::event::{Job, RunEvent, RunId, RunOutcome};
use fieldtrial::execute::{
    self, Decision, PrecisionTracker, ResumeOptions, RunList, ScriptedLauncher, decide_runs,
};
use fieldtrial::manifest;
use fieldtrial::plan::PlannedCell;
use fieldtrial::record::Recorder;
use fieldtrial::results::store::{RunConditions, Store};
use fieldtrial::results::testing::planned;
use fieldtrial::results::{FORMAT_VERSION, PlanFile, Session, environment};

use crate::project::Project;

/// The session of all scripted runs, an arbitrary time: two results of equal seeds and blocks were measured in turns.
const SESSION: Duration = Duration::from_secs(1_795_287_933);

/// Stores a result for every missing run of the manifest at `path`: the next `run` has nothing to do, and reports.
pub(crate) fn keep(project: &Project, path: &str, end: impl Fn(&PlannedCell, RunId) -> RunOutcome) {
    keep_seeing(
        project,
        path,
        |cells, launcher, id| launcher.with_outcome(id, Vec::new(), end(&cells[id.cell], id)),
        &mut |_| {},
    );
}

/// The same with a launcher that `script` extends for every run; `see` gets the events of the runs.
pub(crate) fn keep_seeing(
    project: &Project,
    path: &str,
    script: impl Fn(&[PlannedCell], ScriptedLauncher, RunId) -> ScriptedLauncher,
    see: &mut dyn FnMut(&RunEvent<'_>),
) {
    let manifest = manifest::load(&project.path(path), &[]);
    let manifest = manifest.unwrap_or_else(|failure| panic!("{failure}"));
    let plan = planned(&manifest);
    let cells: Vec<PlannedCell> = plan.cells().collect();
    let environment = environment::collect(&project.path(""));
    let conditions = RunConditions {
        env_id: environment::env_id(&environment),
        jobs: 1,
        cores: available_parallelism().map_or(1, usize::from),
        classes: HashMap::new(),
    };
    std::fs::create_dir_all(&plan.results_folder).expect("folders");
    let store = Store::open(&plan.results_folder).expect("a store");
    let all = decide_runs(
        cells.iter().enumerate(),
        &store,
        &conditions,
        ResumeOptions::default(),
        None,
    );
    let to_do = all
        .into_iter()
        .filter(|(_, decision)| matches!(decision, Decision::Run(_)));
    let (mut jobs, mut launcher) = (Vec::new(), ScriptedLauncher::new());
    for (id, _) in to_do {
        let cell = &cells[id.cell];
        launcher = script(&cells, launcher, id);
        jobs.push(Job {
            id,
            spec: cell.spec.clone().into(),
            estimated_s: Some(2.5),
            resume: None,
            trial: None,
        });
    }
    let header = PlanFile {
        format_version: FORMAT_VERSION,
        name: plan.name.clone(),
        axes: plan.axes.clone(),
        ..PlanFile::default()
    };
    let folder = &plan.results_folder;
    let mut recorder = Recorder::new(
        folder,
        store,
        &cells,
        &conditions,
        header,
        environment,
        None,
        Session::at(UNIX_EPOCH + SESSION),
    );
    run((jobs, &conditions), &launcher, &mut recorder, see);
    recorder.finish().expect("results");
}

fn run(
    (jobs, conditions): (Vec<Job>, &RunConditions),
    launcher: &ScriptedLauncher,
    recorder: &mut Recorder<'_>,
    see: &mut dyn FnMut(&RunEvent<'_>),
) {
    let mut sink = |event: RunEvent<'_>| {
        see(&event);
        recorder.handle(&event)
    };
    let never = AtomicBool::new(false);
    let ended = execute::run(
        &mut RunList::new(jobs, PrecisionTracker::default()),
        launcher,
        (conditions, None),
        &never,
        &mut sink,
    );
    ended.expect("an end");
}
