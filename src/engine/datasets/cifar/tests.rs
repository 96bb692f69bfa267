use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::super::Dataset;
use super::super::testing::{augmented, read, split_sizes};
use super::*;
use crate::testing::assert_says;

const TEN: [&str; 10] = [
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
];

/// Value of pixel `at` (0 to 1,023) in channel `channel` of the test image with number `seed`.
fn pixel(seed: u8, channel: usize, at: usize) -> u8 {
    seed.wrapping_mul(31)
        .wrapping_add((channel * 100 + at) as u8)
}

/// Records with these label bytes before each image; image `i` has the pixels of `seed = i`.
fn records(labels: &[&[u8]]) -> Vec<u8> {
    let record = |(seed, labels): (usize, &&[u8])| {
        let planes = (0..3072).map(|at| pixel(seed as u8, at / 1024, at % 1024));
        labels.iter().copied().chain(planes).collect::<Vec<u8>>()
    };
    labels.iter().enumerate().flat_map(record).collect()
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    fs::write(folder.join(name), bytes).unwrap();
}

fn spec(path: &Path) -> CifarSpec {
    CifarSpec {
        path: path.to_owned(),
        labels: CifarLabels::Fine,
        augment: None,
    }
}

/// A folder of CIFAR-10: four images in each of five training files, two in the test file.
fn ten() -> (TempDir, CifarSpec) {
    let folder = tempfile::tempdir().unwrap();
    for batch in 1..=5 {
        let name = format!("data_batch_{batch}.bin");
        write(folder.path(), &name, records(&[&[0], &[1], &[0], &[1]]));
    }
    write(folder.path(), "test_batch.bin", records(&[&[9], &[3]]));
    write(folder.path(), "batches.meta.txt", TEN.join("\n") + "\n\n");
    let spec = spec(folder.path());
    (folder, spec)
}

/// A folder of CIFAR-100: ten training images, of coarse class `i % 2` and fine class `i`, and one test image.
fn hundred() -> (TempDir, CifarSpec) {
    let folder = tempfile::tempdir().unwrap();
    let labels: Vec<[u8; 2]> = (0..10).map(|fine| [fine % 2, fine]).collect();
    let labels: Vec<&[u8]> = labels.iter().map(|labels| &labels[..]).collect();
    write(folder.path(), "train.bin", records(&labels));
    write(folder.path(), "test.bin", records(&[&[19, 99]]));
    for (kind, count) in [("fine", 100), ("coarse", 20)] {
        let names: Vec<String> = (0..count).map(|at| format!("{kind} {at}")).collect();
        write(
            folder.path(),
            &format!("{kind}_label_names.txt"),
            names.join("\n"),
        );
    }
    let spec = spec(folder.path());
    (folder, spec)
}

fn facts(spec: &CifarSpec) -> Result<DatasetFacts, DatasetError> {
    spec.facts(0.2, &mut FingerprintCache::default())
}

/// The error message without the folder's path. Checks that planning and opening give the same message.
fn message(spec: &CifarSpec) -> String {
    let error = facts(spec).unwrap_err().to_string();
    let opened = spec.open(Seed(1), 0.2).err().unwrap().to_string();
    assert_eq!(error, opened);
    let folder = spec.path.display().to_string();
    error
        .replace(&format!("{folder}/"), "")
        .replace(&folder, "FOLDER")
}

fn one(dataset: &dyn Dataset, row: u32) -> (Vec<f32>, u32) {
    let (features, _, labels) = read(dataset, &[row]);
    (features, labels[0])
}

#[test]
fn cifar_10_is_read_with_its_test_file_as_the_test_split() {
    let (folder, spec) = ten();
    let facts = facts(&spec).unwrap();
    assert_eq!(split_sizes(&facts), [16, 4, 2]);
    let open = spec.open(Seed(3), 0.2).unwrap();
    assert_eq!(open.splits.sizes(), split_sizes(&facts));
    let validation = &open.splits.validation;
    assert_eq!(open.splits.test, [20, 21]);
    assert_eq!(validation.iter().filter(|row| *row % 2 == 1).count(), 2);
    assert_ne!(
        validation,
        &spec.open(Seed(4), 0.2).unwrap().splits.validation
    );
    assert_eq!(open.dataset.class_names(), TEN);
    assert_eq!(open.dataset.target(), facts.target);
    assert_eq!(open.dataset.features(), facts.features);
    // Row 6 is image 2 of the second file: red, green and blue of its first pixels, and of the last.
    let (features, label) = one(&*open.dataset, 6);
    let value = |channel, at| f32::from(pixel(2, channel, at)) / 127.5 - 1.0;
    let first = [value(0, 0), value(1, 0), value(2, 0), value(0, 1)];
    assert_eq!((features[..4].to_vec(), label), (first.to_vec(), 0));
    assert_eq!(features[3071..], [value(2, 1023)]);
    assert_eq!(one(&*open.dataset, 20).1, 9);
    let batch = records(&[&[0], &[1], &[0], &[2]]);
    write(folder.path(), "data_batch_3.bin", batch);
    assert_ne!(self::facts(&spec).unwrap().fingerprint, facts.fingerprint);
}

