use std::fmt::Write;

use serde_json::json;

use super::*;
use crate::base::Seed;
use crate::datasets::DatasetSpec;
use crate::ops::testing::parse_numbers;

/// Random numbers from -1 to 1: the upper bits of a linear congruential generator, which is easy to repeat in Python.
fn drawn(state: &mut u64, count: usize) -> Vec<f64> {
    let next = |_| {
        *state = (*state * 1_103_515_245 + 12_345) % (1 << 31);
        (*state >> 16) as f64 / 16_384.0 - 1.0
    };
    (0..count).map(next).collect()
}

/// A dataset of 60 training, 15 validation and 15 test rows with four features. The target is a number, its class (the
/// number of `bounds` that it reaches), or one label per bound (whether the number reaches it).
fn open(bounds: &[f64], are_labels: bool) -> OpenDataset {
    let mut state = 1;
    let (x, noise) = (drawn(&mut state, 360), drawn(&mut state, 90));
    let header = if are_labels { "low,high" } else { "y" };
    let mut text = format!("a,b,c,d,part,{header}\n");
    for (row, (x, noise)) in x.chunks(4).zip(noise).enumerate() {
        let y = (x[0] * 2.0 - x[1] + x[2] * x[2] + 0.25 * noise) as f32;
        let reached: Vec<bool> = bounds.iter().map(|bound| f64::from(y) >= *bound).collect();
        let target = if bounds.is_empty() {
            y.to_string()
        } else if are_labels {
            format!("{},{}", reached[0], reached[1])
        } else {
            let class = reached.iter().filter(|reached| **reached);
            class.count().to_string()
        };
        let part = ["train", "val", "test"][row.saturating_sub(45) / 15];
        let [a, b, c, d] = x else { unreachable!() };
        writeln!(text, "{a},{b},{c},{d},{part},{target}").unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, text).unwrap();
    let spec = json!({
        "kind": "csv", "path": path, "target": header.split(',').collect::<Vec<_>>(), "classes": !bounds.is_empty(),
        "split": { "column": "part" }, "normalise": false,
    });
    let spec: DatasetSpec = serde_json::from_value(spec).unwrap();
    spec.open(Seed(1), 0.0).unwrap()
}

/// Compares the baselines with a table: each line has the baseline, the split, and the values of the metrics `names`,
/// with `NaN` for a metric that is missing.
#[track_caller]
fn assert_metrics(data: &OpenDataset, names: &str, expected: &str) {
    let found = baselines(data).unwrap();
    let rows = found.iter().flat_map(|one| {
        let splits = ["val", "test"].map(|split| (one.name, split, &one.metrics));
        splits.into_iter()
    });
    let rows: Vec<_> = rows.collect();
    assert_eq!(rows.len(), expected.lines().count());
    for ((name, split, metrics), line) in rows.into_iter().zip(expected.lines()) {
        let told = format!("{name} {split} ");
        let values = line.trim_start().strip_prefix(&told).expect(&told);
        for (metric, expected) in names.split(' ').zip(parse_numbers::<f64>(values)) {
            let found = metrics.get(&format!("{split}_{metric}")).copied().flatten();
            let is_near = found.is_some_and(|found| (found - expected).abs() < 1e-4);
            assert!(
                is_near || expected.is_nan() && found.is_none(),
                "{told} {metric} {found:?} {expected}"
            );
        }
    }
}

#[test]
fn of_numbers_they_are_those_of_scikit_learn() {
    // Expected values from scikit-learn: DummyRegressor(), Ridge(tol=1e-12), KNeighborsRegressor(1).
    assert_metrics(
        &open(&[], false),
        "mse r2 mae",
        "constant val 1.5501843 -0.4563920 0.9874415
         constant test 1.5682438 -0.0035646 1.0259561
         linear val 0.1026031 0.9036048 0.2736916
         linear test 0.1176180 0.9247329 0.2579253
         nearest val 0.4578866 0.5698174 0.5853542
         nearest test 0.3458970 0.7786505 0.5025905",
    );
}

#[test]
fn of_two_classes_they_are_those_of_scikit_learn() {
    // Expected values from scikit-learn: DummyClassifier(strategy="prior"), LogisticRegression(tol=1e-10),
    // KNeighborsClassifier(1).
    assert_metrics(
        &open(&[0.5], false),
        "loss accuracy macro_f1 roc_auc",
        "constant val 0.6642170 0.7333333 0.4230769 0.5
         constant test 0.6909233 0.5333333 0.3478261 0.5
         linear val 0.3044719 0.8666667 0.8295455 0.9772727
         linear test 0.3542566 0.9333333 0.9321267 0.9464286
         nearest val NaN 0.8 0.7619048 0.7840909
         nearest test NaN 0.8 0.7963801 0.7946429",
    );
}

#[test]
fn of_three_classes_they_are_those_of_scikit_learn() {
    assert_metrics(
        &open(&[-0.5, 1.0], false),
        "loss accuracy macro_f1",
        "constant val 1.0345268 0.5333333 0.2318841
         constant test 1.0628524 0.4666667 0.2121212
         linear val 0.4886256 0.8666667 0.5993590
         linear test 0.5418629 0.8666667 0.8690476
         nearest val NaN 0.6 0.4333333
         nearest test NaN 0.6 0.5995671",
    );
}

#[test]
fn of_labels_they_are_those_of_scikit_learn() {
    // Expected values from scikit-learn: DummyClassifier(strategy="prior"),
    // OneVsRestClassifier(LogisticRegression(tol=1e-10)), KNeighborsClassifier(1).
    assert_metrics(
        &open(&[-0.5, 1.0], true),
        "loss accuracy exact_match macro_f1 roc_auc average_precision",
        "constant val 0.5496747 0.7666667 0.5333333 0.375 0.5 0.3333333
         constant test 0.5806076 0.7333333 0.4666667 0.4230769 0.5 0.5
         linear val 0.2290451 0.9666667 0.9333333 0.5 1.0 1.0
         linear test 0.2579108 0.9666667 0.9333333 0.9444444 0.9659091 0.9020833
         nearest val NaN 0.8 0.6 0.4 0.6309524 0.4666667
         nearest test NaN 0.8 0.6 0.7067669 0.7840909 0.6969697",
    );
}

#[test]
fn data_without_anything_to_predict_have_none() {
    let spec = json!({ "kind": "paths", "samples": 20 });
    let spec: DatasetSpec = serde_json::from_value(spec).unwrap();
    assert_eq!(baselines(&spec.open(Seed(1), 0.2).unwrap()).unwrap(), []);
}
