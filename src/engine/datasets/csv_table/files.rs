//! [`DataFile`]: the files that a table is read from, and the comparison of their headers.

use std::path::{Path, PathBuf};

use super::super::{DatasetError, Faults, FilePaths, SplitKind};
use super::CsvSpec;
use super::reading::{Dialect, reader};

/// A file of a table.
pub(super) struct DataFile {
    pub(super) path: PathBuf,
    /// Split of the file's rows if files determine the split; [`SplitKind::Train`] if rows are split later.
    pub(super) part: SplitKind,
    /// The file's path in the folder that has all files.
    pub(super) name: String,
}

impl DataFile {
    /// All files of a table, training files first.
    ///
    /// # Errors
    /// All patterns without a matching file.
    pub(super) fn all(spec: &CsvSpec) -> Result<Vec<Self>, DatasetError> {
        let folder = spec.path.first_path().parent().unwrap_or(Path::new(""));
        let split = spec.split.clone().unwrap_or_default();
        let beside = |files: FilePaths| files.iter().map(|file| folder.join(file)).collect();
        let parts = [
            (SplitKind::Train, "path", Some(spec.path.clone())),
            (SplitKind::Validation, "split", split.validation.map(beside)),
            (SplitKind::Test, "split", split.test.map(beside)),
        ];
        let files = parts.into_iter().map(|(part, key, paths)| {
            let files = paths.map_or(Ok(Vec::new()), |paths: FilePaths| paths.files(key))?;
            Ok(files.into_iter().map(|path| (path, part)).collect())
        });
        let files: Vec<Vec<(PathBuf, SplitKind)>> = DatasetError::collect_all(files)?;
        Ok(Self::named(files.concat()))
    }

    /// Files to train on alone.
    ///
    /// # Errors
    /// As [`Self::all`].
    pub(super) fn of(paths: &FilePaths) -> Result<Vec<Self>, DatasetError> {
        let files = paths.files("path")?;
        Ok(Self::named(
            files
                .into_iter()
                .map(|path| (path, SplitKind::Train))
                .collect(),
        ))
    }

    fn named(files: Vec<(PathBuf, SplitKind)>) -> Vec<Self> {
        let paths: FilePaths = files.iter().map(|(path, _)| path.clone()).collect();
        let common = paths.folder();
        let named = |(path, part): (PathBuf, SplitKind)| Self {
            name: path
                .strip_prefix(&common)
                .unwrap_or(&path)
                .to_string_lossy()
                .into_owned(),
            path,
            part,
        };
        files.into_iter().map(named).collect()
    }

    /// A table that consists of one file.
    pub(super) fn only(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            part: SplitKind::Train,
            name: String::new(),
        }
    }
}

/// For every file, the index in its header of each column in `names`, the first file's header; `None` if both headers
/// are equal.
///
/// # Errors
/// All files with missing or additional columns, with their names.
pub(super) fn column_orders(
    files: &[DataFile],
    dialect: Dialect,
    names: &[String],
) -> Result<Vec<Option<Vec<usize>>>, DatasetError> {
    let mut orders = vec![None];
    let mut faults = Faults::default();
    for file in files.iter().skip(1) {
        let (_, own) = reader(&file.path, dialect)?;
        let place = |name: &String| own.iter().position(|one| one == name);
        match names.iter().map(place).collect::<Option<Vec<usize>>>() {
            Some(order) if own.len() == names.len() => {
                orders.push(Some(order).filter(|_| own != names));
            }
            _ => faults.add(|| (format!("in `{}`", file.name), difference(names, &own))),
        }
    }
    faults.help = Some(
        "the files of a table have the same columns, in any order; or name fewer files".to_owned(),
    );
    let what = "has a header that all files of the table must share; it differs";
    let first = files.first().map_or(Path::new(""), |file| &file.path);
    faults.into_result(first, what)?;
    Ok(orders)
}

/// How a header differs: "lacks `a`; has `c` instead".
fn difference(names: &[String], own: &[String]) -> String {
    let beyond = |these: &[String], others: &[String]| {
        let found = these.iter().filter(|name| !others.contains(name));
        found
            .map(|name| format!("`{name}`"))
            .collect::<Vec<String>>()
            .join(", ")
    };
    let (lacking, more) = (beyond(names, own), beyond(own, names));
    match (lacking.is_empty(), more.is_empty()) {
        (false, false) => format!("lacks {lacking}; has {more} instead"),
        (false, true) => format!("lacks {lacking}"),
        (true, false) => format!("has {more} as well"),
        (true, true) => "has a column twice".to_owned(),
    }
}

#[cfg(test)]
mod tests;
