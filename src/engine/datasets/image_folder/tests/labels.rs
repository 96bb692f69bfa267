//! Tests of labels in a CSV file.

use std::fs;

use super::super::*;
use super::splits::{images, message, sizes};
use crate::datasets::{Dataset, Target, testing};
use crate::testing::{assert_ends, assert_says};

const FILES: [&str; 4] = ["0.png", "1.png", "more/2.png", "more/3.png"];

/// A folder with four images and a file `labels.csv` with this text.
fn labelled(text: &str) -> (tempfile::TempDir, ImageFolderSpec) {
    let (folder, mut spec) = images(&FILES);
    fs::write(folder.path().join("labels.csv"), text).unwrap();
    spec.labels = Some("labels.csv".into());
    (folder, spec)
}

fn values(dataset: &dyn Dataset, row: u32) -> Vec<f32> {
    testing::read(dataset, &[row]).1
}

#[test]
fn numbers_are_normalised_by_the_training_rows() {
    let text = "\u{feff}file,age\r\n0.png,1\r\n./1.png, 3\r\n\r\nmore/2.png,5.0\r\n";
    let (_folder, spec) = labelled(text);
    assert!(spec.predicts_numbers());
    let [train, validation, _] = sizes(&spec, 0.34);
    assert_eq!((train.len(), validation.len()), (2, 1));
    let open = spec.open(Seed(1), 0.34).unwrap();
    assert_eq!(open.dataset.target(), Target::Values { len: 1 });
    assert!(open.dataset.labels().is_empty());
    let scale = open.dataset.normalisation().target.unwrap();
    let original = |row: u32| f64::from(2 * row + 1);
    let mean = train.iter().map(|&row| original(row)).sum::<f64>() / 2.0;
    assert!((scale.mean - mean).abs() < 1e-12, "{scale:?}");
    for row in 0..3 {
        let value = f64::from(values(&*open.dataset, row)[0]) * scale.std + scale.mean;
        assert!((value - original(row)).abs() < 1e-6, "{value}");
    }
}

#[test]
fn several_columns_are_normalised_each() {
    let text = "file,name,x,y\n1.png,a,1,-2\n0.png,b,3e1,0.5\n";
    let (_folder, mut spec) = labelled(text);
    assert_eq!(
        message(&spec),
        "`labels` has the columns `name`, `x`, `y`: `target` says which are to be predicted"
    );
    spec.target = ["y", "x"].into();
    let open = spec.open(Seed(1), 0.0).unwrap();
    assert_eq!(open.dataset.target(), Target::Values { len: 2 });
    let [y, x] = open.dataset.normalisation().targets[..] else {
        panic!("two scales");
    };
    assert!((y.mean + 0.75).abs() < 1e-12 && (x.mean - 15.5).abs() < 1e-12);
    for value in values(&*open.dataset, 1) {
        assert!((value - 1.0).abs() < 1e-6, "{value}");
    }
    spec.target = "z".into();
    assert_eq!(
        message(&spec),
        "`/labels.csv` has no column `z`; beside the file it has `name`, `x`, `y`"
    );
    spec.target = ["x", "x"].into();
    assert_eq!(message(&spec), "`target` names the column `x` twice");
}

#[test]
fn classes_are_texts_in_order() {
    let text = "file,what,age\n1.png,dog,1\n0.png,cat,2\nmore/3.png,dog,3\nmore/2.png,cat,4\n";
    let (_folder, mut spec) = labelled(text);
    spec.target = "what".into();
    spec.classes = true;
    let open = spec.open(Seed(1), 0.5).unwrap();
    assert_eq!(open.dataset.class_names(), ["cat", "dog"]);
    assert_eq!(open.dataset.labels(), [1, 0, 1, 0]);
    let mut taken: Vec<u32> = sizes(&spec, 0.5)[1].iter().map(|row| row % 2).collect();
    taken.sort_unstable();
    assert_eq!(taken, [0, 1], "each class in proportion");
}

#[test]
fn several_labels_are_ones_and_zeros() {
    let text = "file,cat,dog\n1.png,1,false\n0.png,0,TRUE\nmore/2.png,0,0\n";
    let (_folder, mut spec) = labelled(text);
    spec.target = ["dog", "cat"].into();
    spec.classes = true;
    let facts = spec.facts(0.34, &mut FingerprintCache::default()).unwrap();
    assert_eq!(facts.target, Target::Labels { len: 2 });
    let open = spec.open(Seed(1), 0.34).unwrap();
    assert_eq!(open.dataset.target(), facts.target);
    assert!(open.dataset.normalisation().of_targets().is_empty());
    assert_eq!(values(&*open.dataset, 0), [0.0, 1.0]);
    assert_eq!(values(&*open.dataset, 1), [1.0, 0.0]);
    let (_folder, other) = labelled(&text.replace("TRUE", "2"));
    let spec = ImageFolderSpec {
        path: other.path,
        ..spec
    };
    assert!(message(&spec).contains("line 3, column 3 (`dog`): `2` is neither 0 nor 1"));
}

