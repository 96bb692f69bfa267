//! [`Pairs`]: progress of two builds that run in turns: one line for every pair, and on a terminal one bar.

use std::io::{self, IsTerminal};
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar};

use crate::base::units::{human, human_seconds};
use crate::event::{RunId, Status};

use super::bars::{REDRAW, RUNNING, console_dim, mark, roughly, style};
use super::eta::Eta;
use super::fitted;
use super::line::{Names, without_status};

/// The number of pairs, and what they consist of.
#[derive(Debug, Clone, Copy)]
pub struct PairsShape {
    /// Pairs to run.
    pub pairs: usize,
    /// Number of seeds of the plan.
    pub seeds: usize,
    /// Number of blocks of the plan.
    pub blocks: usize,
}

/// Identifies a pair.
#[derive(Debug, Clone, Copy)]
pub struct PairName<'a> {
    /// Key of the cell.
    pub key: &'a str,
    /// Seed.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
}

/// The result of one run of a pair.
#[derive(Debug, Clone, Copy)]
pub struct PairEnd<'a> {
    /// Status.
    pub status: Status,
    /// One line; empty for `done`.
    pub reason: &'a str,
    /// Median time of a step.
    pub step_ms: Option<f64>,
    /// Duration in seconds.
    pub wall_s: f64,
    /// The last lines of its standard error, if it failed.
    pub last_words: &'a [String],
}

/// Displays pairs.
#[derive(Debug)]
pub struct Pairs {
    names: Names,
    shape: PairsShape,
    ended: usize,
    failed: usize,
    eta: Eta,
    bars: Option<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    all: MultiProgress,
    overall: ProgressBar,
    running: ProgressBar,
}

impl Pairs {
    /// Draws a bar if standard error is a terminal, and always prints lines. `keys` are those of the cells.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>, shape: PairsShape) -> Self {
        let mut eta = Eta::default();
        eta.start(shape.pairs, 1);
        Self {
            names: Names::new(keys),
            shape,
            ended: 0,
            failed: 0,
            eta,
            bars: io::stderr().is_terminal().then(|| Drawn::new(shape.pairs)),
        }
    }

    /// The run of a side starts, as the first or second of the pair.
    pub fn begin(&mut self, pair: PairName<'_>, side: &str, is_first: bool) {
        if is_first {
            self.eta.begin(self.id(), Instant::now());
        }
        if let Some(drawn) = &self.bars {
            drawn
                .running
                .set_prefix(format!("{}  {side}", self.name(pair)));
            drawn.running.set_message("starts");
        }
    }

    /// Progress of the current run: a text, and the fraction that is done.
    pub fn at(&mut self, text: &str, share: f64, is_first: bool) {
        let done = if is_first { 0.0 } else { 0.5 };
        self.eta.advance(self.id(), done + share / 2.0);
        if let Some(drawn) = &self.bars {
            drawn.running.set_message(text.to_owned());
        }
        self.show_time_left();
    }

    /// Prints a permanent line.
    pub fn say(&self, line: &str) {
        match &self.bars {
            // An error of the terminal must not stop the runs.
            Some(drawn) => drop(drawn.all.println(line)),
            None => eprintln!("{line}"),
        }
    }

    /// Both runs of a pair have ended.
    pub fn end(&mut self, pair: PairName<'_>, before: PairEnd<'_>, after: PairEnd<'_>) {
        self.eta.end(self.id(), before.wall_s + after.wall_s);
        self.ended += 1;
        let status = [before.status, after.status];
        let worst = status.into_iter().find(|status| status.is_failure());
        self.failed += usize::from(worst.is_some());
        let text = format!("{}  {}", self.name(pair), gave(before, after));
        if let Some(drawn) = &self.bars {
            drawn.overall.inc(1);
            let line = format!("{} {text}", mark(worst.unwrap_or(Status::Done)));
            self.say(&fitted(&line, 2));
        } else {
            let width = self.shape.pairs.to_string().len();
            let place = format!("[{:>width$}/{}] ", self.ended, self.shape.pairs);
            self.say(&fitted(&format!("{place}{text}"), place.len()));
        }
        for line in before.last_words.iter().chain(after.last_words) {
            self.say(&format!("    {}", console_dim(line)));
        }
        self.show_time_left();
    }

    /// Removes the bars.
    pub fn finish(&self) {
        if let Some(drawn) = &self.bars {
            drawn.running.finish_and_clear();
            drawn.overall.finish_and_clear();
        }
    }

    /// An id of the current pair for the time estimate.
    fn id(&self) -> RunId {
        RunId {
            cell: self.ended,
            seed: 0,
            block: 0,
        }
    }

    fn name(&self, pair: PairName<'_>) -> String {
        let mut words = vec![self.names.short(pair.key)];
        if self.shape.seeds > 1 {
            words.push(format!("seed {}", pair.seed));
        }
        if self.shape.blocks > 1 {
            words.push(format!("block {}/{}", pair.block + 1, self.shape.blocks));
        }
        words.retain(|word| !word.is_empty());
        words.join(" ")
    }

    fn show_time_left(&self) {
        let Some(drawn) = &self.bars else { return };
        let left = self
            .eta
            .left(Instant::now())
            .filter(|_| self.ended < self.shape.pairs);
        let left = left.map_or_else(String::new, |left| {
            format!(", about {} left", roughly(left))
        });
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        drawn.overall.set_message(left + &failed);
    }
}

