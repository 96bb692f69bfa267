use std::fs;

use tempfile::TempDir;

use super::super::{SamplesMut, Scale};
use super::*;

fn table(text: &str) -> (TempDir, CsvSpec) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    fs::write(&path, text).unwrap();
    let spec = CsvSpec {
        path,
        target: "y".to_owned(),
        classes: false,
        validation: 0.25,
        test: 0.25,
        normalise: false,
    };
    (folder, spec)
}

fn message(spec: &CsvSpec) -> String {
    let error = spec.open(Seed(1)).err().unwrap().to_string();
    error.replace(&spec.path.display().to_string(), "table.csv")
}

#[test]
fn the_target_is_found_by_name_and_the_rest_are_features() {
    let (_folder, spec) = table("a,y,b\n1,10,0.5\n2, 20 ,1e-3\n3,30,-4\n4,40,5\n");
    let open = spec.open(Seed(1)).unwrap();
    let sizes = [
        &open.splits.train,
        &open.splits.validation,
        &open.splits.test,
    ]
    .map(Vec::len);
    assert_eq!(sizes, [2, 1, 1]);
    let (mut features, mut values) = ([0.0; 4], [0.0; 2]);
    let samples = SamplesMut {
        features: &mut features,
        values: &mut values,
        labels: &mut [0; 2],
    };
    open.dataset.read_rows(&[1, 2], samples).unwrap();
    assert_eq!((features, values), ([2.0, 0.001, 3.0, -4.0], [20.0, 30.0]));

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

#[test]
fn normalising_takes_the_training_rows_alone() {
    let rows: Vec<String> = (0..40)
        .map(|row| format!("{row},7,{}\n", row * row))
        .collect();
    let (_folder, mut spec) = table(&format!("a,b,y\n{}", rows.concat()));
    spec.normalise = true;
    let open = spec.open(Seed(1)).unwrap();
    let train = &open.splits.train;
    let (mut features, mut values) = (vec![0.0; 40], vec![0.0; 20]);
    let samples = SamplesMut {
        features: &mut features,
        values: &mut values,
        labels: &mut [0; 20],
    };
    open.dataset.read_rows(train, samples).unwrap();
    let rows: Vec<u32> = (0..20).collect();
    let (mean, std) = statistics(&features, 2, 0, &rows);
    assert!(mean.abs() < 1e-6 && (std - 1.0).abs() < 1e-6);
    assert!(features.iter().skip(1).step_by(2).all(|&b| b == 0.0));
    let Scale { mean, std } = open.dataset.normalisation().target.unwrap();
    let original = mean + std * f64::from(values[0]);
    assert!((original - f64::from(train[0] * train[0])).abs() < 1e-3);
}

#[test]
fn every_hole_is_reported_with_line_and_column() {
    let (_folder, spec) = table("a,y,b\n1,2,3\n,2,x\n1,nan,3\n1,2\n");
    assert_eq!(
        message(&spec),
        "`table.csv` is not a table of numbers in 4 places: line 3, column 1 (`a`): nothing there; \
         line 3, column 3 (`b`): `x` is not a number; \
         line 4, column 2 (`y`): `nan` is not a number; line 5: 2 columns where the header has 3"
    );
    let (_folder, spec) = table("a,y\n1,2\n1,1e99\n");
    assert_eq!(
        message(&spec),
        "`table.csv` is not a table of numbers in line 3, column 2 (`y`): `1e99` is not a number"
    );
    let (_folder, spec) = table(&format!("a,y\n{}", "1,?\n".repeat(50)));
    assert!(message(&spec).ends_with("line 21, column 2 (`y`): `?` is not a number; and 30 more"));
}

#[test]
fn a_wrong_target_gets_the_nearest_name() {
    let (_folder, mut spec) = table("width,height\n1,2\n");
    spec.target = "heigth".to_owned();
    let expected = "`table.csv` has no column `heigth`; did you mean `height`?";
    assert_eq!(message(&spec), expected);
    spec.target = "label".to_owned();
    let expected = "`table.csv` has no column `label`; it has `width`, `height`";
    assert_eq!(message(&spec), expected);
}

#[test]
fn other_mistakes_are_sentences_too() {
    let (_folder, spec) = table("y,y\n1,2\n");
    assert_eq!(message(&spec), "`table.csv` has two columns `y`");
    let (_folder, spec) = table("a,y\n");
    assert!(message(&spec).starts_with("`table.csv` has 0 rows under its header"));
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
        "the columns of `table.csv` are separated by `;`; separate them by `,`"
    );
    let (folder, mut spec) = table("a,y\n1,2\n");
    spec.test = 0.9;
    assert!(message(&spec).contains("together less than 1"));
    fs::write(&spec.path, b"a,y\n1,\xff\n").unwrap();
    assert_eq!(
        message(&spec),
        "`table.csv` is damaged in line 2: not UTF-8"
    );
    drop(folder);
    assert_eq!(
        message(&spec),
        "cannot read `table.csv`: no such file or directory"
    );
}
