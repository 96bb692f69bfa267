//! Mean cross-entropy of predicted classes.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::in_f32;
use crate::manifest::is_default;

/// Mean cross-entropy of predicted classes: [`crate::ops::cross_entropy_with_targets()`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CrossEntropySpec {
    /// Share of every target that is spread over all classes alike.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(range(min = 0, max = 1), extend("default" = 0.0))]
    pub label_smoothing: f64,
    /// Weight of each class, as PyTorch's `weight`: `"balanced"`, or a list of one number above 0 for each class, in
    /// the order of the classes. The loss of a batch is the weighted mean over its samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights: Option<ClassWeights>,
}

/// Weights of the classes in the loss.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ClassWeights {
    /// From the training rows: `n / (K n_c)` for class c, with `n` rows, `K` classes and `n_c` rows of class c, as
    /// scikit-learn's `class_weight="balanced"`.
    #[serde(rename = "balanced")]
    Balanced,
    /// One number above 0 for each class.
    #[serde(untagged)]
    Given(Vec<f64>),
}

/// The word in a manifest for [`ClassWeights::Balanced`].
const BALANCED: &str = "balanced";

impl CrossEntropySpec {
    /// Whether the loss has neither label smoothing nor weights.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Why the loss does not fit data of `classes` classes; `None` if it does.
    pub fn incompatibility(&self, classes: usize) -> Option<String> {
        let Some(ClassWeights::Given(weights)) = &self.weights else {
            return None;
        };
        let count = weights.len();
        if count != classes {
            return Some(format!(
                "the dataset has {classes} classes, `weights` of `cross-entropy` has {count} numbers; it needs one for each class"
            ));
        }
        weights.iter().find_map(|weight| in_f32("weights", *weight))
    }

    /// The weight of every class, from its name and its number of rows in the training split; empty where all are 1.
    ///
    /// # Errors
    /// A message: weights are to be balanced, and a class has no rows or the numbers of rows are unknown.
    pub fn class_weights(&self, rows_by_class: &[(String, usize)]) -> Result<Vec<f64>, String> {
        match &self.weights {
            None => Ok(Vec::new()),
            Some(ClassWeights::Given(weights)) => Ok(weights.clone()),
            Some(ClassWeights::Balanced) => balanced(rows_by_class),
        }
    }
}

fn balanced(rows_by_class: &[(String, usize)]) -> Result<Vec<f64>, String> {
    let wanted = "`weights = \"balanced\"` of `cross-entropy`";
    if rows_by_class.is_empty() {
        return Err(format!(
            "{wanted} is computed from training rows, and there are none; write the weights as a list"
        ));
    }
    if let Some((class, _)) = rows_by_class.iter().find(|(_, rows)| *rows == 0) {
        let class = class.escape_debug();
        return Err(format!(
            "{wanted} needs training rows of every class, `{class}` has none"
        ));
    }
    let all: usize = rows_by_class.iter().map(|(_, rows)| rows).sum();
    let classes = rows_by_class.len();
    let weight = |(_, rows): &(String, usize)| all as f64 / (classes * rows) as f64;
    Ok(rows_by_class.iter().map(weight).collect())
}

impl<'de> Deserialize<'de> for ClassWeights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrList)
    }
}

struct WordOrList;

impl<'de> Visitor<'de> for WordOrList {
    type Value = ClassWeights;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"balanced\" or a list of numbers")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<ClassWeights, E> {
        if word == BALANCED {
            return Ok(ClassWeights::Balanced);
        }
        Err(E::unknown_variant(word, &[BALANCED]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ClassWeights, A::Error> {
        let mut weights = Vec::new();
        while let Some(weight) = list.next_element()? {
            weights.push(weight);
        }
        Ok(ClassWeights::Given(weights))
    }
}

impl JsonSchema for ClassWeights {
    fn schema_name() -> Cow<'static, str> {
        "ClassWeights".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a sample of each class counts for.",
            "anyOf": [
                {
                    "type": "string",
                    "const": BALANCED,
                    "description": "`n / (K n_c)` for class c, with n training rows, K classes and n_c training rows of class c, as \
                                    scikit-learn's `class_weight=\"balanced\"`."
                },
                { "type": "array", "items": { "type": "number", "exclusiveMinimum": 0 } }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_says;

    fn read(json: &str) -> Result<CrossEntropySpec, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    /// The classes `a`, `b` and `c` with these numbers of rows.
    fn rows(counts: [usize; 3]) -> Vec<(String, usize)> {
        let names = ["a", "b", "c"].map(str::to_owned);
        names.into_iter().zip(counts).collect()
    }

    #[test]
    fn weights_are_a_word_or_a_list_and_are_written_as_read() {
        for json in [
            "{}",
            r#"{"label-smoothing":0.1}"#,
            r#"{"weights":"balanced"}"#,
            r#"{"weights":[0.5,2.0]}"#,
        ] {
            assert_eq!(serde_json::to_string(&read(json).unwrap()).unwrap(), json);
        }
        let given = ClassWeights::Given(vec![1.0, 2.5]);
        assert_eq!(read(r#"{"weights":[1,2.5]}"#).unwrap().weights, Some(given));
        assert!(read(r#"{"weights":"even"}"#).unwrap_err().contains("even"));
        assert!(
            read(r#"{"weights":2}"#)
                .unwrap_err()
                .contains("a list of numbers")
        );
    }

    #[test]
    fn balanced_weights_are_those_of_scikit_learn() {
        // compute_class_weight("balanced", classes=[0, 1, 2], y=[0] * 6 + [1] * 3 + [2]) = [0.55555556, 1.11111111, 3.33333333]
        let spec = read(r#"{"weights":"balanced"}"#).unwrap();
        let weights = spec.class_weights(&rows([6, 3, 1])).unwrap();
        for (weight, expected) in weights.iter().zip([5.0 / 9.0, 10.0 / 9.0, 10.0 / 3.0]) {
            assert!((weight - expected).abs() < 1e-15, "{weights:?}");
        }
        let error = spec.class_weights(&rows([6, 0, 1])).unwrap_err();
        assert!(error.contains("`b` has none"), "{error}");
        assert!(
            spec.class_weights(&[])
                .unwrap_err()
                .contains("here are none")
        );
        let plain = CrossEntropySpec::default();
        assert_eq!(plain.class_weights(&rows([6, 0, 1])), Ok(Vec::new()));
    }

    #[test]
    fn weights_have_one_number_for_each_class() {
        let spec = read(r#"{"weights":[1,2]}"#).unwrap();
        assert_eq!(spec.incompatibility(2), None);
        let text = spec.incompatibility(3).unwrap();
        assert_says(
            &text,
            "3 classes, `weights` of `cross-entropy` has 2 numbers",
        );
        let tiny = read(r#"{"weights":[1,1e-300]}"#).unwrap();
        assert!(tiny.incompatibility(2).unwrap().starts_with("`weights`"));
        assert_eq!(
            read(r#"{"weights":"balanced"}"#)
                .unwrap()
                .incompatibility(3),
            None
        );
    }
}
