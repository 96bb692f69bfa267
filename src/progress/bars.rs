//! [`Bars`]: the display on a terminal: a bar over all runs, and a line for each current run.

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
    /// Bars on standard error. They are hidden if `draws` is false or standard error is not a terminal.
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

    /// Draws the overall bar over `count` items, which are called `what` ("runs").
    pub(super) fn start(&mut self, count: usize, what: &str) {
        self.overall = self.all.add(ProgressBar::new(count as u64));
        let template =
            format!("{{bar:24.cyan/dim}} {{pos}}/{{len}} {what}  {{elapsed}} elapsed{{wide_msg}}");
        self.overall.set_style(style(&template));
        redraw(&self.overall);
    }

    /// Adds a line with a spinner and the name of a run above the overall bar.
    pub(super) fn line(&self, name: String) -> ProgressBar {
        let bar = self.all.insert_before(&self.overall, ProgressBar::new(1));
        let bar = as_spinner_line(bar, name);
        bar.set_message("starts");
        bar
    }

    pub(super) fn begin(&mut self, id: RunId, name: String) {
        let bar = self.line(name);
        self.running.insert(id, bar);
    }

    /// Updates the text in the line of a run.
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

    /// Updates the overall bar: number of ended items, number of all, and the text after the bar.
    pub(super) fn show(&self, (ended, of): (usize, usize), message: String) {
        self.overall.set_length(of as u64);
        self.overall.set_position(ended as u64);
        self.overall.set_message(message);
    }

    /// Prints a line that stays, above the bars if they are drawn.
    pub(super) fn say(&self, line: &str) {
        if self.are_drawn() {
            // An error is ignored, because a problem of the terminal must not stop training.
            let _ = self.all.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Prints a line of a run's standard error, indented and dimmed.
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

/// Turns `bar` into a line of text: a spinner, `name`, and a message.
pub(super) fn as_spinner_line(bar: ProgressBar, name: String) -> ProgressBar {
    bar.set_style(style("{spinner:.cyan} {prefix}  {wide_msg}"));
    bar.set_prefix(name);
    redraw(&bar);
    bar
}

/// Redraws the bar at intervals, unless it is hidden.
fn redraw(bar: &ProgressBar) {
    if !bar.is_hidden() {
        bar.enable_steady_tick(REDRAW);
    }
}

/// The remaining time as text, `about 4 s left`; `None` if nothing remains (`goes_on` is false) or it is unknown.
pub(super) fn time_left(eta: &Eta, goes_on: bool) -> Option<String> {
    let left = eta.left(Instant::now()).filter(|_| goes_on)?;
    Some(format!("about {} left", roughly(left)))
}

/// A duration as text; whole seconds below a minute, because it is only an estimate.
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

/// The coloured symbol of a status: `✓` for done, `✗` for failed, `–` for interrupted, `✂` for pruned. After `✗` and
/// `✂` the status follows as a word.
pub(super) fn status_symbol(status: Status) -> String {
    let (colour, sign, word) = match status {
        Status::Done => (32, "✓", String::new()),
        Status::NotRun => (33, "–", String::new()),
        Status::Pruned => (33, "✂", " pruned".to_owned()),
        failed => (31, "✗", format!(" {failed}")),
    };
    styled(colour, &format!("{sign}{word}"))
}

/// A text with an ANSI style; without it if the user has set `NO_COLOR` (<https://no-color.org>).
fn styled(style: u8, text: &str) -> String {
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return text.to_owned();
    }
    format!("\u{1b}[{style}m{text}\u{1b}[0m")
}
