//! `fieldtrial run`: plan, prepare the data, run what is not finished, write results and report.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::base::text::count;
use crate::diag::Failure;
use crate::event::{Job, RunEvent, RunId, Status, StopReason};
use crate::execute::{self, Decision, Estimator, Summary, Wish, WorkerProgram};
use crate::manifest;
use crate::plan::{Feasibility, Only, Plan, PlanOptions, PlannedCell, World};
use crate::progress::{Ending, Progress};
use crate::record::{RecordError, Recorder};
use crate::report::{self, ReportError, ReportOptions};
use crate::results::store::{Here, Store};
use crate::results::{self, Environment, FORMAT_VERSION, PlanFile, ResultSet, ResultsError};

use super::fingerprints::Fingerprints;
use super::interrupt::Interrupt;
use super::run_arguments::RunArguments;
use super::run_plan::{announce, here, prepare_data, refuse_namesakes};
use super::{Outcome, Problem, exit_code};

pub(super) fn run(arguments: &RunArguments) -> Outcome {
    let began = Instant::now();
    let known = Fingerprints::beside(&arguments.manifest);
    let plan = plan(arguments, &known.world())?;
    refuse_namesakes(&plan)?;
    let interrupt = Interrupt::listen()?;
    if arguments.dry_run {
        interrupt.stop_waiting();
    }
    let mut cells: Vec<PlannedCell> = plan.cells().collect();
    let mut plan = plan;
    if !arguments.dry_run && prepare_data(&plan, &cells)? {
        // What was just generated has a content now, and the cells a hash over it.
        plan = self::plan(arguments, &known.world())?;
        cells = plan.cells().collect();
    }
    known.keep();
    refuse_if_nothing_can_run(&plan, &cells)?;
    let (environment, here) = here(&plan, arguments.jobs.into());
    if arguments.dry_run {
        let store = Store::read(&plan.results_folder).map_err(mistake)?;
        announce(
            &plan,
            &cells,
            &decisions(arguments, &plan, &cells, &store, &here),
            &Estimator::new(&store, &here),
            true,
        );
        return Ok(exit_code::GOOD);
    }
    Session {
        arguments,
        plan: &plan,
        cells: &cells,
        here: &here,
        environment,
        interrupt: &interrupt,
        began,
    }
    .run()
}

fn plan(arguments: &RunArguments, world: &World) -> Result<Plan, Problem> {
    let manifest = manifest::load(&arguments.manifest, &arguments.set)?;
    let only = arguments.only.as_deref().map(Only::parse).transpose()?;
    let options = PlanOptions {
        only,
        results_name: arguments.results_name.clone(),
    };
    Ok(Plan::new(&manifest, world, options)?)
}

fn refuse_if_nothing_can_run(plan: &Plan, cells: &[PlannedCell]) -> Result<(), Problem> {
    let mut selected = cells
        .iter()
        .filter(|cell| plan.is_selected(cell))
        .peekable();
    if selected.peek().is_none() {
        let help = "`fieldtrial plan` shows the values of every axis";
        return Err(Failure::plain("`--only` selects no cell", Some(help.into())).into());
    }
    let mut reasons = Vec::new();
    for cell in selected {
        match &cell.feasibility {
            Feasibility::Infeasible(reason) => reasons.push(reason.as_str()),
            Feasibility::Runs | Feasibility::Skipped(_) => return Ok(()),
        }
    }
    reasons.dedup();
    let title = format!("no cell of `{}` can run: {}", plan.name, reasons.join("; "));
    Err(Failure::plain(title, None).into())
}

/// Every run of the selected cells, and what happens with it.
fn decisions(
    arguments: &RunArguments,
    plan: &Plan,
    cells: &[PlannedCell],
    store: &Store,
    here: &Here,
) -> Vec<(RunId, Decision)> {
    let selected = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| plan.is_selected(cell));
    let wish = Wish {
        fresh: arguments.fresh,
        retry: arguments.retry,
    };
    execute::decide(selected, store, here, wish)
}

/// One invocation, from the opened store to the last word.
struct Session<'a> {
    arguments: &'a RunArguments,
    plan: &'a Plan,
    cells: &'a [PlannedCell],
    here: &'a Here,
    environment: Environment,
    interrupt: &'a Interrupt,
    began: Instant,
}

