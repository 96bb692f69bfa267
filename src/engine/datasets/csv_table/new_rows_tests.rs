//! Tests that new rows are prepared like the training rows.

use std::fs;

use super::super::DatasetSpec;
use super::super::testing::{Rows, new_data};
use super::column_spec::{ColumnSpec, Columns, Missing};
use super::tests::{features, table};
use super::*;

/// The rows of `text`, prepared like the rows of `spec`, and the remarks about them; or the error message.
fn new(spec: &CsvSpec, text: &str) -> Result<(Rows, Vec<String>), String> {
    let path = spec.path.first_path().with_file_name("new.csv");
    fs::write(&path, text).unwrap();
    new_data(&DatasetSpec::Csv(spec.clone()), &path, false).map_err(|error| {
        let (title, list, _) = error.parts();
        let folder = format!("{}/", path.parent().unwrap().display());
        format!("{title}; {}", list.join("; ")).replace(&folder, "")
    })
}

/// A table with a category and numbers that have missing values, a date, integers and a target.
fn houses(rows: usize) -> String {
    let kinds = ["red", "", "blue", "green"];
    let row = |row: usize| {
        let gap = if row % 7 == 3 {
            String::new()
        } else {
            format!("{}.5", row % 13)
        };
        format!(
            "{},{:02}.03.2021,{gap},{},{row}\n",
            kinds[row % 4],
            row % 28 + 1,
            row % 5
        )
    };
    let rows: String = (0..rows).map(row).collect();
    format!("paint,sold,area,rooms,y\n{rows}")
}

fn spec_of_houses(text: &str) -> (tempfile::TempDir, CsvSpec) {
    let (folder, mut spec) = table(text);
    let column = |category, missing, date: Option<&str>| ColumnSpec {
        category,
        missing,
        date: date.map(str::to_owned),
        ..ColumnSpec::default()
    };
    spec.columns = Columns::from([
        ("paint".to_owned(), column(true, Some(Missing::Kind), None)),
        ("sold".to_owned(), column(false, None, Some("%d.%m.%Y"))),
        ("area".to_owned(), column(false, Some(Missing::Flag), None)),
    ]);
    spec.normalise = true;
    (folder, spec)
}

#[test]
fn the_same_rows_have_the_same_features_in_any_order_of_columns() {
    // So many rows that they are read in several parts.
    let text = houses(20_000);
    let (_folder, spec) = spec_of_houses(&text);
    let open = spec.open(Seed(1)).unwrap();
    let all: Vec<u32> = (0..20_000).collect();
    let expected = features(&open, &all);
    let (found, remarks) = new(&spec, &text).unwrap();
    assert_eq!(remarks, [""; 0]);
    assert_eq!(found.sources.last().unwrap(), "19999");
    assert!(found.features == expected);
    // The same table without the target, with reversed columns, another separator and one more column.
    let turned: String = text
        .lines()
        .map(|line| {
            let mut parts: Vec<&str> = line.split(',').collect();
            parts.pop();
            parts.reverse();
            parts.join(";") + ";more\n"
        })
        .collect();
    let (found, remarks) = new(&spec, &turned).unwrap();
    assert!(found.features == expected);
    assert_eq!(remarks, ["not read by the model: column `more`"]);
}

#[test]
fn a_kind_that_no_training_row_has_is_none_of_them_and_is_said() {
    let (_folder, spec) = spec_of_houses(&houses(40));
    let text =
        "paint,sold,area,rooms\npink,01.03.2021,1,1\nred,01.03.2021,1,1\npink,01.03.2021,,1\n";
    let (found, remarks) = new(&spec, text).unwrap();
    let found: Vec<&[f32]> = found.features.chunks(8).collect();
    // Features: the categories missing, blue, green, red; then date, area and its flag, rooms.
    assert_eq!(found[0][..4], [0.0; 4]);
    assert_eq!(found[1][..4], [0.0, 0.0, 0.0, 1.0]);
    assert_eq!((found[1][6], found[2][6]), (0.0, 1.0));
    assert_eq!(
        remarks,
        [
            "column `paint` has 1 kind in 2 rows (`pink`) that no training row had; the model treats them as none of its categories"
        ]
    );
}

#[test]
fn what_is_not_like_the_training_rows_is_named_all_at_once() {
    let (_folder, spec) = spec_of_houses(&houses(40));
    let message = |text: &str| new(&spec, text).unwrap_err();
    assert_eq!(
        message("Paint,sold,rooms\nred,01.03.2021,1\n"),
        "`new.csv` lacks 2 of the 4 columns that the model reads: `paint` (did you mean `Paint`?), `area`; "
    );
    let text = message("paint,sold,area,rooms\nred,soon,1,\nblue,01.03.2021,big,2\n");
    for part in [
        "`new.csv` has values that the model cannot read in 3 places",
        "line 2, column 2 (`sold`): `soon` is not a date of the form `%d.%m.%Y`",
        "line 2, column 4 (`rooms`): nothing there",
        "line 3, column 3 (`area`): `big` is not a number",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(message("").starts_with("`new.csv` is empty"));
    assert!(message("paint,sold,area,rooms\n").starts_with("`new.csv` has 0 rows"));
}

#[test]
fn the_rule_that_a_missing_value_lacks_is_that_of_its_column() {
    let (folder, mut spec) = table("paint,area,y\nred,1,2\nblue,2,3\nred,3,4\n");
    let paint = ColumnSpec {
        category: true,
        ..ColumnSpec::default()
    };
    spec.columns = Columns::from([("paint".to_owned(), paint)]);
    let path = folder.path().join("new.csv");
    for (text, rule) in [
        (
            "paint,area\n,1\n",
            Some("a rule for missing values, `missing = \"kind\"` (docs/tables.md)"),
        ),
        (
            "paint,area\nred,\n",
            Some("a rule for missing values, `missing = \"median\"` (docs/tables.md)"),
        ),
        ("paint,area\nred,big\n", None),
    ] {
        fs::write(&path, text).unwrap();
        let error = new_data(&DatasetSpec::Csv(spec.clone()), &path, false).err();
        let help = error.unwrap().parts().2.unwrap();
        match rule {
            Some(rule) => assert!(help.ends_with(rule), "{help}"),
            None => assert_eq!(help, "mend these rows"),
        }
    }
}
