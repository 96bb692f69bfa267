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

/// The folder that `given` names: a path, or a name under `reports/` (a manifest's file name works too). `None` if
/// neither has results.
pub fn results_folder(given: &Path) -> Option<PathBuf> {
    if has_results(given) {
        return Some(given.to_owned());
    }
    let (root, name) = root_and_name(given);
    let named = root.join(name);
    has_results(&named).then(|| relative_to_current_dir(&named))
}

/// The error for a path or name `given` without results; suggests the most similar name.
pub fn no_results_error(given: &Path) -> Failure {
    let (root, name) = root_and_name(given);
    let known = results_names_in(&root);
    let help = suggest_name(&name.to_string_lossy(), &known, "there are results of");
    let none = || format!("`{}` makes some", shell::command("run MANIFEST"));
    let help = help.unwrap_or_else(none);
    let title = format!("no results in `{}`", given.display());
    Failure::without_source(title, Some(help))
}

/// The name most similar to `name`, or all of them in a sentence that begins with `all`; `None` without names.
pub(crate) fn suggest_name<N: AsRef<str>>(name: &str, known: &[N], all: &str) -> Option<String> {
    let names = || known.iter().map(AsRef::as_ref);
    let all = || (!known.is_empty()).then(|| format!("{all} {}", list(names())));
    did_you_mean(name, names()).or_else(all)
}

/// Names of the folders below `root` that contain results, in alphabetical order.
pub fn results_names_in(root: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| has_results(&entry.path()));
    let names = folders.map(|folder| folder.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The path relative to the working directory, if it lies below it.
pub fn relative_to_current_dir(path: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).to_owned()
}

fn root_and_name(given: &Path) -> (PathBuf, &OsStr) {
    if given.extension() == Some(OsStr::new("toml")) {
        (results_root(given), given.file_stem().unwrap_or_default())
    } else {
        (results_root(Path::new("manifest.toml")), given.as_os_str())
    }
}
