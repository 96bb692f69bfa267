use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::super::testing::{augmented, split_sizes};
use super::super::{SampleMut, Target};
use super::texture::{Class, render};
use super::*;
use crate::testing::{assert_begins, assert_ends, assert_says};

mod damaged;
mod decoding;
mod labels;
mod splits;

fn spec(path: &Path) -> ImageFolderSpec {
    ImageFolderSpec {
        size: Size::square(8),
        ..ImageFolderSpec::new(path.to_owned())
    }
}

fn generate(normal: usize, abnormal: usize, seed: u64) -> GenerateSpec {
    GenerateSpec::SurfaceTextures {
        normal,
        abnormal,
        size: 16,
        seed,
    }
}

/// A PNG file of `size` (width, height) with this colour type, bit depth and data.
fn png(size: (u32, u32), color: png::ColorType, depth: png::BitDepth, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
    encoder.set_color(color);
    encoder.set_depth(depth);
    if color == png::ColorType::Indexed {
        encoder.set_palette(vec![10, 20, 30, 40, 50, 60]);
    }
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(data).unwrap();
    writer.finish().unwrap();
    bytes
}

fn grey(width: u32, height: u32) -> Vec<u8> {
    let data = vec![99; (width * height) as usize];
    png(
        (width, height),
        png::ColorType::Grayscale,
        png::BitDepth::Eight,
        &data,
    )
}

/// A folder with the class folders `a` and `b`, each with one file of this name and content.
fn folder(file: &str, bytes: &[u8]) -> (TempDir, ImageFolderSpec) {
    let folder = tempfile::tempdir().unwrap();
    for class in ["b", "a"] {
        fs::create_dir(folder.path().join(class)).unwrap();
    }
    fs::write(folder.path().join("a").join(file), bytes).unwrap();
    fs::write(folder.path().join("b/0.png"), grey(8, 8)).unwrap();
    let spec = spec(folder.path());
    (folder, spec)
}

fn first_pixel(spec: &ImageFolderSpec) -> Result<[u8; 3], String> {
    let open = spec.open(Seed(1), 0.0).map_err(|error| error.to_string())?;
    let mut features = vec![0.0; open.dataset.features().len()];
    let sample = SampleMut {
        features: &mut features,
        values: &mut [],
        label: &mut 0,
    };
    let read = open.dataset.read(0, None, sample);
    read.map_err(|error| {
        error
            .to_string()
            .replace(&spec.path.display().to_string(), "")
    })?;
    Ok([0, 1, 2].map(|c| ((features[c] + 1.0) * 127.5).round() as u8))
}

#[test]
fn every_kind_of_png_becomes_rgb() {
    use png::{BitDepth, ColorType};
    let kinds: [(ColorType, BitDepth, &[u8], [u8; 3]); 5] = [
        (ColorType::Rgb, BitDepth::Eight, &[1, 2, 3], [1, 2, 3]),
        (ColorType::Rgba, BitDepth::Eight, &[1, 2, 3, 0], [1, 2, 3]),
        (
            ColorType::GrayscaleAlpha,
            BitDepth::Eight,
            &[7, 9],
            [7, 7, 7],
        ),
        (ColorType::Grayscale, BitDepth::One, &[0x80], [255; 3]),
        (ColorType::Indexed, BitDepth::Eight, &[1], [40, 50, 60]),
    ];
    for (color, depth, data, expected) in kinds {
        let (_folder, spec) = folder("0.png", &png((1, 1), color, depth, data));
        assert_eq!(first_pixel(&spec), Ok(expected), "{color:?} {depth:?}");
    }
}

#[test]
fn jpeg_is_read_with_any_suffix() {
    // from PIL import Image; Image.new('RGB', (16, 16), (200, 40, 90)).save('plum.jpg', quality=95)
    let plum = include_bytes!("data/plum.jpg");
    let (_folder, spec) = folder("0.png", plum);
    let [r, g, b] = first_pixel(&spec).unwrap();
    assert!(r.abs_diff(201) <= 2 && g.abs_diff(40) <= 2 && b.abs_diff(90) <= 2);
    // Image.new('L', (8, 8), 77).save('grey.jpg', quality=95)
    let (_folder, spec) = folder("0.JPEG", include_bytes!("data/grey.jpg"));
    assert_eq!(first_pixel(&spec), Ok([77; 3]));
}

