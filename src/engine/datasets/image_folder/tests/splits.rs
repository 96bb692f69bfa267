//! Tests of folders that are splits.

use std::fs;

use tempfile::TempDir;

use super::super::*;
use super::{grey, spec};
use crate::datasets::testing;

/// A folder with a grey image of 8 × 8 pixels for each of these names.
pub(super) fn images(names: &[&str]) -> (TempDir, ImageFolderSpec) {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, grey(8, 8)).unwrap();
    }
    let spec = spec(folder.path());
    (folder, spec)
}

/// The rows of the training, validation and test split. Checks that their numbers are those that the planner reports.
pub(super) fn sizes(spec: &ImageFolderSpec, fraction: f64) -> [Vec<u32>; 3] {
    let facts = spec.facts(fraction, &mut FingerprintCache::default());
    let facts = facts.unwrap();
    let open = spec.open(Seed(1), fraction).unwrap();
    assert_eq!(open.splits.sizes(), testing::split_sizes(&facts));
    assert_eq!(facts.samples, open.dataset.rows());
    let splits = open.splits;
    [splits.train, splits.validation, splits.test]
}

pub(super) fn message(spec: &ImageFolderSpec) -> String {
    let text = spec.open(Seed(1), 0.0).err().unwrap().to_string();
    let planned = spec.facts(0.0, &mut FingerprintCache::default());
    assert_eq!(planned.unwrap_err().to_string(), text);
    text.replace(&spec.path.display().to_string(), "")
}

#[test]
fn folders_named_after_splits_are_the_splits() {
    let names = [
        "train/a/0.png",
        "train/a/1.png",
        "train/b/0.png",
        "valid/b/0.png",
        "test/a/0.png",
        "notes/a/0.png",
    ];
    let (folder, spec) = images(&names);
    assert!(spec.splits_itself());
    // A folder is the validation split, so the fraction of 0.5 has no effect.
    assert_eq!(sizes(&spec, 0.5), [vec![0, 1, 2], vec![3], vec![4]]);
    let open = spec.open(Seed(1), 0.0).unwrap();
    assert_eq!(open.dataset.class_names(), ["a", "b"]);
    assert_eq!(open.dataset.labels(), [0, 0, 1, 1, 0]);

    fs::create_dir(folder.path().join("val")).unwrap();
    let text = message(&spec);
    assert!(text.contains("`val` and `valid`"), "{text}");
}

#[test]
fn without_a_folder_to_validate_on_a_share_of_the_training_rows_is_taken() {
    let names = [
        "train/a/0.png",
        "train/a/1.png",
        "train/b/0.png",
        "train/b/1.png",
        "test/b/0.png",
    ];
    let (folder, spec) = images(&names);
    assert!(!spec.splits_itself());
    let [train, validation, test] = sizes(&spec, 0.5);
    assert_eq!((train.len(), validation.len(), test), (2, 2, vec![4]));

    // `train` without another folder for a split, and `test` without `train`, are classes.
    for name in ["test", "train"] {
        fs::rename(folder.path().join(name), folder.path().join("other")).unwrap();
        let open = spec.open(Seed(1), 0.0).unwrap();
        assert_eq!(open.dataset.class_names().len(), 2);
        assert!(open.splits.test.is_empty());
        fs::rename(folder.path().join("other"), folder.path().join(name)).unwrap();
    }
}

#[test]
fn a_class_that_train_lacks_is_named() {
    let names = [
        "train/a/0.png",
        "val/a/0.png",
        "val/fox/0.png",
        "test/elk/0.png",
    ];
    let (folder, spec) = images(&names);
    assert_eq!(
        message(&spec),
        "`` has class folders that `train` lacks: `val/fox`, `test/elk`"
    );
    fs::remove_dir_all(folder.path().join("train/a")).unwrap();
    assert!(message(&spec).starts_with("`/train` has no class folders"));
}
