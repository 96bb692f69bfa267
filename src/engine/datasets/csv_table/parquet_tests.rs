//! Parquet files as pandas and pyarrow write them (`tests/reference/tables/parquet.py`), and damaged ones.

use std::fs;
use std::path::{Path, PathBuf};

use rand::Rng;

use super::super::{CsvGuess, FingerprintCache};
use super::tests::{columns, features, table};
use super::*;
use crate::base::Purpose;
use crate::testing::assert_says;

fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference/tables");
    folder.join(format!("{name}.parquet"))
}

/// The table in this file, as a manifest would describe it.
fn of(path: &Path) -> CsvSpec {
    let (_, mut spec) = table("");
    spec.path = path.to_owned().into();
    let numbers = ["i32", "f32", "price"].map(|name| format!("{name} = {{ fill = -1.0 }}\n"));
    let times =
        ["ms", "us", "ns"].map(|name| format!("{name} = {{ date = \"%Y-%m-%d %H:%M:%S\" }}\n"));
    spec.columns = columns(&format!(
        "{}{}day = {{ date = \"%Y-%m-%d\", fill = -1.0 }}\nflag = {{ category = true }}\n\
         city = {{ category = true, missing = \"kind\" }}",
        numbers.concat(),
        times.concat()
    ));
    (spec.validation, spec.test) = (0.0, 0.0);
    spec
}

#[test]
fn values_are_those_that_pandas_reads() {
    let expected = fs::read_to_string(path("x").with_file_name("features.csv")).unwrap();
    let expected = expected.lines().flat_map(|line| line.split(','));
    let expected: Vec<f32> = expected.map(|text| text.parse().unwrap()).collect();
    for name in ["snappy", "zstd", "gzip"] {
        let open = of(&path(name)).open(Seed(1)).unwrap();
        assert_eq!(open.dataset.rows(), 150, "{name}");
        let rows: Vec<u32> = (0..150).collect();
        let found = features(&open, &rows);
        assert_eq!(found.len(), expected.len(), "{name}");
        let width = found.len() / 150;
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let near = (found - expected).abs() <= 1e-6 * expected.abs();
            assert!(
                near,
                "{name}, row {}, feature {}: {found} and {expected}",
                place / width,
                place % width
            );
        }
    }
}

#[test]
fn mistakes_name_the_row_and_columns_that_a_table_has_not() {
    let message = |spec: &CsvSpec| {
        let folder = format!("{}/", path("x").parent().unwrap().display());
        let error = spec.facts(&mut FingerprintCache::default()).unwrap_err();
        error.to_string().replace(&folder, "")
    };
    let mut spec = of(&path("snappy"));
    spec.columns.remove("day");
    spec.columns.remove("i32");
    let text = message(&spec);
    assert!(text.contains("column 13 (`day`): `"), "{text}");
    assert_says(&text, "column 2 (`i32`): nothing there, in ");
    assert!(
        text.contains("row 0, column 13") || text.contains("row 1, column 13"),
        "{text}"
    );
    assert_eq!(
        message(&of(&path("nested"))),
        "`nested.parquet` has columns that a table has not: `list` (nested), `pair` (nested); write it without them, or as numbers and texts"
    );
    let guess = CsvGuess::of(&path("snappy").into(), true, &["y".to_owned()]).unwrap();
    assert_eq!((guess.rows, &*guess.targets[0]), (150, "y"));
    let entry = |name: &str| {
        guess
            .columns
            .iter()
            .find(|one| one.name == name)
            .map(|one| &*one.entry)
    };
    assert_eq!(entry("us"), Some("{ date = \"%Y-%m-%d %H:%M:%S\" }"));
    assert_eq!(
        entry("day"),
        Some("{ date = \"%Y-%m-%d\", missing = \"median\" }")
    );
    assert_eq!(
        entry("city"),
        Some("{ category = true, missing = \"kind\" }")
    );
}

#[test]
fn damaged_files_are_mistakes() {
    let whole = fs::read(path("snappy")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.parquet");
    let mut random = Seed(3).stream(Purpose::Noise);
    let mut refused = 0;
    for case in 0..400 {
        let mut bytes = whole.clone();
        if case % 4 == 0 {
            bytes.truncate(random.gen_range(4..whole.len()));
        } else {
            for _ in 0..4 {
                // In the odd cases the changes are in the last 4000 bytes, which have the metadata.
                let from = if case % 2 == 0 { 4 } else { whole.len() - 4000 };
                bytes[random.gen_range(from..whole.len())] = random.r#gen();
            }
        }
        fs::write(&file, bytes).unwrap();
        refused += usize::from(of(&file).open(Seed(1)).is_err());
    }
    assert!(refused > 200, "{refused}");
}
