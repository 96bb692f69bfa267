//! Recommendations: rules over measurements, their predictions, and the measured outcomes.
//!
//! Owns [`Advice`], the part of a report's context that says what to change; [`RULES`], and the files
//! `recommendations.csv` and `next.toml`. This module measures nothing: `next.toml` is a manifest like any other, which
//! also contains the predictions, and the report of its results compares them with the measurement.

mod advice_data;
mod best;
mod defaults;
mod effect;
mod files;
mod line;
mod manifests;
mod next;
mod outcome;
mod recommendation;
mod rules;
mod section;
mod study;
#[cfg(test)]
mod tests;

pub(super) use files::{AdviceFiles, prepare};
pub use rules::{RULES, Rule};
pub use section::{Advice, AdviceItem};
