//! [`Space`]: parameters, their domains and the conditions between them.

use serde::{Deserialize, Serialize};

use super::Point;

/// The search space: parameters in manifest order. A condition refers to an earlier parameter only.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Space {
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

/// A setting that the search chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name as written.
    pub name: String,
    /// Long dotted path of the manifest.
    pub path: String,
    /// Values that it can take.
    pub domain: Domain,
    /// When it exists; always, without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// Values that a parameter can take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Domain {
    /// One of these, in manifest order.
    Choice {
        /// As keys show them.
        texts: Vec<String>,
        /// As JSON.
        values: Vec<serde_json::Value>,
    },
    /// A whole number, both ends in.
    Int {
        /// Smallest.
        low: i64,
        /// Largest.
        high: i64,
        /// Distance from one to the next, from `low`.
        step: i64,
        /// Whether its logarithm is what is uniform (`step` is 1 then).
        log: bool,
    },
    /// A number, both ends in.
    Float {
        /// Smallest.
        low: f64,
        /// Largest.
        high: f64,
        /// Distance from one to the next, from `low`; without it, any number between.
        step: Option<f64>,
        /// Whether its logarithm is what is uniform (no `step` then).
        log: bool,
    },
}

/// A parameter exists only where another one (a choice, earlier in the space) takes one of these values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// The other parameter, by its number.
    pub parameter: usize,
    /// Numbers of its choices.
    pub choices: Vec<usize>,
}

impl Space {
    /// Whether parameter `index` exists at `point`, whose earlier parameters are decided.
    pub fn is_active(&self, index: usize, point: &Point) -> bool {
        let Some(parameter) = self.parameters.get(index) else {
            return false;
        };
        match &parameter.when {
            None => true,
            Some(condition) => point
                .choice(condition.parameter)
                .is_some_and(|choice| condition.choices.contains(&choice)),
        }
    }
}
