//! `fieldtrial run`: plans, prepares data, executes unfinished runs, writes results and report.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use crate::base::shell;
use crate::diag::Failure;
use crate::event::{Job, RunEvent, RunId, StopReason};
use crate::execute::{
    self, Decision, Estimator, PrecisionTracker, ResumeOptions, RunList, RunReason, Source,
    Summary, WorkerProgram,
};
use crate::plan::{CellSpec, Feasibility, Plan, PlannedCell};
use crate::progress::{Progress, RunSummary, Verbosity};
use crate::record::Recorder;
use crate::report::ReportError;
use crate::results::environment::gpu_counters_error;
use crate::results::store::{Store, journal_path};
use crate::results::{ResultSet, Session, relative_to_current_dir};

use super::after_run::{render, suggest_commands, summary_sentences};
use super::baselines;
use super::choice::SelectedPlan;
use super::earlier::EarlierStates;
use super::interrupt::Interrupt;
use super::live::Live;
use super::run_arguments::{Invocation, RunArguments};
use super::run_plan::{announce, conditions, print_data_remarks, run_lines, selected};
use super::search_run::{self, SearchRun};
use super::setup::{Setup, record_problem};
use super::{Outcome, Problem, exit_code, shard};

pub(super) fn run(arguments: &RunArguments) -> Outcome {
    let began = Instant::now();
    let choice = &arguments.choice;
    let first = choice.plan_without_data()?;
    let interrupt = Interrupt::listen()?;
    let SelectedPlan { plan, cells } = if arguments.dry_run {
        interrupt.exit_on_next_signal();
        first
    } else {
        first.with_data(|| choice.plan_without_data())?
    };
    refuse_if_nothing_can_run(&plan, &cells)?;
    print_data_remarks(&plan, arguments.detail());
    let (environment, mut conditions) = conditions(&choice.manifest);
    conditions.jobs = search_run::jobs(arguments, plan.search.as_ref());
    let invocation = Invocation {
        arguments,
        setup: Setup::of(&plan, &cells, &conditions, &environment),
        interrupt: &interrupt,
        began,
    };
    let invocation = &invocation;
    match &plan.search {
        Some(spec) => SearchRun { invocation, spec }.run(),
        None if arguments.dry_run => invocation.show(),
        None => invocation.run(),
    }
}

pub(super) fn refuse_if_nothing_can_run(plan: &Plan, cells: &[PlannedCell]) -> Result<(), Problem> {
    let mut selected = selected(plan, cells).peekable();
    if selected.peek().is_none() {
        let manifest = plan.manifest_path.to_string_lossy();
        let shows = shell::command(&shell::joined(["plan", &*manifest]));
        let help = format!("`{shows}` shows the values of every axis");
        return Err(Failure::without_source("`--only` selects no cell", Some(help)).into());
    }
    let mut reasons = Vec::new();
    for (_, cell) in selected {
        let Feasibility::Infeasible(reason) = &cell.feasibility else {
            return Ok(());
        };
        reasons.push(reason.as_str());
    }
    reasons.dedup();
    let title = format!("no cell of `{}` can run: {}", plan.name, reasons.join("; "));
    Err(Failure::without_source(title, None).into())
}

