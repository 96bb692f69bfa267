//! Prepared features compared with those of scikit-learn for the same tables (`tests/fixtures/tables/prepare.py`).

use std::fs;
use std::path::Path;

use super::tests::features;
use super::*;

/// Opens a table of the fixtures with the settings `manifest`, and compares every feature of every row.
fn compare(name: &str, manifest: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/tables");
    let mut spec: CsvSpec = toml::from_str(manifest).unwrap();
    spec.path = folder.join(format!("{name}.csv")).into();
    let open = spec.open(Seed(1)).unwrap();
    let width = open.dataset.features().len();
    let expected = fs::read_to_string(folder.join(format!("{name}.prepared.csv"))).unwrap();
    let mut rows = 0;
    for (row, line) in (0..).zip(expected.lines()) {
        let expected: Vec<f32> = line.split(',').map(|text| text.parse().unwrap()).collect();
        let found = features(&open, &[row]);
        assert_eq!(expected.len(), width, "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            let difference = (found - expected).abs();
            assert!(
                difference <= 1e-6,
                "{name}, row {row}: {found} and {expected}"
            );
        }
        rows += 1;
    }
    assert_eq!(rows, open.dataset.rows());
}

#[test]
fn medians_kinds_and_dates_are_those_of_scikit_learn() {
    compare(
        "houses",
        r#"
            path = ""
            target = "price"
            split = { column = "part" }
            [columns]
            area = { missing = "median" }
            city = { category = true }
            built = { date = "%d.%m.%Y" }
            garden = { category = true, missing = "kind" }
        "#,
    );
}

#[test]
fn numbers_with_a_comma_and_a_value_for_missing_ones_are_those_of_scikit_learn() {
    compare(
        "german",
        r#"
            path = ""
            target = "Gewicht"
            separator = ";"
            decimal = ","
            missing-values = ["-"]
            split = { column = "part" }
            columns = { Breite = { fill = 2.5 } }
        "#,
    );
}

#[test]
fn means_and_flags_are_those_of_scikit_learn() {
    compare(
        "missing",
        r#"
            path = ""
            target = "y"
            missing-values = ["NA", "null"]
            split = { column = "part" }
            [columns]
            a = { missing = "mean" }
            b = { missing = "flag" }
            c = { category = true, missing = "kind" }
        "#,
    );
}
