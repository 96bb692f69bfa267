//! [`OneOrMany`]: a string in a manifest or a list of strings, used as [`TargetColumns`] or [`FilePaths`].

use std::borrow::Cow;
use std::fmt;
use std::fs;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{SeqAccessDeserializer, StrDeserializer};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::DatasetError;

/// Largest number of names in a message; of more paths, only the first and the last are shown.
const NAMED: usize = 3;

/// A string in a manifest, or a list of strings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OneOrMany<T>(Vec<T>);

/// Names of the columns that are to be predicted.
pub type TargetColumns = OneOrMany<String>;

/// Files, and patterns of files (`part-*.csv`).
pub type FilePaths = OneOrMany<PathBuf>;

impl From<&str> for TargetColumns {
    fn from(name: &str) -> Self {
        Self(vec![name.to_owned()])
    }
}

impl<const N: usize> From<[&str; N]> for TargetColumns {
    fn from(names: [&str; N]) -> Self {
        Self(names.map(str::to_owned).into())
    }
}

impl From<PathBuf> for FilePaths {
    fn from(path: PathBuf) -> Self {
        Self(vec![path])
    }
}

impl<T> OneOrMany<T> {
    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> FromIterator<T> for OneOrMany<T> {
    fn from_iter<I: IntoIterator<Item = T>>(all: I) -> Self {
        Self(all.into_iter().collect())
    }
}

impl<T> Deref for OneOrMany<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl TargetColumns {
    /// Whether `name` is one of the columns.
    pub(super) fn has(&self, name: &str) -> bool {
        self.iter().any(|own| own == name)
    }

    /// The first name that occurs twice; `None` if all differ.
    pub(super) fn repeated(&self) -> Option<&str> {
        let twice = |(place, name): &(usize, &String)| self[..*place].contains(name);
        let found = self.iter().enumerate().find(twice);
        found.map(|(_, name)| name.as_str())
    }
}

impl FilePaths {
    /// Replaces every path by the result of `change`.
    pub(super) fn change(&mut self, change: impl Fn(&Path) -> PathBuf) {
        self.0.iter_mut().for_each(|path| *path = change(path));
    }

    /// The first path; empty for an empty list.
    pub(super) fn first_path(&self) -> &Path {
        self.first().map_or(Path::new(""), PathBuf::as_path)
    }

    /// The deepest folder that contains all files.
    pub(super) fn folder(&self) -> PathBuf {
        let first = self.first_path().parent().unwrap_or(Path::new(""));
        let mut common = first.to_owned();
        for path in &self.0 {
            while !path.starts_with(&common) && common.pop() {}
        }
        common
    }

    /// The files, in the order of the list; those of a pattern sorted by name. `key` is the manifest's key for them.
    ///
    /// # Errors
    /// An empty list; patterns that no file matches.
    pub(super) fn files(&self, key: &str) -> Result<Vec<PathBuf>, DatasetError> {
        if self.is_empty() {
            return Err(DatasetError::Mismatch(format!("`{key}` names no file")));
        }
        let files = DatasetError::collect_all(self.iter().map(|path| matching(path)))?;
        Ok(files.concat())
    }
}

/// Formats the paths for a sentence that puts them in backticks.
impl fmt::Display for FilePaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<Cow<'_, str>> = self.iter().map(|path| path.to_string_lossy()).collect();
        match &shown[..] {
            [first, .., last] if shown.len() > NAMED => write!(f, "{first}` … `{last}"),
            all => f.write_str(&all.join("`, `")),
        }
    }
}

/// The file `path`, or the files that the pattern `path` matches, sorted by name.
///
/// # Errors
/// A pattern that no file matches.
pub(super) fn matching(path: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let pattern = path.to_string_lossy();
    if !pattern.contains(['*', '?', '[']) || path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let unmatched = |reason: String| DatasetError::Unreadable {
        path: pattern.clone().into_owned(),
        reason,
    };
    let options = glob::MatchOptions {
        // As in a shell: hidden files do not match, such as the files `._NAME` that macOS writes.
        require_literal_leading_dot: true,
        ..glob::MatchOptions::new()
    };
    let find = |pattern: &str| -> Result<Vec<PathBuf>, DatasetError> {
        let paths = glob::glob_with(pattern, options);
        let paths =
            paths.map_err(|error| unmatched(format!("no pattern of files: {}", error.msg)))?;
        let mut files: Vec<PathBuf> = paths.flatten().filter(|path| path.is_file()).collect();
        files.sort();
        Ok(files)
    };
    // A `[` may be part of a folder's name, so the pattern is also tried with escaped brackets.
    for pattern in [&*pattern, &pattern.replace('[', "[[]")] {
        let files = find(pattern)?;
        if !files.is_empty() {
            return Ok(files);
        }
    }
    let near = near(path).map_or_else(String::new, |near| format!("; {near}"));
    Err(unmatched(format!("no file matches this pattern{near}")))
}

/// Advice about a pattern that matches no file: the most similar names in its folder, or that the folder does not
/// exist; `None` if neither applies.
fn near(pattern: &Path) -> Option<String> {
    let (folder, wanted) = (pattern.parent()?, pattern.file_name()?.to_str()?);
    if folder.to_string_lossy().contains(['*', '?']) {
        return None;
    }
    let Ok(entries) = fs::read_dir(folder) else {
        return Some(format!("there is no folder `{}`", folder.display()));
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_by_cached_key(|name| (strsim::damerau_levenshtein(name, wanted), name.clone()));
    names.truncate(NAMED);
    (!names.is_empty()).then(|| format!("its folder has `{}`", names.join("`, `")))
}

impl<T: Serialize> Serialize for OneOrMany<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [only] => only.serialize(serializer),
            texts => texts.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Texts(PhantomData))
    }
}

struct Texts<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Texts<T> {
    type Value = OneOrMany<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or a list of texts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany<T>, E> {
        T::deserialize(StrDeserializer::new(text)).map(|text| OneOrMany(vec![text]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<OneOrMany<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(OneOrMany)
    }
}

impl<T> JsonSchema for OneOrMany<T> {
    fn schema_name() -> Cow<'static, str> {
        "OneOrMany".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "array"], "items": { "type": "string" } })
    }
}
