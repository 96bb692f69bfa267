//! Matched cells before their verdict: reasons why their times cannot be compared, and the computation of all verdicts.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::BlockRow;

use super::cells::Cell;
use super::changes::{changes, work};
use super::cost::CostChange;
use super::counts::counts;
use super::environment;
use super::facts::Facts;
use super::floor::{CellNoiseFloor, CellNoiseFloors};
use super::timings::{Runs, timings};
use super::verdict::{Samples, VerdictOptions, Verdicts, judge};
use super::waiting::waiting;
use super::{
    CellPair, Judgement, MatchedBy, NotComparableReason, QualityChange, Side, SpecChange, Work,
};

pub(super) struct Draft<'a> {
    pub(super) before: &'a Cell<'a>,
    pub(super) after: &'a Cell<'a>,
    pub(super) by: MatchedBy,
    pub(super) changes: Vec<SpecChange>,
    pub(super) work: Work,
    /// Why the cells' times cannot be compared; empty if they can.
    pub(super) reasons: Vec<NotComparableReason>,
    pub(super) runs: Runs<'a>,
}

impl<'a> Draft<'a> {
    /// Whether both cells have times, comparable or not.
    pub(super) fn is_measured(&self) -> bool {
        let is_missing =
            |reason: &NotComparableReason| matches!(reason, NotComparableReason::NotMeasured(..));
        !self.reasons.iter().any(is_missing)
    }

    /// The values that `of` returns for the pair's runs; runs for which it returns `None` are left out.
    pub(super) fn samples(&self, of: impl Fn(&Cell<'a>, &BlockRow) -> Option<f64>) -> Samples {
        let values = |cell: &Cell<'a>, runs: &[&BlockRow]| -> Vec<f64> {
            runs.iter().filter_map(|run| of(cell, run)).collect()
        };
        Samples {
            key: self.after.info.key.clone(),
            before: values(self.before, &self.runs.before),
            after: values(self.after, &self.runs.after),
            design: self.runs.design,
            floor: CellNoiseFloor::default(),
            drifts: true,
            comparable: match &*self.reasons {
                [] => Ok(()),
                reasons => Err(reasons.to_vec()),
            },
        }
    }

    /// Differences between the facts of both cells; none if one of the cells was measured by other code than most cells
    /// of its side.
    pub(super) fn facts(&self) -> Facts {
        let is_other_code = self.before.is_other_code || self.after.is_other_code;
        if is_other_code {
            Facts::default()
        } else {
            Facts::between(self.before, self.after)
        }
    }

    /// Adds the verdicts to the pair.
    pub(super) fn finished(
        self,
        judgement: Judgement,
        costs: Vec<CostChange>,
        label: String,
        (facts, quality): (Facts, Vec<QualityChange>),
    ) -> CellPair {
        let (before, after) = (self.before, self.after);
        let other_code = (before.is_other_code, after.is_other_code);
        let (counts, operations) = counts(before, after);
        let (timings, waiting) = match &*self.reasons {
            [] => (
                timings(before, after, &self.runs),
                waiting(before, after, &self.runs),
            ),
            _ => (Vec::new(), None),
        };
        CellPair {
            before: before.info.key.clone(),
            after: after.info.key.clone(),
            label,
            matched: self.by,
            changes: self.changes,
            work: self.work,
            facts: facts.changes,
            compared_rows: facts.rows,
            counts,
            operations,
            other_code,
            sample_ms: (
                before.median_sample_ms(&self.runs.before),
                after.median_sample_ms(&self.runs.after),
            ),
            quality,
            timings,
            judgement,
            costs,
            waiting,
        }
    }
}

/// Settings of a comparison that decide whether times of two cells can be compared.
pub(super) struct Question<'a> {
    /// Whether environments may differ in must-match fields.
    pub(super) across_env: bool,
    /// Whether cells are compared along an axis.
    pub(super) is_along: bool,
    /// Whether the compared axis is declared as the treatment.
    pub(super) is_treatment: bool,
    /// Sessions in which `ab` stopped running pairs of a cell as soon as its verdict was significant.
    pub(super) until_sure: &'a BTreeSet<String>,
}

