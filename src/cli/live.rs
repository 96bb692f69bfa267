//! [`Live`]: collects the content of the page of `run --live`, and writes it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use humantime::format_rfc3339_seconds;

use crate::base::text::count;
use crate::base::units::human;
use crate::event::{Job, RunEvent, RunOutcome, Status};
use crate::plan::Plan;
use crate::progress::{EpochLoss, Progress};
use crate::report::{LiveCurve, LivePage, LiveRun, ReportError};

/// Name of the page, in the results folder.
const PAGE: &str = "live.html";

/// Seconds after which a browser reads the page again.
const REFRESH_S: u64 = 5;
/// Time between two writes of the page: at least `EVERY`, and at least `PAUSE` times the duration of the last write.
const EVERY: Duration = Duration::from_secs(3);
const PAUSE: u32 = 100;

/// Largest number of ended runs on the page.
const ENDED: usize = 30;
/// Number of ended runs whose curves are shown.
const CURVES: usize = 4;
/// Largest number of failed runs on the page.
const FAILED: usize = 10;

/// The state of the live page of one call of `run`.
#[derive(Debug)]
pub(super) struct Live {
    path: PathBuf,
    title: String,
    question: String,
    /// Whether runs are trials of a search: then its objective decides which is the best, not the loss.
    is_search: bool,
    ended: VecDeque<LiveRun>,
    ended_count: usize,
    failed: Vec<String>,
    failed_count: usize,
    best: Vec<Best>,
    curves: VecDeque<LiveCurve>,
    written: Option<Instant>,
    cost: Duration,
}

/// The lowest loss of the runs with one dataset and loss.
#[derive(Debug)]
struct Best {
    of: String,
    loss: f64,
    /// Split on which the loss was computed.
    split: &'static str,
    name: String,
    metrics: String,
}

