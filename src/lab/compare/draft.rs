//! Pairs of cells before their verdict: obstacles to comparing their times, and the call that judges all of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::results::{BlockRow, ResultSet};

use super::cells::Cell;
use super::environment;
use super::floor::Floors;
use super::timings::Runs;
use super::verdict::{Samples, Verdicts, judge};
use super::{MatchedBy, Obstacle, Side, SpecChange, Work};

pub(super) struct Draft<'a> {
    pub(super) before: &'a Cell<'a>,
    pub(super) after: &'a Cell<'a>,
    pub(super) by: MatchedBy,
    pub(super) changes: Vec<SpecChange>,
    pub(super) work: Work,
    /// Why their times cannot be compared; empty if they can.
    pub(super) obstacles: Vec<Obstacle>,
    pub(super) runs: Runs<'a>,
}

impl Draft<'_> {
    /// Whether both cells have times, comparable or not.
    pub(super) fn is_measured(&self) -> bool {
        let is_missing = |obstacle: &Obstacle| matches!(obstacle, Obstacle::NotMeasured(..));
        !self.obstacles.iter().any(is_missing)
    }
}

/// Inputs that decide whether times of two cells can be compared.
pub(super) struct Question<'q> {
    pub(super) sets: (&'q ResultSet, &'q ResultSet),
    pub(super) work: &'q Work,
    /// Whether environments may differ in must-match fields.
    pub(super) across_env: bool,
    /// Whether the number of threads may differ because it is the compared setting.
    pub(super) allows_threads: bool,
}

impl Question<'_> {
    /// Whether both cells were measured on one machine, according to its description.
    pub(super) fn is_one_machine(&self, before: &Cell<'_>, after: &Cell<'_>) -> bool {
        let fields = self.fields(before, after);
        fields.iter().all(|field| is_of_build(field))
    }

    /// Names of the must-match fields that differ between the environments of two cells.
    fn fields(&self, before: &Cell<'_>, after: &Cell<'_>) -> Vec<String> {
        let ids = before.env_id().zip(after.env_id());
        let fields =
            ids.map(|(old, new)| environment::obstacles((self.sets.0, old), (self.sets.1, new)));
        fields.unwrap_or_default()
    }

    /// All obstacles. For cells that were not measured, or not measured since, that is the only one.
    pub(super) fn obstacles(&self, before: &Cell<'_>, after: &Cell<'_>) -> Vec<Obstacle> {
        let is_missing = |cell: &Cell<'_>| cell.median_sample_ms().is_none();
        let missing = (is_missing(before), is_missing(after));
        if missing != (false, false) {
            return vec![Obstacle::NotMeasured(missing.0, missing.1)];
        }
        if are_the_same(&before.counted, &after.counted) {
            return vec![Obstacle::SameRuns];
        }
        let mut found = Vec::new();
        if before.is_other_code || after.is_other_code {
            found.push(Obstacle::OtherCode(
                before.is_other_code,
                after.is_other_code,
            ));
        }
        let fields = self.fields(before, after);
        if !fields.is_empty() && !self.across_env {
            found.push(Obstacle::Environment(fields));
        }
        if let Work::Different(parts) = self.work {
            found.push(Obstacle::Work(parts.clone()));
        }
        let (old, new) = (threads(&before.counted), threads(&after.counted));
        if old != new && !self.allows_threads {
            found.push(Obstacle::Threads(old, new));
        }
        let alone = |cell: &Cell<'_>| cell.counted.iter().all(|run| run.exclusive);
        if alone(before) != alone(after) {
            found.push(Obstacle::Exclusive(alone(before), alone(after)));
        }
        found
    }
}

/// Whether environments that differ in this field can be of one machine: only the builds differ.
fn is_of_build(field: &str) -> bool {
    field.starts_with("build_")
}

/// Whether two lists contain the same runs: an unchanged result compared with itself.
fn are_the_same(before: &[&BlockRow], after: &[&BlockRow]) -> bool {
    let pairs = before.iter().zip(after);
    before.len() == after.len()
        && pairs.into_iter().all(|(old, new)| {
            (&old.session, old.seed, old.block) == (&new.session, new.seed, new.block)
                && (old.start_s, &old.times, old.wall_s) == (new.start_s, &new.times, new.wall_s)
        })
}

/// The thread counts of the runs: `2`, or `2, 4`.
fn threads(runs: &[&BlockRow]) -> String {
    let counts = runs.iter().filter_map(|run| run.times.as_ref());
    let counts: BTreeSet<usize> = counts.map(|times| times.threads).collect();
    let texts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// Computes the verdicts on all pairs and on the whole matrix.
///
/// Noise floors are used only for cells with equal environments before and after, since A/A runs never span two
/// environments.
pub(super) fn judged(sides: (&Side, &Side), drafts: &[Draft<'_>]) -> Verdicts {
    let mut noise = sides.1.noise.clone();
    let others = sides.0.noise.iter();
    let others = others.filter(|row| !sides.1.noise.contains(row));
    noise.extend(others.cloned());
    let mut floors: BTreeMap<&str, Floors> = BTreeMap::new();
    let samples = drafts.iter().map(|draft| {
        let ids = draft.before.env_id().zip(draft.after.env_id());
        let floor = ids.filter(|(old, new)| old == new).map(|(_, id)| {
            let known = floors.entry(id).or_insert_with(|| Floors::new(&noise, id));
            known.of(&draft.after.info.key, &draft.after.info.cell_hash)
        });
        let times = |cell: &Cell<'_>, runs: &[&BlockRow]| -> Vec<f64> {
            runs.iter().filter_map(|run| cell.sample_ms(run)).collect()
        };
        Samples {
            key: draft.after.info.key.clone(),
            before: times(draft.before, &draft.runs.before),
            after: times(draft.after, &draft.runs.after),
            design: draft.runs.design,
            floor: floor.unwrap_or_default(),
            comparable: if draft.obstacles.is_empty() {
                Ok(())
            } else {
                Err(draft.obstacles.clone())
            },
        }
    });
    let samples: Vec<Samples> = samples.collect();
    let threshold = sides.1.set.plan.compare.get("threshold");
    judge(&samples, threshold.and_then(Value::as_f64))
}
