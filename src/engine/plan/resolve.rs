//! Deserializes sections into their types, and collects all mistakes.

use std::fs;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::base::shell;
use crate::diag::{Diagnostic, nearest};
use crate::manifest::{DeserializeError, Mistake, Node, deserialize_section, explain};
use crate::optim::RangeError;

use super::homes::NAMED_TABLE_SECTIONS;
use super::ranges;

/// A section as a typed value, or all its mistakes.
pub(super) type SectionResult<T> = Result<T, Vec<Diagnostic>>;

/// Reads the section at `path`; checks the ranges of its numbers and, with `check`, its values together.
pub(super) fn read_checked<T: DeserializeOwned + JsonSchema>(
    node: &Node,
    path: &str,
    check: impl Fn(&T) -> Vec<RangeError>,
) -> SectionResult<T> {
    let refused = |value: &T| ranges::range_error_diagnostics(path, node, &check(value));
    match read(node, path, &[]) {
        Ok(value) => match refused(&value) {
            found if found.is_empty() => Ok(value),
            found => Err(found),
        },
        Err(mistakes) => {
            let found = without_mistakes(node).map_or_else(Vec::new, |value| refused(&value));
            Err([mistakes, found].concat())
        }
    }
}

/// A section without its invalid top-level keys, as a value; `None` if it is still invalid.
fn without_mistakes<T: DeserializeOwned>(node: &Node) -> Option<T> {
    let mistakes = match deserialize_section::<T>(node) {
        Ok(value) => return Some(value),
        Err(mistakes) => mistakes,
    };
    let mut rest = node.clone();
    for mistake in &mistakes {
        if let (Some(table), Some(key)) = (rest.as_table_mut(), mistake.path.first()) {
            table.take(key);
        }
    }
    deserialize_section(&rest).ok()
}

/// Reads a section as `T` and checks its ranges. `shown` is its name in messages; `also` lists keys that it accepts
/// besides those of `T`.
pub(super) fn read<T: DeserializeOwned + JsonSchema>(
    node: &Node,
    shown: &str,
    also: &[&str],
) -> SectionResult<T> {
    read_where(node, shown, also, |_| true)
}

/// As [`read`], but returns only the mistakes for which `is_meant` is true; may return an empty list.
pub(super) fn read_where<T: DeserializeOwned + JsonSchema>(
    node: &Node,
    shown: &str,
    also: &[&str],
    is_meant: impl Fn(&Mistake) -> bool,
) -> SectionResult<T> {
    let outside = ranges::check::<T>(shown, node);
    let found = match deserialize_section::<T>(node) {
        Ok(value) if outside.is_empty() => return Ok(value),
        Ok(_) => return Err(outside),
        Err(mistakes) => mistakes,
    };
    let diagnostic = |mistake: &Mistake| {
        let is_kind = matches!(mistake.complaint, DeserializeError::UnknownWord { .. })
            && mistake.path == ["kind"];
        let section = shown.split('.').next().unwrap_or_default();
        let command = || shell::command(&format!("list {section}"));
        let shows_all = (is_kind && NAMED_TABLE_SECTIONS.contains(&section)).then(command);
        let all = shows_all.map(|command| format!("`{command}` shows all of them"));
        explain(mistake, shown, also).maybe_help(all)
    };
    let meant = found.iter().filter(|mistake| is_meant(mistake));
    let mut all: Vec<Diagnostic> = meant.map(diagnostic).collect();
    // A value of a wrong type may also be out of range (`-1` samples); only the first message is given.
    let known: Vec<_> = all.iter().map(Diagnostic::place).collect();
    let new = outside.into_iter();
    all.extend(new.filter(|new| !known.contains(&new.place())));
    Err(all)
}

/// `path`, which may be relative to `folder`, as an absolute path without `.` and `..`.
pub fn absolute(folder: &Path, path: &Path) -> PathBuf {
    let joined = folder.join(path);
    let whole = std::path::absolute(&joined).unwrap_or(joined);
    let mut clean = PathBuf::new();
    for component in whole.components() {
        match component {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// The section, or its default with its mistakes added to `mistakes`.
pub(super) fn or_default<T: Default>(read: SectionResult<T>, mistakes: &mut Vec<Diagnostic>) -> T {
    read.unwrap_or_else(|found| {
        mistakes.extend(found);
        T::default()
    })
}

/// Advice for a missing path: the most similar name in the same folder; `None` if no name is similar.
pub(super) fn similar_file_help(path: &Path, written: &str) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let entries = fs::read_dir(path.parent()?).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let near = nearest(wanted, names.iter().map(String::as_str))?;
    let folder = written.strip_suffix(wanted)?;
    Some(format!("did you mean `{folder}{near}`?"))
}
