//! [`AnswerPart`]: a part of the answer at the head of a report (`report.answer`).

use std::fmt::{self, Formatter};

use schemars::JsonSchema;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

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
    /// `{ fastest-at-equal = "best_loss" }`: which cell is the first to reach a value that all cells reach:
    /// the worst of their best values.
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
                    other => return Err(A::Error::unknown_variant(other, &TABLE_PARTS)),
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

/// Keys of the parts that a manifest writes as tables, such as `{ gain = "variant" }`.
pub(super) const TABLE_PARTS: [&str; 4] = ["fastest-at-equal", "gain", "along", "scaling"];
/// Names of the parts that a manifest writes as strings, such as `"memory"`.
pub(super) const STRING_PARTS: [&str; 4] = ["where", "memory", "cost", "learned"];