impl Invocation<'_> {
    /// `--dry-run`: prints for every run whether it would be executed.
    fn show(&self) -> Outcome {
        let (setup, cells) = (&self.setup, self.setup.cells);
        let store = shard::read(setup.plan, self.arguments.shard)?;
        let (decisions, _) = self.decisions(&store);
        let estimator = Estimator::new(&store, setup.conditions);
        announce(setup.plan, cells, &decisions, &estimator);
        io::stdout().write_all(run_lines(cells, &decisions).as_bytes())?;
        Ok(exit_code::GOOD)
    }

    /// Every run of the selected cells, with the decision whether it is executed, and the known times for
    /// `measure.until`. A shard ignores `measure.until`, because it has only some of a cell's runs.
    fn decisions(&self, store: &Store) -> (Vec<(RunId, Decision)>, PrecisionTracker) {
        let (arguments, setup) = (self.arguments, &self.setup);
        let options = ResumeOptions {
            fresh: arguments.fresh,
            retry: arguments.retry,
            any_conditions: arguments.shard.is_some(),
            without_checkpoints: false,
        };
        let selected = selected(setup.plan, setup.cells);
        let mut until = PrecisionTracker::of(setup.plan, selected.clone());
        let repeats = arguments.shard.is_none().then_some(&mut until);
        let decisions = execute::decide_runs(selected, store, setup.conditions, options, repeats);
        (
            shard::runs_of_shard(arguments.shard, setup.cells, decisions),
            until,
        )
    }

    /// Executes the unfinished runs of the selected cells, stores their results, and writes the report.
    fn run(&self) -> Outcome {
        let session = Session::begin();
        let (arguments, setup, cells) = (self.arguments, &self.setup, self.setup.cells);
        let says_more = arguments.detail() > Verbosity::Quiet;
        if let Some(reason) = gpu_counters_error(setup.environment).filter(|_| says_more) {
            eprintln!("note: load, clocks and energy of GPUs are not measured: {reason}");
        }
        let (store, previous) = shard::open(setup, arguments.shard)?;
        let (decisions, until) = self.decisions(&store);
        let estimator = Estimator::new(&store, setup.conditions);
        if says_more {
            announce(setup.plan, cells, &decisions, &estimator);
        }
        if arguments.verbose {
            eprint!("{}", run_lines(cells, &decisions));
        }
        let jobs = jobs(cells, &decisions, &estimator);
        let is_kept = |(_, decision): &&(RunId, Decision)| matches!(decision, Decision::Keep(_));
        let kept = decisions.iter().filter(is_kept).count();
        let mut progress = Progress::new(&jobs, arguments.detail(), arguments.prints_events());
        let launcher = setup.launcher(&store)?;
        let mut recorder = setup.recorder(store, previous, session);
        let summary = if jobs.is_empty() {
            progress.show_no_runs(setup.conditions.jobs);
            Summary::default()
        } else {
            let source = &mut RunList::new(jobs, until);
            self.execute(source, &launcher, &mut recorder, &mut progress)?
                .0
        };
        let results = recorder.finish().map_err(record_problem)?;
        let own = arguments.shard;
        let own = own.map(|_| shard::own_results(cells, &decisions, &results));
        let results = own.unwrap_or(results);
        self.end(kept, summary, results, &mut progress)
    }

    /// Executes the runs of `source`, and counts those with kept results.
    pub(super) fn execute(
        &self,
        source: &mut dyn Source,
        launcher: &WorkerProgram,
        recorder: &mut Recorder<'_>,
        progress: &mut Progress,
    ) -> Result<(Summary, usize), Problem> {
        let mut kept = 0;
        let mut live = self.live();
        let mut sink = |event: RunEvent<'_>| {
            kept += usize::from(matches!(event, RunEvent::Kept(_)));
            // Store the run first, so that runs shown as done are on disk.
            let stored = recorder.handle(&event);
            live.take_if(|live| could_not_write(&live.handle(&event, progress)));
            progress.handle(&event);
            stored
        };
        let options = (self.setup.conditions, self.arguments.max_failures());
        let interrupted = self.interrupt.is_asked();
        let summary = execute::run(source, launcher, options, interrupted, &mut sink);
        self.interrupt.exit_on_next_signal();
        if let Some(live) = live {
            let report = if self.arguments.no_report {
                ""
            } else {
                "report.html"
            };
            could_not_write(&live.end(progress, report));
        }
        Ok((summary.map_err(record_problem)?, kept))
    }

    /// The page of `--live`; `None` without this option.
    fn live(&self) -> Option<Live> {
        let live = self.arguments.live.then(|| Live::new(self.setup.plan))?;
        if self.arguments.detail() > Verbosity::Quiet {
            eprintln!(
                "live     {}",
                relative_to_current_dir(live.path()).display()
            );
        }
        Some(live)
    }

    /// Completes the baselines, writes the report, shows the summary, and returns the exit code.
    pub(super) fn end(
        &self,
        kept: usize,
        summary: Summary,
        mut results: ResultSet,
        progress: &mut Progress,
    ) -> Outcome {
        let (arguments, plan) = (self.arguments, self.setup.plan);
        if arguments.shard.is_none() && summary.stopped.is_none() {
            let says = arguments.detail() > Verbosity::Quiet;
            results.baselines =
                baselines::complete_baselines(plan, self.setup.cells, &results, says)?;
        }
        // A shard has a journal, but no results files or report.
        let (folder, report) = match arguments.shard {
            Some(share) => (journal_path(&plan.results_folder, share), None),
            None => (
                plan.results_folder.clone(),
                render(arguments.no_report, plan)?,
            ),
        };
        let ending = RunSummary {
            results: &results,
            folder: &relative_to_current_dir(&folder),
            command: &arguments.resume_command(),
            ended: summary.ended,
            left: summary.left,
            not_needed: summary.not_needed,
            kept,
            stopped: summary.stopped,
            wall_s: self.began.elapsed().as_secs_f64(),
            report: report.as_deref(),
            answer: &summary_sentences(arguments, &plan.results_folder)?,
        };
        progress.show_summary(&ending);
        suggest_commands(arguments, plan)?;
        if summary.stopped == Some(StopReason::Interrupted) {
            return Ok(exit_code::INTERRUPTED);
        }
        let selected = selected(plan, self.setup.cells);
        let selected: HashSet<&str> = selected.map(|(_, cell)| &*cell.spec.key).collect();
        let counts = |key: &str| plan.search.is_some() || selected.contains(key);
        let mut blocks = results.blocks.iter();
        let has_failed = blocks.any(|block| block.status.is_failure() && counts(&block.key));
        Ok(exit_code::failed_if(has_failed))
    }
}

