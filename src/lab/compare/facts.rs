//! Compares the facts (reproducible results, such as losses) of two cells row by row: exactly, or within a tolerance.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::base::statistics::median;
use crate::results::{
    Direction, PlanFile, RunRow, Status, fact_texts, fixed_column, is_added_column, metric_column,
};

use super::cells::Cell;
use super::verdict::{MetricOfSeeds, judge_quality};
use super::{FactChange, QualityChange};

/// Default relative difference that counts as equal between numeric classes, and for rows marked `nondeterministic`: another
/// summation order changes the last digits of floats, and training amplifies that.
pub(super) const ACROSS_CLASSES: f64 = 1e-3;

/// Columns that are integer counts, equal on every machine.
const COUNTS: [&str; 6] = [
    "parameters",
    "flops_forward_per_sample",
    "flops_backward_per_sample",
    "steps",
    "samples",
    "epochs",
];

/// Columns of initial losses, which say nothing about the quality of the trained model.
const BEGINNINGS: [&str; 3] = ["first_loss", "first_steps_loss", "eval_loss_before"];

const CHECKSUM: &str = "weight_checksum";
const STATUS: &str = "status";

/// How two cells' facts are compared.
///
/// Facts may differ by `[compare] tolerance` of the side after; without that key they must be equal within a numeric
/// class, and may differ by [`ACROSS_CLASSES`] between two classes or for nondeterministic runs. Digests are compared
/// only if every column must be equal exactly. The best epoch is an integer that a rounding difference can change, so
/// it is ignored otherwise.
struct Rules<'a> {
    plans: (&'a PlanFile, &'a PlanFile),
    tolerances: Option<&'a serde_json::Map<String, Value>>,
    /// Whether equal runs may differ by rounding.
    is_loose: bool,
}

impl<'a> Rules<'a> {
    fn of(before: &Cell<'a>, after: &Cell<'a>) -> Self {
        let tolerances = after.set.plan.compare.get("tolerance");
        let tolerances = tolerances.and_then(Value::as_object);
        Self {
            plans: (&before.set.plan, &after.set.plan),
            tolerances: tolerances.filter(|map| !map.is_empty()),
            is_loose: before.info.numeric_class != after.info.numeric_class
                || before.is_nondeterministic()
                || after.is_nondeterministic(),
        }
    }

    /// The tolerance of a column; `None` if it is not compared.
    fn tolerance(&self, column: &str) -> Option<f64> {
        if column == CHECKSUM {
            let is_exact = self.tolerances.is_none() && !self.is_loose;
            return is_exact.then_some(0.0);
        }
        let declared = self.tolerances.and_then(|map| map.get(column)?.as_f64());
        let is_index = column == "best_epoch" || column.ends_with("_epoch");
        match declared {
            None if !self.is_loose || COUNTS.contains(&column) => Some(0.0),
            None => (!is_index).then_some(ACROSS_CLASSES),
            declared => declared,
        }
    }

    /// For each column that both results have: its name, and its texts before and after. `None` if a row has no facts.
    fn texts(&self, before: &RunRow, after: &RunRow) -> Option<Vec<(String, String, String)>> {
        let old = fact_texts(before.facts.as_ref()?);
        let new = fact_texts(after.facts.as_ref()?);
        let mut new: BTreeMap<String, String> = new.into_iter().collect();
        let with_new = |(column, before)| {
            let after = new.remove(&column).unwrap_or_default();
            (column, before, after)
        };
        let mut texts: Vec<(String, String, String)> = old.into_iter().map(with_new).collect();
        texts.extend(
            new.into_iter()
                .map(|(column, after)| (column, String::new(), after)),
        );
        texts.retain(|(column, before, after)| {
            !(before.is_empty() || after.is_empty()) || self.is_of_both(column)
        });
        Some(texts)
    }

    /// Whether both files have the column. An empty field of such a column means that the value is missing.
    fn is_of_both(&self, column: &str) -> bool {
        let has = |plan: &PlanFile| plan.columns.iter().any(|known| known.name == column);
        match fixed_column(column) {
            Some(_) => !is_added_column(column),
            None => has(self.plans.0) && has(self.plans.1),
        }
    }

