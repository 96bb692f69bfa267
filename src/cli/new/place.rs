//! [`NewManifest`]: where to write a new manifest, and the paths between it and its data.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::super::Problem;
use super::super::problem::mistake_with_help;
use crate::plan::absolute;

/// Name and path of a new manifest.
pub(super) struct NewManifest {
    pub(super) name: String,
    /// Path relative to the current folder.
    pub(super) manifest: PathBuf,
}

impl NewManifest {
    /// The place for manifest `name`: in `folder`; by default in `experiments` if that exists or the current folder is
    /// empty, else in the current folder.
    pub(super) fn of(name: &str, folder: Option<&Path>) -> Result<Self, Problem> {
        let usual = Path::new("experiments");
        let folder = match folder {
            Some(folder) if !folder.is_dir() => {
                let title = format!("there is no folder `{}`", folder.display());
                return Err(mistake_with_help(
                    title,
                    "make it first, or leave `--folder` out",
                ));
            }
            Some(folder) => folder,
            None if usual.is_dir() || is_empty(Path::new(".")) => usual,
            None => Path::new(""),
        };
        Ok(Self {
            name: name.to_owned(),
            manifest: folder.join(format!("{name}.toml")),
        })
    }

    /// `path` (relative to the current folder) relative to the manifest's folder.
    pub(super) fn relative_to_manifest(&self, path: &Path) -> String {
        seen_from(self.manifest.parent().unwrap_or(Path::new("")), path)
    }
}

/// `path` relative to the current folder.
pub(super) fn relative_to_current_dir(path: &Path) -> String {
    seen_from(Path::new(""), path)
}

fn seen_from(folder: &Path, path: &Path) -> String {
    let [folder, whole] = [folder, path].map(|path| absolute(Path::new("."), path));
    let pairs = folder.components().zip(whole.components());
    let common = pairs.take_while(|(one, other)| one == other).count();
    // If only the root is common, the path stays absolute.
    if common <= 1 {
        return text(&whole);
    }
    let up = folder
        .components()
        .skip(common)
        .map(|_| Component::ParentDir);
    let seen: PathBuf = up.chain(whole.components().skip(common)).collect();
    if seen.as_os_str().is_empty() {
        return ".".to_owned();
    }
    text(&seen)
}

/// The tables in a folder, sorted by name; none if the folder also contains folders or images.
pub(super) fn tables_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut tables = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        let ends = |endings: &[&str]| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_lowercase();
            !name.starts_with('.') && endings.iter().any(|ending| name.ends_with(ending))
        };
        if path.is_dir() || ends(&[".png", ".jpg", ".jpeg"]) {
            return Vec::new();
        }
        if ends(&[".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet"]) {
            tables.push(path);
        }
    }
    tables.sort();
    tables
}

/// Whether a folder contains only hidden entries (`.git`).
fn is_empty(folder: &Path) -> bool {
    let is_hidden = |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b".");
    fs::read_dir(folder).is_ok_and(|mut entries| entries.all(|entry| entry.is_ok_and(is_hidden)))
}

fn text(path: &Path) -> String {
    path.to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_named_as_seen_from_the_manifest() {
        let new_manifest = |manifest: &str| NewManifest {
            name: "x".to_owned(),
            manifest: manifest.into(),
        };
        for (manifest, path, seen) in [
            ("experiments/x.toml", "table.csv", "../table.csv"),
            ("experiments/x.toml", "experiments/table.csv", "table.csv"),
            ("x.toml", "./data/../table.csv", "table.csv"),
            ("/a/b/x.toml", "/a/c/images", "../c/images"),
            ("/a/b/x.toml", "/disk/images", "/disk/images"),
        ] {
            assert_eq!(
                new_manifest(manifest).relative_to_manifest(Path::new(path)),
                seen,
                "{manifest}"
            );
        }
    }
}