#[test]
fn damaged_images_are_named_with_the_byte() {
    let damaged = |bytes: &[u8]| {
        let (_folder, spec) = folder("0.png", bytes);
        first_pixel(&spec).unwrap_err()
    };
    let good = grey(8, 8);
    for cut in [9, 20, 40, good.len() - 3] {
        let error = damaged(&good[..cut]);
        assert_begins(&error, "`/a/0.png` is damaged at byte ");
    }
    let plum = include_bytes!("data/plum.jpg");
    for cut in [4, 300, plum.len() - 20] {
        let error = damaged(&plum[..cut]);
        assert_begins(&error, "`/a/0.png` is damaged at byte ");
    }
    assert_eq!(
        damaged(b""),
        "`/a/0.png` is damaged at byte 0: the file is empty"
    );
    assert_eq!(
        damaged(b"GIF89a"),
        "`/a/0.png` is damaged at byte 0: neither a PNG nor a JPEG file begins like this"
    );
}

#[test]
fn an_image_of_a_hundred_thousand_pixels_a_side_is_not_decoded() {
    let mut bytes = grey(8, 8);
    bytes[16..24].copy_from_slice(&[0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0]);
    // The header's checksum is updated, so that the dimensions themselves are rejected.
    let crc = crc32(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    let (_folder, spec) = folder("0.png", &bytes);
    let error = first_pixel(&spec).unwrap_err();
    assert_ends(
        &error,
        "it has 100000 × 100000 pixels; at most 16384 a side and 64000000 in all are decoded",
    );
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (!(crc & 1)).wrapping_add(1))
        })
    })
}

#[test]
fn classes_are_sorted_folders_and_unsupported_files_are_reported() {
    let (folder, spec) = folder("0.png", &grey(8, 8));
    fs::write(folder.path().join("a/notes.txt"), "").unwrap();
    fs::write(folder.path().join("a/.hidden.png"), "").unwrap();
    fs::write(folder.path().join("README.md"), "").unwrap();
    let open = spec.open(Seed(1), 0.0).unwrap();
    assert_eq!(open.dataset.class_names(), ["a", "b"]);
    assert_eq!(open.dataset.labels(), [0, 1]);

    fs::write(folder.path().join("a/1.webp"), "").unwrap();
    let error = spec.open(Seed(1), 0.0).err().unwrap().to_string();
    assert!(error.contains("1.webp` is neither PNG nor JPEG"), "{error}");
    fs::remove_file(folder.path().join("a/1.webp")).unwrap();

    fs::create_dir(folder.path().join("c")).unwrap();
    let error = spec.open(Seed(1), 0.0).err().unwrap().to_string();
    assert!(error.ends_with("c` has no PNG or JPEG file"), "{error}");

    let empty = tempfile::tempdir().unwrap();
    let error = self::spec(empty.path()).open(Seed(1), 0.0).err().unwrap();
    assert!(error.to_string().contains("has no class folders"));
}

#[test]
fn folders_in_a_class_folder_belong_to_the_class() {
    let (folder, spec) = folder("0.png", &grey(8, 8));
    fs::create_dir_all(folder.path().join("a/2019/may")).unwrap();
    fs::write(folder.path().join("a/2019/may/1.png"), grey(8, 8)).unwrap();
    let open = spec.open(Seed(1), 0.0).unwrap();
    assert_eq!(open.dataset.class_names(), ["a", "b"]);
    assert_eq!(open.dataset.labels(), [0, 0, 1]);
}

#[cfg(unix)]
#[test]
fn a_link_to_a_folder_above_ends_with_an_error() {
    let (folder, spec) = folder("0.png", &grey(8, 8));
    std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("a/again")).unwrap();
    let error = spec.open(Seed(1), 0.0).err().unwrap().to_string();
    assert!(error.contains("does a link lead back"), "{error}");
}

#[test]
fn one_changed_file_changes_the_fingerprint_and_the_cache_notices() {
    let (folder, spec) = folder("0.png", &grey(8, 8));
    let mut cache = FingerprintCache::default();
    let mut fingerprint = || spec.facts(0.0, &mut cache).unwrap().fingerprint.unwrap();
    let before = fingerprint();
    assert_eq!(before, fingerprint());
    fs::write(folder.path().join("a/0.png"), grey(8, 7)).unwrap();
    assert_ne!(before, fingerprint());
    fs::write(folder.path().join("a/0.png"), grey(8, 8)).unwrap();
    assert_eq!(before, fingerprint());
    fs::rename(folder.path().join("a/0.png"), folder.path().join("a/1.png")).unwrap();
    assert_ne!(before, fingerprint());
}

