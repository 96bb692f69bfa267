//! Tests of a table in several files.

use std::fs;

use tempfile::TempDir;

use super::super::super::testing::age;
use super::super::super::{CsvGuess, FilePaths, FingerprintCache};
use super::super::tests::{columns, features, table};
use super::super::{CsvSpec, TableSplitSpec};
use crate::base::Seed;

/// A folder with these files (name, content), and a table that consists of the files `path`.
fn of(files: &[(&str, &str)], path: &[&str]) -> (TempDir, CsvSpec) {
    let (folder, mut spec) = table("");
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    spec.path = path.iter().map(|name| folder.path().join(name)).collect();
    (folder, spec)
}

/// The planner's error message, without the folder's path.
fn message(folder: &TempDir, spec: &CsvSpec) -> String {
    let error = spec.facts(&mut FingerprintCache::default()).unwrap_err();
    let folder = format!("{}/", folder.path().display());
    error.to_string().replace(&folder, "")
}

#[test]
fn rows_follow_in_the_order_of_the_files_whose_columns_may_be_in_any_order() {
    let files = [
        ("b/part-2.csv", "y,a,k\n3,30,x\n4,40,y\n"),
        ("a/part-10.csv", "a,k,y\n1,x,10\n"),
        ("b/.part-3.csv", "hidden\n"),
        ("a/part-1.csv", "a,k,y\n5,z,50\n"),
    ];
    let (_folder, mut spec) = of(&files, &["?/part-*.csv"]);
    spec.columns = columns("k = { category = true }");
    let open = spec.open(Seed(1)).unwrap();
    let all = features(&open, &[0, 1, 2, 3]);
    let first: Vec<f32> = all.iter().step_by(4).copied().collect();
    assert_eq!(first, [5.0, 1.0, 30.0, 40.0]);
    let sources: Vec<String> = (0..4).map(|row| open.dataset.source(row)).collect();
    let expected = [
        "a/part-1.csv:0",
        "a/part-10.csv:0",
        "b/part-2.csv:0",
        "b/part-2.csv:1",
    ];
    assert_eq!(sources, expected.map(str::to_owned));
    let guess = CsvGuess::of(&spec.path, true, &[]).unwrap();
    assert_eq!((guess.rows, guess.targets), (4, vec!["y".to_owned()]));
    // Rows follow the order in which the list names the files.
    spec.path = ["b/part-2.csv", "a/part-1.csv"]
        .map(|name| _folder.path().join(name))
        .into_iter()
        .collect();
    let open = spec.open(Seed(1)).unwrap();
    assert_eq!(
        features(&open, &[0, 2]).len(),
        2 * open.dataset.features().len()
    );
    assert_eq!(open.dataset.source(2), "a/part-1.csv:0");
}

#[test]
fn headers_that_differ_are_named_with_their_files_and_columns() {
    let files = [
        ("1.csv", "a,b,y\n1,2,3\n"),
        ("2.csv", "a,c,y\n1,2,3\n"),
        ("3.csv", "a,b,y,d\n1,2,3,4\n"),
        ("4.csv", "y,a\n1,2\n"),
    ];
    let (folder, mut spec) = of(&files, &["*.csv"]);
    // `of` also writes this file, which the pattern `*.csv` would match.
    fs::remove_file(folder.path().join("table.csv")).unwrap();
    assert_eq!(
        message(&folder, &spec),
        "`1.csv` has a header that all files of the table must share; it differs in 3 places: \
         `2.csv`: lacks `b`; has `c` instead; `3.csv`: has `d` as well; `4.csv`: lacks `b`"
    );
    spec.path = FilePaths::from(folder.path().join("1.csv"));
    spec.split = Some(toml::from_str::<TableSplitSpec>("test = [\"1.csv\", \"4.csv\"]").unwrap());
    assert_eq!(
        message(&folder, &spec),
        "`1.csv` has a header that all files of the table must share; it differs in `4.csv`: lacks `b`"
    );
}