impl Question<'_> {
    pub(super) fn draft<'a>(
        &self,
        by: MatchedBy,
        before: &'a Cell<'a>,
        after: &'a Cell<'a>,
    ) -> Draft<'a> {
        let changes = changes(before, after);
        let work = work(before, after, &changes, self.is_treatment);
        // Different numbers of threads are allowed if the number of threads is the compared setting.
        let of_threads = |change: &SpecChange| change.path == "train.threads";
        let allows_threads = self.is_along && changes.iter().any(of_threads);
        let mut fields = environment::differing_fields(before, after);
        // Environments that differ only in the build can still be from one machine.
        let is_one_machine = fields.iter().all(|field| field.starts_with("build_"));
        if self.across_env {
            fields.clear();
        }
        Draft {
            reasons: not_comparable_reasons(before, after, fields, &work, allows_threads),
            runs: Runs::of(before, after, is_one_machine, self.until_sure),
            by,
            before,
            after,
            changes,
            work,
        }
    }
}

/// All reasons why the times cannot be compared; `fields` are the must-match fields that differ. If a cell was not
/// measured, or both sides have the same runs, only that reason is returned.
fn not_comparable_reasons(
    before: &Cell<'_>,
    after: &Cell<'_>,
    fields: Vec<String>,
    work: &Work,
    allows_threads: bool,
) -> Vec<NotComparableReason> {
    let both = |of: fn(&Cell<'_>) -> bool| (of(before), of(after));
    let missing = both(|cell| cell.median_sample_ms(&cell.counted).is_none());
    if missing != (false, false) {
        return vec![NotComparableReason::NotMeasured(missing.0, missing.1)];
    }
    if are_the_same(&before.counted, &after.counted) {
        return vec![NotComparableReason::SameRuns];
    }
    let mut found = Vec::new();
    let other_code = both(|cell| cell.is_other_code);
    if other_code != (false, false) {
        found.push(NotComparableReason::OtherCode(other_code.0, other_code.1));
    }
    if !fields.is_empty() {
        found.push(NotComparableReason::Environment(fields));
    }
    if let Work::Different(parts) = work {
        found.push(NotComparableReason::Work(parts.clone()));
    }
    let (old, new) = (threads(&before.counted), threads(&after.counted));
    if old != new && !allows_threads {
        found.push(NotComparableReason::Threads(old, new));
    }
    let alone = both(|cell| cell.counted.iter().all(|run| run.exclusive));
    if alone.0 != alone.1 {
        found.push(NotComparableReason::Exclusive(alone.0, alone.1));
    }
    let told = (before.tells_steps(), after.tells_steps());
    if told.0 != told.1 {
        found.push(NotComparableReason::Steps(told.0, told.1));
    }
    found
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
    let counts = runs.iter().filter_map(|run| run.times.as_deref());
    let counts: BTreeSet<usize> = counts.map(|times| times.threads).collect();
    let texts: Vec<String> = counts.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// Computes the verdict on the times of each pair of cells, and on all cells together.
///
/// Noise floors are used only for cells with equal environments before and after, since A/A runs never span two
/// environments.
pub(super) fn judged(
    sides: (&Side, &Side),
    drafts: &[Draft<'_>],
    asked: VerdictOptions,
) -> Verdicts {
    let mut noise = sides.1.noise.clone();
    let others = sides.0.noise.iter();
    noise.extend(others.filter(|row| !sides.1.noise.contains(row)).cloned());
    let mut floors: BTreeMap<&str, CellNoiseFloors> = BTreeMap::new();
    let samples = drafts.iter().map(|draft| {
        let ids = draft.before.env_id().zip(draft.after.env_id());
        let floor = ids.filter(|(old, new)| old == new).map(|(_, id)| {
            let known = floors
                .entry(id)
                .or_insert_with(|| CellNoiseFloors::new(&noise, id));
            known.of(&draft.after.info.key, &draft.after.info.cell_hash)
        });
        Samples {
            floor: floor.unwrap_or_default(),
            ..draft.samples(Cell::sample_ms)
        }
    });
    let samples: Vec<Samples> = samples.collect();
    judge(&samples, asked)
}
