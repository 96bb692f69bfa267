//! The sections of a comparison, in the order in which a page shows them.
//!
//! A section is a function from the [`Scene`] to a [`Section`], or to `None` where there is nothing to say; its messages
//! stand beside it in every language.

pub(crate) mod cells;
pub(crate) mod environments;
pub(crate) mod factors;
pub(crate) mod facts;
pub(crate) mod manifest;
pub(crate) mod matching;
pub(crate) mod method;
pub(crate) mod summary;

use super::account;
use super::scene::Scene;
use crate::report::section::Section;

/// A section of a scene; `None` where there is nothing to say.
type Make = fn(&Scene<'_>) -> Option<Section>;

/// The sections above those that say what it is worth, from top to bottom.
const ABOVE: &[Make] = &[cells::section, factors::section];

/// The sections below them: what it rests on.
const BELOW: &[Make] = &[
    |scene| Some(facts::section(scene)),
    matching::section,
    |scene| Some(environments::section(scene)),
    |scene| Some(method::section(scene)),
    |scene| Some(manifest::section(scene)),
];

/// The sections that a comparison has.
pub(super) fn of(scene: &Scene<'_>) -> Vec<Section> {
    let made = |list: &'static [Make]| list.iter().filter_map(|make| make(scene));
    let mut all: Vec<Section> = made(ABOVE)
        .chain(account::of(scene))
        .chain(made(BELOW))
        .collect();
    // What is held against each other are searches then, and their cells only the trials.
    let search = all.iter().position(|section| section.id == "search");
    if let Some(place) = search.filter(|_| scene.after.set.plan.search.is_some()) {
        let search = all.remove(place);
        all.insert(1.min(all.len()), search);
    }
    all
}

/// The messages of the head and of every section, for the tests of languages.
#[cfg(test)]
pub(super) const CATALOGUES: &[&[(&str, &str, &str)]] = &[
    crate::report::language::MESSAGES,
    crate::report::plot::MESSAGES_OF_BARS,
    crate::report::plot::MESSAGES_OF_INTERVALS,
    super::words::MESSAGES,
    super::head::MESSAGES,
    summary::MESSAGES,
    cells::MESSAGES,
    factors::MESSAGES,
    facts::MESSAGES,
    matching::MESSAGES,
    environments::MESSAGES,
    method::MESSAGES,
    manifest::MESSAGES,
];
