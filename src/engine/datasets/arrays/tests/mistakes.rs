//! Tests of the messages about wrong files, shapes and settings.

use super::*;
use crate::testing::{assert_begins, assert_says};

/// The planner's message, without the folder's path. Checks that opening the dataset gives this message or a part of
/// it.
fn message(spec: &ArraysSpec) -> String {
    let error = facts(spec).unwrap_err().to_string();
    let opened = spec.open(Seed(1)).err().unwrap().to_string();
    assert!(error.contains(&opened), "{error}\n{opened}");
    let folder = if spec.path.is_dir() {
        spec.path.clone()
    } else {
        spec.path.parent().unwrap().to_owned()
    };
    error.replace(&format!("{}/", folder.display()), "")
}

/// The message about an invalid array `x`, beside a valid `y` of two rows.
fn of_x(x: &[u8], settings: &str) -> String {
    let (_folder, spec) = folder(x, &ints([0, 1]), settings);
    let text = message(&spec);
    let start = "`x.npy` has mistakes: ";
    text.strip_prefix(start).unwrap_or(&text).to_owned()
}

#[test]
fn values_that_are_not_finite_are_counted_and_the_first_is_named() {
    let x = floats(&[2, 3], [0.0, 1.0, 2.0, f32::NAN, 0.0, f32::INFINITY]);
    let y = floats(&[2], [0.0, f32::NEG_INFINITY]);
    let (_folder, spec) = folder(&x, &y, "");
    assert_eq!(
        message(&spec),
        "`x.npy` has mistakes: 2 of its 6 values are NaN, infinite or too large for f32, the first at index [1, 0]; \
         `y.npy` has mistakes: 1 of its 2 values is NaN, infinite or too large for f32, the first at index [1]"
    );
    let large = npy(
        "<f8",
        &[2, 1],
        &[1e300_f64, 0.0].map(f64::to_le_bytes).concat(),
    );
    assert!(of_x(&large, "").starts_with("1 of its 2 values is NaN, infinite or too large"));
    let both = npz(&[("x", &x), ("y", &y)], CompressionMethod::Stored);
    let (_folder, spec) = file("data.npz", &both, "");
    let error = facts(&spec).unwrap_err().to_string();
    assert_says(&error, "has mistakes in 2 places: array `x`: 2 of its 6");
    assert!(error.contains("array `y`: 1 of its 2 values"), "{error}");
}

