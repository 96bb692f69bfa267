use std::fs;

use tempfile::TempDir;

use super::*;
use crate::datasets::testing::{gz, read, split_sizes};

fn idx(dimensions: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut file = vec![0, 0, 8, dimensions.len() as u8];
    file.extend(dimensions.iter().flat_map(|size| size.to_be_bytes()));
    file.extend(bytes);
    file
}

/// A folder with ten training and four test images of 2 × 3 pixels, in two classes; the test files are compressed.
fn folder() -> (TempDir, MnistSpec) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let write = |name: &str, bytes: &[u8]| fs::write(path.join(name), bytes).unwrap();
    let pixels: Vec<u8> = (0..60).collect();
    write("train-images-idx3-ubyte", &idx(&[10, 2, 3], &pixels));
    write(
        "train-labels-idx1-ubyte",
        &idx(&[10], &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1]),
    );
    write(
        "t10k-images-idx3-ubyte.gz",
        &gz(&idx(&[4, 2, 3], &[255; 24])),
    );
    write("t10k-labels-idx1-ubyte.gz", &gz(&idx(&[4], &[1, 0, 1, 0])));
    (folder, MnistSpec { path })
}

/// The error message without the folder's path. Checks that planning and opening give the same message.
fn message(spec: &MnistSpec) -> String {
    let error = spec.open(Seed(1), 0.0).err().unwrap().to_string();
    let planned = spec.facts(0.0, &mut FingerprintCache::default());
    assert_eq!(planned.unwrap_err().to_string(), error);
    error.replace(&format!("{}/", spec.path.display()), "")
}

#[test]
fn the_test_pair_is_the_test_split_and_validation_is_taken_by_class() {
    let (_folder, spec) = folder();
    let open = spec.open(Seed(1), 0.2).unwrap();
    assert_eq!(open.splits.test, [10, 11, 12, 13]);
    let (features, ..) = read(&*open.dataset, &[1, 10]);
    assert_eq!(features[..2], [6.0 / 255.0, 7.0 / 255.0]);
    assert_eq!(features[6..], [1.0; 6]);

    let facts = spec.facts(0.2, &mut FingerprintCache::default()).unwrap();
    assert_eq!(split_sizes(&facts), [8, 2, 4]);
    assert_eq!(open.splits.sizes(), split_sizes(&facts));
    assert_eq!(facts.features, open.dataset.features());
    assert_eq!(facts.target, open.dataset.target());
    let labels = spec.path.join("train-labels-idx1-ubyte");
    fs::write(labels, idx(&[10], &[1; 10])).unwrap();
    let changed = spec.facts(0.2, &mut FingerprintCache::default()).unwrap();
    assert_ne!(changed.fingerprint, facts.fingerprint);
}

#[test]
fn damaged_files_are_named_with_the_byte() {
    let (_folder, spec) = folder();
    let images = spec.path.join("train-images-idx3-ubyte");
    let written = |bytes: &[u8]| {
        fs::write(&images, bytes).unwrap();
        message(&spec)
    };
    let name = "`train-images-idx3-ubyte` is damaged";
    assert_eq!(
        written(&idx(&[10, 2, 3], &[0; 50])),
        format!("{name} at byte 66: the file ends, 10 bytes early")
    );
    assert_eq!(
        written(&idx(&[10, 2], &[0; 20])),
        format!("{name} at byte 0: the magic number is `00000802`, not `00000803`")
    );
    assert_eq!(
        written(&idx(&[10, 2, 3], &[0; 61])),
        format!("{name} at byte 76: more bytes than the header states")
    );
    assert_eq!(
        written(&idx(&[u32::MAX, 100_000, 3], &[])),
        format!("{name} at byte 8: 100000 pixels, which is not from 1 to 16384")
    );
    assert_eq!(
        written(&[0, 0]),
        format!("{name} at byte 2: the file ends, 2 bytes early")
    );
    let mut packed = gz(&idx(&[10, 2, 3], &[9; 60]));
    packed.truncate(packed.len() - 10);
    assert!(written(&packed).starts_with(name));
    assert!(written(&idx(&[9, 2, 3], &[0; 54])).contains("10 labels for the 9 images"));
}
