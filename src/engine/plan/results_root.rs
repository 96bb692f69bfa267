//! Folders of results.

use std::path::{Path, PathBuf};

use super::resolve::absolute;
use crate::base::file;
use crate::manifest;

/// The folder `reports/` for a manifest: in its nearest ancestor folder that contains `experiments/` or `reports/`,
/// else in the manifest's folder. An absolute path.
pub fn results_root(manifest: &Path) -> PathBuf {
    let absolute = absolute(Path::new("."), manifest);
    let has = |folder: &Path, name: &str| folder.join(name).is_dir();
    let root = absolute
        .ancestors()
        .skip(1)
        .find(|folder| has(folder, "experiments") || has(folder, "reports"));
    let beside = absolute.parent().unwrap_or(Path::new("."));
    root.unwrap_or(beside).join("reports")
}

/// The folder that contains `reports/`, to which manifest paths in results are relative. `results` is `reports/NAME`,
/// or `reports/NAME/ab/SIDE` for a side of a comparison.
pub fn project_folder(results: &Path) -> &Path {
    let level = if is_side(results) { 4 } else { 2 };
    results.ancestors().nth(level).unwrap_or(Path::new(""))
}

/// The folder of the experiment, `reports/NAME`. `results` is that folder itself, or a side of a comparison in it.
pub fn experiment_folder(results: &Path) -> &Path {
    let level = if is_side(results) { 2 } else { 0 };
    results.ancestors().nth(level).unwrap_or(results)
}

/// Whether a results folder is `reports/NAME/ab/SIDE`.
fn is_side(results: &Path) -> bool {
    let is = |level: usize, name: &str| {
        let found = results.ancestors().nth(level).and_then(Path::file_name);
        found.is_some_and(|found| found == name)
    };
    is(1, "ab") && is(3, "reports")
}

/// Other manifests in the folder of `manifest` that have the same `name`, in alphabetical order.
///
/// `run` refuses when there is one (two experiments would write the same results), `plan` warns.
pub fn manifests_with_name(manifest: &Path, name: &str) -> Vec<PathBuf> {
    let folder = match manifest.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let same_file = |path: &Path| path.file_name() == manifest.file_name();
    let is_toml = |path: &Path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    };
    let is_other = |path: &PathBuf| is_toml(path) && !same_file(path) && is_named(path, name);
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(is_other).collect();
    found.sort();
    let plain = |path: PathBuf| path.strip_prefix(".").map(Path::to_owned).unwrap_or(path);
    found.into_iter().map(plain).collect()
}

/// Whether the manifest at `path` has this name. To save time, a text is parsed only if it contains the name or an
/// escape, which may stand for a part of the name.
fn is_named(path: &Path, name: &str) -> bool {
    let read = || {
        let bytes = file::read_at_most(path, manifest::MAX_BYTES).ok()?;
        let text = String::from_utf8(bytes).ok()?;
        if !text.contains(name) && !text.contains('\\') {
            return None;
        }
        let table: toml::Table = text.parse().ok()?;
        Some(table.get("name")?.as_str()? == name)
    };
    read().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_lie_in_the_project_or_beside_a_manifest_that_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = |manifest: &str| results_root(&folder.path().join(manifest));
        assert_eq!(
            root("elsewhere/a.toml"),
            folder.path().join("elsewhere/reports")
        );
        std::fs::create_dir(folder.path().join("experiments")).unwrap();
        for manifest in ["a.toml", "experiments/a.toml", "elsewhere/deep/a.toml"] {
            assert_eq!(root(manifest), folder.path().join("reports"), "{manifest}");
        }
    }

    #[test]
    fn the_project_is_above_reports_whatever_experiments_are_called() {
        for (results, project) in [
            ("/p/reports/ddpm", "/p"),
            ("/p/reports/ddpm/ab/before", "/p"),
            ("/p/reports/ab", "/p"),
            ("/p/reports/ab/ab/after", "/p"),
            ("/reports/x/ab/reports/ddpm", "/reports/x/ab"),
        ] {
            assert_eq!(
                project_folder(Path::new(results)),
                Path::new(project),
                "{results}"
            );
        }
    }
}