#[test]
fn mistakes_name_the_file_and_its_line() {
    let files = [
        ("1.csv", "a,b,y\n1,2,3\n,2,3\n"),
        ("2.csv", "b,y,a\n1,2,3\nx,2,\n"),
        ("3.csv", "a,b,y\n1,x,\n"),
    ];
    let (folder, mut spec) = of(&files, &["1.csv", "2.csv", "3.csv"]);
    assert_eq!(
        message(&folder, &spec),
        "`1.csv`, `2.csv`, `3.csv` are not what the manifest says in 3 places: \
         line 3 of `1.csv`, column 1 (`a`): nothing there, in 2 of 5 rows; \
         line 3 of `2.csv`, column 1 (`b`): `x` is not a number, in 2 of 5 rows; \
         line 2 of `3.csv`, column 3 (`y`): nothing there"
    );
    fs::write(folder.path().join("1.csv"), "a,b,y\n1,2,3\n").unwrap();
    fs::write(folder.path().join("3.csv"), "a,b,y\n1,2,3\n").unwrap();
    assert_eq!(
        message(&folder, &spec),
        "`2.csv` is not what the manifest says in 2 places: line 3, column 3 (`a`): nothing there; \
         line 3, column 1 (`b`): `x` is not a number"
    );
    fs::write(folder.path().join("2.csv"), "a,b,y\n1,2\n").unwrap();
    assert!(message(&folder, &spec).contains("`2.csv` is ragged in line 2"));
    fs::write(folder.path().join("2.csv"), b"a,b,y\n1,2,\xff\n").unwrap();
    assert!(message(&folder, &spec).starts_with("`2.csv` is damaged in line 2: not UTF-8"));
    for name in ["2.csv", "3.csv"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    assert_eq!(
        message(&folder, &spec),
        "cannot read `2.csv`: no such file or directory; cannot read `3.csv`: no such file or directory"
    );
    spec.path = FilePaths::from(folder.path().join("*.tsv"));
    assert_eq!(
        message(&folder, &spec),
        "cannot read `*.tsv`: no file matches this pattern; its folder has `1.csv`, `table.csv`"
    );
    spec.path = FilePaths::default();
    assert_eq!(message(&folder, &spec), "`path` names no file");
}

#[test]
fn a_change_of_any_file_and_a_new_one_are_seen() {
    let (folder, mut spec) = of(
        &[("1.csv", "a,y\n1,2\n"), ("2.csv", "a,y\n3,4\n")],
        &["?.csv"],
    );
    (spec.validation, spec.test) = (0.0, 0.0);
    for name in ["1.csv", "2.csv"] {
        age(&folder.path().join(name), 100);
    }
    let mut cache = FingerprintCache::default();
    let before = spec.facts(&mut cache).unwrap();
    assert_eq!(spec.facts(&mut cache).unwrap(), before);
    fs::write(folder.path().join("2.csv"), "a,y\n3,4\n5,6\n").unwrap();
    let changed = spec.facts(&mut cache).unwrap();
    fs::write(folder.path().join("3.csv"), "a,y\n3,4\n").unwrap();
    let more = spec.facts(&mut cache).unwrap();
    assert_eq!([before.samples, changed.samples, more.samples], [2, 3, 4]);
    assert_ne!(before.fingerprint, changed.fingerprint);
    assert_ne!(changed.fingerprint, more.fingerprint);
}

#[test]
fn held_out_rows_may_be_in_several_files_too() {
    let files = [
        ("1.csv", "a,y\n1,2\n"),
        ("2.csv", "a,y\n3,4\n"),
        ("held/v.csv", "y,a\n6,5\n"),
        ("held/w.csv", "a,y\n"),
        ("t.csv", "a,y\n7,8\n9,10\n"),
    ];
    let (_folder, mut spec) = of(&files, &["1.csv", "2.csv"]);
    let text = "validation = \"held/*.csv\"\ntest = [\"t.csv\", \"1.csv\"]";
    spec.split = Some(toml::from_str(text).unwrap());
    let open = spec.open(Seed(1)).unwrap();
    assert_eq!(open.splits.train, [0, 1]);
    assert_eq!(
        (&*open.splits.validation, &*open.splits.test),
        (&[2][..], &[3, 4, 5][..])
    );
    assert_eq!(features(&open, &[2, 5]), [5.0, 1.0]);
    assert_eq!(open.dataset.source(2), "held/v.csv:0");
    // Serialised as in a checkpoint and a plan file.
    let text = serde_json::to_string(&spec).unwrap();
    assert!(text.contains("\"validation\":\"held/*.csv\""), "{text}");
    assert_eq!(serde_json::from_str::<CsvSpec>(&text).unwrap(), spec);
}
