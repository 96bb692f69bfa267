//! Runs Python programs that analyse a script, and compiles regular expressions for its text.

use std::path::Path;

use regex::Regex;
use serde::de::DeserializeOwned;

use crate::plan::{REQUIREMENT_TIME, run_for_output};

/// Runs a Python program on a script with its fixed arguments, and parses the JSON that it prints after `mark`; `None`
/// if that fails.
pub(super) fn run_python_helper<T: DeserializeOwned>(
    program: &str,
    (script, fixed): (&str, &[&str]),
    mark: &str,
    what: &str,
) -> Option<T> {
    let words = ["python3", "-c", program, script]
        .into_iter()
        .chain(fixed.iter().copied());
    let command: Vec<String> = words.map(str::to_owned).collect();
    let slow = || eprintln!("asking `{script}` {what}");
    let (_, said) = run_for_output(Path::new("."), &command, REQUIREMENT_TIME, &slow).ok()?;
    let (_, list) = said.rsplit_once(mark)?;
    serde_json::from_str(list.lines().next()?).ok()
}

/// Compiles a regular expression that is a constant of this program.
pub(super) fn regex(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}
