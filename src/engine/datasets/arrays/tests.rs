use std::fs;
use std::io::{Cursor, Write};

use safetensors::tensor::{TensorView, serialize};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::testing::{age, read, split_sizes};
use super::*;

mod images;
mod mistakes;
mod new_data;

/// Content of a `.npy` file in C order.
fn npy(descr: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    ordered(descr, "False", shape, bytes)
}

fn ordered(descr: &str, fortran: &str, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    let header = format!(
        "{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {}, }}",
        array::shape_text(shape)
    );
    let header = format!("{header:<117}\n");
    [
        b"\x93NUMPY\x01\x00",
        &(header.len() as u16).to_le_bytes()[..],
        header.as_bytes(),
        bytes,
    ]
    .concat()
}

fn floats(shape: &[usize], values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
    npy("<f4", shape, &bytes)
}

fn ints(values: impl IntoIterator<Item = i64>) -> Vec<u8> {
    let bytes: Vec<u8> = values.into_iter().flat_map(i64::to_le_bytes).collect();
    npy("<i8", &[bytes.len() / 8], &bytes)
}

fn npz(entries: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in entries {
        archive.start_file(format!("{name}.npy"), options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn spec(settings: &str) -> ArraysSpec {
    toml::from_str(settings).unwrap()
}

/// A folder with `x.npy` and `y.npy`, and its dataset with these additional settings.
fn folder(x: &[u8], y: &[u8], settings: &str) -> (TempDir, ArraysSpec) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.npy"), x).unwrap();
    fs::write(folder.path().join("y.npy"), y).unwrap();
    let spec = spec(&format!("x = \"x.npy\"\ny = \"y.npy\"\n{settings}"));
    let path = folder.path().to_owned();
    (folder, ArraysSpec { path, ..spec })
}

/// A folder with one file, and its dataset with these settings.
fn file(name: &str, bytes: &[u8], settings: &str) -> (TempDir, ArraysSpec) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    let spec = ArraysSpec {
        path,
        ..spec(settings)
    };
    (folder, spec)
}

fn facts(spec: &ArraysSpec) -> Result<DatasetFacts, DatasetError> {
    spec.facts(&mut FingerprintCache::default())
}

/// Form of the features, features, numeric targets and classes of all rows. Checks that the planner reports the same
/// forms.
fn all(spec: &ArraysSpec) -> (Features, Vec<f32>, Vec<f32>, Vec<u32>) {
    let (open, facts) = (spec.open(Seed(1)).unwrap(), facts(spec).unwrap());
    let dataset = &*open.dataset;
    assert_eq!(facts.features, dataset.features());
    assert_eq!(facts.target, dataset.target());
    let rows: Vec<u32> = (0..dataset.rows() as u32).collect();
    let (features, values, labels) = read(dataset, &rows);
    (dataset.features(), features, values, labels)
}

#[test]
fn rows_are_split_by_the_seed_and_normalised_by_the_training_rows() {
    let x = floats(&[20, 2], (0..40).map(|at| (at * at % 23) as f32));
    let (_folder, spec) = folder(&x, &floats(&[20], (0..20).map(|at| at as f32)), "");
    assert_eq!(split_sizes(&facts(&spec).unwrap()), [14, 3, 3]);
    let open = spec.open(Seed(1)).unwrap();
    let splits = &open.splits;
    assert_eq!(splits, &Splits::random(20, [3, 3], Seed(1)));
    assert_ne!(splits, &spec.open(Seed(2)).unwrap().splits);
    let numbers: Vec<f32> = (0..40).map(|at| (at * at % 23) as f32).collect();
    let normalisation = open.dataset.normalisation();
    let of_features = scales(&numbers, 2, &splits.train, 1.0);
    assert_eq!(normalisation.features, of_features);
    let (_, values, _) = read(&*open.dataset, &splits.train);
    assert!(values.iter().sum::<f32>().abs() < 1e-5);
    assert_eq!(open.dataset.source(7), "7");
    assert!(spec.predicts_numbers());
}

#[test]
fn whole_numbers_are_classes_up_to_the_largest() {
    let x = floats(&[20, 1], (0..20).map(|at| at as f32));
    let y = ints((0..20).map(|at| [0, 3][at % 2]));
    let settings = "normalise = false\nvalidation = 0.2\ntest = 0.3";
    let (_folder, spec) = folder(&x, &y, settings);
    let open = spec.open(Seed(4)).unwrap();
    assert_eq!(open.dataset.class_names(), ["0", "1", "2", "3"]);
    assert_eq!(facts(&spec).unwrap().target, Target::Class { classes: 4 });
    let of_class = |rows: &[u32]| rows.iter().filter(|row| *row % 2 == 1).count();
    assert_eq!(open.splits.sizes(), [10, 4, 6]);
    let splits = [
        &open.splits.train,
        &open.splits.validation,
        &open.splits.test,
    ];
    assert_eq!(splits.map(|rows| of_class(rows)), [5, 2, 3]);
    assert_eq!(
        read(&*open.dataset, &[3, 4]),
        (vec![3.0, 4.0], vec![], vec![3, 0])
    );
    assert!(open.dataset.normalisation().is_empty());
    assert!(!spec.predicts_numbers());
}

#[test]
fn several_numbers_are_predicted() {
    let x = floats(&[4, 1], [0.0; 4]);
    let y = floats(&[4, 2], (0..8).map(|at| at as f32));
    let (_folder, spec) = folder(&x, &y, "normalise = false\nvalidation = 0\ntest = 0");
    let (_, _, values, _) = all(&spec);
    assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    let (_folder, spec) = folder(&x, &y, "");
    let scales = spec.open(Seed(1)).unwrap().dataset.normalisation();
    assert_eq!(scales.targets.len(), 2);
}

#[test]
fn every_type_of_numbers_is_read() {
    // Bytes: numpy.array([0, 1, 100], dtype).tobytes(); for bfloat16 torch.tensor([0, 1, 100], dtype=torch.bfloat16)
    let cases: [(&str, &[u8]); 11] = [
        ("|u1", &[0, 1, 100]),
        ("|i1", &[0, 1, 100]),
        ("<u2", &[0, 0, 1, 0, 100, 0]),
        ("<i2", &[0, 0, 1, 0, 100, 0]),
        ("<u4", &[0, 0, 0, 0, 1, 0, 0, 0, 100, 0, 0, 0]),
        ("<i4", &[0, 0, 0, 0, 1, 0, 0, 0, 100, 0, 0, 0]),
        (
            "<u8",
            &[
                0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0,
            ],
        ),
        (
            "<i8",
            &[
                0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0,
            ],
        ),
        ("<f2", &[0, 0, 0, 60, 64, 86]),
        ("<f4", &[0, 0, 0, 0, 0, 0, 128, 63, 0, 0, 200, 66]),
        (
            "<f8",
            &[
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 240, 63, 0, 0, 0, 0, 0, 0, 89, 64,
            ],
        ),
    ];
    let settings = "normalise = false\nvalidation = 0\ntest = 0";
    for (descr, bytes) in cases {
        let x = npy(descr, &[3, 1], bytes);
        let y = npy(descr, &[3], bytes);
        let (_folder, spec) = folder(&x, &y, settings);
        let (_, features, values, labels) = all(&spec);
        assert_eq!(features, [0.0, 1.0, 100.0], "{descr}");
        if descr.contains('f') {
            assert_eq!(values, [0.0, 1.0, 100.0], "{descr}");
        } else {
            assert_eq!(labels, [0, 1, 100], "{descr}");
        }
    }
    let (x, y) = (npy("|b1", &[2, 1], &[1, 0]), npy("|b1", &[2], &[0, 1]));
    let (_folder, spec) = folder(&x, &y, settings);
    assert_eq!(
        all(&spec),
        (
            Features::Vector { len: 1 },
            vec![1.0, 0.0],
            vec![],
            vec![0, 1]
        )
    );
    let bf16 = array::Array {
        dtype: Dtype::BF16,
        shape: vec![3],
        bytes: vec![0, 0, 128, 63, 200, 66],
    };
    assert_eq!(bf16.floats().unwrap(), [0.0, 1.0, 100.0]);
}

#[test]
fn a_file_that_numpy_wrote_is_read_in_both_orders() {
    // Files of NumPy 2: numpy.save(file, numpy.array([[1, 2, 3], [4, 5, 6]], "u1")), and of numpy.asfortranarray of it
    for (fortran, bytes) in [("False", [1, 2, 3, 4, 5, 6]), ("True", [1, 4, 2, 5, 3, 6])] {
        let header = format!("{{'descr': '|u1', 'fortran_order': {fortran}, 'shape': (2, 3), }}");
        let header = format!("v\0{header:<117}\n");
        let file = [b"\x93NUMPY\x01\x00", header.as_bytes(), &bytes].concat();
        let array = npy::array(&mut &file[..], 0).unwrap();
        assert_eq!(array.shape, [2, 3]);
        assert_eq!(array.bytes, [1, 2, 3, 4, 5, 6], "{fortran}");
    }
    // Bytes: numpy.arange(24, dtype="<u2").reshape(2, 3, 4).tobytes("F")
    let place = |at: u16| at % 2 * 12 + at / 2 % 3 * 4 + at / 6;
    let bytes: Vec<u8> = (0..24).flat_map(|at| place(at).to_le_bytes()).collect();
    let file = ordered("<u2", "True", &[2, 3, 4], &bytes);
    let array = npy::array(&mut &file[..], 0).unwrap();
    assert_eq!(
        array.floats().unwrap(),
        (0..24).map(|at| at as f32).collect::<Vec<_>>()
    );
    // Version 2 of the format has a header length of 4 bytes; Python 2 wrote `2L`.
    let header = b"{\"shape\": (2L,), \"fortran_order\": False, \"descr\": \"|i1\"}        \n";
    let length = (header.len() as u32).to_le_bytes();
    let mut file = [b"\x93NUMPY\x02\x00", &length[..], header].concat();
    file.extend([1, 255]);
    assert_eq!(
        npy::array(&mut &file[..], 0).unwrap().floats().unwrap(),
        [1.0, -1.0]
    );
}

#[test]
fn one_file_has_both_arrays() {
    let (x, y) = (floats(&[2, 1], [1.0, 2.0]), ints([0, 1]));
    let settings = "normalise = false\nvalidation = 0\ntest = 0";
    let expected = (
        Features::Vector { len: 1 },
        vec![1.0, 2.0],
        vec![],
        vec![0, 1],
    );
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = npz(&[("x", &x), ("y", &y)], method);
        assert_eq!(all(&file("data.npz", &bytes, settings).1), expected);
        let bytes = npz(&[("images", &x), ("y", &y)], method);
        let (_folder, spec) = file("data.npz", &bytes, &format!("x = \"images\"\n{settings}"));
        assert_eq!(all(&spec), expected);
        assert!(!spec.predicts_numbers());
    }
    let bytes = [1.0_f32, 2.0].map(f32::to_le_bytes).concat();
    let tensor = |dtype, shape, bytes| TensorView::new(dtype, shape, bytes).unwrap();
    let tensors = [
        ("x", tensor(Dtype::F32, vec![2, 1], &bytes)),
        ("y", tensor(Dtype::U8, vec![2], &[0, 1])),
        ("z", tensor(Dtype::F32, vec![2], &bytes)),
    ];
    let bytes = serialize(tensors, None).unwrap();
    let (_folder, spec) = file("data.safetensors", &bytes, settings);
    assert_eq!(all(&spec), expected);
    assert!(!spec.predicts_numbers());
    let (_folder, spec) = file(
        "data.safetensors",
        &bytes,
        &format!("y = \"z\"\n{settings}"),
    );
    assert!(spec.predicts_numbers());
    assert_eq!(all(&spec).2, [1.0, 2.0]);
}

#[test]
fn another_byte_is_another_fingerprint_and_facts_are_kept() {
    let (x, y) = (floats(&[9, 1], [0.5; 9]), ints([0, 1, 0, 1, 0, 1, 0, 1, 2]));
    let (folder, spec) = folder(&x, &y, "");
    let mut cache = FingerprintCache::default();
    age(&folder.path().join("y.npy"), 100);
    let before = spec.facts(&mut cache).unwrap();
    assert_eq!(spec.facts(&mut cache).unwrap(), before);
    assert_eq!(before.target, Target::Class { classes: 3 });
    fs::write(folder.path().join("x.npy"), floats(&[9, 1], [0.25; 9])).unwrap();
    assert_ne!(
        spec.facts(&mut cache).unwrap().fingerprint,
        before.fingerprint
    );
}
