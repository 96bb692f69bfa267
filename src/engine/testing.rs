//! What tests of several modules use.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

/// The settings of a section as an inline table has them: `kind = 'sgd', lr = 0.1`.
pub(crate) fn spec<T: DeserializeOwned>(settings: &str) -> T {
    let table = toml::from_str(&format!("it = {{ {settings} }}"));
    let mut table: BTreeMap<String, T> = table.expect(settings);
    table.remove("it").expect(settings)
}

/// Panics with the text unless `part` is in it.
#[track_caller]
pub(crate) fn assert_says(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.contains(part), "no `{part}` in\n{text}");
}

/// Panics with the text unless it begins with `part`.
#[track_caller]
pub(crate) fn assert_begins(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.starts_with(part), "no `{part}` begins\n{text}");
}

/// Panics with the text unless it ends with `part`.
#[track_caller]
pub(crate) fn assert_ends(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.ends_with(part), "no `{part}` ends\n{text}");
}
