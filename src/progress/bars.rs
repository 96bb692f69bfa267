//! [`Bars`]: one bar over all runs, and one line for every run that goes on.

use std::collections::HashMap;
use std::fmt::Write;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::base::units::{human, human_seconds};
use crate::event::{Event, Job, RunEvent, RunId, RunOutcome, Status};

use super::eta::Eta;
use super::line::{Names, gave, last_words};

const REDRAW: Duration = Duration::from_millis(100);

/// Bars on a terminal.
#[derive(Debug)]
pub(super) struct Bars {
    names: Names,
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
    steps_per_epoch: usize,
    epochs: usize,
    loss: Option<f64>,
}

impl Bars {
    pub(super) fn new(names: Names) -> Self {
        Self {
            names,
            all: MultiProgress::new(),
            overall: ProgressBar::hidden(),
            running: HashMap::new(),
            eta: Eta::default(),
            ended: 0,
            runs: 0,
            failed: 0,
        }
    }

    pub(super) fn see(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Start { runs, slots } => self.start(*runs, *slots),
            RunEvent::RunStarted { job, .. } => self.begin(job),
            RunEvent::Worker { id, event } => self.hear(*id, event),
            RunEvent::RunEnded { job, outcome } => self.end(job, outcome),
            RunEvent::Stopping { reason, running } => {
                self.say(&reason.sentence(*running));
            }
            RunEvent::Tick => self.show_time_left(),
            RunEvent::End { .. } => self.overall.finish_and_clear(),
        }
    }

    fn start(&mut self, runs: usize, slots: usize) {
        self.runs = runs;
        self.eta.start(runs, slots);
        self.overall = self.all.add(ProgressBar::new(runs as u64));
        self.overall.set_style(style(
            "{bar:32.cyan/dim} {pos}/{len} runs  {elapsed} elapsed{msg}",
        ));
        self.overall.enable_steady_tick(REDRAW);
    }

    fn begin(&mut self, job: &Job) {
        self.eta.begin(job.id);
        let bar = self.all.insert_before(&self.overall, ProgressBar::new(1));
        bar.set_style(style("{spinner:.cyan} {prefix}  {wide_msg}"));
        bar.set_prefix(self.names.name(job));
        bar.set_message("starts");
        bar.enable_steady_tick(REDRAW);
        let running = Running {
            bar,
            steps_per_epoch: 0,
            epochs: 0,
            loss: None,
        };
        self.running.insert(job.id, running);
    }

    fn hear(&mut self, id: RunId, event: &Event) {
        let Some(running) = self.running.get_mut(&id) else {
            return;
        };
        match event {
            Event::Started {
                epochs,
                steps_per_epoch,
                ..
            } => {
                running.epochs = *epochs;
                running.steps_per_epoch = *steps_per_epoch;
                running.show(0, 0);
            }
            Event::Progress { epoch, step, loss } => {
                running.loss = loss.or(running.loss);
                running.show(*epoch, *step);
                self.eta.advance(id, running.share(*epoch, *step));
                self.show_time_left();
            }
            Event::Epoch(row) => {
                running.loss = row.train_loss.or(running.loss);
                running.show(row.epoch + 1, 0);
                self.eta.advance(id, running.share(row.epoch + 1, 0));
            }
            Event::Assessing { what, done, of } => {
                running.bar.set_message(format!("{what}  {done}/{of}"));
            }
            Event::Warning { message } => {
                let line = format!("warning: {message}");
                self.say(&line);
            }
            _ => {}
        }
    }

    fn end(&mut self, job: &Job, outcome: &RunOutcome) {
        if let Some(running) = self.running.remove(&job.id) {
            running.bar.finish_and_clear();
            self.all.remove(&running.bar);
        }
        self.eta.end(job.id, outcome.wall_s);
        self.ended += 1;
        self.failed += usize::from(outcome.status.is_failure());
        self.overall.inc(1);
        let name = self.names.name(job);
        self.say(&format!(
            "{} {name}  {}",
            mark(outcome.status),
            gave(outcome)
        ));
        for line in last_words(outcome) {
            self.say(&format!("    {}", console_dim(line)));
        }
        self.show_time_left();
    }

    fn show_time_left(&self) {
        let mut text = String::new();
        if let Some(left) = self.eta.left().filter(|_| self.ended < self.runs) {
            let _ = write!(text, ", about {} left", roughly(left));
        }
        if self.failed > 0 {
            let _ = write!(text, ", {} failed", self.failed);
        }
        self.overall.set_message(text);
    }

    /// A line above the bars, which stays.
    fn say(&self, line: &str) {
        // A terminal that is gone is no reason to stop training.
        let _ = self.all.println(line);
    }
}

impl Running {
    fn show(&self, epoch: usize, step: usize) {
        let epoch = (epoch + 1).min(self.epochs.max(1));
        let mut text = format!("epoch {epoch}/{}", self.epochs);
        if self.steps_per_epoch > 0 && step > 0 {
            let _ = write!(text, "  step {step}/{}", self.steps_per_epoch);
        }
        if let Some(loss) = self.loss {
            let _ = write!(text, "  loss {}", human(loss, 3));
        }
        self.bar.set_message(text);
    }

    fn share(&self, epoch: usize, step: usize) -> f64 {
        let per_epoch = self.steps_per_epoch.max(1);
        let all = per_epoch * self.epochs.max(1);
        (epoch * per_epoch + step) as f64 / all as f64
    }
}

/// Whole seconds below a minute: more digits would claim to know.
fn roughly(left: Duration) -> String {
    let seconds = left.as_secs_f64().ceil();
    if seconds < 60.0 {
        return format!("{seconds} s");
    }
    human_seconds(seconds)
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━━─")
}

/// `✓` in green, `✗` in red, `–` for what was broken off; the word stands beside what is not done.
fn mark(status: Status) -> String {
    let (colour, sign, word) = match status {
        Status::Done => (32, "✓", String::new()),
        Status::NotRun => (33, "–", String::new()),
        failed => (31, "✗", format!(" {failed}")),
    };
    if no_colour() {
        return format!("{sign}{word}");
    }
    format!("\u{1b}[{colour}m{sign}{word}\u{1b}[0m")
}

fn console_dim(text: &str) -> String {
    if no_colour() {
        return text.to_owned();
    }
    format!("\u{1b}[2m{text}\u{1b}[0m")
}

/// <https://no-color.org>
fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
