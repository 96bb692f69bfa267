//! Parses names of languages from the command line.

use crate::diag::{did_you_mean, list};
use crate::report::Language;

/// The language with this code.
///
/// # Errors
/// If there is none; the message lists the codes.
pub(super) fn language(code: &str) -> Result<Language, String> {
    let codes = || Language::ALL.into_iter().map(Language::code);
    Language::from_code(code).ok_or_else(|| {
        let meant = did_you_mean(code, codes());
        meant.unwrap_or_else(|| format!("there are {}", list(codes())))
    })
}