#[test]
fn cifar_100_has_fine_and_coarse_classes() {
    let (_folder, mut spec) = hundred();
    for (labels, classes, of_row_9, of_test) in [
        (CifarLabels::Fine, 100, 9, 99),
        (CifarLabels::Coarse, 20, 1, 19),
    ] {
        spec.labels = labels;
        let facts = facts(&spec).unwrap();
        assert_eq!(facts.target, Target::Class { classes });
        assert_eq!(split_sizes(&facts), [8, 2, 1]);
        let open = spec.open(Seed(1), 0.2).unwrap();
        assert_eq!(open.splits.test, [10]);
        assert_eq!(one(&*open.dataset, 9).1, of_row_9);
        assert_eq!(one(&*open.dataset, 10).1, of_test);
        let word = if labels == CifarLabels::Fine {
            "fine 7"
        } else {
            "coarse 7"
        };
        assert_eq!(open.dataset.class_names()[7], word);
    }
}

#[test]
fn training_images_are_changed_where_that_is_said() {
    let (_folder, mut spec) = ten();
    let plain = spec.open(Seed(1), 0.0).unwrap().dataset;
    assert!(plain.augment().is_identity());
    spec.augment = Some(AugmentSpec {
        flip: 1.0,
        ..AugmentSpec::NONE
    });
    let changed = spec.open(Seed(1), 0.0).unwrap().dataset;
    assert_ne!(augmented(&*changed, 1, 5), one(&*changed, 1).0);
}

#[test]
fn damaged_files_are_all_named() {
    let (folder, spec) = ten();
    let ten = |name: &str, bytes: &[u8]| write(folder.path(), name, bytes);
    ten("data_batch_2.bin", &records(&[&[0], &[1]])[..6000]);
    assert_eq!(
        message(&spec),
        "`FOLDER` is damaged in `data_batch_2.bin`: the file has 6000 bytes, no multiple of the 3073 of an image: it is \
         truncated or of another format"
    );
    ten("data_batch_4.bin", b"");
    ten("test_batch.bin", &records(&[&[3], &[10]]));
    let text = message(&spec);
    for words in [
        "`FOLDER` is damaged in 3 places: `data_batch_2.bin`: the file has 6000 bytes",
        "`data_batch_4.bin`: the file is empty",
        "`test_batch.bin` at byte 3073: the class is 10, not one from 0 to 9",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let (folder, spec) = hundred();
    write(folder.path(), "test.bin", records(&[&[20, 100]]));
    let text = message(&spec);
    assert_says(
        &text,
        "`test.bin` at byte 0: the class is 20, not one from 0 to 19",
    );
    assert_says(
        &text,
        "`test.bin` at byte 1: the class is 100, not one from 0 to 99",
    );
}

#[test]
fn names_are_as_many_as_classes() {
    let (folder, spec) = ten();
    let write = |bytes: &[u8]| write(folder.path(), "batches.meta.txt", bytes);
    write(TEN[..9].join("\n").as_bytes());
    let start = "`batches.meta.txt` is damaged: ";
    assert_eq!(
        message(&spec),
        format!("{start}it has 9 names, one a line, for 10 classes")
    );
    write(TEN.join("\n").replace("frog", "cat").as_bytes());
    assert_eq!(message(&spec), format!("{start}it has `cat` twice"));
    write(&[0xff, 0xfe]);
    assert_eq!(message(&spec), format!("{start}not UTF-8"));
}

#[test]
fn missing_files_and_other_folders_are_sentences() {
    let (folder, mut spec) = ten();
    spec.labels = CifarLabels::Coarse;
    assert_eq!(
        message(&spec),
        "`labels`: `coarse` classes are those of CIFAR-100, and `FOLDER` has CIFAR-10"
    );
    spec.labels = CifarLabels::Fine;
    let remove = |name: &str| fs::remove_file(folder.path().join(name)).unwrap();
    remove("data_batch_3.bin");
    remove("batches.meta.txt");
    assert_eq!(
        message(&spec),
        "cannot read `FOLDER`: it has no `data_batch_3.bin`, no `batches.meta.txt`"
    );
    write(folder.path(), "train.bin", b"");
    assert!(message(&spec).contains("it has files of CIFAR-10 and of CIFAR-100"));
    let other = tempfile::tempdir().unwrap();
    spec.path = other.path().to_owned();
    assert_eq!(
        message(&spec),
        "cannot read `FOLDER`: it has neither `data_batch_1.bin` (CIFAR-10) nor `train.bin` (CIFAR-100)"
    );
    write(other.path(), "data_batch_1", b"");
    assert_says(message(&spec), "it has the version of CIFAR for Python");
}
