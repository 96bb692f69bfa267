//! `train.init-from`: resolves the path to a file of weights, which may be in a results folder.

use std::fs;
use std::path::{Path, PathBuf};

use super::cell::SAFETENSORS;
use super::resolve::{absolute, similar_file_help};
use crate::diag::Diagnostic;
use crate::layers::checkpoint;

/// Largest number of files that are listed in a message.
const NAMED: usize = 6;
/// Suffix of the file of averaged weights, next to the file of the weights themselves.
const AVERAGED: &str = ".ema.safetensors";

/// `path` itself, or, if it is a results folder with the weights of a single run, the file of these weights.
pub(super) fn file(path: PathBuf) -> PathBuf {
    match &mut files_in(&path)[..] {
        [only] => std::mem::take(only),
        _ => path,
    }
}

/// The mistake in a path, as `written` in a manifest in `folder`; `None` if it leads to a file.
pub(super) fn mistake(folder: &Path, written: &str) -> Option<Diagnostic> {
    let path = file(absolute(folder, Path::new(written)));
    if path.is_file() {
        return None;
    }
    let found = if path.is_dir() {
        several(&path, written)
    } else if path.exists() {
        Diagnostic::error(format!(
            "`train.init-from`: `{written}` is not a regular file"
        ))
    } else {
        Diagnostic::error(format!("`train.init-from`: there is no file `{written}`"))
            .maybe_help(similar_file_help(&path, written))
            .help("a path is relative to the manifest's folder")
    };
    Some(found)
}

/// The mistake for a folder that has no weights, or those of several runs.
fn several(folder: &Path, written: &str) -> Diagnostic {
    let files = files_in(folder);
    if files.is_empty() {
        return Diagnostic::error(format!(
            "`train.init-from`: `{written}` is a folder without weights"
        ))
        .help("name a file of weights, or a results folder that has those of one run");
    }
    let title = format!(
        "`train.init-from`: `{written}` has the weights of {} runs",
        files.len()
    );
    let mut found = Diagnostic::error(title);
    let written = written.trim_end_matches('/');
    for path in files.iter().take(NAMED) {
        let inner = path.strip_prefix(folder).unwrap_or(path).display();
        let metadata = checkpoint::read_metadata(path).unwrap_or_default();
        let of = match (metadata.get("key"), metadata.get("seed")) {
            (Some(key), Some(seed)) => format!(": {key}, seed {seed}"),
            _ => String::new(),
        };
        found = found.help(format!("`{written}/{inner}`{of}"));
    }
    if files.len() > NAMED {
        found = found.help("`index.csv` beside checkpoints lists all");
    }
    found
}

/// Files of weights in `folder` itself, and in the subfolders of its `checkpoints` (of `folder` if it has none). Of a
/// run with averaged weights, only these. Of the files in subfolders, only those that `index.csv` lists, if there is
/// one: files of cells that were removed from the manifest remain in the folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let own = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let inner = folder.join("checkpoints");
    let inner = if inner.is_dir() { &inner } else { folder };
    let index = fs::read_to_string(inner.join("index.csv"));
    let mut all = own(folder);
    all.extend(own(inner).iter().flat_map(|path| own(path)).filter(|path| {
        let relative = path.strip_prefix(inner).unwrap_or(path).to_string_lossy();
        index
            .as_ref()
            .map_or(true, |index| index.contains(&*relative))
    }));
    let is_weights = |path: &&PathBuf| {
        let name = path.to_string_lossy();
        let stem = name.strip_suffix(SAFETENSORS);
        let averaged = stem.map(|stem| PathBuf::from(format!("{stem}{AVERAGED}")));
        averaged.is_some_and(|averaged| !all.contains(&averaged)) && path.is_file()
    };
    let mut files: Vec<PathBuf> = all.iter().filter(is_weights).cloned().collect();
    files.sort();
    files
}
