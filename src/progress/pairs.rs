//! [`PairsProgress`]: displays the progress of two builds that run in turns (`ab`): a line for every pair, and on a
//! terminal a bar.

use std::time::Instant;

use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use crate::base::units::{human, human_seconds};
use crate::event::{RunId, Status};

use super::bars::{Bars, status_symbol, time_left};
use super::eta::Eta;
use super::line::{Names, nonzero_counts_text, place, without_status, wrap_to_terminal};

/// Numbers of pairs, seeds and blocks of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct PairTotals {
    /// Number of pairs to run.
    pub pairs: usize,
    /// Number of seeds of the plan.
    pub seeds: usize,
    /// Number of blocks of the plan.
    pub blocks: usize,
}

/// Identifies a run: cell, seed and block. Both runs of a pair have the same name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunName {
    /// Key of the cell.
    pub key: String,
    /// Seed of the run.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
}

impl RunName {
    /// The name of the run `id`, whose cell has the key `key`.
    pub fn of(key: &str, id: RunId) -> Self {
        Self {
            key: key.to_owned(),
            seed: id.seed,
            block: id.block,
        }
    }
}

/// The result of one run of a pair, as reported by the build that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndedRun {
    /// Identifies the run.
    #[serde(flatten)]
    pub name: RunName,
    /// Status of the run.
    pub status: Status,
    /// Reason for the status, in one line; empty for `done`.
    pub reason: String,
    /// Wall-clock duration in seconds.
    pub wall_s: f64,
    /// Median time of a step in milliseconds; `None` if no steps were measured. Shown if there is no `sample_ms`.
    pub step_ms: Option<f64>,
    /// Time per sample in milliseconds, on which verdicts are based; `None` if it was not measured, or if the build of
    /// the side is too old to report it.
    #[serde(default)]
    pub sample_ms: Option<f64>,
    /// The last lines of standard error of a failed run; empty otherwise.
    #[serde(rename = "last_words")]
    pub stderr_tail: Vec<String>,
}

/// Displays the progress of a comparison of two sides, whose runs come in pairs.
#[derive(Debug)]
pub struct PairsProgress {
    names: Names,
    shape: PairTotals,
    ended: usize,
    failed: usize,
    eta: Eta,
    /// Whether the current run is the first of its pair.
    is_first: bool,
    bars: Bars,
    /// The line of the current run on a terminal.
    running: ProgressBar,
}

impl PairsProgress {
    /// Starts the display: a line for each pair, and a bar if standard error is a terminal. `keys` are the keys of the
    /// compared cells.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>, shape: PairTotals) -> Self {
        let mut eta = Eta::default();
        eta.start(shape.pairs, 1);
        let mut bars = Bars::new(true);
        bars.start(shape.pairs, "pairs");
        Self {
            names: Names::new(keys),
            shape,
            ended: 0,
            failed: 0,
            eta,
            is_first: true,
            running: bars.line(String::new()),
            bars,
        }
    }

    /// Shows that a side starts a run of `pair`; `is_first` if it is the pair's first run.
    pub fn begin(&mut self, pair: &RunName, side: &str, is_first: bool) {
        self.is_first = is_first;
        if is_first {
            self.eta.begin(self.id(), Instant::now());
        }
        let name = format!("{}  {side}", self.name(pair));
        self.running.set_prefix(name);
        self.running.set_message("starts");
    }

    /// Shows the progress of the current run: `text`, and the fraction `share` that is done.
    pub fn set_run_progress(&mut self, text: String, share: f64) {
        let done = if self.is_first { 0.0 } else { 0.5 };
        self.eta.advance(self.id(), done + share / 2.0);
        self.running.set_message(text);
        self.show_place();
    }

    /// Prints a line above the bar, which stays on the screen.
    pub fn say(&self, line: &str) {
        self.bars.say(line);
    }

    /// Removes a pair that will not run.
    pub fn skip(&mut self) {
        self.eta.skip(self.id().cell);
        self.shape.pairs -= 1;
        self.show_place();
    }

    /// Short name of a cell, as printed in the lines of pairs.
    pub fn cell(&self, key: &str) -> String {
        self.names.of_run(key, (0, 1), (0, 1)).trim().to_owned()
    }

    /// Prints the line of a pair whose two runs have ended.
    pub fn end(&mut self, before: &EndedRun, after: &EndedRun) {
        self.eta.end(self.id(), before.wall_s + after.wall_s);
        self.ended += 1;
        let mut status = [before.status, after.status].into_iter();
        let worst = status.find(|status| status.is_failure());
        self.failed += usize::from(worst.is_some());
        let text = format!(
            "{}  {}",
            self.name(&before.name),
            result_text(before, after)
        );
        if self.bars.are_drawn() {
            let line = format!("{} {text}", status_symbol(worst.unwrap_or(Status::Done)));
            self.say(&wrap_to_terminal(&line, 2));
        } else {
            let place = place(self.ended, self.shape.pairs);
            self.say(&wrap_to_terminal(
                &format!("{place} {text}"),
                place.len() + 1,
            ));
        }
        for line in before.stderr_tail.iter().chain(&after.stderr_tail) {
            self.bars.quote(line);
        }
        self.show_place();
    }

    /// Removes the bars at the end.
    pub fn finish(&self) {
        self.running.finish_and_clear();
        self.bars.finish();
    }

    /// The id under which the time estimate counts the current pair.
    fn id(&self) -> RunId {
        RunId {
            cell: self.ended,
            seed: 0,
            block: 0,
        }
    }

    fn name(&self, pair: &RunName) -> String {
        let PairTotals { seeds, blocks, .. } = self.shape;
        let (seed, block) = ((pair.seed, seeds), (pair.block, blocks));
        let name = self.names.of_run(&pair.key, seed, block);
        name.trim_start().to_owned()
    }

    fn show_place(&self) {
        let left = time_left(&self.eta, self.ended < self.shape.pairs);
        let left = left.map(|left| format!(", {left}"));
        let message = left.unwrap_or_default() + &nonzero_counts_text(&[(self.failed, "failed")]);
        self.bars.show((self.ended, self.shape.pairs), message);
    }
}

