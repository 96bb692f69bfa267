//! Names of files and folders for cells.

use crate::base::hash::short_hash;

/// Maximum length in bytes of the part of a file name that comes from a key; file systems allow 255 bytes in total.
const LONGEST_KEY: usize = 150;

/// A key as part of a file name. Characters that are not allowed in file names on every system become `-`. A digest is
/// appended to changed or too long keys, so that names stay distinct.
pub fn cell_slug(key: &str) -> String {
    let mut slug = plain(key);
    if slug != key || slug.len() > LONGEST_KEY {
        slug.truncate(LONGEST_KEY);
        slug = format!("{slug}-{}", &short_hash(key)[..8]);
    }
    slug
}

/// Replaces every character that is not allowed in file names on every system by `-`.
pub(super) fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ',' | '=');
    text.replace(|c: char| !is_plain(c), "-")
}
