//! One line about a run that has ended, for terminals and logs.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::base::units::{human, human_seconds};
use crate::event::{Job, RunOutcome, Status};

/// Short names of runs, without what the keys of all cells have in common.
#[derive(Debug, Default)]
pub(super) struct Names {
    common: BTreeSet<String>,
}

impl Names {
    pub(super) fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        let parts = |key: &str| key.split(',').map(str::to_owned).collect::<BTreeSet<_>>();
        let mut keys = keys.into_iter();
        let Some(first) = keys.next() else {
            return Self::default();
        };
        let mut common = parts(first);
        let mut is_single = true;
        for key in keys {
            let own = parts(key);
            common.retain(|part| own.contains(part));
            is_single = is_single && key == first;
        }
        // With a single cell nothing would be left of the name.
        if is_single {
            common.clear();
        }
        Self { common }
    }

    /// `batch-size=8 workers=4`.
    pub(super) fn short(&self, key: &str) -> String {
        let own = key.split(',').filter(|part| !self.common.contains(*part));
        own.collect::<Vec<_>>().join(" ")
    }

    /// [`Self::short`], with seed and block if there are several.
    pub(super) fn name(&self, job: &Job) -> String {
        let mut name = self.short(&job.spec.key);
        let measure = &job.spec.measure;
        if measure.seeds.len() > 1 {
            let _ = write!(name, " seed {}", job.id.seed);
        }
        if measure.repeats > 1 {
            let _ = write!(name, " block {}/{}", job.id.block + 1, measure.repeats);
        }
        name
    }
}

/// The result of a run, or its reason: `65.2 ms/step  loss 0.118  in 4.1 s`.
pub(super) fn gave(outcome: &RunOutcome) -> String {
    let mut words = Vec::new();
    if outcome.status != Status::Done {
        words.push(without_status(outcome.status, &outcome.reason).to_owned());
    }
    if let Some(times) = &outcome.times {
        words.push(format!("{} ms/step", human(times.step_ms, 3)));
    }
    let loss = outcome.facts.as_ref().and_then(|facts| facts.final_loss);
    words.extend(loss.map(|loss| format!("loss {}", human(loss, 3))));
    words.push(format!("in {}", human_seconds(outcome.wall_s)));
    words.join("  ")
}

/// Removes the status from a reason that begins with it: `timeout: 90 s` becomes `90 s`.
pub(super) fn without_status(status: Status, reason: &str) -> &str {
    let rest = reason.strip_prefix(&status.to_string());
    rest.and_then(|rest| rest.strip_prefix(": "))
        .unwrap_or(reason)
}

/// The last lines of the standard error of a failed run.
pub fn last_words(outcome: &RunOutcome) -> Vec<&str> {
    const SHOWN: usize = 6;
    if !outcome.status.is_failure() {
        return Vec::new();
    }
    let lines: Vec<&str> = outcome
        .stderr
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(SHOWN)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_cells_share_is_left_out() {
        let names = Names::new(["model=mlp,batch-size=8", "model=mlp,batch-size=16"]);
        assert_eq!(names.common.into_iter().collect::<Vec<_>>(), ["model=mlp"]);
        assert!(Names::new(["model=mlp", "model=mlp"]).common.is_empty());
    }
}
