//! [`Bars`]: progress bars on a terminal: one over all runs, and one line for every current run.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::base::units::human_seconds;
use crate::event::{Event, Job, RunEvent, RunId, RunOutcome, Status};

use super::detail::{Detail, Details};
use super::eta::Eta;
use super::fitted;
use super::line::{Names, gave};
use super::run_state::RunState;
use super::search::{Tally, is_counted};

pub(super) const REDRAW: Duration = Duration::from_millis(100);

/// Template of the line of a current run.
pub(super) const RUNNING: &str = "{spinner:.cyan} {prefix}  {wide_msg}";

#[derive(Debug)]
pub(super) struct Bars {
    names: Names,
    search: Option<Tally>,
    detail: Detail,
    details: Details,
    all: MultiProgress,
    overall: ProgressBar,
    running: HashMap<RunId, Running>,
    eta: Eta,
    ended: usize,
    runs: usize,
    failed: usize,
}

#[derive(Debug)]
struct Running {
    bar: ProgressBar,
    state: RunState,
}

impl Bars {
    pub(super) fn new(names: Names, eta: Eta, search: Option<Tally>, detail: Detail) -> Self {
        Self {
            names,
            search,
            detail,
            details: Details::new(detail),
            all: MultiProgress::new(),
            overall: ProgressBar::hidden(),
            running: HashMap::new(),
            eta,
            ended: 0,
            runs: 0,
            failed: 0,
        }
    }

    pub(super) fn see(&mut self, event: &RunEvent<'_>) {
        if let Some(line) = self.details.line(event, &self.names) {
            self.say(&fitted(&line, 8));
        }
        match event {
            RunEvent::Start { runs, slots } => self.start(*runs, *slots),
            RunEvent::RunStarted { job, .. } => self.begin(job),
            RunEvent::Worker { id, event } => self.hear(*id, event),
            RunEvent::RunEnded { job, outcome } => self.end(job, outcome),
            RunEvent::Stopping { reason, running } => {
                self.say(&reason.sentence(*running));
            }
            RunEvent::Tick => self.show_time_left(),
            RunEvent::Kept {
                job, status, info, ..
            } => {
                let tally = self.search.iter_mut();
                tally.for_each(|tally| tally.keep(job, *status, info));
                self.eta.skip();
                self.show_place();
            }
            RunEvent::End { .. } => self.overall.finish_and_clear(),
        }
    }

    fn start(&mut self, runs: usize, slots: usize) {
        self.runs = runs;
        self.eta.start(runs, slots);
        self.overall = self.all.add(ProgressBar::new(runs as u64));
        let what = if self.search.is_some() {
            "trials"
        } else {
            "runs"
        };
        let template =
            format!("{{bar:24.cyan/dim}} {{pos}}/{{len}} {what}  {{elapsed}} elapsed{{wide_msg}}");
        self.overall.set_style(style(&template));
        self.search.iter_mut().for_each(|tally| tally.start(runs));
        self.overall.enable_steady_tick(REDRAW);
    }

    fn begin(&mut self, job: &Job) {
        if !is_counted(job) {
            self.eta.add_one();
        }
        self.eta.begin(job.id, Instant::now());
        self.search.iter_mut().for_each(Tally::begin);
        let bar = self.all.insert_before(&self.overall, ProgressBar::new(1));
        bar.set_style(style(RUNNING));
        bar.set_prefix(self.names.name(job));
        bar.set_message("starts");
        bar.enable_steady_tick(REDRAW);
        let running = Running {
            bar,
            state: RunState::default(),
        };
        self.running.insert(job.id, running);
    }

    fn hear(&mut self, id: RunId, event: &Event) {
        let Some(running) = self.running.get_mut(&id) else {
            return;
        };
        if let Event::Warning { message } = event {
            let line = format!("warning: {message}");
            self.say(&fitted(&line, 2));
            return;
        }
        running.state.see(event);
        running.bar.set_message(running.state.text());
        self.eta.advance(id, running.state.share());
        self.show_time_left();
    }

    fn end(&mut self, job: &Job, outcome: &RunOutcome) {
        if let Some(running) = self.running.remove(&job.id) {
            running.bar.finish_and_clear();
            self.all.remove(&running.bar);
        }
        self.eta.end(job.id, outcome.wall_s);
        self.ended += 1;
        self.failed += usize::from(outcome.status.is_failure());
        let gave = match &mut self.search {
            None => gave(outcome),
            Some(tally) => {
                tally.end(job, outcome.status);
                tally.gave(job, outcome)
            }
        };
        let name = self.names.name(job);
        let line = format!("{} {name}  {gave}", mark(outcome.status));
        self.say(&fitted(&line, 2));
        for line in self.detail.words(outcome) {
            self.say(&format!("    {}", console_dim(line)));
        }
        self.show_place();
    }

    /// Updates the overall bar and the time left.
    fn show_place(&self) {
        match &self.search {
            None => self.overall.set_position(self.ended as u64),
            Some(tally) => {
                let (ended, of) = tally.place();
                self.overall.set_length(of as u64);
                self.overall.set_position(ended as u64);
            }
        }
        self.show_time_left();
    }

    fn show_time_left(&self) {
        let goes_on = match &self.search {
            None => self.ended < self.runs,
            Some(tally) => tally.goes_on(),
        };
        let mut text = String::new();
        if let Some(left) = self.eta.left(Instant::now()).filter(|_| goes_on) {
            let _ = write!(text, ", about {} left", roughly(left));
        }
        match &self.search {
            None if self.failed > 0 => {
                let _ = write!(text, ", {} failed", self.failed);
            }
            None => {}
            Some(tally) => {
                text.push_str(&tally.counts());
                if let Some(best) = tally.best() {
                    let _ = write!(text, ", best {best}");
                }
            }
        }
        self.overall.set_message(text);
    }

    /// Prints a permanent line above the bars.
    fn say(&self, line: &str) {
        // An error of the terminal must not stop training.
        let _ = self.all.println(line);
    }
}

/// Whole seconds below a minute: an estimate has no more precision.
pub(super) fn roughly(left: Duration) -> String {
    let seconds = left.as_secs_f64().ceil();
    if seconds < 60.0 {
        return format!("{seconds} s");
    }
    human_seconds(seconds)
}

pub(super) fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━─")
}

/// `✓` in green for done, `✗` in red, `–` for interrupted, `✂` for pruned; a word beside it names every status but done.
pub(super) fn mark(status: Status) -> String {
    let (colour, sign, word) = match status {
        Status::Done => (32, "✓", String::new()),
        Status::NotRun => (33, "–", String::new()),
        Status::Pruned => (33, "✂", " pruned".to_owned()),
        failed => (31, "✗", format!(" {failed}")),
    };
    if no_colour() {
        return format!("{sign}{word}");
    }
    format!("\u{1b}[{colour}m{sign}{word}\u{1b}[0m")
}

pub(super) fn console_dim(text: &str) -> String {
    if no_colour() {
        return text.to_owned();
    }
    format!("\u{1b}[2m{text}\u{1b}[0m")
}

/// <https://no-color.org>
fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
