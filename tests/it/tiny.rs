//! A project with the smallest manifest that trains, and helpers to read its results.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::project::Project;

/// Two cells, two blocks: four runs of a few steps.
pub(crate) const MANIFEST: &str = r#"
name = "tiny"

[models.mlp]
kind = "mlp"
hidden = 8
depth = 2

[datasets.plane]
kind = "regression-5d"
target = "linear"
samples = 64

[matrix]
model = ["mlp"]
dataset = ["plane"]
batch-size = [8, 16]

[train]
epochs = 2

[measure]
repeats = 2
warmup-steps = 1
"#;

pub(crate) fn project() -> Project {
    Project::new().file("experiments/tiny.toml", MANIFEST)
}

pub(crate) fn with(line: &str, replacement: &str) -> String {
    assert!(MANIFEST.contains(line), "{line}");
    MANIFEST.replace(line, replacement)
}

impl Project {
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        fs::write(self.path(path), text).expect("a file");
    }

    /// Every results file except the store's: bytes and modification time.
    pub(crate) fn results(&self) -> BTreeMap<String, (Vec<u8>, SystemTime)> {
        let mut files = BTreeMap::new();
        collect(&self.path("reports"), &mut files);
        files
    }

    /// `runs.csv`: status by key.
    pub(crate) fn statuses(&self) -> BTreeMap<String, String> {
        let rows = self.rows("runs.csv").into_iter();
        rows.map(|row| (row["key"].clone(), row["status"].clone()))
            .collect()
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<String, (Vec<u8>, SystemTime)>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.ends_with(".store") {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else {
            let modified = entry
                .metadata()
                .and_then(|data| data.modified())
                .expect("a time");
            let bytes = fs::read(&path).expect("a file");
            files.insert(path.to_string_lossy().into_owned(), (bytes, modified));
        }
    }
}
