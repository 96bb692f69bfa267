//! Content of a comparison: figures, factors one by one, phases, quality and the answer.
//!
//! [`figure::ComparedQuantity`] is a number that cells are compared by, [`spread`] computes the intervals, [`alone`]
//! finds the cells that change one factor alone.

mod alone;
pub(super) mod answer;
pub(super) mod effects;
pub(super) mod factor;
pub(super) mod figure;
#[cfg(test)]
mod fixture;
pub(super) mod phases;
pub(super) mod qualities;
pub(super) mod rows;
pub(super) mod search;
pub(in crate::report) mod spread;
#[cfg(test)]
mod tests;

pub(super) use alone::{factors, without_contained_comparisons};

/// The messages of every section, for tests of the translations.
#[cfg(test)]
pub(super) const CATALOGUES: &[&[(&str, &str, &str)]] = &[
    answer::MESSAGES,
    effects::MESSAGES,
    factor::MESSAGES,
    figure::MESSAGES,
    phases::MESSAGES,
    qualities::MESSAGES,
    rows::MESSAGES,
    search::MESSAGES,
];