impl Session<'_> {
    fn run(self) -> Outcome {
        let folder = self.plan.results_folder.as_path();
        let store = Store::open(folder).map_err(mistake)?;
        for path in store.damaged() {
            eprintln!(
                "warning: `{}` is no stored run and counts as not there",
                path.display()
            );
        }
        let previous = previous_results(folder)?;
        let decisions = decisions(self.arguments, self.plan, self.cells, &store, self.here);
        let estimator = Estimator::new(&store, self.here);
        announce(self.plan, self.cells, &decisions, &estimator, false);
        let jobs = jobs(self.cells, &decisions, &estimator);
        let launcher = WorkerProgram::this(memory_bytes(&self.environment))?;
        let launcher = launcher.assessing_into(&std::path::absolute(store.temporary_folder())?);
        let header = header(self.plan);
        let mut recorder = Recorder::new(
            folder,
            store,
            self.cells,
            self.here,
            header,
            self.environment.clone(),
            previous,
            results::Session::begin(),
        );
        let summary = self.execute(jobs, &launcher, &mut recorder)?;
        let results = recorder.finish().map_err(record_problem)?;
        self.end(&decisions, summary, &results)
    }

    fn execute(
        &self,
        jobs: Vec<Job>,
        launcher: &WorkerProgram,
        recorder: &mut Recorder<'_>,
    ) -> Result<Summary, Problem> {
        if jobs.is_empty() {
            return Ok(Summary::default());
        }
        let mut progress = Progress::new(jobs.iter().map(|job| job.spec.key.as_str()));
        let options = execute::Options {
            jobs: self.here.jobs,
            cores: self.here.cores,
            max_failures: self.max_failures(),
        };
        let mut sink = |event: RunEvent<'_>| {
            // Kept first: what was shown as done is on the disk.
            let kept = recorder.see(&event);
            progress.see(&event);
            kept
        };
        let summary = execute::run(
            &mut jobs.into_iter(),
            launcher,
            &options,
            self.interrupt.is_asked(),
            &mut sink,
        );
        self.interrupt.stop_waiting();
        summary.map_err(record_problem)
    }

    fn max_failures(&self) -> Option<usize> {
        let fail_fast = self.arguments.fail_fast.then_some(1);
        fail_fast.or(self.arguments.max_failures.map(|limit| limit as usize))
    }

    fn end(
        &self,
        decisions: &[(RunId, Decision)],
        summary: Summary,
        results: &ResultSet,
    ) -> Outcome {
        let kept = decisions
            .iter()
            .filter(|(_, decision)| matches!(decision, Decision::Keep(_)));
        let folder = from_here(&self.plan.results_folder);
        let report = self.report()?;
        let ending = Ending {
            results,
            folder: &folder,
            command: &self.arguments.again(),
            ended: summary.ended,
            left: summary.left,
            kept: kept.count(),
            stopped: summary.stopped,
            wall_s: self.began.elapsed().as_secs_f64(),
            report: report.as_deref(),
        };
        eprint!("{}", ending.text());
        self.say_recommendations()?;
        Ok(self.exit_code(summary, results))
    }

    fn report(&self) -> Result<Option<PathBuf>, Problem> {
        if self.arguments.no_report {
            return Ok(None);
        }
        let files = report::render(&self.plan.results_folder, &ReportOptions::default());
        let files = files.map_err(ReportError::into_failure)?;
        Ok(files.first().map(|path| from_here(path)))
    }

    /// One line about recommendations that nothing has tested.
    fn say_recommendations(&self) -> Result<(), Problem> {
        let folder = &self.plan.results_folder;
        let next = folder.join("next.toml");
        if self.arguments.no_report || !next.is_file() {
            return Ok(());
        }
        let rows = results::read_recommendations(folder).map_err(mistake)?;
        let open = rows.iter().filter(|row| row.status == "proposed").count();
        if open > 0 {
            let (what, next) = (count(open, "recommendation"), from_here(&next));
            let tests = if open == 1 { "tests it" } else { "tests them" };
            eprintln!("{what}: fieldtrial run {} {tests}", next.display());
        }
        Ok(())
    }

    fn exit_code(&self, summary: Summary, results: &ResultSet) -> u8 {
        let selected: std::collections::HashSet<&str> = self
            .cells
            .iter()
            .filter(|cell| self.plan.is_selected(cell))
            .map(|cell| cell.spec.key.as_str())
            .collect();
        let has_failed = |key: &str, status: Status| status.is_failure() && selected.contains(key);
        if summary.stopped == Some(StopReason::Interrupted) {
            exit_code::INTERRUPTED
        } else if results
            .blocks
            .iter()
            .any(|block| has_failed(&block.key, block.status))
        {
            exit_code::FAILED
        } else {
            exit_code::GOOD
        }
    }
}

