//! The last words of `fieldtrial run`: what came of it, where it is, what to do next.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::text::count;
use crate::base::units::human_seconds;
use crate::event::{Status, StopReason};
use crate::results::{BlockRow, ResultSet, RunRow};

use super::line::without_status;

/// Failed runs that are listed one by one.
const LISTED: usize = 10;

/// What the summary is about.
#[derive(Debug)]
pub struct Ending<'a> {
    /// All results of the folder.
    pub results: &'a ResultSet,
    /// Folder of the results, as the user would write it.
    pub folder: &'a Path,
    /// The manifest, as the user wrote it.
    pub manifest: &'a Path,
    /// Runs that ended in this invocation.
    pub ended: usize,
    /// Runs that were to be done and were not.
    pub left: usize,
    /// Runs that were finished before and count.
    pub kept: usize,
    /// Why it stopped early, if it did.
    pub stopped: Option<StopReason>,
    /// Seconds of this invocation.
    pub wall_s: f64,
    /// The report, where one was written.
    pub report: Option<&'a Path>,
}

impl Ending<'_> {
    /// The text, for standard error.
    pub fn text(&self) -> String {
        let mut lines = vec![self.first_line(), self.statuses()];
        lines.extend(self.failures());
        lines.push(format!("results  {}", self.folder.display()));
        lines.extend(
            self.report
                .map(|path| format!("report   {}", path.display())),
        );
        lines.extend(self.next().map(|next| format!("next     {next}")));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn first_line(&self) -> String {
        let kept = match self.kept {
            0 => String::new(),
            kept => format!(", {kept} kept from before"),
        };
        let left = match self.left {
            0 => String::new(),
            left => format!(", {left} not run"),
        };
        let time = human_seconds(self.wall_s);
        if self.ended == 0 && self.left == 0 {
            return format!(
                "nothing to run: {} finished before",
                count(self.kept, "run")
            );
        }
        let verb = match self.stopped {
            Some(StopReason::Interrupted) => "interrupted after",
            Some(StopReason::Failures { .. }) => "stopped after",
            None => "finished",
        };
        format!("{verb} {} in {time}{kept}{left}", count(self.ended, "run"))
    }

    /// `cells    22 done, 1 killed, 1 skipped`
    fn statuses(&self) -> String {
        let mut by_status: BTreeMap<Status, usize> = BTreeMap::new();
        for row in &self.results.runs {
            *by_status.entry(row.status).or_default() += 1;
        }
        let parts: Vec<String> = by_status
            .iter()
            .map(|(status, n)| format!("{n} {status}"))
            .collect();
        format!("rows     {}", parts.join(", "))
    }

    fn failures(&self) -> Vec<String> {
        let blocks = self
            .results
            .blocks
            .iter()
            .filter(|block| block.status.is_failure());
        let failed: Vec<String> = blocks.map(failed_run).collect();
        let reasons = self.results.runs.iter().filter(|row| is_reason_enough(row));
        let others: Vec<String> = reasons
            .map(|row| format!("  {}  {}: {}", row.key, row.status, row.reason))
            .collect();
        let mut lines = shortened(failed);
        let logs = self.folder.join("failures");
        if !lines.is_empty() && logs.is_dir() {
            lines.push(format!("logs     {}", logs.display()));
        }
        lines.extend(shortened(others));
        lines
    }

    fn next(&self) -> Option<String> {
        let manifest = self.manifest.display();
        let has_failed = self
            .results
            .blocks
            .iter()
            .any(|block| block.status.is_failure());
        if self.left > 0 {
            Some(format!(
                "`fieldtrial run {manifest}` goes on where this stopped"
            ))
        } else if has_failed {
            Some(format!(
                "`fieldtrial run {manifest} --retry` tries what failed again"
            ))
        } else {
            None
        }
    }
}

fn failed_run(block: &BlockRow) -> String {
    let BlockRow {
        key,
        seed,
        block,
        status,
        reason,
        ..
    } = block;
    let reason = without_status(*status, reason);
    format!("  {key} seed {seed} block {block}  {status}: {reason}")
}

fn is_reason_enough(row: &RunRow) -> bool {
    matches!(row.status, Status::Infeasible | Status::Skipped)
}

/// The first few, and how many more there are.
fn shortened(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(LISTED);
    lines.truncate(LISTED);
    if more > 0 {
        lines.push(format!("  … and {more} more"));
    }
    lines
}
