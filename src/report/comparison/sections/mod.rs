//! The sections of a comparison, in the order in which a page shows them.
//!
//! A section is a function from the [`Scene`] to a [`Section`], or `None` if it would be empty; its file contains the
//! messages in every language.

pub(crate) mod cells;
pub(crate) mod costs;
pub(crate) mod environments;
pub(crate) mod factors;
pub(crate) mod facts;
pub(crate) mod manifest;
pub(crate) mod matching;
pub(crate) mod method;
pub(crate) mod summary;
pub(crate) mod work;

use super::account;
use super::scene::Scene;
use crate::report::section::Section;

/// A section of a scene; `None` if it would be empty.
type Make = fn(&Scene<'_>) -> Option<Section>;

/// All sections, from top to bottom.
const SECTIONS: &[Make] = &[
    cells::section,
    account::search::section,
    summary::by_cell,
    account::phases::section,
    factors::section,
    facts::section,
    work::section,
    matching::section,
    environments::section,
    |scene| Some(method::section(scene)),
    manifest::section,
];

/// The sections that a comparison has.
pub(super) fn comparison_sections(scene: &Scene<'_>) -> Vec<Section> {
    SECTIONS.iter().filter_map(|make| make(scene)).collect()
}

/// The messages of the head and of every section, for tests of the translations.
#[cfg(test)]
pub(super) const CATALOGUES: &[&[(&str, &str, &str)]] = &[
    crate::report::language::MESSAGES,
    crate::report::plot::MESSAGES_OF_DOTS,
    super::words::MESSAGES,
    super::head::MESSAGES,
    summary::MESSAGES,
    cells::MESSAGES,
    costs::MESSAGES,
    factors::MESSAGES,
    facts::MESSAGES,
    work::MESSAGES,
    matching::MESSAGES,
    environments::MESSAGES,
    method::MESSAGES,
    manifest::MESSAGES,
];
