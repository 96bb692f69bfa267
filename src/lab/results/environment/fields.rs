//! Fields of an environment by name.

use std::collections::BTreeMap;

/// Placeholder for a value that could not be determined.
pub const UNKNOWN: &str = "unknown";

pub(super) fn fields<const N: usize>(
    pairs: [(&str, Option<String>); N],
) -> BTreeMap<String, String> {
    let field = |(name, value): (&str, Option<String>)| {
        let value = value.filter(|value| !value.is_empty());
        (name.to_owned(), value.unwrap_or_else(|| UNKNOWN.to_owned()))
    };
    pairs.into_iter().map(field).collect()
}
