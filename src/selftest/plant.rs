//! [`Plant`]: a difference planted on a side after, and the check that the gate finds it.

use std::collections::BTreeSet;
use std::path::Path;

use crate::compare::{Comparison, Options, Origin, Side};
use crate::results;

use super::{Check, Kind, Planted, REPEATS, SEEDS, SelftestError};

/// A side after that differs from the side before by `change`.
pub(super) struct Plant<T> {
    pub(super) name: &'static str,
    /// Index of the cell, kind and description of what is planted.
    pub(super) what: Option<(usize, Kind, &'static str)>,
    pub(super) change: T,
}

impl<T> Plant<T> {
    pub(super) const fn new(
        name: &'static str,
        what: Option<(usize, Kind, &'static str)>,
        change: T,
    ) -> Self {
        Self { name, what, change }
    }

    /// Compares two results folders as `compare` does, and runs the gate. `keys` are those of the cells.
    pub(super) fn check(
        &self,
        keys: &[String],
        before: &Path,
        after: &Path,
    ) -> Result<Check, SelftestError> {
        let planted = self.what.map(|(cell, kind, words)| Planted {
            cell: keys[cell].clone(),
            kind,
            words: words.to_owned(),
        });
        let compared = Comparison::between(side(before)?, side(after)?, &Options::default());
        let compared = compared.map_err(|failure| SelftestError::bug(&failure))?;
        Ok(Check::new(planted, &compared))
    }
}

fn side(folder: &Path) -> Result<Side, SelftestError> {
    let name = folder.display().to_string();
    Ok(Side {
        origin: Origin::Folder { path: name.clone() },
        name,
        set: results::read(folder)?,
        noise: Vec::new(),
        searches: Vec::new(),
        until_sure: BTreeSet::new(),
    })
}

/// The text of a manifest with `{seeds}` and `{repeats}` replaced by those of the self-test.
pub(super) fn manifest(text: &str) -> String {
    let text = text.replace("{seeds}", &format!("{SEEDS:?}"));
    text.replace("{repeats}", &REPEATS.to_string())
}
