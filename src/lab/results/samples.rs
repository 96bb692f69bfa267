//! `samples/`: the images of costly evaluations. Like the CSV files, they are generated from the store.

use std::path::Path;

use crate::base::temporary::remove_abandoned;

use super::files::{create_folder, remove_files_not_in, write_if_changed};
use super::slug::{cell_slug, plain};
use super::{ResultSet, ResultsError, SampleInfo};

/// File name of a sample: `model=unet,dataset=surfaces-seed42-ddim.png`.
pub fn sample_file(key: &str, seed: u64, name: &str) -> String {
    let cell = cell_slug(key);
    format!("{cell}-seed{seed}-{}.png", plain(name))
}

/// Whether `name` can be the name of an image: a file name without a folder.
pub(super) fn is_image_file(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending == "png") && plain(name) == name
}

/// Writes every image of `results` that `bytes_of` returns, and removes images in `folder` that belong to no row.
///
/// An image that `bytes_of` does not return (a clone has no store) is left unchanged.
///
/// # Errors
/// [`ResultsError::System`].
pub fn write_samples(
    folder: &Path,
    results: &ResultSet,
    bytes_of: impl Fn(&SampleInfo) -> Option<Vec<u8>>,
) -> Result<(), ResultsError> {
    let folder = folder.join("samples");
    let cells = results.plan.cells.iter();
    let samples: Vec<&SampleInfo> = cells.flat_map(|cell| &cell.samples).collect();
    if !samples.is_empty() {
        create_folder(&folder)?;
    }
    for sample in &samples {
        if let Some(bytes) = bytes_of(sample) {
            write_if_changed(&folder.join(&sample.file), &bytes)?;
        }
    }
    remove_abandoned(&folder);
    let known = samples.iter().map(|sample| folder.join(&sample.file));
    remove_files_not_in(&folder, "png", &known.collect());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::results::{CellInfo, PlanFile};

    #[test]
    fn names_are_those_of_the_key_where_every_system_has_its_letters() {
        assert_eq!(
            sample_file("model=unet,train.optimizer.lr=0.001", 42, "ddim"),
            "model=unet,train.optimizer.lr=0.001-seed42-ddim.png"
        );
        let names = ["a/b", "a:b"].map(|key| sample_file(key, 1, "x/y"));
        assert!(names[0].starts_with("a-b-") && names[0].ends_with("-seed1-x-y.png"));
        assert_ne!(names[0], names[1]);
        assert!(sample_file(&"long,".repeat(100), 1, "ddim").len() < 255);
        assert!(names.iter().all(|name| is_image_file(name)));
        for name in ["../x.png", "/x.png", "x", "..", ""] {
            assert!(!is_image_file(name), "{name}");
        }
    }

    #[test]
    fn images_are_written_kept_and_removed_with_their_cells() {
        let folder = tempfile::tempdir().unwrap();
        let sample = |name: &str| SampleInfo {
            seed: 1,
            name: name.into(),
            caption: String::new(),
            file: sample_file("cell", 1, name),
            digest: name.into(),
        };
        let set = |names: &[&str]| ResultSet {
            plan: PlanFile {
                cells: vec![CellInfo {
                    samples: names.iter().map(|name| sample(name)).collect(),
                    ..CellInfo::default()
                }],
                ..PlanFile::default()
            },
            ..ResultSet::default()
        };
        let bytes = |sample: &SampleInfo| (sample.name != "b").then(|| sample.name.clone().into());
        let there = || {
            let entries = fs::read_dir(folder.path().join("samples"));
            let names = entries.into_iter().flatten().flatten();
            let mut names: Vec<_> = names
                .map(|e| e.file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let write = |names: &[&str]| write_samples(folder.path(), &set(names), bytes).unwrap();
        write(&["a"]);
        fs::write(folder.path().join("samples/cell-seed1-b.png"), "of a clone").unwrap();
        write(&["a", "b"]);
        assert_eq!(there(), ["cell-seed1-a.png", "cell-seed1-b.png"]);
        write(&["b"]);
        assert_eq!(there(), ["cell-seed1-b.png"]);
        write(&[]);
        assert!(!folder.path().join("samples").exists());
    }
}
