//! The line that is printed when a run has ended, for terminals and logs.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io;

use terminal_size::terminal_size_of;

use crate::base::text::wrapped;
use crate::base::units::{human, human_seconds};
use crate::event::{Job, RunOutcome, RunTimes, Status};
use crate::plan::key_parts;

/// Makes short names of runs, by leaving out the parts of keys that all cells share.
#[derive(Debug, Default)]
pub(super) struct Names {
    common: BTreeSet<String>,
}

impl Names {
    pub(super) fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let keys: Vec<&str> = keys.into_iter().collect();
        let parts = |key: &&str| key_parts(key).collect::<BTreeSet<_>>();
        // With a single cell all parts are common and its name would be empty, so nothing is left out.
        let is_single = keys.windows(2).all(|two| two[0] == two[1]);
        let all = keys.iter().filter(|_| !is_single).map(parts);
        let common = all.reduce(|common, own| &common & &own);
        Self {
            common: common.unwrap_or_default(),
        }
    }

    /// Short name of a cell, such as `batch-size=8 workers=4`.
    pub(super) fn short(&self, key: &str) -> String {
        let own = key_parts(key).filter(|part| !self.common.contains(part));
        own.collect::<Vec<_>>().join(" ")
    }

    /// Short name of a planned run, as [`Self::of_run`] makes it.
    pub(super) fn name(&self, job: &Job) -> String {
        let (id, measure) = (job.id, &job.spec.measure);
        let (seeds, blocks) = (measure.seeds.len(), measure.max_repeats());
        self.of_run(&job.spec.key, (id.seed, seeds), (id.block, blocks))
    }

    /// Short name of a run: that of its cell, with the seed and the block if the plan has several of them.
    pub(super) fn of_run(
        &self,
        key: &str,
        (seed, seeds): (u64, usize),
        (block, blocks): (usize, usize),
    ) -> String {
        let mut name = self.short(key);
        if seeds > 1 {
            let _ = write!(name, " seed {seed}");
        }
        if blocks > 1 {
            let _ = write!(name, " block {}/{blocks}", block + 1);
        }
        name
    }
}

/// The numbers that are not 0 as text, each with its word: `, 2 failed, 3 kept`.
pub fn nonzero_counts_text(numbers: &[(usize, &str)]) -> String {
    let part = |(n, what): &(usize, &str)| match n {
        0 => String::new(),
        n => format!(", {n} {what}"),
    };
    numbers.iter().map(part).collect()
}

/// Result of a run as text, `65.2 ms/step  loss 0.118  in 4.1 s`; if it is not done, the reason comes first.
pub(super) fn result_text(outcome: &RunOutcome) -> String {
    let mut words = Vec::new();
    if outcome.status != Status::Done {
        words.push(without_status(outcome.status, &outcome.reason).to_owned());
    }
    if let Some(times) = outcome.times.as_ref().filter(|times| times.step_ms > 0.0) {
        words.push(format!("{} ms/step", human(times.step_ms, 3)));
    }
    let facts = outcome.facts.as_ref();
    let loss = facts.and_then(|facts| facts.final_loss);
    words.extend(loss.map(|loss| format!("loss {}", human(loss, 3))));
    // Metrics are shown only for a program of the user (`kind = "command"`) that reports its own measurements.
    let is_of_command = outcome
        .times
        .as_ref()
        .is_some_and(RunTimes::are_reported_by_program);
    let metrics = facts.into_iter().flat_map(|facts| &facts.metrics);
    let metrics = metrics.filter(|(name, _)| is_of_command && !name.starts_with("best_"));
    let metrics = metrics.filter_map(|(name, value)| Some((name, (*value)?)));
    words.extend(
        metrics
            .take(2)
            .map(|(name, value)| format!("{name} {}", human(value, 3))),
    );
    words.push(format!("in {}", human_seconds(outcome.wall_s)));
    words.join("  ")
}

/// Removes a status at the beginning of a reason: `timeout: 90 s` becomes `90 s`.
pub(super) fn without_status(status: Status, reason: &str) -> &str {
    let rest = reason.strip_prefix(&status.to_string());
    rest.and_then(|rest| rest.strip_prefix(": "))
        .unwrap_or(reason)
}

/// The lines of a worker's standard error, without blank ones.
pub(super) fn stderr_lines(outcome: &RunOutcome) -> Vec<&str> {
    let lines = outcome.stderr.lines();
    lines.filter(|line| !line.trim().is_empty()).collect()
}

/// The last lines that the worker of a failed run wrote to standard error; empty if the run did not fail.
pub fn stderr_tail(outcome: &RunOutcome) -> Vec<&str> {
    const SHOWN: usize = 6;
    if !outcome.status.is_failure() {
        return Vec::new();
    }
    let lines = stderr_lines(outcome);
    lines[lines.len().saturating_sub(SHOWN)..].to_vec()
}

/// Wraps a line to the width of the terminal; the continuation lines are indented by `indent` columns.
pub fn wrap_to_terminal(line: &str, indent: usize) -> String {
    wrapped(line, columns(), indent)
}

/// Width in columns of the terminal at standard error; 80 if it is no terminal.
pub(super) fn columns() -> usize {
    terminal_size_of(io::stderr()).map_or(80, |(columns, _)| columns.0.into())
}

/// Number of ended runs and of all runs as text: `[ 3/20]`.
pub(super) fn place(ended: usize, of: usize) -> String {
    let width = of.to_string().len();
    format!("[{ended:>width$}/{of}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_values_of_texts() {
        let keys = [r#"text="a,b",lr=1"#, r#"text="8",lr=1"#, "text=-rf,lr=1"];
        let names = Names::new(keys);
        assert_eq!(
            keys.map(|key| names.short(key)),
            ["text=a,b", "text=8", "text=-rf"]
        );
    }

    #[test]
    fn what_all_cells_share_is_left_out() {
        let names = Names::new(["model=mlp,batch-size=8", "model=mlp,batch-size=16"]);
        assert_eq!(names.common.into_iter().collect::<Vec<_>>(), ["model=mlp"]);
        assert!(Names::new(["model=mlp", "model=mlp"]).common.is_empty());
    }
}
