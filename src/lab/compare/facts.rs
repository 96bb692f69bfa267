//! Compares the facts of two cells row by row: exactly, or within a tolerance.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::statistics::median;
use crate::results::{
    ColumnInfo, Direction, ResultSet, RunRow, Status, fact_texts, fixed_column, is_added_column,
    metric_column,
};

use super::cells::Cell;
use super::verdict::judge_quality;
use super::{FactChange, QualityChange};

/// Default relative difference that counts as equal between numeric classes, and for rows marked `nondeterministic`: another
/// summation order changes the last digits of floats, and training amplifies that.
pub const ACROSS_CLASSES: f64 = 1e-3;

/// Columns that are integer counts, equal on every machine.
const COUNTS: [&str; 6] = [
    "parameters",
    "flops_forward_per_sample",
    "flops_backward_per_sample",
    "steps",
    "samples",
    "epochs",
];

/// Initial losses: facts, but no measure of the trained model's quality.
const BEGINNINGS: [&str; 3] = ["first_loss", "first_steps_loss", "eval_loss_before"];

const CHECKSUM: &str = "weight_checksum";
const STATUS: &str = "status";

/// How much facts may differ: `[compare] tolerance` of the side after; else 0 within a numeric class, and [`ACROSS_CLASSES`]
/// between two classes or for nondeterministic runs.
///
/// Digests are compared only if every column must be equal exactly. The best epoch is an integer that a rounding difference
/// can change, so it is ignored otherwise.
pub(super) struct Tolerance<'a> {
    manifest: Option<&'a serde_json::Map<String, Value>>,
    /// Whether equal runs may differ by rounding.
    is_loose: bool,
}

impl<'a> Tolerance<'a> {
    pub(super) fn of(after: &'a ResultSet, cells: (&Cell<'_>, &Cell<'_>)) -> Self {
        let manifest = after.plan.compare.get("tolerance");
        Self {
            manifest: manifest
                .and_then(Value::as_object)
                .filter(|map| !map.is_empty()),
            is_loose: cells.0.info.numeric_class != cells.1.info.numeric_class
                || cells.0.is_nondeterministic()
                || cells.1.is_nondeterministic(),
        }
    }

    /// The tolerance of a column; `None` if it is not compared.
    fn of_column(&self, column: &str) -> Option<f64> {
        let declared = self.manifest.and_then(|map| map.get(column)?.as_f64());
        let is_exact = self.manifest.is_none() && !self.is_loose;
        if column == CHECKSUM {
            return is_exact.then_some(0.0);
        }
        if declared.is_some() {
            return declared;
        }
        let is_index = column == "best_epoch" || column.ends_with("_epoch");
        match (self.is_loose, COUNTS.contains(&column)) {
            (true, false) => (!is_index).then_some(ACROSS_CLASSES),
            _ => Some(0.0),
        }
    }
}

/// Display order of a fact within its row: first the final status, then metrics (accuracies before errors, held-out before
/// training data), then training losses, then everything else.
fn place(column: &str, direction: Direction) -> (u8, bool) {
    let is_metric = fixed_column(column).is_none();
    let place = match direction {
        _ if column == STATUS => 0,
        Direction::Higher if is_metric => 1,
        Direction::Lower if is_metric => 2,
        Direction::None => 4,
        _ => 3,
    };
    (
        place,
        column.trim_start_matches("best_").starts_with("train_"),
    )
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Differences by seed, the most important ones first.
    pub(super) changes: Vec<FactChange>,
    pub(super) rows: usize,
    /// Metrics over the seeds.
    pub(super) quality: Vec<QualityChange>,
}

impl Facts {
    /// Compares the rows of two cells. Rows that were not measured are skipped.
    pub(super) fn between(before: (&ResultSet, &Cell<'_>), after: (&ResultSet, &Cell<'_>)) -> Self {
        let tolerance = Tolerance::of(after.0, (before.1, after.1));
        let columns = Columns(before.0, after.0);
        let mut facts = Self::default();
        let mut series = Series::new();
        for (seed, old) in &before.1.runs {
            let Some(new) = after.1.runs.get(seed) else {
                continue;
            };
            if !is_settled(old.status) || !is_settled(new.status) {
                continue;
            }
            if old.status != new.status {
                facts.rows += 1;
                facts.changes.push(status_change(*seed, old, new));
            } else if let Some(pairs) = columns.pairs(old, new) {
                facts.rows += 1;
                for pair in &pairs {
                    let found = compared(&columns, &tolerance, pair, &mut series);
                    facts.changes.extend(found.map(|change| FactChange {
                        seed: *seed,
                        ..change
                    }));
                }
            }
        }
        let order = |fact: &FactChange| (fact.seed, place(&fact.column, fact.direction));
        facts.changes.sort_by_key(order);
        facts.quality = qualities(series);
        facts
    }
}

/// Whether a row is a result: rows that were not run, or cannot run on this machine, are not.
fn is_settled(status: Status) -> bool {
    !matches!(status, Status::Skipped | Status::NotRun)
}

