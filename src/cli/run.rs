//! `fieldtrial run`: plans, prepares data, runs what is not finished, writes results and report.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use crate::base::shell;
use crate::diag::Failure;
use crate::event::{Job, RunEvent, RunId, Status, StopReason};
use crate::execute::{self, Decision, Estimator, Listed, ResumeOptions, Summary, WorkerProgram};
use crate::manifest;
use crate::plan::{Feasibility, Only, Plan, PlanInputs, PlanOptions, PlannedCell};
use crate::progress::{Detail, Ending, Progress};
use crate::record::Recorder;
use crate::results::environment::{self, TreeLook, env_id, missing_counters};
use crate::results::store::{RunConditions, Store, journal_path};
use crate::results::{Environment, ResultSet, Session, from_here};

use super::after_run::{advise, answer, render};
use super::bench::{Bench, record_problem};
use super::fingerprints::Fingerprints;
use super::interrupt::Interrupt;
use super::run_arguments::RunArguments;
use super::run_plan::{
    announce, each_run, folder_or_here, here_as, prepare_data, refuse_namesakes, say_held_out,
};
use super::search_run::{self, SearchRun};
use super::{Outcome, Problem, exit_code, shard};

pub(super) fn run(arguments: &RunArguments) -> Outcome {
    let began = Instant::now();
    let tree = TreeLook::begin(folder_or_here(arguments.manifest.parent()));
    let known = Fingerprints::beside(&arguments.manifest);
    let mut plan = plan(arguments, &known.inputs())?;
    refuse_namesakes(&plan)?;
    let jobs = search_run::jobs(arguments, plan.search.as_ref());
    let interrupt = Interrupt::listen()?;
    if arguments.dry_run {
        interrupt.stop_waiting();
    }
    let mut cells: Vec<PlannedCell> = plan.cells().collect();
    if !arguments.dry_run && prepare_data(&plan, &cells)? {
        // Plan again: generated data now has content, and cell hashes depend on it.
        plan = self::plan(arguments, &known.inputs())?;
        cells = plan.cells().collect();
    }
    known.keep();
    refuse_if_nothing_can_run(&plan, &cells)?;
    say_held_out(&plan, arguments.detail());
    let mut environment = environment::of_machine();
    let mut tree = Some(tree);
    if plan.search.is_some() {
        environment
            .info
            .extend(tree.take().map(TreeLook::finish).unwrap_or_default());
    }
    let conditions = here_as(env_id(&environment), jobs);
    let bench = Bench {
        plan: &plan,
        cells: &cells,
        conditions: &conditions,
        environment: &environment,
    };
    if let Some(spec) = &plan.search {
        let search = SearchRun {
            arguments,
            bench: bench.without_cells(),
            spec,
            interrupt: &interrupt,
            began,
        };
        return search.run_or_show();
    }
    if arguments.dry_run {
        return show(arguments, &bench);
    }
    if arguments.detail() > Detail::Quiet {
        say_missing_counters(&environment);
    }
    Invocation {
        arguments,
        bench,
        interrupt: &interrupt,
        began,
        session: Session::begin(),
        tree,
    }
    .run()
}

/// `--dry-run`: prints what would happen with every run.
fn show(arguments: &RunArguments, bench: &Bench<'_>) -> Outcome {
    let (plan, cells, conditions) = (bench.plan, bench.cells, bench.conditions);
    let store = shard::read(plan, arguments.shard)?;
    let decisions = decisions(arguments, plan, cells, &store, conditions);
    announce(plan, cells, &decisions, &Estimator::new(&store, conditions));
    io::stdout().write_all(each_run(cells, &decisions).as_bytes())?;
    Ok(exit_code::GOOD)
}

fn say_missing_counters(environment: &Environment) {
    if let Some(reason) = missing_counters(environment) {
        eprintln!("note: load, clocks and energy of GPUs are not measured: {reason}");
    }
}

fn plan(arguments: &RunArguments, inputs: &PlanInputs) -> Result<Plan, Problem> {
    let manifest = manifest::load(&arguments.manifest, &arguments.set)?;
    let only = arguments.only.as_deref().map(Only::parse).transpose()?;
    let options = PlanOptions {
        only,
        results_name: arguments.results_name.clone(),
    };
    Ok(Plan::new(&manifest, inputs, options)?)
}

