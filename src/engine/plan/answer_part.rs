//! [`AnswerPart`]: a part of the answer at the head of a report (`report.answer`), and the check of what it names.

use std::fmt::{self, Formatter};

use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::manifest::Table;

use super::references::axis_called;
use super::{Plan, program, search};

/// A part of the answer at the head of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerPart {
    /// `"where"`: the largest phase of a step, its share, and what a step waits for.
    Where,
    /// `"memory"`: the smallest and the largest peak, and their cells.
    Memory,
    /// `"cost"`: the time of a run, parameters and FLOPs, and the price where the manifest has one.
    Cost,
    /// `"learned"`: whether the loss on a fixed batch fell in every run.
    Learned,
    /// `{ fastest-at-equal = "best_loss" }`: which cell reaches soonest the worst of the best values, which all cells reach.
    FastestAtEqual(String),
    /// `{ gain = "variant" }`: each value of an axis against its baseline, in time and in quality.
    Gain(String),
    /// `{ along = "loader.workers" }`: what an axis does to the time, between cells that differ in it only.
    Along(String),
    /// `{ scaling = "datasets.linear.samples" }`: how times grow with the number of samples.
    Scaling(String),
    /// A column of the results or a metric: the best cell by it; by several, the Pareto front.
    #[serde(untagged)]
    Metric(String),
}

impl<'de> Deserialize<'de> for AnswerPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Part;
        impl<'de> Visitor<'de> for Part {
            type Value = AnswerPart;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                formatter.write_str("a column, a metric, or a table such as `{ along = \"AXIS\" }`")
            }

            fn visit_str<E>(self, text: &str) -> Result<AnswerPart, E> {
                Ok(match text {
                    "where" => AnswerPart::Where,
                    "memory" => AnswerPart::Memory,
                    "cost" => AnswerPart::Cost,
                    "learned" => AnswerPart::Learned,
                    column => AnswerPart::Metric(column.to_owned()),
                })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<AnswerPart, A::Error> {
                let Some(key) = map.next_key::<String>()? else {
                    return Err(A::Error::custom("an empty table asks for nothing"));
                };
                let part: fn(String) -> AnswerPart = match &*key {
                    "fastest-at-equal" => AnswerPart::FastestAtEqual,
                    "gain" => AnswerPart::Gain,
                    "along" => AnswerPart::Along,
                    "scaling" => AnswerPart::Scaling,
                    other => return Err(A::Error::unknown_variant(other, &TABLES)),
                };
                let part = part(map.next_value()?);
                match map.next_key::<String>()? {
                    None => Ok(part),
                    Some(_) => Err(A::Error::custom(
                        "a part has one key: write one table for each",
                    )),
                }
            }
        }
        deserializer.deserialize_any(Part)
    }
}

/// Names of the parts that are tables.
const TABLES: [&str; 4] = ["fastest-at-equal", "gain", "along", "scaling"];
/// Names of the parts that are words.
const WORDS: [&str; 4] = ["where", "memory", "cost", "learned"];

/// Metrics that a name may be meant for; models and programs have others too.
const METRICS: [&str; 10] = [
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "r2",
    "mse",
    "rmse",
    "mae",
    "loss",
];

/// What is wrong with the parts of `report.answer`: metrics of which it is not known what is better, and axes that are none.
pub(super) fn check(plan: &Plan, report: &Table, mistakes: &mut Vec<Diagnostic>) {
    let declared = program::metrics(&plan.written.root);
    let is_known = |name: &str| declared.contains_key(name);
    for node in report.list("answer") {
        if let Some(name) = node.as_str() {
            let is_known = is_known(name) || WORDS.contains(&name);
            mistakes.extend((!is_known).then(|| undecided(node.place, name)).flatten());
            continue;
        }
        let Some(table) = node.as_table() else {
            continue;
        };
        for part in TABLES {
            let Some(name) = table.text(part) else {
                continue;
            };
            let place = table.place_of(part);
            let found = match part {
                "fastest-at-equal" if is_known(name) => None,
                "fastest-at-equal" => undecided(place, name),
                _ => axis_called(plan, &format!("report.answer.{part}"), name, place).err(),
            };
            mistakes.extend(found);
        }
    }
}

/// What is wrong with a name: it is no column or metric of which it is known what is better.
fn undecided(place: Place, name: &str) -> Option<Diagnostic> {
    if search::objective::direction(name).is_some() {
        return None;
    }
    let title = format!("`report.answer` names `{name}`, by which nothing is better or worse");
    let known = || search::objective::known_columns().into_iter().chain(WORDS);
    let metrics = METRICS
        .iter()
        .flat_map(|metric| ["val_", "test_", "train_"].map(|split| format!("{split}{metric}")));
    let metrics: Vec<String> = metrics.collect();
    let parts = TABLES.map(|part| format!("{{ {part} = … }}"));
    Some(
        Diagnostic::error(title)
            .at(place, "neither a measured column nor a metric")
            .maybe_help(did_you_mean(
                name,
                known().chain(metrics.iter().map(String::as_str)),
            ))
            .help(format!(
                "there are {}, metrics such as `val_accuracy`, and {}",
                list(known()),
                list(parts.iter().map(String::as_str))
            )),
    )
}