impl Drawn {
    fn new(pairs: usize) -> Self {
        let all = MultiProgress::new();
        let running = all.add(ProgressBar::new(1));
        running.set_style(style(RUNNING));
        running.enable_steady_tick(REDRAW);
        let overall = all.add(ProgressBar::new(pairs as u64));
        overall.set_style(style(
            "{bar:24.cyan/dim} {pos}/{len} pairs  {elapsed} elapsed{wide_msg}",
        ));
        overall.enable_steady_tick(REDRAW);
        Self {
            all,
            overall,
            running,
        }
    }
}

/// The result of a pair: `12.3 → 13.1 ms/step, ratio 1.065  in 4.1 s`, or what failed.
fn gave(before: PairEnd<'_>, after: PairEnd<'_>) -> String {
    let time = human_seconds(before.wall_s + after.wall_s);
    let failed = [("before", before), ("after", after)];
    let failed = failed.iter().filter(|(_, end)| end.status != Status::Done);
    let failed: Vec<String> = failed
        .map(|(side, end)| {
            let reason = without_status(end.status, end.reason);
            format!("{side} {}: {reason}", end.status)
        })
        .collect();
    if !failed.is_empty() {
        return format!("{}  in {time}", failed.join(", "));
    }
    let (Some(old), Some(new)) = (before.step_ms, after.step_ms) else {
        return format!("done  in {time}");
    };
    let ratio = if old > 0.0 {
        format!(", ratio {:.3}", new / old)
    } else {
        String::new()
    };
    format!(
        "{} → {} ms/step{ratio}  in {time}",
        human(old, 3),
        human(new, 3)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(step_ms: f64) -> PairEnd<'static> {
        PairEnd {
            status: Status::Done,
            reason: "",
            step_ms: Some(step_ms),
            wall_s: 1.5,
            last_words: &[],
        }
    }

    #[test]
    fn a_pair_is_one_line() {
        assert_eq!(
            gave(end(12.34), end(13.1)),
            "12.3 → 13.1 ms/step, ratio 1.062  in 3.00 s"
        );
        let killed = PairEnd {
            status: Status::Killed,
            reason: "killed: signal 9",
            ..end(1.0)
        };
        assert_eq!(
            gave(end(12.34), killed),
            "after killed: signal 9  in 3.00 s"
        );
    }

    #[test]
    fn the_time_left_follows_from_the_pairs_that_ended() {
        let shape = PairsShape {
            pairs: 5,
            seeds: 1,
            blocks: 5,
        };
        let mut pairs = Pairs::new(["a=1,b=2", "a=1,b=3"], shape);
        let pair = PairName {
            key: "a=1,b=3",
            seed: 42,
            block: 1,
        };
        assert_eq!(pairs.name(pair), "b=3 block 2/5");
        pairs.begin(pair, "before", true);
        pairs.end(pair, end(1.0), end(1.0));
        assert_eq!(
            pairs.eta.left(Instant::now()).map(|left| left.as_secs()),
            Some(12)
        );
    }
}
