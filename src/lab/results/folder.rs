//! Resolves a path or a name to a results folder.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::base::shell;
use crate::diag::{Failure, did_you_mean, list};
use crate::plan::results_root;

/// Whether a folder contains results.
pub fn has_results(folder: &Path) -> bool {
    folder.join("plan.json").is_file()
}

/// The folder that `given` names: a path, or a name under `reports/` (a manifest's file name works too). `None` if neither
/// has results.
pub fn results_folder(given: &Path) -> Option<PathBuf> {
    if has_results(given) {
        return Some(given.to_owned());
    }
    let (root, name) = root_and_name(given);
    let named = root.join(name);
    has_results(&named).then(|| from_here(&named))
}

/// The error for a `given` without results, with the most similar name.
pub fn no_results(given: &Path) -> Failure {
    let (root, name) = root_and_name(given);
    let known = names_below(&root);
    let name = name.to_string_lossy();
    let names = || known.iter().map(String::as_str);
    let help = if known.is_empty() {
        format!("`{}` makes some", shell::command("run MANIFEST"))
    } else {
        let all = || format!("there are results of {}", list(names()));
        did_you_mean(&name, names()).unwrap_or_else(all)
    };
    let title = format!("no results in `{}`", given.display());
    Failure::plain(title, Some(help))
}

/// Names of the folders below `root` that contain results, in alphabetical order.
pub fn names_below(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| has_results(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// A shorter path for display, where possible.
pub fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

fn root_and_name(given: &Path) -> (PathBuf, &OsStr) {
    let is_manifest = given.extension() == Some(OsStr::new("toml"));
    if is_manifest {
        (results_root(given), given.file_stem().unwrap_or_default())
    } else {
        (results_root(Path::new("manifest.toml")), given.as_os_str())
    }
}
