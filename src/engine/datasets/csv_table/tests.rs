use std::fs;

use tempfile::TempDir;

use super::super::Target;
use super::super::testing::read;
use super::column_spec::Columns;
use super::*;
use crate::testing::assert_ends;

pub(super) fn table(text: &str) -> (TempDir, CsvSpec) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    fs::write(&path, text).unwrap();
    let spec = CsvSpec {
        path: path.into(),
        target: "y".into(),
        classes: false,
        ignore: Vec::new(),
        header: true,
        separator: Separator::default(),
        decimal: Decimal::Point,
        thousands: None,
        units: Vec::new(),
        missing_values: Vec::new(),
        columns: Columns::new(),
        split: None,
        validation: 0.25,
        test: 0.25,
        normalise: false,
    };
    (folder, spec)
}

pub(super) fn message(spec: &CsvSpec) -> String {
    let error = spec.open(Seed(1)).err().unwrap().to_string();
    error.replace(&spec.path.to_string(), "table.csv")
}

#[test]
fn the_target_is_found_by_name_and_the_rest_are_features() {
    let (_folder, spec) = table("a,y,b\n1,10,0.5\n2, 20 ,1e-3\n3,30,-4\n4,40,5\n");
    let open = spec.open(Seed(1)).unwrap();
    assert_eq!(open.splits.sizes(), [2, 1, 1]);
    let (features, values, _) = read(&*open.dataset, &[1, 2]);
    assert_eq!(features, [2.0, 0.001, 3.0, -4.0]);
    assert_eq!(values, [20.0, 30.0]);

    let facts = spec.facts(&mut FingerprintCache::default()).unwrap();
    assert_eq!([facts.samples, facts.train_samples], [4, 2]);
    assert_eq!(facts.features, open.dataset.features());
    assert_eq!(facts.target, open.dataset.target());
}

#[test]
fn classes_may_be_any_text_and_every_split_has_them() {
    let rows: Vec<String> = (0..40)
        .map(|row| format!("{row},{}\n", ["cat", "ant"][row % 2]))
        .collect();
    let (_folder, mut spec) = table(&format!("a,y\n{}", rows.concat()));
    spec.classes = true;
    let open = spec.open(Seed(1)).unwrap();
    assert_eq!(open.dataset.class_names(), ["ant", "cat"]);
    assert_eq!(open.dataset.labels()[..3], [1, 0, 1]);
    for split in [&open.splits.validation, &open.splits.test] {
        let cats = split
            .iter()
            .filter(|&&row| open.dataset.labels()[row as usize] == 1);
        assert_eq!((split.len(), cats.count()), (10, 5));
    }
    let facts = spec.facts(&mut FingerprintCache::default()).unwrap();
    assert_eq!(facts.target, Target::Class { classes: 2 });
}

#[test]
fn classes_that_are_numbers_are_sorted_as_numbers() {
    let (_folder, mut spec) = table("a,y\n1,10\n2,9\n3,-1\n4,9\n");
    spec.classes = true;
    assert_eq!(
        spec.open(Seed(1)).unwrap().dataset.class_names(),
        ["-1", "9", "10"]
    );
}

/// The setting `columns`, parsed from TOML.
pub(super) fn columns(text: &str) -> Columns {
    toml::from_str(text).unwrap()
}

/// The features of these rows, concatenated.
pub(super) fn features(open: &OpenDataset, rows: &[u32]) -> Vec<f32> {
    read(&*open.dataset, rows).0
}