fn status_change(seed: u64, before: &RunRow, after: &RunRow) -> FactChange {
    FactChange {
        seed,
        column: STATUS.to_owned(),
        direction: Direction::None,
        before: before.status.to_string(),
        after: after.status.to_string(),
        relative: None,
        tolerance: 0.0,
        is_within: false,
    }
}

struct Pair {
    column: String,
    before: String,
    after: String,
}

struct Columns<'a>(&'a ResultSet, &'a ResultSet);

impl Columns<'_> {
    /// The columns that both results have, with the texts of two rows; `None` if a row has no facts.
    fn pairs(&self, before: &RunRow, after: &RunRow) -> Option<Vec<Pair>> {
        let old = fact_texts(before.facts.as_ref()?);
        let mut new: BTreeMap<String, String> =
            fact_texts(after.facts.as_ref()?).into_iter().collect();
        let mut pairs: Vec<Pair> = Vec::new();
        for (column, before) in old {
            let after = new.remove(&column).unwrap_or_default();
            pairs.push(Pair {
                column,
                before,
                after,
            });
        }
        pairs.extend(new.into_iter().map(|(column, after)| Pair {
            column,
            before: String::new(),
            after,
        }));
        pairs.retain(|pair| {
            let is_whole = !pair.before.is_empty() && !pair.after.is_empty();
            is_whole || self.of_both(&pair.column)
        });
        Some(pairs)
    }

    /// Whether both files have the column, so that an empty field is a missing value.
    fn of_both(&self, column: &str) -> bool {
        let has = |set: &ResultSet| set.plan.columns.iter().any(|known| known.name == column);
        match fixed_column(column) {
            Some(_) => !is_added_column(column),
            None => has(self.0) && has(self.1),
        }
    }

    fn direction(&self, column: &str) -> Direction {
        let of_after = self.1.plan.columns.iter();
        let mut known = of_after.chain(&self.0.plan.columns);
        let found: Option<ColumnInfo> =
            fixed_column(column).or_else(|| known.find(|known| known.name == column).cloned());
        found.unwrap_or_else(|| metric_column(column)).direction
    }
}

/// Values of a column over seeds, before and after, with the column's tolerance.
type Series = BTreeMap<String, (Direction, f64, Vec<(f64, f64)>)>;

/// The difference in a column, if there is one; values of quality columns are also added to `series`.
fn compared(
    columns: &Columns<'_>,
    tolerance: &Tolerance<'_>,
    pair: &Pair,
    series: &mut Series,
) -> Option<FactChange> {
    let column = &*pair.column;
    let allowed = tolerance.of_column(column)?;
    let direction = columns.direction(column);
    let numbers = number(&pair.before).zip(number(&pair.after));
    if let Some(values) = numbers
        && direction != Direction::None
        && !BEGINNINGS.contains(&column)
    {
        let entry = series
            .entry(column.to_owned())
            .or_insert((direction, allowed, Vec::new()));
        entry.2.push(values);
    }
    if pair.before == pair.after {
        return None;
    }
    let relative = numbers.and_then(|(old, new)| (old != 0.0).then(|| (new - old) / old.abs()));
    Some(FactChange {
        seed: 0,
        column: column.to_owned(),
        direction,
        before: pair.before.clone(),
        after: pair.after.clone(),
        relative,
        tolerance: allowed,
        is_within: numbers.is_some_and(|(old, new)| (new - old).abs() <= allowed * old.abs()),
    })
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

fn qualities(series: Series) -> Vec<QualityChange> {
    let judged = series
        .into_iter()
        .filter_map(|(column, (direction, tolerance, values))| {
            let (before, after): (Vec<f64>, Vec<f64>) = values.into_iter().unzip();
            let (verdict, p) = judge_quality(&before, &after, direction, tolerance);
            Some(QualityChange {
                column,
                direction,
                medians: (median(&before)?, median(&after)?),
                pairs: before.len(),
                verdict,
                p,
            })
        });
    let mut judged: Vec<QualityChange> = judged.collect();
    judged.sort_by_key(|quality| place(&quality.column, quality.direction));
    judged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_comes_before_the_four_losses() {
        let mut columns = vec![
            ("weight_checksum", Direction::None),
            ("final_loss", Direction::Lower),
            ("best_loss", Direction::Lower),
            ("train_accuracy", Direction::Higher),
            ("val_loss", Direction::Lower),
            ("test_accuracy", Direction::Higher),
            ("status", Direction::None),
        ];
        columns.sort_by_key(|&(column, direction)| place(column, direction));
        let names: Vec<&str> = columns.into_iter().map(|(column, _)| column).collect();
        let expected = [
            "status",
            "test_accuracy",
            "train_accuracy",
            "val_loss",
            "final_loss",
            "best_loss",
            "weight_checksum",
        ];
        assert_eq!(names, expected);
    }
}
