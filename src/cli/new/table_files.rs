//! The files of a table: which are trained on, and which are held out by their names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::datasets::{CsvGuess, FilePaths};

use super::super::Problem;
use super::super::problem::mistake;
use super::draft::{named, quoted};
use super::place::tables_in;

/// The file or the pattern `path`; for a folder, a pattern that matches its tables, or a list of them. In a folder with
/// tables to train on and to test on by their names, the former, and all other tables.
pub(super) fn tables(path: &Path) -> (FilePaths, Vec<PathBuf>) {
    let tables = if path.is_dir() {
        tables_in(path)
    } else {
        Vec::new()
    };
    let train = tables
        .iter()
        .position(|table| split_by_name(table) == Some("train"));
    if let Some(train) = train
        && tables.iter().any(|table| is_held_out(split_by_name(table)))
    {
        let mut tables = tables;
        return (tables.remove(train).into(), tables);
    }
    let endings = tables.iter().map(|table| table.extension());
    let paths = match &tables[..] {
        [] => path.to_owned().into(),
        [first, _, ..] if endings.clone().all(|ending| ending == first.extension()) => {
            let ending = first.extension().unwrap_or_default().to_string_lossy();
            path.join(format!("*.{ending}")).into()
        }
        _ => tables.into_iter().collect(),
    };
    (paths, Vec::new())
}

pub(super) fn is_held_out(part: Option<&str>) -> bool {
    part.is_some_and(|part| part != "train")
}

/// The split of a file's rows by its name: `train`, `validation` or `test`; `None` for other names.
pub(super) fn split_by_name(path: &Path) -> Option<&'static str> {
    let name = file_name(path).to_lowercase();
    match name.split('.').next()? {
        "train" | "training" => Some("train"),
        "validation" | "valid" | "val" | "dev" => Some("validation"),
        "test" => Some("test"),
        _ => None,
    }
}

/// The names of the columns of a file; none if it cannot be read.
pub(super) fn column_name_set(path: &Path, header: bool) -> BTreeSet<String> {
    let names = CsvGuess::names(path, header).unwrap_or_default();
    names.into_iter().collect()
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The TOML line `split = { … }` that names those of the files `beside` that have held-out rows (empty if none has),
/// and sentences on how each file is used.
pub(super) fn held_out(
    guess: &CsvGuess,
    beside: &[PathBuf],
) -> Result<(String, Vec<String>), Problem> {
    let ignored = guess.ignored.iter().map(|(name, _)| name);
    let own = guess.features.iter().chain(ignored);
    let own: BTreeSet<&String> = own.chain(&guess.targets).collect();
    let (mut parts, mut told) = (BTreeMap::new(), Vec::new());
    if !beside.is_empty() {
        told.push("the table is the file named `train`".to_owned());
    }
    for path in beside {
        let name = file_name(path);
        let names = CsvGuess::names(path, guess.header).map_err(mistake)?;
        let names: BTreeSet<&String> = names.iter().collect();
        let lacking: Vec<&&String> = own.difference(&names).collect();
        match split_by_name(path)
            .filter(|part| is_held_out(Some(part)) && !parts.contains_key(part))
        {
            Some(part) if names == own => {
                told.push(format!(
                    "rows of `{name}` are held out: `{part}` in `split`"
                ));
                parts.insert(part, format!("{part} = {}", quoted(&name)));
            }
            Some(_) if lacking.iter().any(|name| guess.targets.contains(name)) => {
                let targets = named(&guess.targets);
                told.push(format!("`{name}` has no {targets} and is for `predict`"));
            }
            Some(_) => told.push(format!("`{name}` has other columns and is not used")),
            None => told.push(format!("`{name}` is not used")),
        }
    }
    let parts: Vec<String> = parts.into_values().collect();
    if parts.is_empty() {
        return Ok((String::new(), told));
    }
    Ok((format!("split = {{ {} }}", parts.join(", ")), told))
}