/// Prints a warning if the page could not be written, and returns whether that happened; the runs continue without it.
fn could_not_write(written: &Result<(), ReportError>) -> bool {
    if let Err(error) = written {
        eprintln!("warning: the page of `--live` is no longer written: {error}");
    }
    written.is_err()
}

/// The runs to execute, in their order.
fn jobs(
    cells: &[PlannedCell],
    decisions: &[(RunId, Decision)],
    estimator: &Estimator<'_>,
) -> Vec<Job> {
    let whys = decisions
        .iter()
        .filter_map(|(id, decision)| match decision {
            Decision::Run(why) => Some((*id, why)),
            Decision::Keep(_) | Decision::NotNeeded => None,
        });
    let whys: HashMap<RunId, &RunReason> = whys.collect();
    let wanted: Vec<RunId> = whys.keys().copied().collect();
    let specs = cells.iter().map(|cell| Arc::new(cell.spec.clone()));
    let specs: Vec<Arc<CellSpec>> = specs.collect();
    let seeds = specs.iter().flat_map(|spec| spec.measure.seeds.clone());
    let mut seeds: Vec<u64> = seeds.collect();
    seeds.sort_unstable();
    seeds.dedup();
    let order = execute::in_block_order(cells.len(), &seeds, &wanted);
    let mut expected = HashMap::new();
    let mut expected_s = |id: RunId| {
        let expected = expected.entry((id.cell, id.block == 0));
        let expected =
            expected.or_insert_with(|| estimator.expected_run_time(&cells[id.cell], id.block));
        expected.map(|expected| expected.seconds)
    };
    let earlier = EarlierStates::of(cells);
    let job = |id: RunId| Job {
        id,
        spec: Arc::clone(&specs[id.cell]),
        estimated_s: expected_s(id),
        resume: earlier.resume(&cells[id.cell], id, whys[&id]),
        trial: None,
    };
    order.into_iter().map(job).collect()
}