#[test]
fn damaged_files_are_sentences() {
    let whole = floats(&[2, 1], [1.0, 2.0]);
    let long = [&whole[..], &[0]].concat();
    let text = b"\x93NUMPY\x01\x00\x05\x00hello";
    let cases = [
        (&whole[..whole.len() - 3], "its values end 3 bytes early"),
        (&long, "there are more values than its header says"),
        (&whole[..40], "it ends within its header"),
        (b"", "it ends within its header"),
        (
            b"PK\x03\x04 and more",
            "it is not in the `.npy` format: it does not begin with `\\x93NUMPY`",
        ),
        (
            b"\x93NUMPY\x09\x00\x00\x00",
            "its format has the version 9, not 1, 2 or 3",
        ),
        (
            b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
            "its header of 4294967295 bytes is longer than 65536",
        ),
        (
            text,
            "its header `hello` is no dictionary of `descr`, `fortran_order` and `shape`",
        ),
        (
            &npy("<f4", &[1 << 40, 1 << 40], &[]),
            "its shape (1099511627776, 1099511627776) is larger than memory",
        ),
        (
            &npy("<f4", &[1 << 40, 1], &[0; 4]),
            "its values end 4398046511100 bytes early",
        ),
        (
            &npy(">f4", &[2, 1], &[0; 8]),
            "its values are big-endian (`>f4`): save `x.astype(\"<f4\")`",
        ),
        (
            &npy("|O", &[2, 1], &[0; 8]),
            "it has Python objects, which are not read: save an array of numbers",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(of_x(bytes, ""), expected);
    }
    assert!(
        of_x(&npy("<U3", &[2, 1], &[0; 24]), "").starts_with("its values are of the type `<U3`")
    );
    let fields = b"\x93NUMPY\x01\x00\x50\x00{'descr': [('a', '<f4'), ('b', '<f4')], 'fortran_order': False, 'shape': (2,), }  ";
    assert!(of_x(fields, "").starts_with("it has fields of several types"));
    let lacks = b"\x93NUMPY\x01\x00\x13\x00{'descr': '<f4', } ";
    assert!(
        of_x(lacks, "").starts_with("its header `{'descr': '<f4', }` is no dictionary"),
        "{}",
        of_x(lacks, "")
    );
}

#[test]
fn damaged_archives_are_sentences() {
    let (x, y) = (floats(&[2, 1], [1.0, 2.0]), ints([0, 1]));
    let of = |bytes: &[u8]| {
        let (_folder, spec) = file("data.npz", bytes, "");
        facts(&spec).unwrap_err().to_string()
    };
    let whole = npz(&[("x", &x), ("y", &y)], CompressionMethod::Stored);
    for end in [0, 10, whole.len() / 2, whole.len() - 5] {
        let text = of(&whole[..end]);
        assert_says(&text, "not a `.npz` file, a ZIP archive of `.npy` files: ");
    }
    let mut other = whole.clone();
    // Changes a byte of the last value of `x`, so that its checksum is wrong.
    let place = whole
        .windows(4)
        .position(|four| four == 2.0_f32.to_le_bytes())
        .unwrap();
    other[place + 2] ^= 1;
    assert_says(of(&other), "in array `x`: Invalid checksum");
    let named = of(&npz(&[("a", &x), ("b", &y)], CompressionMethod::Stored));
    assert_says(
        &named,
        "there is no array `x`; it has `a`, `b`: say which by `x`",
    );
    assert!(named.contains("there is no array `y`; it has"), "{named}");
    let (_folder, spec) = file("data.safetensors", &whole, "");
    assert_begins(message(&spec), "`data.safetensors` is damaged");
}

#[test]
fn shapes_that_say_nothing_are_sentences() {
    let x = |shape: &[usize]| npy("|u1", shape, &vec![0; shape.iter().product()]);
    let cases = [
        (
            &[2][..],
            "",
            "its shape is (2,), one number a row: save `x.reshape(-1, 1)`",
        ),
        (
            &[2, 0],
            "",
            "its shape is (2, 0); rows of numbers are (N, F), images",
        ),
        (&[], "", "its shape is (); rows of numbers"),
        (
            &[2, 1, 1, 1, 1],
            "",
            "its shape is (2, 1, 1, 1, 1); rows of numbers",
        ),
        (
            &[2, 3, 4, 3],
            "",
            "write `layout = \"nchw\"` or `layout = \"nhwc\"`",
        ),
        (
            &[2, 5, 4, 2],
            "",
            "is neither (N, C, H, W) nor (N, H, W, C) with 1 or 3 channels",
        ),
        (
            &[2, 5, 4, 3],
            "layout = \"nchw\"",
            "images of 5 channels: 1 and 3 can be read",
        ),
        (
            &[2, 4, 0],
            "",
            "images of 4 × 0 pixels: each side can be from 1 to 16384",
        ),
        (
            &[2, 4, 3],
            "layout = \"nhwc\"",
            "`layout` is for images with channels",
        ),
        (&[0, 3], "", "it has 0 rows, and"),
    ];
    for (shape, settings, expected) in cases {
        let text = of_x(&x(shape), settings);
        assert!(
            text.contains(expected) || text.contains("and `x` has 0"),
            "{text}"
        );
    }
}

#[test]
fn targets_that_do_not_fit_are_sentences() {
    let one = floats(&[2, 1], [0.0; 2]);
    let cases = [
        (ints([0, 1, 2]), "it has 3 rows, and `x` has 2"),
        (
            npy("|u1", &[2, 1], &[0, 1]),
            "whole numbers are classes, (N,): save `y.ravel()`",
        ),
        (
            floats(&[2, 1, 1], [0.0; 2]),
            "its shape is (2, 1, 1); numbers to predict are (N,) or (N, T)",
        ),
        (
            ints([0, -1]),
            "1 of 2 are not, the first -1 at index [1]: number classes from 0",
        ),
        (ints([0, 1 << 40]), "the first 1099511627776 at index [1]"),
    ];
    for (y, expected) in cases {
        let (_folder, spec) = folder(&one, &y, "");
        assert!(message(&spec).contains(expected), "{}", message(&spec));
    }
    let (_folder, spec) = folder(&floats(&[0, 1], []), &ints([]), "");
    assert_says(message(&spec), "it has 0 rows; from 1 to");
}

#[test]
fn settings_that_do_not_fit_are_sentences() {
    let one = floats(&[2, 1], [0.0; 2]);
    let cases = [
        (
            "validation = 0.5\ntest = 0.5",
            "`validation` and `test` must be at least 0",
        ),
        (
            "augment = {}",
            "`augment` changes images of 8 bits, an `x` of `uint8`",
        ),
    ];
    for (settings, expected) in cases {
        let (_folder, spec) = folder(&one, &ints([0, 1]), settings);
        assert!(message(&spec).contains(expected), "{}", message(&spec));
    }
    let places = |settings: &str| spec(settings).places().unwrap_err().to_string();
    assert!(places("").starts_with("`x` is no `.npy` file: `path` names"));
    assert!(places("x = \"a.npy\"").starts_with("`y` is no `.npy` file"));
    assert!(places("path = \"x.npy\"").starts_with("`path` is a `.npz` or `.safetensors` file"));
    let (folder, spec) = folder(&one, &ints([0, 1]), "");
    fs::remove_file(folder.path().join("x.npy")).unwrap();
    fs::remove_file(folder.path().join("y.npy")).unwrap();
    assert_eq!(
        message(&spec),
        "cannot read `x.npy`: no such file or directory; cannot read `y.npy`: no such file or directory"
    );
}
