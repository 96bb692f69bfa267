//! Helpers for the tests of several modules.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

/// Parses `settings`, the inside of an inline table of TOML (`kind = 'sgd', lr = 0.1`), as a `T`.
pub(crate) fn spec<T: DeserializeOwned>(settings: &str) -> T {
    let table = toml::from_str(&format!("it = {{ {settings} }}"));
    let mut table: BTreeMap<String, T> = table.expect(settings);
    table.remove("it").expect(settings)
}

/// Asserts that `text` contains `part`; the panic shows the text.
#[track_caller]
pub(crate) fn assert_says(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.contains(part), "no `{part}` in\n{text}");
}

/// Asserts that `text` begins with `part`; the panic shows the text.
#[track_caller]
pub(crate) fn assert_begins(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.starts_with(part), "no `{part}` begins\n{text}");
}

/// Asserts that `text` ends with `part`; the panic shows the text.
#[track_caller]
pub(crate) fn assert_ends(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.ends_with(part), "no `{part}` ends\n{text}");
}
