//! Compares two results folders as `compare` does.

use std::path::Path;

use crate::compare::{Comparison, Options, Origin, Side};
use crate::results;

use super::SelftestError;

pub(super) fn compare(before: &Path, after: &Path) -> Result<Comparison, SelftestError> {
    let compared = Comparison::between(side(before)?, side(after)?, &Options::default());
    compared.map_err(|failure| SelftestError::bug(&failure))
}

fn side(folder: &Path) -> Result<Side, SelftestError> {
    let name = folder.display().to_string();
    Ok(Side {
        origin: Origin::Folder { path: name.clone() },
        name,
        set: results::read(folder)?,
        noise: Vec::new(),
        searches: Vec::new(),
    })
}