pub(super) fn refuse_if_nothing_can_run(plan: &Plan, cells: &[PlannedCell]) -> Result<(), Problem> {
    let mut selected = cells
        .iter()
        .filter(|cell| plan.is_selected(cell))
        .peekable();
    if selected.peek().is_none() {
        let manifest = plan.manifest_path.to_string_lossy();
        let shows = shell::command(&shell::joined(["plan", &*manifest]));
        let help = format!("`{shows}` shows the values of every axis");
        return Err(Failure::plain("`--only` selects no cell", Some(help)).into());
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

/// Every run of the selected cells, with the decision whether it runs.
fn decisions(
    arguments: &RunArguments,
    plan: &Plan,
    cells: &[PlannedCell],
    store: &Store,
    conditions: &RunConditions,
) -> Vec<(RunId, Decision)> {
    let selected = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| plan.is_selected(cell));
    let options = ResumeOptions {
        fresh: arguments.fresh,
        retry: arguments.retry,
        any_conditions: arguments.shard.is_some(),
        without_checkpoints: false,
    };
    let decisions = execute::decide(selected, store, conditions, options);
    shard::own(arguments.shard, cells, decisions)
}

struct Invocation<'a> {
    arguments: &'a RunArguments,
    bench: Bench<'a>,
    interrupt: &'a Interrupt,
    began: Instant,
    session: Session,
    /// Git's scan of the working tree, if it is still running.
    tree: Option<TreeLook>,
}

impl Invocation<'_> {
    fn run(mut self) -> Outcome {
        let bench = &self.bench;
        let (plan, cells, conditions) = (bench.plan, bench.cells, bench.conditions);
        let (store, previous) = shard::open(bench, self.arguments.shard)?;
        let decisions = decisions(self.arguments, plan, cells, &store, conditions);
        let estimator = Estimator::new(&store, conditions);
        if self.arguments.detail() > Detail::Quiet {
            announce(plan, cells, &decisions, &estimator);
        }
        if self.arguments.verbose {
            eprint!("{}", each_run(cells, &decisions));
        }
        let jobs = jobs(cells, &decisions, &estimator);
        let launcher = bench.launcher(&store)?;
        let mut recorder = bench.recorder(store, previous, self.session.clone());
        if let Some(tree) = self.tree.take() {
            recorder.listen_to(tree);
        }
        let mut progress = Progress::new(&jobs, self.arguments.show());
        let summary = self.execute(jobs, &launcher, &mut recorder, &mut progress)?;
        let results = recorder.finish().map_err(record_problem)?;
        self.end(&decisions, summary, &results, &mut progress)
    }

    fn execute(
        &self,
        jobs: Vec<Job>,
        launcher: &WorkerProgram,
        recorder: &mut Recorder<'_>,
        progress: &mut Progress,
    ) -> Result<Summary, Problem> {
        if jobs.is_empty() {
            progress.see_nothing_to_do(self.bench.conditions.jobs);
            return Ok(Summary::default());
        }
        let mut sink = |event: RunEvent<'_>| {
            // Store the run first, so that runs shown as done are on disk.
            let kept = recorder.see(&event);
            progress.see(&event);
            kept
        };
        let summary = execute::run(
            &mut Listed::new(jobs),
            launcher,
            &self.bench.options(self.arguments.max_failures()),
            self.interrupt.is_asked(),
            &mut sink,
        );
        self.interrupt.stop_waiting();
        summary.map_err(record_problem)
    }

    fn end(
        &self,
        decisions: &[(RunId, Decision)],
        summary: Summary,
        results: &ResultSet,
        progress: &mut Progress,
    ) -> Outcome {
        let plan = self.bench.plan;
        let own = self
            .arguments
            .shard
            .map(|_| shard::own_results(self.bench.cells, decisions, results));
        let results = own.as_ref().unwrap_or(results);
        // A shard has a journal, but no results files or report.
        let (folder, report) = match self.arguments.shard {
            Some(share) => (journal_path(&plan.results_folder, share), None),
            None => (plan.results_folder.clone(), render(self.arguments, plan)?),
        };
        let kept = decisions
            .iter()
            .filter(|(_, decision)| matches!(decision, Decision::Keep(_)));
        let ending = Ending {
            results,
            folder: &from_here(&folder),
            command: &self.arguments.again(),
            ended: summary.ended,
            left: summary.left,
            kept: kept.count(),
            stopped: summary.stopped,
            wall_s: self.began.elapsed().as_secs_f64(),
            report: report.as_deref(),
            answer: &answer(self.arguments, results),
        };
        progress.end(&ending, self.arguments.detail());
        advise(self.arguments, plan)?;
        Ok(self.exit_code(summary, results))
    }

    fn exit_code(&self, summary: Summary, results: &ResultSet) -> u8 {
        let selected: std::collections::HashSet<&str> = self
            .bench
            .cells
            .iter()
            .filter(|cell| self.bench.plan.is_selected(cell))
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
    let mut expected_s = |id: RunId| {
        let expected = expected.entry((id.cell, id.block == 0));
        let expected = expected.or_insert_with(|| estimator.run(&cells[id.cell], id.block));
        expected.map(|expected| expected.seconds)
    };
    let job = |id: RunId| Job {
        id,
        spec: Arc::clone(&specs[id.cell]),
        estimated_s: expected_s(id),
        trial: None,
    };
    order.into_iter().map(job).collect()
}
