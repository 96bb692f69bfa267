//! [`Progress`]: displays runs. For users: bars on a terminal, else (in logs and pipes) one plain line for every run.
//! For programs: JSON lines.

use std::collections::BTreeMap;
use std::io::{self, Stdout};
use std::time::Instant;

use crate::base::units::{human, human_seconds};
use crate::event::{EpochRow, Event, Job, RunEvent, RunId, RunOutcome};
use crate::plan::search::SearchSpec;

use super::bars::{Bars, status_symbol, time_left};
use super::detail::Verbosity;
use super::eta::Eta;
use super::json_lines::JsonLines;
use super::line::{Names, columns, nonzero_counts_text, place, result_text, wrap_to_terminal};
use super::run_state::RunState;
use super::search::{Tally, is_counted};
use super::summary::RunSummary;

/// Displays the progress of runs.
#[derive(Debug)]
pub struct Progress {
    programs: Option<JsonLines<Stdout>>,
    names: Names,
    search: Option<Tally>,
    detail: Verbosity,
    bars: Bars,
    running: BTreeMap<RunId, (String, RunState)>,
    eta: Eta,
    runs: usize,
    ended: usize,
    failed: usize,
}

impl Progress {
    /// Displays planned runs: bars if standard error is a terminal, else one line per run; JSON lines too if `events`
    /// is true. Names of runs leave out the parts of keys that all jobs share.
    pub fn new(jobs: &[Job], detail: Verbosity, events: bool) -> Self {
        let names = Names::new(jobs.iter().map(|job| job.spec.key.as_str()));
        Self::of(names, Eta::of(jobs), None, detail, events)
    }

    /// Displays a search of `studies` studies, whose trials are known only when they start.
    pub fn for_search(
        search: &SearchSpec,
        studies: usize,
        detail: Verbosity,
        events: bool,
    ) -> Self {
        let tally = Tally::new(search, studies);
        Self::of(
            Names::default(),
            Eta::default(),
            Some(tally),
            detail,
            events,
        )
    }

    fn of(names: Names, eta: Eta, search: Option<Tally>, detail: Verbosity, events: bool) -> Self {
        Self {
            programs: events.then(|| JsonLines::new(io::stdout())),
            names,
            search,
            detail,
            bars: Bars::new(detail > Verbosity::Quiet),
            running: BTreeMap::new(),
            eta,
            runs: 0,
            ended: 0,
            failed: 0,
        }
    }

    /// Displays the start and end of an invocation in which there is nothing to run.
    pub fn show_no_runs(&mut self, slots: usize) {
        self.handle(&RunEvent::Start { runs: 0, slots });
        self.handle(&RunEvent::End { left: 0 });
    }

    /// Displays the summary at the end.
    pub fn show_summary(&mut self, ending: &RunSummary<'_>) {
        if let Some(lines) = &mut self.programs {
            lines.write("summary", ending.json());
        }
        if self.detail > Verbosity::Quiet {
            eprint!("{}", ending.text());
        } else if ending.ended == 0 {
            // If no run ended in this invocation, runs that failed earlier are listed, because they determine the exit
            // code.
            eprint!("{}", ending.failed_text());
        }
    }

