//! What a comparison is worth: its factors one by one, validation, times to a model, quality, space, cost, return,
//! scenarios and the answer.
//!
//! Owns the sections that report 004 has and that its figures are measured for. Each is one file and one line here;
//! [`figure::Figure`] is what they hold against each other, [`spread`] gives the intervals, [`alone`] finds the cells that
//! change one factor alone.

mod alone;
pub(super) mod answer;
mod changed;
mod effects;
mod executive;
mod factor;
mod figure;
#[cfg(test)]
mod fixture;
mod goal;
mod passes;
mod payback;
mod phases;
mod price;
mod qualities;
mod rows;
mod scenarios;
mod search;
mod space;
mod spread;
#[cfg(test)]
mod tests;
mod until;
mod validation;

pub(super) use alone::without_parts;
pub(super) use executive::lines;

use super::scene::Scene;
use crate::report::section::Section;

/// A section of a scene; `None` where there is nothing to say.
type Make = fn(&Scene<'_>) -> Option<Section>;

/// The sections below those of single factors, from top to bottom.
const SECTIONS: &[Make] = &[
    validation::section,
    phases::section,
    |scene| Some(search::section(scene)),
    until::section,
    qualities::section,
    space::section,
    price::section,
    payback::section,
    scenarios::section,
];

/// The sections that a comparison has.
pub(super) fn of(scene: &Scene<'_>) -> Vec<Section> {
    let factors = effects::section(scene).into_iter();
    let factors = factors.chain(changed::sections(scene));
    let others = SECTIONS.iter().filter_map(|make| make(scene));
    factors.chain(others).collect()
}

/// The messages of every section, for the tests of languages.
#[cfg(test)]
pub(super) const CATALOGUES: &[&[(&str, &str, &str)]] = &[
    changed::MESSAGES,
    answer::MESSAGES,
    effects::MESSAGES,
    factor::MESSAGES,
    figure::MESSAGES,
    goal::MESSAGES,
    payback::MESSAGES,
    phases::MESSAGES,
    price::MESSAGES,
    qualities::MESSAGES,
    rows::MESSAGES,
    scenarios::MESSAGES,
    search::MESSAGES,
    search::MESSAGES_OF_OUTCOME,
    space::MESSAGES,
    until::MESSAGES,
    validation::MESSAGES,
];
