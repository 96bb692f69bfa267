//! [`violations`]: the findings of a comparison that make a gate fail.

use crate::results::{RunRow, Status, by_key, grouped};

use super::{
    CellPair, Comparison, Cost, CostChange, CostOverCells, FactChange, MatrixJudgement,
    QualityChange, QualityVerdict, Ratio, Threshold, Verdict, WorkChange,
};

/// Kinds of findings that a gate can fail on. The gate adds no judgement: a regression is a verdict "slower" or "worse" of
/// the comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailOn {
    /// A verdict is "slower" or "worse", or a run that was done before is not done after.
    Regression,
    /// A fact or a final status changed, or a cell was added or removed.
    Change,
    /// A verdict is unclear.
    Unclear,
    /// The work of a training step changed: other counts of an operation.
    Work,
    /// The verdict that a run takes more CPU time.
    CpuTime,
    /// The verdict that a run takes more memory, of the machine or of a GPU.
    Memory,
    /// The verdict that a run takes more energy.
    Energy,
}

/// A finding that a gate fails on.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// The violation's kind.
    pub what: FailOn,
    /// Key of the cell (of the side after, if it exists there); `None` for the whole matrix.
    pub cell: Option<String>,
    /// The finding.
    pub finding: Finding,
}

/// A finding.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// The time per sample is longer.
    Slower {
        /// `after / before`.
        ratio: Ratio,
        /// Two-sided p-value after Holm's correction.
        p: Option<f64>,
        /// The exceeded threshold.
        threshold: Threshold,
    },
    /// A cost of a run is higher.
    CostsMore {
        /// The cost.
        cost: Cost,
        /// `after / before`.
        ratio: Ratio,
        /// Two-sided p-value after Holm's correction.
        p: Option<f64>,
        /// The exceeded threshold.
        threshold: Threshold,
    },
    /// A metric is worse over seeds.
    WorseQuality(QualityChange),
    /// Facts differ: columns, with the seeds in which they differ.
    FactsChanged(Vec<FactChange>),
    /// Counts of operations differ, the largest change first.
    WorkChanged(Vec<WorkChange>),
    /// A row ends with another status.
    StatusChanged {
        /// Seed.
        seed: u64,
        /// Status before.
        before: Status,
        /// Status after; `None` if the row no longer exists.
        after: Option<Status>,
        /// Reason, of the side after.
        reason: String,
    },
    /// Only the side after has the cell.
    Added,
    /// Only the side before has the cell.
    Removed,
    /// No verdict on the time per sample.
    TimeUndecided(Verdict),
    /// Values of a metric differ, without a verdict on which is better.
    QualityUndecided(QualityChange),
}

/// All findings in `comparison` of the given `kinds`: the matrix first, then cell by cell in plan order, then cells of one
/// side. A regression is not listed as a change again.
pub fn violations(comparison: &Comparison, kinds: &[FailOn]) -> Vec<Violation> {
    let matrix = comparison.matrix.as_ref();
    let mut found: Vec<Violation> = matrix.and_then(of_matrix).into_iter().collect();
    found.extend(comparison.costs.iter().filter_map(of_costs));
    let sides = [&comparison.before, &comparison.after];
    let [before, after] = sides.map(|side| by_key(&side.set.runs, |row| &row.key));
    let no_rows = Vec::new();
    for pair in &comparison.cells {
        found.extend(of_time(pair));
        found.extend(pair.costs.iter().filter_map(|cost| of_cost(pair, cost)));
        let old = before.get(&*pair.before).unwrap_or(&no_rows);
        let new = after.get(&*pair.after).unwrap_or(&no_rows);
        found.extend(of_status(pair, (old, new), kinds));
        found.extend(pair.quality.iter().filter_map(|q| of_quality(pair, q)));
        found.extend(of_facts(pair, kinds));
        found.extend(of_work(pair));
    }
    let one_sided = |cell: &str, finding| violation(FailOn::Change, Some(cell), finding);
    let added = comparison.added.iter();
    found.extend(added.map(|cell| one_sided(&cell.key, Finding::Added)));
    let removed = comparison.removed.iter();
    found.extend(removed.map(|cell| one_sided(&cell.key, Finding::Removed)));
    found.retain(|violation| kinds.contains(&violation.what));
    found
}

fn violation(what: FailOn, cell: Option<&str>, finding: Finding) -> Violation {
    Violation {
        what,
        cell: cell.map(str::to_owned),
        finding,
    }
}

fn of_matrix(matrix: &MatrixJudgement) -> Option<Violation> {
    let slower = Finding::Slower {
        ratio: matrix.ratio,
        p: Some(matrix.p_holm),
        threshold: matrix.threshold,
    };
    of_verdict(&matrix.verdict, None, Some(slower))
}

