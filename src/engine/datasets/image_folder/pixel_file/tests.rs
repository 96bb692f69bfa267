use std::time::{Duration, SystemTime};

use super::*;
use crate::datasets::testing::age;

const WHOLE: StoredFormat = StoredFormat {
    size: None,
    decoding: DecodeOptions {
        channels: 3,
        is_upright: false,
    },
};
const SMALL: StoredFormat = StoredFormat {
    size: Some(Size::square(2)),
    ..WHOLE
};

/// Two image files, written so long ago that every change alters their modification times.
fn images(folder: &Path) -> Vec<PathBuf> {
    let path = |name: &str| folder.join(name);
    let written = [("a.png", [1, 2, 3]), ("b.png", [4, 5, 6])].map(|(name, color)| {
        write_image(&path(name), color);
        path(name)
    });
    written.to_vec()
}

fn write_image(path: &Path, color: [u8; 3]) {
    let bytes = crate::base::png::encode(4, 2, &color.repeat(8)).unwrap();
    fs::write(path, bytes).unwrap();
    age(path, 60);
}

/// All files in the cache folder.
fn kept(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_second_run_reads_what_the_first_has_decoded() {
    let folder = tempfile::tempdir().unwrap();
    let (files, cache) = (images(folder.path()), folder.path().join("cache"));
    let first = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
    let names = kept(&cache);
    assert_eq!(names.len(), 1);
    let written = fs::metadata(&names[0]).unwrap().modified().unwrap();
    let second = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
    for (row, path) in files.iter().enumerate() {
        let image = decode(path, WHOLE.decoding).unwrap();
        assert_eq!(first.image(row), Some(image.clone()));
        assert_eq!(second.image(row), Some(image));
    }
    let now = fs::metadata(&names[0]).unwrap().modified().unwrap();
    assert_eq!((kept(&cache), now), (names, written));
}

#[test]
fn resized_images_have_a_file_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let (files, cache) = (images(folder.path()), folder.path().join("cache"));
    let whole = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
    let small = PixelFile::open_or_write(&cache, &files, SMALL).unwrap();
    assert_eq!(
        whole.image(1).map(|image| (image.width, image.height)),
        Some((4, 2))
    );
    assert_eq!(small.image(1).unwrap().pixels, [4, 5, 6].repeat(4));
    assert_eq!(kept(&cache).len(), 2);
    let decoded = |channels, is_upright| StoredFormat {
        decoding: DecodeOptions {
            channels,
            is_upright,
        },
        ..SMALL
    };
    let (grey, upright) = (decoded(1, false), decoded(3, true));
    let (one, other) = ((1, 2), (2, 1));
    let of = |(height, width)| StoredFormat {
        size: Some(Size { height, width }),
        ..SMALL
    };
    for form in [grey, upright, of(one), of(other)] {
        PixelFile::open_or_write(&cache, &files, form).unwrap();
    }
    assert_eq!(kept(&cache).len(), 6);
    let grey = PixelFile::open_or_write(&cache, &files, grey).unwrap();
    assert_eq!(grey.image(1).unwrap().pixels, [5; 4]);
    assert_eq!(
        [WHOLE, SMALL].map(StoredFormat::text),
        ["None", "Some(2)"],
        "files of earlier versions are replaced"
    );
}

#[test]
fn a_stale_file_is_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (files, cache) = (images(folder.path()), folder.path().join("cache"));
    drop(PixelFile::open_or_write(&cache, &files, WHOLE).unwrap());
    write_image(&files[0], [9, 9, 9]);
    age(&files[0], 30);
    let now = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
    assert_eq!(now.image(0).unwrap().pixels, [9; 24]);
    assert_eq!(kept(&cache).len(), 1);
}

#[test]
fn what_was_written_just_now_is_not_kept_for_others() {
    let folder = tempfile::tempdir().unwrap();
    let (files, cache) = (images(folder.path()), folder.path().join("cache"));
    // A modification time in one hour is never old enough, even if the test is slow.
    let file = File::options().write(true).open(&files[1]).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_hours(1))
        .unwrap();
    let now = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
    assert_eq!(now.image(1).unwrap().pixels, [4, 5, 6].repeat(8));
    assert_eq!(kept(&cache).len(), 0);
}

#[test]
fn a_damaged_image_is_never_given_out_and_a_damaged_index_is_rebuilt() {
    let folder = tempfile::tempdir().unwrap();
    let (files, cache) = (images(folder.path()), folder.path().join("cache"));
    drop(PixelFile::open_or_write(&cache, &files, WHOLE).unwrap());
    let path = kept(&cache).remove(0);
    let good = fs::read(&path).unwrap();
    for byte in 0..good.len() {
        let mut bytes = good.clone();
        bytes[byte] ^= 0x40;
        fs::write(&path, &bytes).unwrap();
        let file = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
        for (row, color) in [[1, 2, 3], [4, 5, 6]].iter().enumerate() {
            let image = file.image(row);
            let is_right = |image: Image| image.pixels == color.repeat(8);
            assert!(image.is_none_or(is_right), "byte {byte}");
        }
    }
    for length in 0..good.len() {
        fs::write(&path, &good[..length]).unwrap();
        let file = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
        let first = file.image(0);
        assert!(first.is_none_or(|image| image.pixels == [1, 2, 3].repeat(8)));
    }
}

#[test]
fn many_at_once_leave_one_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    let (files, cache) = (images(folder.path()), folder.path().join("cache"));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let file = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
                assert_eq!(file.image(1).unwrap().pixels, [4, 5, 6].repeat(8));
            });
        }
    });
    assert_eq!(kept(&cache).len(), 1);
}

#[test]
fn an_image_that_cannot_be_decoded_has_no_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let (files, cache) = (images(folder.path()), folder.path().join("cache"));
    fs::write(&files[0], b"\x89PNG\r\n\x1a\nno").unwrap();
    let file = PixelFile::open_or_write(&cache, &files, WHOLE).unwrap();
    assert_eq!(file.image(0), None);
    assert!(file.image(1).is_some());
}