    fn direction(&self, column: &str) -> Direction {
        let mut known = self.plans.1.columns.iter().chain(&self.plans.0.columns);
        let of_file = || known.find(|known| known.name == column).cloned();
        let found = fixed_column(column).cloned().or_else(of_file);
        found.unwrap_or_else(|| metric_column(column)).direction
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
    let is_of_training = column.trim_start_matches("best_").starts_with("train_");
    (place, is_of_training)
}

#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Values of `runs.csv` that differ between the two cells for a seed, the most important columns first.
    pub(super) changes: Vec<FactChange>,
    pub(super) rows: usize,
    /// Metrics over the seeds, by column.
    metrics: Metrics,
}

impl Facts {
    /// Compares the rows of two cells. Rows that were not measured are skipped.
    pub(super) fn between(before: &Cell<'_>, after: &Cell<'_>) -> Self {
        let rules = Rules::of(before, after);
        let mut facts = Self::default();
        for (seed, old) in &before.runs {
            let Some(new) = after.runs.get(seed) else {
                continue;
            };
            if !is_settled(old.status) || !is_settled(new.status) {
                continue;
            }
            if old.status != new.status {
                facts.rows += 1;
                facts.changes.push(FactChange {
                    seed: *seed,
                    column: STATUS.to_owned(),
                    direction: Direction::None,
                    before: old.status.to_string(),
                    after: new.status.to_string(),
                    relative: None,
                    tolerance: 0.0,
                    is_within: false,
                });
            } else if let Some(texts) = rules.texts(old, new) {
                facts.rows += 1;
                let found = texts.into_iter();
                let metrics = &mut facts.metrics;
                let found = found.filter_map(|texts| compared(&rules, *seed, texts, metrics));
                facts.changes.extend(found);
            }
        }
        let order = |fact: &FactChange| (fact.seed, place(&fact.column, fact.direction));
        facts.changes.sort_by_key(order);
        facts
    }
}

/// Whether a row is a result: rows that were not run, or cannot run on this machine, are not.
fn is_settled(status: Status) -> bool {
    !matches!(status, Status::Skipped | Status::NotRun)
}

/// The metrics of two cells by column.
type Metrics = BTreeMap<String, MetricOfSeeds>;

/// The difference in a column, if there is one; values of quality columns are also added to `metrics`.
fn compared(
    rules: &Rules<'_>,
    seed: u64,
    (column, before, after): (String, String, String),
    metrics: &mut Metrics,
) -> Option<FactChange> {
    let tolerance = rules.tolerance(&column)?;
    let direction = rules.direction(&column);
    let numbers = number(&before).zip(number(&after));
    let is_quality = direction != Direction::None && !BEGINNINGS.contains(&&*column);
    if let Some((before, after)) = numbers.filter(|_| is_quality) {
        let metric = metrics.entry(column.clone()).or_insert(MetricOfSeeds {
            direction,
            tolerance,
            values: Vec::new(),
        });
        metric.values.push((seed, before, after));
    }
    if before == after {
        return None;
    }
    Some(FactChange {
        seed,
        column,
        direction,
        before,
        after,
        relative: numbers.and_then(|(old, new)| (old != 0.0).then(|| (new - old) / old.abs())),
        tolerance,
        is_within: numbers.is_some_and(|(old, new)| (new - old).abs() <= tolerance * old.abs()),
    })
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// The verdicts on the metrics of all pairs of cells, the most important metrics of each first. The tests of one metric are a family.
pub(super) fn qualities(of_pairs: &[Facts]) -> Vec<Vec<QualityChange>> {
    let mut judged: Vec<Vec<QualityChange>> = vec![Vec::new(); of_pairs.len()];
    let columns: BTreeSet<&String> = of_pairs
        .iter()
        .flat_map(|facts| facts.metrics.keys())
        .collect();
    for column in columns {
        let found = of_pairs.iter().enumerate();
        let found = found.filter_map(|(at, facts)| Some((at, facts.metrics.get(column)?)));
        let (places, metrics): (Vec<usize>, Vec<&MetricOfSeeds>) = found.unzip();
        for ((at, metric), own) in places.iter().zip(&metrics).zip(judge_quality(&metrics)) {
            let median_of = |side: fn(&(u64, f64, f64)) -> f64| {
                median(&metric.values.iter().map(side).collect::<Vec<f64>>())
            };
            let medians = median_of(|values| values.1).zip(median_of(|values| values.2));
            judged[*at].extend(medians.map(|medians| QualityChange {
                column: column.clone(),
                direction: metric.direction,
                medians,
                pairs: metric.values.len(),
                verdict: own.verdict,
                p: own.p,
                p_adjusted: own.p_adjusted,
            }));
        }
    }
    for own in &mut judged {
        own.sort_by_key(|quality| place(&quality.column, quality.direction));
    }
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
