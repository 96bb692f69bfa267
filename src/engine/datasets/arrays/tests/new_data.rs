//! Tests of new arrays for a trained model.

use std::path::Path;

use super::super::super::DatasetSpec;
use super::super::super::testing::new_data;
use super::*;

/// Features, numeric targets and classes of the new data `path`, for a model trained on `spec`.
fn rows(spec: &ArraysSpec, path: &Path, wants_target: bool) -> Result<[Vec<f32>; 3], String> {
    let kind = DatasetSpec::Arrays(spec.clone());
    let found = new_data(&kind, path, wants_target);
    let (found, _) = found.map_err(|error| error.to_string())?;
    let labels = found.labels.iter().map(|label| *label as f32);
    Ok([found.features, found.values, labels.collect()])
}

#[test]
fn new_rows_are_prepared_like_the_training_rows() {
    let x = floats(&[20, 2], (0..40).map(|at| (at * at % 23) as f32));
    let y = floats(&[20], (0..20).map(|at| at as f32));
    let (folder, spec) = folder(&x, &y, "");
    let open = spec.open(Seed(1)).unwrap();
    let expected = read(&*open.dataset, &(0..20).collect::<Vec<u32>>());
    let alone = rows(&spec, &folder.path().join("x.npy"), false).unwrap();
    assert_eq!(alone, [expected.0.clone(), vec![0.0; 20], vec![0.0; 20]]);
    let with_targets = [expected.0, expected.1, vec![0.0; 20]];
    assert_eq!(rows(&spec, folder.path(), true).unwrap(), with_targets);
    let archive = folder.path().join("new.npz");
    let bytes = npz(&[("x", &x), ("y", &y)], CompressionMethod::Deflated);
    fs::write(&archive, bytes).unwrap();
    assert_eq!(rows(&spec, &archive, true).unwrap(), with_targets);
    // Rows of numbers may have another numeric type than the training rows.
    let whole = folder.path().join("whole.npy");
    fs::write(&whole, npy("|u1", &[1, 2], &[0, 1])).unwrap();
    assert_eq!(rows(&spec, &whole, false).unwrap()[0], with_targets[0][..2]);
}

#[test]
fn new_images_are_scaled() {
    let x = npy("|u1", &[2, 1, 2, 2], &[0, 255, 51, 0, 1, 2, 3, 4]);
    let settings = "validation = 0\ntest = 0";
    let (folder, spec) = folder(&x, &ints([0, 1]), settings);
    let found = rows(&spec, folder.path(), true).unwrap();
    assert_eq!(found[0][..3], [-1.0, 1.0, 51.0 / 127.5 - 1.0]);
    assert_eq!(found[2], [0.0, 1.0]);
    let new = folder.path().join("new.npy");
    fs::write(&new, floats(&[1, 2, 2], [0.0; 4])).unwrap();
    let text = rows(&spec, &new, false).unwrap_err();
    assert!(text.contains("was trained on pixels of 8 bits"), "{text}");
}

#[test]
fn what_does_not_fit_the_model_is_a_sentence() {
    let (folder, spec) = folder(
        &floats(&[9, 2], [0.5; 18]),
        &ints([0, 1, 0, 1, 0, 1, 0, 1, 0]),
        "",
    );
    let path = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let both = |x: &[u8], y: &[u8]| npz(&[("x", x), ("y", y)], CompressionMethod::Stored);
    let x = floats(&[2, 2], [0.0; 4]);
    let cases = [
        (
            path("a.npy", &floats(&[2, 3], [0.0; 6])),
            false,
            "the model reads rows of 2 numbers, and it has rows of 3 numbers",
        ),
        (
            path("b.npy", &floats(&[2, 2, 3], [0.0; 12])),
            false,
            "and it has images of 2 × 3 pixels with 1 channels",
        ),
        (
            path("c.npy", &x),
            true,
            "has features alone: to evaluate, give a `.npz`",
        ),
        (
            path("d.txt", b""),
            false,
            "is no `.npy`, `.npz` or `.safetensors` file",
        ),
        (
            path("e.npz", &both(&x, &ints([0, 5]))),
            true,
            "it has the class 5 at index [1], and the model knows 0 to 1",
        ),
        (
            path("f.npz", &both(&x, &floats(&[2], [0.0; 2]))),
            true,
            "predicts classes (whole numbers), and it has a number",
        ),
        (
            path("g.npz", &both(&x, &ints([0, 1, 0]))),
            true,
            "it has 3 rows, and `x` has 2",
        ),
        (path("h.npy", &floats(&[0, 2], [])), false, "it has 0 rows"),
        (
            path("i.npy", &floats(&[1, 2], [0.0, f32::NAN])),
            false,
            "1 of its 2 values is NaN",
        ),
    ];
    for (path, wants_target, expected) in cases {
        let text = rows(&spec, &path, wants_target).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
}