#[test]
fn every_mistake_has_its_line_and_column() {
    let text = "\u{feff}file,age\n0.png,1\n\n0.png,2\nnone.png,3\n../0.png,4\n/0.png,5\n1.png,old\n,\nmore/2.png\nmore/3.png,nan\n";
    let (_folder, spec) = labelled(text);
    let error = spec.open(Seed(1), 0.0).err().unwrap();
    assert_eq!(error.key(), Some("labels"));
    let (title, list, _) = error.parts();
    assert_ends(&title, "labels.csv` has mistakes in 9 places");
    assert_eq!(
        list,
        [
            "line 4, column 1 (`file`): `0.png` is also in line 2",
            "line 5, column 1 (`file`): there is no file `none.png`",
            "line 6, column 1 (`file`): `../0.png` leads out of the dataset's folder",
            "line 7, column 1 (`file`): `/0.png` leads out of the dataset's folder",
            "line 8, column 2 (`age`): `old` is not a number",
            "line 9, column 1 (`file`): nothing there",
            "line 9, column 2 (`age`): nothing there",
            "line 10: 1 column where the header has 2",
            "line 11, column 2 (`age`): `nan` is not a number",
        ]
    );
    for (text, expected) in [
        ("", "needs a header of at least two columns"),
        ("file\n0.png\n", "needs a header of at least two columns"),
        ("file,age\n", "names no image to train on"),
        (
            "file,age\n0.png,x\n",
            "has a mistake in line 2, column 2 (`age`): `x` is not",
        ),
    ] {
        let (_folder, spec) = labelled(text);
        let message = message(&spec);
        assert!(message.contains(expected), "{message}");
    }
    let (folder, spec) = labelled("");
    fs::write(folder.path().join("labels.csv"), b"file,age\n\xff,1\n").unwrap();
    assert_eq!(
        message(&spec),
        "`/labels.csv` has a mistake in line 2: not UTF-8"
    );
}

#[test]
fn folders_are_splits_of_labelled_images_too() {
    let names = ["train/0.png", "train/1.png", "val/0.png", "0.png"];
    let (folder, mut spec) = images(&names);
    spec.labels = Some("labels.csv".into());
    spec.classes = true;
    let write = |text: &str| fs::write(folder.path().join("labels.csv"), text).unwrap();
    write("file,what\nval/0.png,a\ntrain/1.png,b\ntrain/0.png,a\n");
    assert_eq!(sizes(&spec, 0.5), [vec![1, 2], vec![0], vec![]]);
    write("file,what\nval/0.png,c\ntrain/1.png,b\n0.png,a\n");
    let text = message(&spec);
    assert_says(
        &text,
        "line 4, column 1 (`file`): `0.png` is in none of the folders `train`, `val`",
    );
    write("file,what\nval/0.png,c\ntrain/1.png,b\n");
    let text = message(&spec);
    assert_says(
        &text,
        "line 2, column 2 (`what`): no training image has the class `c`",
    );
}

#[test]
fn a_damaged_image_takes_its_numbers_with_it() {
    let (folder, mut spec) = labelled("file,x,y\n0.png,1,2\n1.png,3,4\nmore/2.png,5,6\n");
    spec.target = ["x", "y"].into();
    spec.damaged = DamagedImages::LeaveOut;
    fs::write(folder.path().join("1.png"), "no image").unwrap();
    assert_eq!(sizes(&spec, 0.0)[0], [0, 1]);
    let open = spec.open(Seed(1), 0.0).unwrap();
    let scales = open.dataset.normalisation().targets;
    let values = values(&*open.dataset, 1);
    for ((value, scale), original) in values.iter().zip(&scales).zip([5.0, 6.0]) {
        assert!((f64::from(*value) * scale.std + scale.mean - original).abs() < 1e-6);
    }
    for name in FILES {
        fs::write(folder.path().join(name), "no image").unwrap();
    }
    assert_eq!(
        message(&spec),
        "`damaged = \"leave-out\"` leaves out every image to train on"
    );
}

#[test]
fn a_file_of_labels_is_a_part_of_the_fingerprint() {
    let (folder, spec) = labelled("file,age\n0.png,1\n");
    let mut cache = FingerprintCache::default();
    let mut fingerprint = || spec.facts(0.0, &mut cache).unwrap().fingerprint.unwrap();
    let before = fingerprint();
    fs::write(folder.path().join("labels.csv"), "file,age\n0.png,2\n").unwrap();
    assert_ne!(fingerprint(), before);
}

#[test]
fn settings_of_labels_go_together() {
    let (_folder, mut spec) = images(&["a/0.png"]);
    spec.classes = true;
    assert!(message(&spec).starts_with("`classes` is for a column of `labels`"));
    spec.target = ["x", "y"].into();
    assert!(message(&spec).starts_with("`target` names columns of `labels`"));
    spec.labels = Some("labels.csv".into());
    spec.classes = false;
    spec.generate = Some(super::generate(1, 1, 1));
    assert!(message(&spec).starts_with("`labels` describe existing images"));
    spec.generate = None;
    assert!(message(&spec).starts_with("cannot read `/labels.csv`"));
    let spec: ImageFolderSpec = toml::from_str("path = \"p\"\ntarget = \"x\"").unwrap();
    assert_eq!(spec.target, "x".into());
    let spec: ImageFolderSpec = toml::from_str("path = \"p\"\ntarget = [\"x\", \"y\"]").unwrap();
    assert_eq!(spec.target, ["x", "y"].into());
}

#[test]
fn numbers_are_mixed_by_mixup_alone() {
    let (_folder, mut spec) = labelled("file,age\n0.png,1\n1.png,3\n");
    spec.augment.mixup = 0.2;
    let facts = spec.facts(0.0, &mut FingerprintCache::default()).unwrap();
    assert!(facts.mixes);
    spec.augment.cutmix = 1.0;
    assert_eq!(
        message(&spec),
        "`augment.cutmix` is for classes, the targets are numbers; use `augment.mixup`"
    );
}
