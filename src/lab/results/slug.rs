//! Names of files and folders that stand for cells.

use crate::base::hash::short_hash;

/// Longest part of a name that comes from a key; systems allow 255 bytes for the whole.
const LONGEST_KEY: usize = 150;

/// A key as part of a file's name, where it has only letters that every system has in names; else those become `-`,
/// and a digest keeps names apart.
pub(super) fn cell_slug(key: &str) -> String {
    let mut slug = plain(key);
    if slug != key || slug.len() > LONGEST_KEY {
        slug.truncate(LONGEST_KEY);
        slug = format!("{slug}-{}", &short_hash(key)[..8]);
    }
    slug
}

/// A text with `-` for every letter that not every system has in names.
pub(super) fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ',' | '=');
    text.chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect()
}
