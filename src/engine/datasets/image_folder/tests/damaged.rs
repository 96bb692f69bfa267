//! Tests of images that cannot be decoded.

use std::fs;

use super::super::*;
use super::splits::{images, message, sizes};
use crate::datasets::testing::age;

/// Five images, written a minute ago: `a/1.png` is truncated, `b/2.png` is no image, the others are valid.
fn with_damage() -> (tempfile::TempDir, ImageFolderSpec) {
    let names = ["a/0.png", "a/1.png", "b/0.png", "b/1.png", "b/2.png"];
    let (folder, mut spec) = images(&names);
    let bytes = super::grey(8, 8);
    fs::write(folder.path().join("a/1.png"), &bytes[..bytes.len() - 20]).unwrap();
    fs::write(folder.path().join("b/2.png"), "no image").unwrap();
    for name in names {
        age(&folder.path().join(name), 60);
    }
    spec.damaged = DamagedImages::LeaveOut;
    (folder, spec)
}

#[test]
fn damaged_images_are_in_no_split_of_planner_and_run() {
    let (_folder, spec) = with_damage();
    assert_eq!(sizes(&spec, 0.0), [vec![0, 1, 2], vec![], vec![]]);
    // The second time, the run reads its cached result.
    assert_eq!(sizes(&spec, 0.0), [vec![0, 1, 2], vec![], vec![]]);
    let open = spec.open(Seed(1), 0.0).unwrap();
    assert_eq!(open.dataset.labels(), [0, 1, 1]);
    let mut cache = FingerprintCache::default();
    for _ in 0..2 {
        let remarks = spec.facts(0.0, &mut cache).unwrap().remarks;
        let [remark] = &remarks[..] else {
            panic!("{remarks:?}");
        };
        let begin =
            "2 of 5 images cannot be decoded and are left out of all splits: `a/1.png` at byte ";
        assert!(remark.starts_with(begin), "{remark}");
        let end = "; `b/2.png` at byte 0: neither a PNG nor a JPEG file begins like this";
        assert!(remark.ends_with(end), "{remark}");
        cache = serde_json::from_str(&serde_json::to_string(&cache).unwrap()).unwrap();
    }
}

#[test]
fn an_image_that_is_mended_is_trained_on() {
    let (folder, spec) = with_damage();
    let mut cache = FingerprintCache::default();
    let samples = |cache: &mut FingerprintCache| spec.facts(0.0, cache).unwrap().samples;
    assert_eq!(samples(&mut cache), 3);
    fs::write(folder.path().join("b/2.png"), super::grey(8, 8)).unwrap();
    assert_eq!(samples(&mut cache), 4);
    assert_eq!(spec.open(Seed(1), 0.0).unwrap().dataset.rows(), 4);
}

#[test]
fn a_class_without_an_image_is_a_mistake() {
    let (folder, mut spec) = with_damage();
    fs::remove_file(folder.path().join("a/0.png")).unwrap();
    assert_eq!(
        message(&spec),
        "`damaged = \"leave-out\"` leaves out every image to train on of the class `a`"
    );
    spec.damaged = DamagedImages::Error;
    let planned = spec.facts(0.0, &mut FingerprintCache::default());
    let text = planned.unwrap_err().to_string();
    assert!(text.contains("`b/2.png`"), "{text}");
}