/// The runs to do, in the order in which they are done.
fn jobs(
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    estimator: &Estimator<'_>,
) -> Vec<Job> {
    let wanted = decisions
        .iter()
        .filter(|(_, decision)| matches!(decision, Decision::Run(_)));
    let wanted: Vec<RunId> = wanted.map(|(id, _)| *id).collect();
    let mut seeds: Vec<u64> = cells
        .iter()
        .flat_map(|cell| cell.spec.measure.seeds.clone())
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    let specs: Vec<Arc<_>> = cells
        .iter()
        .map(|cell| Arc::new(cell.spec.clone()))
        .collect();
    let order = execute::in_block_order(cells.len(), &seeds, &wanted);
    let mut expected = HashMap::new();
    let mut expected_s = |cell: usize| {
        let expected = expected.entry(cell);
        let expected = expected.or_insert_with(|| estimator.run(&cells[cell]));
        expected.map(|expected| expected.seconds)
    };
    let job = |id: RunId| Job {
        id,
        spec: Arc::clone(&specs[id.cell]),
        estimated_s: expected_s(id.cell),
    };
    order.into_iter().map(job).collect()
}

fn previous_results(folder: &Path) -> Result<Option<ResultSet>, Problem> {
    if !folder.join("plan.json").exists() {
        return Ok(None);
    }
    match results::read(folder) {
        Ok(results) => Ok(Some(results)),
        // The store is the truth: a file that is not there is written again.
        Err(ResultsError::Missing { .. }) => Ok(None),
        Err(error) => Err(mistake(error)),
    }
}

/// `plan.json` without its cells and columns, which follow from the runs.
fn header(plan: &Plan) -> PlanFile {
    let root = plan
        .results_folder
        .ancestors()
        .nth(2)
        .unwrap_or(Path::new(""));
    let manifest =
        std::path::absolute(&plan.manifest_path).unwrap_or_else(|_| plan.manifest_path.clone());
    let manifest = manifest.strip_prefix(root).unwrap_or(&plan.manifest_path);
    let json = |value: Result<serde_json::Value, _>| value.unwrap_or_default();
    PlanFile {
        format_version: FORMAT_VERSION,
        name: plan.name.clone(),
        title: plan.title.clone(),
        question: plan.question.clone(),
        follows: plan.follows.clone(),
        manifest_path: manifest.to_string_lossy().replace('\\', "/"),
        manifest: plan.manifest_text.clone(),
        axes: plan.axes.clone(),
        variants: plan.variants.clone(),
        columns: Vec::new(),
        cells: Vec::new(),
        report: json(serde_json::to_value(&plan.report)),
        compare: json(serde_json::to_value(&plan.compare)),
        cost: json(serde_json::to_value(&plan.cost)),
        measure: json(serde_json::to_value(&plan.measure)),
    }
}

/// Memory of the machine: SIGKILL near it was the system's own doing.
fn memory_bytes(environment: &Environment) -> Option<u64> {
    let gib: u64 = environment.must_match.get("memory_gib")?.parse().ok()?;
    Some(gib << 30)
}

/// A path as one would write it from the current folder.
fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

fn mistake(error: impl std::fmt::Display) -> Problem {
    Failure::plain(error.to_string(), None).into()
}

fn record_problem(error: RecordError) -> Problem {
    match error {
        RecordError::Disagreement(error) => Problem::Bug(error.to_string()),
        error => {
            let help = "what was finished before is kept; the same command goes on";
            Failure::plain(error.to_string(), Some(help.into())).into()
        }
    }
}