#[test]
fn keeping_decoded_images_changes_no_byte() {
    let root = tempfile::tempdir().unwrap();
    let mut spec = spec(&root.path().join("surfaces"));
    spec.generate = Some(generate(6, 3, 1));
    assert!(spec.prepare(&|_, _| ()).unwrap());
    let read = |open: &OpenDataset| -> Vec<Vec<f32>> {
        let rows = 0..9;
        rows.map(|row| augmented(&*open.dataset, row, row.into()))
            .collect()
    };
    let plain = spec.open(Seed(1), 0.0).unwrap();
    let kept = spec.open(Seed(1), 0.0).unwrap();
    kept.dataset.keep_decoded();
    assert_eq!(read(&plain), read(&kept));
    fs::remove_dir_all(&spec.path).unwrap();
    assert_eq!(read(&kept), read(&kept));
}

#[test]
fn generation_writes_once_and_the_stamp_guards_it() {
    let root = tempfile::tempdir().unwrap();
    let mut spec = spec(&root.path().join("deep/surfaces"));
    spec.generate = Some(generate(5, 2, 1));
    let facts = || spec.facts(0.3, &mut FingerprintCache::default());
    let before = facts().unwrap();
    assert_eq!(before.fingerprint, None);
    assert_eq!(split_sizes(&before), [5, 2, 0]);
    assert_eq!(before.target, Target::Class { classes: 2 });

    let last = std::sync::Mutex::new((0, 0));
    let progress = |done, all| {
        let mut last = last.lock().unwrap();
        *last = (*last).max((done, all));
    };
    assert!(spec.prepare(&progress).unwrap());
    assert_eq!(*last.lock().unwrap(), (7, 7));
    assert!(!spec.prepare(&progress).unwrap());
    let after = facts().unwrap();
    assert!(after.fingerprint.is_some());
    assert_eq!(
        DatasetFacts {
            fingerprint: None,
            ..after
        },
        before
    );
    let open = spec.open(Seed(1), 0.3).unwrap();
    assert_eq!(open.dataset.class_names(), ["abnormal", "normal"]);
    assert_eq!(open.splits.sizes(), [5, 2, 0]);
    let left = fs::read_dir(root.path().join("deep")).unwrap().count();
    assert_eq!(left, 1, "no temporary folder is left");

    spec.generate = Some(generate(5, 3, 1));
    let error = spec.prepare(&progress).unwrap_err().to_string();
    assert_says(&error, "abnormal = 2,");
    assert_says(&error, "abnormal = 3,");
    let planned = spec
        .facts(0.3, &mut FingerprintCache::default())
        .unwrap_err();
    assert_eq!(planned.to_string(), error);
}

#[test]
fn a_folder_without_a_stamp_is_left_alone() {
    let (_folder, mut spec) = folder("0.png", &grey(8, 8));
    spec.generate = Some(generate(5, 2, 1));
    assert!(!spec.prepare(&|_, _| ()).unwrap());
    let facts = spec.facts(0.0, &mut FingerprintCache::default()).unwrap();
    assert_eq!(facts.samples, 2);
}

#[test]
fn textures_have_the_same_bytes_on_every_machine() {
    let digest = |class| blake3::hash(&render(class, 3, 24, 7).pixels).to_hex()[..16].to_owned();
    let digests = [digest(Class::Normal), digest(Class::Abnormal)];
    assert_eq!(digests, ["81a4bed0711767d6", "04bc7a0ed375e792"]);
}

#[test]
fn settings_out_of_range_are_mistakes() {
    let (_folder, good) = folder("0.png", &grey(8, 8));
    let check = |change: fn(&mut ImageFolderSpec), expected: &str| {
        let mut spec = good.clone();
        change(&mut spec);
        let error = spec.open(Seed(1), 0.0).err().unwrap();
        assert_eq!(error.to_string(), expected);
    };
    let channels = "`channels` must be 3 (RGB) or 1 (grey), not 2";
    check(|spec| spec.channels = 2, channels);
    let error = good.open(Seed(1), 1.0).err().unwrap().to_string();
    let fraction = "`validation.fraction` must be at least 0 and less than 1, not 1";
    assert_eq!(error, fraction);
}
