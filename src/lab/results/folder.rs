//! Which results folder is meant by a path or a name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::base::shell;
use crate::diag::{Failure, did_you_mean, list};
use crate::plan::results_root;

/// Whether a folder holds results.
pub fn has_results(folder: &Path) -> bool {
    folder.join("plan.json").is_file()
}

/// The folder that is meant: itself, or a name under `reports/`, for which a manifest's file name stands too; `None`
/// where neither has results.
pub fn results_folder(given: &Path) -> Option<PathBuf> {
    if has_results(given) {
        return Some(given.to_owned());
    }
    let (root, name) = root_and_name(given);
    let named = root.join(name);
    has_results(&named).then(|| from_here(&named))
}

/// The mistake that there are no results at `given`, with the nearest name.
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

/// Names of the folders below `root` that hold results, in alphabetical order.
pub fn names_below(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| has_results(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Shorter to read, where it is possible.
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