#[test]
fn every_column_that_is_not_what_it_is_said_to_be_is_reported_with_the_line_that_settles_it() {
    let (_folder, spec) = table("a,y,b,c\n1,2,3,4\n,2,x,NA\n,2,x,5\n1,nan,3,4\n1,2\n");
    let error = spec.open(Seed(1)).err().unwrap();
    let (title, list, help) = error.parts();
    assert_ends(&title, "is not what the manifest says in 5 places");
    assert_eq!(
        list,
        [
            "line 6: 2 columns where the header has 4",
            "line 3, column 1 (`a`): nothing there, in 2 of 5 rows",
            "line 5, column 2 (`y`): `nan` is not a number",
            "line 3, column 3 (`b`): `x` is not a number, in 2 of 5 rows",
            "line 3, column 4 (`c`): `NA` is not a number",
        ]
    );
    assert!(help.unwrap().contains("ragged"));
    let (_folder, spec) = table("a,y,b,c d\n1,2,3,4\n,2,x,NA\n");
    let (_, _, help) = spec.open(Seed(1)).err().unwrap().parts();
    assert_eq!(
        help.unwrap(),
        "in the dataset's section, or leave the column out by `ignore`: `columns.a = { missing = \"median\" }`, \
         `columns.b = { category = true }`, `missing-values = [\"NA\"]`"
    );
    for (text, expected) in [
        ("a,y\n1,2\n1,1e99\n", "add `classes = true`"),
        (
            "a,y\n1,2\n1,\n",
            "add `columns.y = { missing = \"leave-out\" }`",
        ),
        ("a,y\n\"1,5\",2\n", "ignore`: `decimal = \",\"`"),
        (
            "a,b,y\nx,,1\n,2.3.2024,2\n",
            "`columns.a = { category = true, missing = \"kind\" }`, `columns.b = { date = \"%d.%m.%Y\", missing = \"median\" }`",
        ),
    ] {
        let (_folder, spec) = table(text);
        let (_, _, help) = spec.open(Seed(1)).err().unwrap().parts();
        let help = help.unwrap();
        assert!(help.ends_with(expected), "{help}");
    }
}

#[test]
fn dates_are_days_and_separators_are_as_they_are_said_to_be() {
    let (_folder, mut spec) =
        table("day;area;y\n31.12.1999;1,5;2\n02.01.2000;-;3\n01.03.2000;2;4\n");
    (spec.separator, spec.decimal) = (Separator(';'), Decimal::Comma);
    spec.missing_values = vec!["-".to_owned()];
    spec.columns = columns("day = { date = \"%d.%m.%Y\" }\narea = { fill = 0.25 }");
    let open = spec.open(Seed(1)).unwrap();
    let all = features(&open, &[0, 1, 2]);
    assert_eq!(all, [-1.0, 1.5, 1.0, 0.25, 60.0, 2.0]);
    spec.columns = columns("day = { date = \"%Y-%m-%d\" }\narea = { fill = 0.25 }");
    assert!(message(&spec).contains("`31.12.1999` is not a date of the form `%Y-%m-%d`"));
}

#[test]
fn rows_without_a_value_are_left_out_where_that_is_said_and_columns_are_ignored() {
    let (_folder, mut spec) = table("id,a,y\n1,5,10\n2,6,\n3,,30\nx,8,40\n");
    spec.ignore = vec!["id".to_owned()];
    spec.columns = columns("y = { missing = \"leave-out\" }\na = { missing = \"leave-out\" }");
    let open = spec.open(Seed(1)).unwrap();
    assert_eq!(features(&open, &[0, 1]), [5.0, 8.0]);
    let facts = spec.facts(&mut FingerprintCache::default()).unwrap();
    assert_eq!((facts.samples, facts.features.len()), (2, 1));
}

#[test]
fn settings_of_columns_that_contradict_each_other_are_named() {
    let (_folder, mut spec) = table("a,y\n1,2\n");
    for (text, expected) in [
        (
            "a = { category = true, date = \"%Y\" }",
            "`a` is a `category` or a `date`",
        ),
        ("a = { missing = \"kind\" }", "which is for a `category`"),
        (
            "a = { category = true, missing = \"mean\" }",
            "is a kind of its own",
        ),
        ("y = { missing = \"mean\" }", "can only be left out"),
        ("y = { category = true }", "`classes` says"),
        ("a = { missing = \"mean\", fill = 1.0 }", "one is enough"),
        ("b = {}", "has no column `b`; did you mean `a`?"),
    ] {
        spec.columns = columns(text);
        assert!(message(&spec).contains(expected), "{}", message(&spec));
    }
    spec.columns = Columns::new();
    spec.ignore = vec!["a".to_owned()];
    assert!(message(&spec).contains("no columns beside the target"));
}