fn of_time(pair: &CellPair) -> Option<Violation> {
    let judgement = &pair.judgement;
    let slower = judgement.ratio.map(|ratio| Finding::Slower {
        ratio,
        p: judgement.p_holm.or(judgement.p),
        threshold: judgement.threshold,
    });
    of_verdict(&judgement.verdict, Some(&pair.after), slower).filter(|_| !pair.needs_no_verdict())
}

fn of_costs(over_cells: &CostOverCells) -> Option<Violation> {
    let matrix = over_cells.matrix.as_ref()?;
    let finding = Finding::CostsMore {
        cost: over_cells.cost,
        ratio: matrix.ratio,
        p: Some(matrix.p_holm),
        threshold: matrix.threshold,
    };
    let is_more = matrix.verdict == Verdict::More;
    is_more.then(|| violation(over_cells.cost.into(), None, finding))
}

fn of_cost(pair: &CellPair, own: &CostChange) -> Option<Violation> {
    let judgement = &own.judgement;
    let finding = Finding::CostsMore {
        cost: own.cost,
        ratio: judgement.ratio?,
        p: judgement.p_holm.or(judgement.p),
        threshold: judgement.threshold,
    };
    let is_more = judgement.verdict == Verdict::More;
    is_more.then(|| violation(own.cost.into(), Some(&pair.after), finding))
}

impl From<Cost> for FailOn {
    fn from(cost: Cost) -> Self {
        match cost {
            Cost::CpuTime => Self::CpuTime,
            Cost::Memory | Cost::GpuMemory => Self::Memory,
            Cost::Energy => Self::Energy,
        }
    }
}

fn of_verdict(verdict: &Verdict, cell: Option<&str>, slower: Option<Finding>) -> Option<Violation> {
    let (what, finding) = match verdict {
        Verdict::Slower => (FailOn::Regression, slower?),
        Verdict::Faster | Verdict::Same | Verdict::Less | Verdict::More => return None,
        Verdict::TooFewRuns(_) | Verdict::Unclear(_) | Verdict::NotComparable(_) => {
            (FailOn::Unclear, Finding::TimeUndecided(verdict.clone()))
        }
    };
    Some(violation(what, cell, finding))
}

fn of_quality(pair: &CellPair, quality: &QualityChange) -> Option<Violation> {
    let (what, finding) = match quality.verdict {
        QualityVerdict::Equal | QualityVerdict::Better => return None,
        QualityVerdict::Worse => (FailOn::Regression, Finding::WorseQuality(quality.clone())),
        QualityVerdict::NotTold | QualityVerdict::TooFewSeeds(_) => {
            (FailOn::Unclear, Finding::QualityUndecided(quality.clone()))
        }
    };
    Some(violation(what, Some(&pair.after), finding))
}

/// Facts beyond their tolerance, each column once, except those listed as worse over seeds. Only the verdict over seeds
/// decides whether a changed value is worse: by chance some values get worse.
fn of_facts(pair: &CellPair, kinds: &[FailOn]) -> Vec<Violation> {
    let is_told = |column: &str| {
        let mut quality = pair.quality.iter();
        kinds.contains(&FailOn::Regression)
            && quality.any(|q| q.column == column && q.verdict == QualityVerdict::Worse)
    };
    let facts = pair.facts.iter().filter(|fact| !fact.is_within);
    let facts = facts.filter(|fact| !is_told(&fact.column)).cloned();
    let columns = grouped(facts, |fact| fact.column.clone()).into_iter();
    let of_column = |facts| {
        violation(
            FailOn::Change,
            Some(&pair.after),
            Finding::FactsChanged(facts),
        )
    };
    columns.map(of_column).collect()
}

fn of_work(pair: &CellPair) -> Option<Violation> {
    let finding = Finding::WorkChanged(pair.operations.clone());
    (!pair.operations.is_empty()).then(|| violation(FailOn::Work, Some(&pair.after), finding))
}

/// Rows of a cell whose status changed: a regression if they were done before, otherwise a change.
fn of_status(
    pair: &CellPair,
    (before, after): (&[&RunRow], &[&RunRow]),
    kinds: &[FailOn],
) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut before = before.to_vec();
    before.sort_by_key(|row| row.seed);
    for old in before {
        let new = after.iter().find(|new| new.seed == old.seed);
        if new.is_some_and(|new| new.status == old.status) {
            continue;
        }
        // A row that no longer exists belongs to a seed that was removed from the manifest.
        let is_worse = old.status == Status::Done && new.is_some();
        let what = if is_worse && kinds.contains(&FailOn::Regression) {
            FailOn::Regression
        } else {
            FailOn::Change
        };
        let finding = Finding::StatusChanged {
            seed: old.seed,
            before: old.status,
            after: new.map(|new| new.status),
            reason: new.map_or(String::new(), |new| new.reason.clone()),
        };
        found.push(violation(what, Some(&pair.after), finding));
    }
    found
}

#[cfg(test)]
mod tests;
