//! [`Point`]: one value per parameter of a space.

use serde::{Deserialize, Serialize};

/// A value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all = "kebab-case")]
pub enum Value {
    /// One of the choices.
    Choice {
        /// Index of the choice from 0, in manifest order.
        choice: usize,
    },
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Float(f64),
}

impl Value {
    /// The value as a number; for a choice, its index.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Choice { choice } => choice as f64,
            Self::Int(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

/// One value per parameter of a space, in its order; `None` for a parameter whose condition does not hold.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Point {
    /// The values.
    pub values: Vec<Option<Value>>,
}

impl Point {
    /// The value of parameter `index`; `None` if the parameter does not exist at this point.
    pub fn get(&self, index: usize) -> Option<Value> {
        self.values.get(index).copied().flatten()
    }

    /// The values as bits, which are equal exactly for equal points.
    pub fn bits(&self) -> Vec<Option<u64>> {
        let bits = |value: Value| match value {
            Value::Choice { choice } => choice as u64,
            Value::Int(number) => number.cast_unsigned(),
            // Makes -0.0 equal to 0.0.
            Value::Float(number) => (number + 0.0).to_bits(),
        };
        self.values.iter().map(|value| value.map(bits)).collect()
    }

    /// Index of the choice that parameter `index` takes; `None` if it is a range or does not exist at this point.
    pub fn choice(&self, index: usize) -> Option<usize> {
        match self.get(index)? {
            Value::Choice { choice } => Some(choice),
            Value::Int(_) | Value::Float(_) => None,
        }
    }
}
