//! `fieldtrial run` on a manifest with `[search]`: runs trials that a sampler proposes when earlier ones end.

use std::io::{self, Write};
use std::time::Instant;

use crate::base::text::count;
use crate::cluster::TrialShare;
use crate::event::{RunEvent, Status, StopReason};
use crate::execute::{self, Next, Source, Summary};
use crate::plan::search::SearchSpec;
use crate::progress::{Detail, Ending, Progress};
use crate::results::store::{RunConditions, Store, journal_path};
use crate::results::{ResultSet, Session, from_here};
use crate::search::{Search, SearchOptions};

use super::after_run::{advise, answer, render};
use super::bench::{Bench, mistake, record_problem};
use super::interrupt::Interrupt;
use super::run_arguments::RunArguments;
use super::{Outcome, Problem, exit_code, shard};

pub(super) struct SearchRun<'a> {
    pub(super) arguments: &'a RunArguments,
    /// Without cells: a search has none before it proposes them.
    pub(super) bench: Bench<'a>,
    pub(super) spec: &'a SearchSpec,
    pub(super) interrupt: &'a Interrupt,
    pub(super) began: Instant,
}

impl SearchRun<'_> {
    pub(super) fn run_or_show(self) -> Outcome {
        if self.arguments.dry_run {
            self.preview()
        } else {
            self.run()
        }
    }

    /// Shows finished trials without running anything.
    fn preview(&self) -> Outcome {
        let store = shard::read(self.bench.plan, self.arguments.shard)?;
        let options = SearchOptions {
            only_kept: true,
            ..self.options()?
        };
        let mut search = self.search(&store, options);
        let mut out = io::stdout().lock();
        let mut kept = 0;
        while let Some(next) = search.next() {
            if let Next::Kept {
                job,
                status,
                reason,
                ..
            } = next
            {
                kept += 1;
                let reason = if reason.is_empty() {
                    reason
                } else {
                    format!(": {reason}")
                };
                writeln!(out, "{}: keep ({status}{reason})", job.spec.key)?;
            }
        }
        for key in search.missing() {
            writeln!(out, "{key}: run, and what follows from it")?;
        }
        self.announce(Some(kept));
        Ok(exit_code::GOOD)
    }

    fn run(self) -> Outcome {
        if self.arguments.detail() > Detail::Quiet {
            self.announce(None);
        }
        let bench = &self.bench;
        let (store, previous) = shard::open(bench, self.arguments.shard)?;
        let mut search = self.search(&store, self.options()?);
        let launcher = bench.launcher(&store)?;
        let mut recorder = bench.recorder(store, previous, Session::begin());
        let mut progress = Progress::searching(self.spec, bench.plan.len(), self.arguments.show());
        let mut kept = 0;
        let mut sink = |event: RunEvent<'_>| {
            kept += usize::from(matches!(event, RunEvent::Kept { .. }));
            // Store the run first, so that trials shown as done are on disk.
            let stored = recorder.see(&event);
            progress.see(&event);
            stored
        };
        let summary = execute::run(
            &mut search,
            &launcher,
            &bench.options(self.arguments.max_failures()),
            self.interrupt.is_asked(),
            &mut sink,
        );
        self.interrupt.stop_waiting();
        let summary = summary.map_err(record_problem)?;
        if let Some(why) = search.spent() {
            eprintln!("note: {why}: no further trial began");
        }
        let results = recorder.finish().map_err(record_problem)?;
        self.end(kept, summary, &results, &mut progress)
    }

    fn search<'s>(&'s self, store: &Store, options: SearchOptions) -> Search<'s> {
        let (plan, conditions): (_, &RunConditions) = (self.bench.plan, self.bench.conditions);
        Search::new(plan, self.spec, store, conditions, options)
    }

    fn options(&self) -> Result<SearchOptions, Problem> {
        let studies = self.bench.plan.len();
        let share = self.arguments.shard;
        let share = share.map(|share| TrialShare::of(self.spec, studies, share));
        let share = share.transpose().map_err(mistake)?;
        Ok(SearchOptions {
            fresh: self.arguments.fresh,
            retry: self.arguments.retry,
            owns: share.map(|share| -> Box<dyn Fn(usize, usize) -> bool> {
                Box::new(move |study, number| share.owns(study, number))
            }),
            ..SearchOptions::default()
        })
    }

    fn announce(&self, kept: Option<usize>) {
        let (plan, spec) = (self.bench.plan, self.spec);
        let studies = plan.len();
        let trials = count(spec.trials, "trial");
        let each = match studies {
            1 => trials,
            n => format!("{n} studies of {trials}"),
        };
        let kept = kept
            .map(|kept| format!(", {kept} kept"))
            .unwrap_or_default();
        eprintln!("{}: {each}{kept}", plan.name);
        let jobs = self.bench.conditions.jobs;
        let useful = studies * (spec.lag + 1);
        if spec.learns() && jobs > useful {
            eprintln!(
                "note: with `search.lag = {}` at most {useful} trials go on at one time: {} of {jobs} jobs will idle",
                spec.lag,
                jobs - useful
            );
        }
        if spec.depends_on_clock() {
            eprintln!(
                "note: this search depends on the clock: the same seed may give other trials"
            );
        }
    }

    fn end(
        &self,
        kept: usize,
        summary: Summary,
        results: &ResultSet,
        progress: &mut Progress,
    ) -> Outcome {
        let results_folder = &self.bench.plan.results_folder;
        let (folder, report) = match self.arguments.shard {
            // A shard has a journal, but no results files or report.
            Some(share) => (journal_path(results_folder, share), None),
            None => (
                results_folder.clone(),
                render(self.arguments, self.bench.plan)?,
            ),
        };
        let folder = from_here(&folder);
        let ending = Ending {
            results,
            folder: &folder,
            command: &self.arguments.again(),
            ended: summary.ended,
            left: summary.left,
            kept,
            stopped: summary.stopped,
            wall_s: self.began.elapsed().as_secs_f64(),
            report: report.as_deref(),
            answer: &answer(self.arguments, results),
        };
        progress.end(&ending, self.arguments.detail());
        advise(self.arguments, self.bench.plan)?;
        Ok(code(summary, results))
    }
}

fn code(summary: Summary, results: &ResultSet) -> u8 {
    let has_failed = |status: Status| status.is_failure();
    if summary.stopped == Some(StopReason::Interrupted) {
        exit_code::INTERRUPTED
    } else if results.blocks.iter().any(|block| has_failed(block.status)) {
        exit_code::FAILED
    } else {
        exit_code::GOOD
    }
}

/// Number of parallel trials: from the command line, else from the manifest.
pub(super) fn jobs(arguments: &RunArguments, spec: Option<&SearchSpec>) -> usize {
    let asked = arguments.jobs.map(usize::from);
    asked.or(spec.map(|spec| spec.jobs)).unwrap_or(1)
}