/// Result of a pair as text: `12.3 → 13.1 ms/sample, ratio 1.065  in 4.1 s`, or what failed. Times are per sample, as
/// in verdicts, else per step; without step times they are those of the whole runs.
fn result_text(before: &EndedRun, after: &EndedRun) -> String {
    let time = human_seconds(before.wall_s + after.wall_s);
    let sides = [("before", before), ("after", after)].into_iter();
    let failed = sides.filter(|(_, end)| end.status != Status::Done);
    let reason = |(side, end): (&str, &EndedRun)| {
        let reason = without_status(end.status, &end.reason);
        format!("{side} {}: {reason}", end.status)
    };
    let failed: Vec<String> = failed.map(reason).collect();
    if !failed.is_empty() {
        return format!("{}  in {time}", failed.join(", "));
    }
    let Some(of_steps) = before.step_ms.zip(after.step_ms) else {
        let ratio = human(after.wall_s / before.wall_s, 3);
        let sides = [before.wall_s, after.wall_s].map(human_seconds);
        return format!("{} → {}, ratio {ratio}", sides[0], sides[1]);
    };
    // Of a program that reports no steps (handled above), `sample_ms` would be the time of the whole run.
    let of_samples = before.sample_ms.zip(after.sample_ms);
    let ((old, new), per) =
        of_samples.map_or((of_steps, "step"), |of_samples| (of_samples, "sample"));
    let ratio = (old > 0.0).then(|| format!(", ratio {:.3}", new / old));
    let (ratio, old, new) = (ratio.unwrap_or_default(), human(old, 3), human(new, 3));
    format!("{old} → {new} ms/{per}{ratio}  in {time}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(step_ms: f64) -> EndedRun {
        EndedRun {
            name: RunName {
                key: "a=1,b=3".into(),
                seed: 42,
                block: 1,
            },
            status: Status::Done,
            reason: String::new(),
            step_ms: Some(step_ms),
            sample_ms: None,
            wall_s: 1.5,
            stderr_tail: Vec::new(),
        }
    }

    #[test]
    fn a_pair_is_one_line() {
        assert_eq!(
            result_text(&end(12.34), &end(13.1)),
            "12.3 → 13.1 ms/step, ratio 1.062  in 3.00 s"
        );
        // Verdicts are about the mean time per sample; medians of steps may differ from it.
        let of_samples = |sample_ms, step_ms| EndedRun {
            sample_ms: Some(sample_ms),
            ..end(step_ms)
        };
        assert_eq!(
            result_text(&of_samples(0.5, 2.24), &of_samples(12.0, 316.0)),
            "0.500 → 12.0 ms/sample, ratio 24.000  in 3.00 s"
        );
        let killed = EndedRun {
            status: Status::Killed,
            reason: "killed: signal 9".into(),
            ..end(1.0)
        };
        assert_eq!(
            result_text(&end(12.34), &killed),
            "after killed: signal 9  in 3.00 s"
        );
    }

    #[test]
    fn the_time_left_follows_from_the_pairs_that_ended() {
        let shape = PairTotals {
            pairs: 5,
            seeds: 1,
            blocks: 5,
        };
        let mut pairs = PairsProgress::new(["a=1,b=2", "a=1,b=3"], shape);
        let ended = end(1.0);
        assert_eq!(pairs.name(&ended.name), "b=3 block 2/5");
        pairs.begin(&ended.name, "before", true);
        pairs.end(&ended, &ended);
        assert_eq!(
            pairs.eta.left(Instant::now()).map(|left| left.as_secs()),
            Some(12)
        );
    }
}