#[test]
fn rows_that_are_not_trained_on_change_nothing_that_is_fitted() {
    let row = |row: usize, held: bool| {
        let number = if held { 1e6 } else { (row * row % 17) as f64 };
        let kind = if held {
            "other"
        } else {
            ["a", "b", "c"][row % 3]
        };
        let gap = if row.is_multiple_of(5) {
            String::new()
        } else {
            number.to_string()
        };
        format!("{gap},{kind},{row}\n")
    };
    let text = |held: &[u32]| {
        let rows = (0..40).map(|place| row(place, held.contains(&(place as u32))));
        format!("n,k,y\n{}", rows.collect::<String>())
    };
    let open = |text: &str| {
        let (folder, mut spec) = table(text);
        spec.normalise = true;
        spec.columns = columns("n = { missing = \"flag\" }\nk = { category = true }");
        let open = spec.open(Seed(7)).unwrap();
        drop(folder);
        open
    };
    let before = open(&text(&[]));
    let held = [&before.splits.validation[..], &before.splits.test].concat();
    let after = open(&text(&held));
    assert_eq!(before.splits, after.splits);
    let train = &before.splits.train;
    let width = after.dataset.features().len();
    let new: Vec<f32> = features(&after, train)
        .chunks(width)
        .flat_map(|row| row[..width - 1].to_vec())
        .collect();
    // The category that only held-out rows have is a column of its own, which is 0 in all rows.
    assert_eq!(
        after.dataset.normalisation().columns.last().unwrap(),
        "k=other"
    );
    assert_eq!(features(&before, train), new);
    assert!(
        features(&after, &held)
            .chunks(width)
            .all(|row| row[width - 1] == 0.0)
    );
}

#[test]
fn a_wrong_target_gets_the_nearest_name() {
    let (_folder, mut spec) = table("width,height\n1,2\n");
    spec.target = "heigth".into();
    let expected = "`table.csv` has no column `heigth`; did you mean `height`?";
    assert_eq!(message(&spec), expected);
    spec.target = "label".into();
    let expected = "`table.csv` has no column `label`; it has `width`, `height`";
    assert_eq!(message(&spec), expected);
    // All wrong names and settings are reported at once.
    spec.columns = columns("wdith = { missing = \"mean\" }\nwidth = { missing = \"kind\" }");
    let text = message(&spec);
    for part in [
        expected,
        "`wdith`; did you mean `width`?",
        "which is for a `category`",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn other_mistakes_are_sentences_too() {
    let (_folder, spec) = table("y,y\n1,2\n");
    assert_eq!(message(&spec), "`table.csv` has two columns `y`");
    let (_folder, spec) = table("a,y\n");
    assert!(message(&spec).starts_with("`table.csv` has 0 rows"));
    let (_folder, spec) = table("y\n1\n");
    assert_eq!(
        message(&spec),
        "`table.csv` has no columns beside the target"
    );
    let (_folder, spec) = table("");
    assert!(message(&spec).starts_with("`table.csv` is empty"));
    let (_folder, spec) = table("a;y\n1;2\n");
    assert_eq!(
        message(&spec),
        "the columns of `table.csv` are separated by `;`: `separator = \";\"`"
    );
    let (folder, mut spec) = table("a,y\n1,2\n");
    spec.test = 0.9;
    assert!(message(&spec).contains("together less than 1"));
    fs::write(spec.path.first_path(), b"a,y\n1,\xff\n").unwrap();
    assert_eq!(
        message(&spec),
        "`table.csv` is damaged in line 2: not UTF-8; if it is WINDOWS-1252: \
         `iconv -f WINDOWS-1252 -t UTF-8 OLD.csv > NEW.csv`"
    );
    drop(folder);
    assert_eq!(
        message(&spec),
        "cannot read `table.csv`: no such file or directory"
    );
}

#[test]
fn several_targets_are_predicted_together_in_the_order_of_the_manifest() {
    let row = |row: usize| format!("{row},{},{}\n", 10 * row, row % 3);
    let rows = (0..8).map(row).collect::<Vec<_>>().concat();
    let (_folder, mut spec) = table(&format!("x,y,z\n{rows}"));
    spec.target = ["z", "y"].into();
    spec.normalise = false;
    let facts = spec.facts(&mut FingerprintCache::default()).unwrap();
    assert_eq!(facts.target, Target::Values { len: 2 });
    assert_eq!(facts.features.len(), 1);
    let open = spec.open(Seed(1)).unwrap();
    let (_, values, _) = read(&*open.dataset, &[0, 1, 2, 3, 4, 5, 6, 7]);
    let expected: Vec<f32> = (0..8u8)
        .flat_map(|row| [f32::from(row % 3), 10.0 * f32::from(row)])
        .collect();
    assert_eq!(values, expected);
    spec.normalise = true;
    let scales = spec.open(Seed(1)).unwrap().dataset.normalisation();
    assert_eq!((scales.target, scales.targets.len()), (None, 2));

    spec.target = ["z", "z"].into();
    assert!(message(&spec).contains("names the column `z` twice"));
    spec.target = ["z", "q"].into();
    assert!(message(&spec).contains("`q`"));
    spec.target = [].into();
    assert!(message(&spec).contains("`target` names no column"));
}