impl Live {
    /// A page in the plan's results folder.
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            path: plan.results_folder.join(PAGE),
            title: plan.title.clone(),
            question: plan.question.clone().unwrap_or_default(),
            is_search: plan.search.is_some(),
            ended: VecDeque::new(),
            ended_count: 0,
            failed: Vec::new(),
            failed_count: 0,
            best: Vec::new(),
            curves: VecDeque::new(),
            written: None,
            cost: Duration::ZERO,
        }
    }

    /// The page's file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Records an event (before `progress` handles it), and writes the page if it is due.
    pub(super) fn handle(
        &mut self,
        event: &RunEvent<'_>,
        progress: &Progress,
    ) -> Result<(), ReportError> {
        if let RunEvent::RunEnded { job, outcome } = event {
            self.end_run(job, outcome, progress);
        }
        let pause = EVERY.max(PAUSE * self.cost);
        if self.written.is_some_and(|last| last.elapsed() < pause) {
            return Ok(());
        }
        let began = Instant::now();
        self.page(progress, None).write(&self.path)?;
        self.cost = began.elapsed();
        self.written = Some(Instant::now());
        Ok(())
    }

    /// Writes the page for the last time; `report` is the file name of the report, or empty.
    pub(super) fn end(&self, progress: &Progress, report: &str) -> Result<(), ReportError> {
        self.page(progress, Some(report)).write(&self.path)
    }

    fn end_run(&mut self, job: &Job, outcome: &RunOutcome, progress: &Progress) {
        let (name, state) = progress.run(job);
        let text = match outcome.status {
            Status::Done => parts(&progress.result_text(job, outcome)),
            status => outcome_text(status, &outcome.reason),
        };
        if outcome.status.is_failure() {
            self.failed_count += 1;
            self.failed.push(format!("{name}: {text}"));
            self.failed.truncate(FAILED);
            return;
        }
        if let Some(state) = state.filter(|_| outcome.status == Status::Done) {
            self.curves.push_front(curve(&name, state.curve()));
            self.curves.truncate(CURVES);
        }
        self.note_best(job, outcome, &name);
        self.ended_count += 1;
        self.ended.push_front(LiveRun {
            name,
            text,
            percent: 100.0,
        });
        self.ended.truncate(ENDED);
    }

    fn note_best(&mut self, job: &Job, outcome: &RunOutcome, name: &str) {
        let facts = outcome.facts.as_ref().filter(|_| !self.is_search);
        let facts = facts.filter(|_| outcome.status == Status::Done);
        let Some((facts, loss)) = facts.and_then(|facts| Some((facts, facts.best_loss?))) else {
            return;
        };
        let is_validated = facts.metrics.keys().any(|name| name.starts_with("val_"));
        let metrics = facts.metrics.iter().filter_map(|(name, value)| {
            let is_told = name.starts_with("val_") && name != "val_loss";
            is_told.then_some(format!("{name} {}", human((*value)?, 4)))
        });
        let new = Best {
            of: format!("{}, {}", job.spec.dataset_name, job.spec.loss.kind()),
            loss,
            split: if is_validated {
                "validation"
            } else {
                "training"
            },
            name: name.to_owned(),
            metrics: metrics.take(3).collect::<Vec<_>>().join(", "),
        };
        match self.best.iter_mut().find(|best| best.of == new.of) {
            Some(best) if best.loss <= loss => {}
            Some(best) => *best = new,
            None => self.best.push(new),
        }
    }

    /// The current content of the page; `report` is `None` during the runs.
    fn page(&self, progress: &Progress, report: Option<&str>) -> LivePage {
        let now = progress.current_snapshot();
        let goes_on = report.is_none();
        let running = now.running.iter().map(|(name, state)| LiveRun {
            name: (*name).to_owned(),
            text: parts(&state.text()),
            percent: (100.0 * state.share()).round(),
        });
        let running: Vec<LiveRun> = running.collect();
        let of_running: f64 = running.iter().map(|run| run.percent / 100.0).sum();
        let share = (now.ended as f64 + of_running) / now.of.max(1) as f64;
        let noun = if self.is_search { "trial" } else { "run" };
        let mut state = format!("{} of {} ended", now.ended, count(now.of, noun));
        for part in [Some(now.rest), now.left].into_iter().flatten() {
            if !part.is_empty() {
                state = format!("{state}, {part}");
            }
        }
        let curves = now.running.iter();
        let curves = curves.map(|(name, state)| curve(name, state.curve()));
        let hidden = self.ended_count - self.ended.len();
        LivePage {
            title: self.title.clone(),
            question: self.question.clone(),
            state: state + ".",
            percent: (100.0 * share).round().min(100.0),
            best: self.best_lines(now.best, if goes_on { " so far" } else { "" }),
            written: written(goes_on),
            refresh_s: goes_on.then_some(REFRESH_S),
            report: report.unwrap_or_default().to_owned(),
            curves: curves.chain(self.curves.iter().cloned()).collect(),
            failed: self.failed_lines(),
            ended: self.ended.iter().cloned().collect(),
            more: match hidden {
                0 => String::new(),
                hidden => format!("{} before those.", count(hidden, "run")),
            },
            running,
        }
    }

    fn best_lines(&self, of_search: Option<String>, so_far: &str) -> Vec<String> {
        if let Some(best) = of_search {
            return vec![format!("Best{so_far}: {best}.")];
        }
        let line = |best: &Best| {
            let metrics = match best.metrics.as_str() {
                "" => String::new(),
                metrics => format!("; at its end {metrics}"),
            };
            let Best {
                of, loss, split, ..
            } = best;
            let (loss, name) = (human(*loss, 4), &best.name);
            format!("Lowest {split} loss{so_far} ({of}): {loss} of {name}{metrics}.")
        };
        self.best.iter().map(line).collect()
    }

    fn failed_lines(&self) -> Vec<String> {
        let more = self.failed_count.saturating_sub(self.failed.len());
        let more = (more > 0).then(|| format!("… and {more} more"));
        self.failed.iter().cloned().chain(more).collect()
    }
}

/// Converts a text in columns for a terminal to a plain line.
fn parts(text: &str) -> String {
    text.replace("  loss ", "  training loss ")
        .replace("  ", " · ")
}

/// Status and reason as text: `diverged: loss became NaN at step 3`; the status is not repeated if the reason begins
/// with it.
fn outcome_text(status: Status, reason: &str) -> String {
    let status = status.to_string();
    if reason.is_empty() {
        return status;
    }
    if reason.starts_with(&status) {
        return reason.to_owned();
    }
    format!("{status}: {reason}")
}

fn written(goes_on: bool) -> String {
    let now = format_rfc3339_seconds(SystemTime::now()).to_string();
    let now = now.replace('T', " ").replace('Z', " UTC");
    if goes_on {
        format!("Written {now}; the page reads itself again every {REFRESH_S} s.")
    } else {
        format!("Ended {now}.")
    }
}

fn curve(name: &str, epochs: &[EpochLoss]) -> LiveCurve {
    let losses = |get: fn(&EpochLoss) -> Option<f64>| {
        let losses = epochs
            .iter()
            .filter_map(|epoch| Some((epoch.epoch, get(epoch)?)));
        losses.filter(|(_, loss)| loss.is_finite()).collect()
    };
    LiveCurve {
        name: name.to_owned(),
        train: losses(|epoch| epoch.train),
        validation: losses(|epoch| epoch.validation),
    }
}
