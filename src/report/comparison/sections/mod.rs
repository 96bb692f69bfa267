//! The sections of a comparison, in the order in which a page shows them.
//!
//! A section is a function from the [`Scene`] to a [`Section`], or to `None` where there is nothing to say; its messages
//! stand beside it in every language.

mod alone;
pub(crate) mod cells;
mod changed;
mod closing;
mod effects;
mod factor;
mod figure;
#[cfg(test)]
mod fixture;
mod goal;
mod passes;
mod payback;
mod price;
mod qualities;
mod rows;
mod scenarios;
mod search;
mod space;
mod spread;
pub(crate) mod summary;
#[cfg(test)]
mod tests;
mod until;
mod validation;

use super::context::Section;
use super::scene::Scene;

/// A section of a scene, or several; nothing where there is nothing to say.
type Make = fn(&Scene<'_>) -> Vec<Section>;

/// Every section, from top to bottom.
const SECTIONS: &[Make] = &[
    |scene| summary::section(scene).into_iter().collect(),
    |scene| cells::section(scene).into_iter().collect(),
    |scene| effects::section(scene).into_iter().collect(),
    changed::sections,
    |scene| validation::section(scene).into_iter().collect(),
    |scene| search::section(scene).into_iter().collect(),
    |scene| until::section(scene).into_iter().collect(),
    |scene| qualities::section(scene).into_iter().collect(),
    |scene| space::section(scene).into_iter().collect(),
    |scene| price::section(scene).into_iter().collect(),
    |scene| payback::section(scene).into_iter().collect(),
    |scene| scenarios::section(scene).into_iter().collect(),
    |scene| closing::section(scene).into_iter().collect(),
];

/// The sections that a comparison has.
pub(super) fn of(scene: &Scene<'_>) -> Vec<Section> {
    SECTIONS.iter().flat_map(|make| make(scene)).collect()
}

/// The messages of the head and of every section, for the tests of languages.
#[cfg(test)]
pub(super) const CATALOGUES: &[&[(&str, &str, &str)]] = &[
    crate::report::language::MESSAGES,
    super::words::MESSAGES,
    super::head::MESSAGES,
    summary::MESSAGES,
    cells::MESSAGES,
    changed::MESSAGES,
    closing::MESSAGES,
    effects::MESSAGES,
    factor::MESSAGES,
    figure::MESSAGES,
    goal::MESSAGES,
    payback::MESSAGES,
    price::MESSAGES,
    qualities::MESSAGES,
    rows::MESSAGES,
    scenarios::MESSAGES,
    search::MESSAGES,
    space::MESSAGES,
    until::MESSAGES,
    validation::MESSAGES,
];
