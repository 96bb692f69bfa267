//! What tests of several modules use.

use std::fmt::Debug;
use std::str::FromStr;

/// The numbers of a table that is written as text.
pub(crate) fn numbers<T: FromStr<Err: Debug>>(text: &str) -> Vec<T> {
    let words = text.split_whitespace();
    words.map(|word| word.parse().expect(word)).collect()
}
