//! The summary that `fieldtrial run` prints at its end: results, their folder, and the next commands.

use std::collections::{BTreeMap, HashSet};
use std::iter::repeat;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::base::shell;
use crate::base::text::{count, wrapped};
use crate::base::units::human_seconds;
use crate::event::{Status, StopReason};
use crate::results::{BlockRow, ResultSet, grouped};

use super::line::{Names, nonzero_counts_text, without_status, wrap_to_terminal};

/// Maximum number of reasons for failures that are listed.
const LISTED: usize = 10;

/// The data that the summary shows.
#[derive(Debug)]
pub struct RunSummary<'a> {
    /// All results of the folder.
    pub results: &'a ResultSet,
    /// Path of the results folder, printed as given.
    pub folder: &'a Path,
    /// Command line that runs the remaining runs.
    pub command: &'a str,
    /// Number of runs that ended in this invocation.
    pub ended: usize,
    /// Number of runs that were requested but were not started, or were interrupted.
    pub left: usize,
    /// Number of runs that were left out because times were precise enough without them (`measure.until`).
    pub not_needed: usize,
    /// Number of counted runs that an earlier invocation had finished.
    pub kept: usize,
    /// Why the command stopped early; `None` if it did not.
    pub stopped: Option<StopReason>,
    /// Duration of this invocation in seconds.
    pub wall_s: f64,
    /// Path of the report; `None` if none was written.
    pub report: Option<&'a Path>,
    /// The sentences of the report's answer; empty without a report.
    pub answer: &'a [String],
}

/// Maximum width of a line in columns.
const WIDTH: usize = 80;
/// Indentation of the second and later lines of a sentence.
const HANGING: &str = "         ";