    /// Displays an event.
    pub fn handle(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Start { runs, slots } => self.start(*runs, *slots),
            RunEvent::RunStarted { job, .. } => self.begin(job),
            RunEvent::Worker { id, event } => self.see_worker(*id, event),
            RunEvent::RunEnded { job, outcome } => self.end_run(job, outcome),
            RunEvent::Stopping { reason, running } => self.bars.say(&reason.sentence(*running)),
            RunEvent::Tick => self.show_place(),
            RunEvent::Kept(trial) => {
                let tally = self.search.iter_mut();
                tally.for_each(|tally| tally.keep(trial));
                self.eta.skip(trial.job.id.cell);
                self.show_place();
            }
            RunEvent::NotNeeded { job } => {
                self.runs -= 1;
                self.eta.skip(job.id.cell);
                self.show_place();
            }
            RunEvent::End { .. } => self.finish(),
        }
        if let Some(lines) = &mut self.programs {
            lines.handle(event);
        }
    }

    fn start(&mut self, runs: usize, slots: usize) {
        self.runs = runs;
        self.eta.start(runs, slots);
        self.search.iter_mut().for_each(|tally| tally.start(runs));
        let what = self.search.as_ref().map_or("runs", |_| "trials");
        self.bars.start(runs, what);
    }

    fn begin(&mut self, job: &Job) {
        if !is_counted(job) {
            self.eta.add_one();
        }
        self.eta.begin(job.id, Instant::now());
        self.search.iter_mut().for_each(Tally::begin);
        let name = self.names.name(job);
        if self.detail == Verbosity::Verbose {
            let expected = job.estimated_s.map_or_else(
                || "no estimate".to_owned(),
                |seconds| format!("estimated {}", human_seconds(seconds)),
            );
            self.bars
                .say(&wrap_to_terminal(&format!("starts  {name}  {expected}"), 8));
        }
        self.bars.begin(job.id, name.clone());
        self.running.insert(job.id, (name, RunState::default()));
    }

    fn see_worker(&mut self, id: RunId, event: &Event) {
        if let Event::Warning { message } = event {
            return self
                .bars
                .say(&wrap_to_terminal(&format!("warning: {message}"), 2));
        }
        if let (Event::Epoch(row), Verbosity::Verbose) = (event, self.detail)
            && let Some((name, _)) = self.running.get(&id)
        {
            let line = format!("epoch {}  {name}  {}", row.epoch + 1, losses(row));
            self.bars.say(&wrap_to_terminal(&line, 8));
        }
        let Some((name, state)) = self.running.get_mut(&id) else {
            return;
        };
        state.handle(event);
        self.eta.advance(id, state.share());
        if matches!(event, Event::Resumed { .. }) {
            self.eta.set_resumed_share(id, state.share());
        }
        // The spinner and the spaces between need 4 columns.
        let columns = columns().saturating_sub(name.chars().count() + 4);
        self.bars.tell(id, state.line(columns));
        self.show_place();
    }

    /// Prints the line of an ended run, `[ 3/20] trial=7 lr=0.003  done  best_loss 0.1180  in 4.1 s`. If the run
    /// failed, the last lines of its standard error follow.
    fn end_run(&mut self, job: &Job, outcome: &RunOutcome) {
        self.bars.end(job.id);
        self.running.remove(&job.id);
        self.eta.end(job.id, outcome.wall_s);
        self.ended += 1;
        self.failed += usize::from(outcome.status.is_failure());
        if let Some(tally) = &mut self.search {
            tally.end(job, outcome.status);
        }
        let result_text = self.result_text(job, outcome);
        if self.detail > Verbosity::Quiet || outcome.status.is_failure() {
            self.say_ended(job, outcome, &result_text);
        }
        self.show_place();
    }

    fn say_ended(&self, job: &Job, outcome: &RunOutcome, result_text: &str) {
        let (name, status) = (self.names.name(job), outcome.status);
        if self.bars.are_drawn() {
            self.bars.say(&wrap_to_terminal(
                &format!("{} {name}  {result_text}", status_symbol(status)),
                2,
            ));
        } else {
            let (ended, of) = self.place();
            let mut place = place(ended, of);
            if !is_counted(job) {
                // A run that does not count as a trial gets no number.
                place = " ".repeat(place.len());
            }
            let line = format!("{place} {name}  {status}  {result_text}");
            self.bars.say(&wrap_to_terminal(&line, place.len() + 1));
        }
        for line in self.detail.stderr_to_print(outcome) {
            self.bars.quote(line);
        }
    }

    /// Number of ended runs and of all runs; in a search, of trials.
    fn place(&self) -> (usize, usize) {
        let search = self.search.as_ref();
        search.map_or((self.ended, self.runs), Tally::place)
    }

    /// The result of a run in one line.
    pub fn result_text(&self, job: &Job, outcome: &RunOutcome) -> String {
        match &self.search {
            None => result_text(outcome),
            Some(tally) => tally.result_text(job, outcome),
        }
    }

    /// The current state of all runs, for the overall bar and the page of `run --live`.
    pub fn current_snapshot(&self) -> ProgressSnapshot<'_> {
        let (goes_on, rest) = match &self.search {
            None => (
                self.ended < self.runs,
                nonzero_counts_text(&[(self.failed, "failed")]),
            ),
            Some(tally) => (tally.goes_on(), tally.counts()),
        };
        let (ended, of) = self.place();
        ProgressSnapshot {
            ended,
            of,
            left: time_left(&self.eta, goes_on),
            rest: rest.trim_start_matches(", ").to_owned(),
            best: self.search.as_ref().and_then(Tally::best),
            running: self
                .running
                .values()
                .map(|(name, state)| (name.as_str(), state))
                .collect(),
        }
    }

    /// The name of a run, and its progress if it is running.
    pub fn run(&self, job: &Job) -> (String, Option<&RunState>) {
        let state = self.running.get(&job.id).map(|(_, state)| state);
        (self.names.name(job), state)
    }

    /// Updates the overall bar: numbers, remaining time, best values.
    fn show_place(&self) {
        if !self.bars.are_drawn() {
            return;
        }
        let now = self.current_snapshot();
        let best = now.best.map(|best| format!("best {best}"));
        let rest = Some(now.rest).filter(|rest| !rest.is_empty());
        let mut message = String::new();
        for part in [now.left, rest, best].into_iter().flatten() {
            message += ", ";
            message += &part;
        }
        self.bars.show((now.ended, now.of), message);
    }

    fn finish(&self) {
        self.bars.finish();
        let kept = self.search.as_ref().and_then(Tally::kept_line);
        if let Some(line) =
            kept.filter(|_| !self.bars.are_drawn() && self.detail > Verbosity::Quiet)
        {
            eprintln!("{line}");
        }
    }
}

/// The losses and metrics of an epoch as text: `train_loss 0.118  val_loss 0.121`.
fn losses(row: &EpochRow) -> String {
    let shown = |value: Option<f64>| value.map_or("not finite".to_owned(), |v| human(v, 3));
    // A missing training loss is left out: a program need not report one.
    let training = row
        .train_loss
        .map(|loss| format!("train_loss {}", human(loss, 3)));
    let mut all: Vec<String> = training.into_iter().collect();
    let validation = row.validation.iter();
    all.extend(validation.map(|(name, value)| format!("{name} {}", shown(*value))));
    all.join("  ")
}

/// The state of all runs at one moment.
#[derive(Debug)]
pub struct ProgressSnapshot<'a> {
    /// Number of runs that have ended; in a search, of trials.
    pub ended: usize,
    /// Number of all runs; in a search, of all trials.
    pub of: usize,
    /// Remaining time as text, `about 4 min left`; `None` if unknown or if nothing remains.
    pub left: Option<String>,
    /// Number of failed runs as text, `2 failed`; in a search the numbers of trials by status. Empty if all are 0.
    pub rest: String,
    /// The best value of each objective of a search as text; `None` without a search or a value.
    pub best: Option<String>,
    /// Name and progress of each current run.
    pub running: Vec<(&'a str, &'a RunState)>,
}
