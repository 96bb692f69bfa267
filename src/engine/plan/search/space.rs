use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::key::float;
use super::{Point, Value};

/// The search space: parameters in manifest order. A condition refers to an earlier parameter only.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Space {
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

/// A setting that the search chooses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Name as written in the manifest.
    pub name: String,
    /// Full dotted path in the manifest.
    pub path: String,
    /// Possible values.
    pub domain: Domain,
    /// Condition under which the parameter exists; without one, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Condition>,
}

/// Values that a parameter can take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Domain {
    /// One of these values, in manifest order.
    Choice {
        /// The choices as text for results.
        texts: Vec<String>,
        /// The values as JSON.
        values: Vec<serde_json::Value>,
    },
    /// An integer from `low` to `high`, inclusive.
    Int {
        /// Smallest value.
        low: i64,
        /// Largest value.
        high: i64,
        /// Distance between neighbouring values, counted from `low`.
        step: i64,
        /// Whether the parameter's logarithm is uniformly distributed (`step` is 1 then).
        log: bool,
    },
    /// A number from `low` to `high`, inclusive.
    Float {
        /// Smallest value.
        low: f64,
        /// Largest value.
        high: f64,
        /// Distance between neighbouring values, counted from `low`; `None` for a continuous range.
        step: Option<f64>,
        /// Whether the parameter's logarithm is uniformly distributed (no `step` then).
        log: bool,
    },
}

/// A condition: the parameter exists only if another one (a choice, earlier in the space) has one of these values. If
/// the list is empty, the parameter never exists; in the space of a study, this excludes the parameters of other
/// studies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Index of the other parameter.
    pub parameter: usize,
    /// Indices of the other parameter's choices.
    pub choices: Vec<usize>,
}

/// Text such as `256, 512`, `4 to 8` or `1e-5 to 1e-3, logarithmic`.
impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high, step, log) = match self {
            Self::Choice { texts, .. } => return f.write_str(&texts.join(", ")),
            Self::Int {
                low,
                high,
                step,
                log,
            } => {
                let step = (*step != 1).then(|| step.to_string());
                (low.to_string(), high.to_string(), step, *log)
            }
            Self::Float {
                low,
                high,
                step,
                log,
            } => (float(*low), float(*high), step.map(float), *log),
        };
        write!(f, "{low} to {high}")?;
        if let Some(step) = step {
            write!(f, ", step {step}")?;
        }
        if log {
            f.write_str(", logarithmic")?;
        }
        Ok(())
    }
}

impl Domain {
    /// Number of values; `None` for a range of numbers without a step.
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Choice { values, .. } => Some(values.len() as u64),
            Self::Int {
                low, high, step, ..
            } => Some(high.abs_diff(*low) / step.unsigned_abs().max(1) + 1),
            Self::Float { low, high, .. } if low >= high => Some(1),
            Self::Float {
                low, high, step, ..
            } => {
                let steps = ((high - low) / (*step)?).round();
                Some(steps as u64 + 1)
            }
        }
    }
}

impl Space {
    /// The space with only the parameters for which `exists` returns true. Indices stay the same; the other parameters
    /// remain in the list but never exist.
    #[must_use]
    pub fn restricted_to(&self, exists: impl Fn(usize) -> bool) -> Self {
        let mut space = self.clone();
        for (index, parameter) in space.parameters.iter_mut().enumerate() {
            if !exists(index) {
                parameter.when = Some(Condition {
                    parameter: index,
                    choices: Vec::new(),
                });
            }
        }
        space
    }

    /// Number of points, all combinations of values; `None` if a range has no step.
    pub fn size(&self) -> Option<u64> {
        self.count_points_from(0, &mut Point::default())
    }

    /// Number of combinations of the parameters from `index` on, given the earlier ones; `None` if a range has no step.
    pub fn count_points_from(&self, index: usize, point: &mut Point) -> Option<u64> {
        let Some(parameter) = self.parameters.get(index) else {
            return Some(1);
        };
        let is_parent = |other: &Parameter| {
            let parent = other.when.as_ref().map(|condition| condition.parameter);
            parent == Some(index)
        };
        let below = |point: &mut Point, value| {
            point.values.push(value);
            let size = self.count_points_from(index + 1, point);
            point.values.pop();
            size
        };
        if !self.is_active(index, point) {
            return below(point, None);
        }
        let count = parameter.domain.count()?;
        if !self.parameters.iter().any(is_parent) {
            return Some(below(point, None)?.saturating_mul(count));
        }
        let choices = 0..usize::try_from(count).unwrap_or(usize::MAX);
        choices
            .map(|choice| below(point, Some(Value::Choice { choice })))
            .try_fold(0_u64, |sum, size| Some(sum.saturating_add(size?)))
    }

    /// Whether parameter `index` exists at `point`, which has values for all earlier parameters.
    pub fn is_active(&self, index: usize, point: &Point) -> bool {
        let Some(parameter) = self.parameters.get(index) else {
            return false;
        };
        parameter.when.iter().all(|condition| {
            let choice = point.choice(condition.parameter);
            choice.is_some_and(|choice| condition.choices.contains(&choice))
        })
    }
}
