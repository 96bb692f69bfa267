//! What a comparison is worth: its factors one by one, validation, times to a model, quality, cost and the
//! answer.
//!
//! Owns the sections that report 004 has and that its figures are measured for. Each is one file;
//! [`rows::Measure`] is what they hold against each other, [`spread`] gives the intervals, [`alone`] finds the cells that
//! change one factor alone.

mod alone;
pub(super) mod answer;
pub(super) mod effects;
pub(super) mod factor;
pub(super) mod figure;
#[cfg(test)]
mod fixture;
pub(super) mod goal;
mod passes;
pub(super) mod phases;
pub(super) mod price;
pub(super) mod qualities;
pub(super) mod rows;
pub(super) mod search;
pub(in crate::report) mod spread;
#[cfg(test)]
mod tests;
pub(super) mod until;
pub(super) mod validation;

pub(super) use alone::{factors, without_parts};

/// The messages of every section, for the tests of languages.
#[cfg(test)]
pub(super) const CATALOGUES: &[&[(&str, &str, &str)]] = &[
    answer::MESSAGES,
    effects::MESSAGES,
    factor::MESSAGES,
    figure::MESSAGES,
    goal::MESSAGES,
    phases::MESSAGES,
    price::MESSAGES,
    qualities::MESSAGES,
    rows::MESSAGES,
    search::MESSAGES,
    search::MESSAGES_OF_TRIALS,
    until::MESSAGES,
    validation::MESSAGES,
];
