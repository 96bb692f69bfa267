//! Finds the folders of an image folder that are splits.

use std::path::Path;

use super::super::{DatasetError, SplitKind};

/// Names of folders that can be splits, the training split first.
const FOLDERS: [(&str, SplitKind); 5] = [
    ("train", SplitKind::Train),
    ("val", SplitKind::Validation),
    ("valid", SplitKind::Validation),
    ("validation", SplitKind::Validation),
    ("test", SplitKind::Test),
];

/// The folders of `root` that are splits, the training split first; empty if the folders of `root` are classes.
///
/// They are splits if `train` and at least one of the other [`FOLDERS`] exist.
///
/// # Errors
/// [`DatasetError::Mismatch`] for two folders of the same split.
pub(super) fn folders(root: &Path) -> Result<Vec<(&'static str, SplitKind)>, DatasetError> {
    let is_there = |(name, _): &(&str, SplitKind)| root.join(name).is_dir();
    let found: Vec<_> = FOLDERS.into_iter().filter(is_there).collect();
    if found.len() < 2 || found[0].1 != SplitKind::Train {
        return Ok(Vec::new());
    }
    for pair in found.windows(2) {
        let [(one, part), (other, same)] = [pair[0], pair[1]];
        if part == same {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has `{one}` and `{other}`, and one of them alone can be the validation split",
                root.display()
            )));
        }
    }
    Ok(found)
}