impl RunSummary<'_> {
    /// The summary as JSON, for programs.
    pub(super) fn json(&self) -> Value {
        json!({
            "ended": self.ended,
            "kept": self.kept,
            "left": self.left,
            "wall_s": self.wall_s,
            "results": self.folder.to_string_lossy(),
            "report": self.report.map(Path::to_string_lossy),
            "answer": self.answer,
        })
    }

    /// The summary as text, for standard error.
    pub(super) fn text(&self) -> String {
        let mut lines = vec![self.first_line()];
        lines.extend(self.statuses());
        lines.extend(self.failures());
        lines.push(format!("results  {}", self.folder.display()));
        let report = self.report.iter();
        lines.extend(report.map(|path| format!("report   {}", path.display())));
        lines.extend(self.best_configuration());
        lines.extend(self.traces());
        lines.extend(self.next());
        let begins = ["\nanswer   "].into_iter().chain(repeat(HANGING));
        lines.extend(self.answer.iter().zip(begins).map(|(sentence, begin)| {
            let sentence = wrapped(&format!("{HANGING}{sentence}"), WIDTH, HANGING.len());
            begin.to_owned() + sentence.trim_start()
        }));
        lines.join("\n") + "\n"
    }

    /// The list of failed runs as text, for standard error.
    pub(super) fn failed_text(&self) -> String {
        let lines = self.failed_runs().join("\n") + "\n";
        lines.trim_start().to_owned()
    }

    fn first_line(&self) -> String {
        let time = human_seconds(self.wall_s);
        if self.ended == 0 && self.left == 0 {
            return format!(
                "nothing to run: {} finished before",
                count(self.kept, self.noun())
            );
        }
        let verb = match self.stopped {
            Some(StopReason::Interrupted) => {
                let finished = self.ended + self.kept;
                let all = count(finished + self.left, self.noun());
                return format!("interrupted after {time}: {finished} of {all} finished and kept");
            }
            Some(StopReason::Failures { .. }) => "stopped after",
            None => "finished",
        };
        let ended = count(self.ended, self.noun());
        let others = nonzero_counts_text(&[
            (self.kept, "kept from before"),
            (self.not_needed, "not needed"),
            (self.left, "not run"),
        ]);
        format!("{verb} {ended} in {time}{others}")
    }

    fn is_search(&self) -> bool {
        self.results.plan.search.is_some()
    }

    fn noun(&self) -> &'static str {
        if self.is_search() { "trial" } else { "run" }
    }

    /// Number of rows by status as text, `rows     22 done, 1 killed, 1 skipped`; `None` if all are done.
    fn statuses(&self) -> Option<String> {
        let mut by_status: BTreeMap<Status, usize> = BTreeMap::new();
        let cells = self.results.plan.cells.iter();
        // Regret runs and ensembles run after the trials of a search, and are not counted as trials.
        let others =
            cells.filter(|cell| cell.trial.as_ref().is_some_and(|one| !one.role.is_trial()));
        let others: HashSet<&str> = others.map(|cell| &*cell.key).collect();
        let rows = self.results.runs.iter();
        for row in rows.filter(|row| !others.contains(&*row.key)) {
            *by_status.entry(row.status).or_default() += 1;
        }
        if by_status.keys().all(|status| *status == Status::Done) {
            return None;
        }
        let parts = by_status.iter();
        let parts: Vec<String> = parts.map(|(status, n)| format!("{n} {status}")).collect();
        let what = if self.is_search() { "trials" } else { "rows" };
        Some(format!("{what:<9}{}", parts.join(", ")))
    }

    fn failures(&self) -> Vec<String> {
        let names = self.names();
        let mut lines = self.failed_runs();
        let cannot_run = [Status::Infeasible, Status::Skipped];
        let rows = self.results.runs.iter();
        let rows = rows.filter(|row| cannot_run.contains(&row.status));
        let reasons = rows.map(|row| (names.short(&row.key), row.status, &*row.reason));
        lines.extend(by_reason(reasons));
        lines
    }

    fn failed_runs(&self) -> Vec<String> {
        let (names, runs) = (self.names(), self.results.blocks.iter());
        let failed = runs.filter(|run| run.status.is_failure());
        let mut lines = by_reason(failed.map(|run| {
            let (name, BlockRow { seed, block, .. }) = (names.short(&run.key), run);
            let name = format!("{name} seed {seed} block {block}");
            (name, run.status, &*run.reason)
        }));
        let logs = self.folder.join("failures");
        if !lines.is_empty() && logs.is_dir() {
            lines.push(format!("logs     {}", logs.display()));
        }
        lines
    }

    fn names(&self) -> Names {
        Names::new(self.results.plan.cells.iter().map(|cell| cell.key.as_str()))
    }

    /// The line `best     reports/tiny/best.toml trains the best configuration in full`; `None` if there is no such
    /// file.
    fn best_configuration(&self) -> Option<String> {
        let path = self.folder.join("best.toml");
        let is_there = self.is_search() && path.is_file();
        let run = shell::command(&shell::joined(["run", &*path.to_string_lossy()]));
        is_there.then(|| format!("best     `{run}` trains the best configuration"))
    }

    /// The line `traces reports/tiny/trace (ui.perfetto.dev), reports/tiny/tensorboard (tensorboard --logdir)`; `None`
    /// without such folders.
    fn traces(&self) -> Option<String> {
        let folders = [
            ("trace", "ui.perfetto.dev"),
            ("tensorboard", "tensorboard --logdir"),
        ];
        let folders = folders.map(|(name, opened_by)| (self.folder.join(name), opened_by));
        let there = folders.iter().filter(|(folder, _)| folder.is_dir());
        let text =
            |(folder, opened_by): &(PathBuf, _)| format!("{} ({opened_by})", folder.display());
        let there: Vec<String> = there.map(text).collect();
        (!there.is_empty()).then(|| format!("traces   {}", there.join(", ")))
    }

    fn next(&self) -> Vec<String> {
        let mut blocks = self.results.blocks.iter();
        let has_failed = blocks.any(|block| block.status.is_failure());
        let acts = [
            (self.left > 0, "", "goes on where this stopped"),
            (has_failed, " --retry", "tries what failed again, too"),
        ];
        let command = self.command;
        let acts = acts.iter().filter(|(applies, ..)| *applies);
        acts.map(|(_, option, does)| format!("next     `{command}{option}` {does}"))
            .collect()
    }
}

/// One line for each reason of a failure: the first run with the reason, and the number of other runs with it.
fn by_reason<'a>(all: impl Iterator<Item = (String, Status, &'a str)>) -> Vec<String> {
    let lines = grouped(all, |(_, status, reason)| (*status, *reason));
    let text = |same: &Vec<(String, Status, &str)>| {
        let (name, status, reason) = &same[0];
        let more = (same.len() > 1).then(|| format!(" and {} more", same.len() - 1));
        let (more, reason) = (more.unwrap_or_default(), without_status(*status, reason));
        wrap_to_terminal(&format!("  {name}{more}  {status}: {reason}"), 4)
    };
    let mut texts: Vec<String> = lines.iter().take(LISTED).map(text).collect();
    let more = lines.len().saturating_sub(LISTED);
    texts.extend((more > 0).then(|| format!("  … and {more} more")));
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_failed_for_one_reason_are_one_line() {
        let run = |name: &str, reason| (name.to_owned(), Status::Failed, reason);
        let all = [
            run("a", "no data"),
            run("b", "no rows"),
            run("c", "no data"),
        ];
        assert_eq!(
            by_reason(all.into_iter()),
            ["  a and 1 more  failed: no data", "  b  failed: no rows"]
        );
    }
}
