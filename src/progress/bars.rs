//! [`Bars`]: progress bars on a terminal: one over all runs, and one line for every current run.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::base::units::human_seconds;
use crate::event::{RunId, Status};

use super::eta::Eta;

const REDRAW: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Bars {
    all: MultiProgress,
    overall: ProgressBar,
    running: HashMap<RunId, ProgressBar>,
}

impl Bars {
    /// Bars on standard error; hidden unless it is a terminal and `draws` is true.
    pub(super) fn new(draws: bool) -> Self {
        let target = if draws {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            all: MultiProgress::with_draw_target(target),
            overall: ProgressBar::hidden(),
            running: HashMap::new(),
        }
    }

    pub(super) fn are_drawn(&self) -> bool {
        !self.all.is_hidden()
    }

    /// Draws the overall bar, over `count` of `what` ("runs").
    pub(super) fn start(&mut self, count: usize, what: &str) {
        self.overall = self.all.add(ProgressBar::new(count as u64));
        let template =
            format!("{{bar:24.cyan/dim}} {{pos}}/{{len}} {what}  {{elapsed}} elapsed{{wide_msg}}");
        self.overall.set_style(style(&template));
        redraw(&self.overall);
    }

    /// Draws a line above the overall bar.
    pub(super) fn line(&self, name: String) -> ProgressBar {
        let bar = self.all.insert_before(&self.overall, ProgressBar::new(1));
        let bar = with_name(bar, name);
        bar.set_message("starts");
        bar
    }

    pub(super) fn begin(&mut self, id: RunId, name: String) {
        let bar = self.line(name);
        self.running.insert(id, bar);
    }

    /// Shows how far a run is.
    pub(super) fn tell(&self, id: RunId, text: String) {
        if let Some(bar) = self.running.get(&id) {
            bar.set_message(text);
        }
    }

    pub(super) fn end(&mut self, id: RunId) {
        if let Some(bar) = self.running.remove(&id) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }

    /// Updates the overall bar.
    pub(super) fn show(&self, (ended, of): (usize, usize), message: String) {
        self.overall.set_length(of as u64);
        self.overall.set_position(ended as u64);
        self.overall.set_message(message);
    }

    /// Prints a permanent line, above the bars if they are drawn.
    pub(super) fn say(&self, line: &str) {
        if self.are_drawn() {
            // An error of the terminal must not stop training.
            let _ = self.all.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Prints a line of a run's standard error.
    pub(super) fn quote(&self, line: &str) {
        let shown = if self.are_drawn() {
            styled(2, line)
        } else {
            line.to_owned()
        };
        self.say(&format!("    {shown}"));
    }

    pub(super) fn finish(&self) {
        self.overall.finish_and_clear();
    }
}

/// `bar` as a line of text after a spinner, with `name` first.
pub(super) fn with_name(bar: ProgressBar, name: String) -> ProgressBar {
    bar.set_style(style("{spinner:.cyan} {prefix}  {wide_msg}"));
    bar.set_prefix(name);
    redraw(&bar);
    bar
}

/// Redraws the bar at intervals, if it is drawn.
fn redraw(bar: &ProgressBar) {
    if !bar.is_hidden() {
        bar.enable_steady_tick(REDRAW);
    }
}

/// `about 4 s left`; `None` if nothing is left or the time is unknown.
pub(super) fn time_left(eta: &Eta, goes_on: bool) -> Option<String> {
    let left = eta.left(Instant::now()).filter(|_| goes_on)?;
    Some(format!("about {} left", roughly(left)))
}

/// Whole seconds below a minute: an estimate has no more precision.
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

/// The symbol of a status: `✓` in green for done, `✗` in red, `–` for interrupted, `✂` for pruned; all but done are
/// followed by a word.
pub(super) fn mark(status: Status) -> String {
    let (colour, sign, word) = match status {
        Status::Done => (32, "✓", String::new()),
        Status::NotRun => (33, "–", String::new()),
        Status::Pruned => (33, "✂", " pruned".to_owned()),
        failed => (31, "✗", format!(" {failed}")),
    };
    styled(colour, &format!("{sign}{word}"))
}

/// A text with an ANSI style, unless the user wants none: <https://no-color.org>
fn styled(style: u8, text: &str) -> String {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return text.to_owned();
    }
    format!("\u{1b}[{style}m{text}\u{1b}[0m")
}
