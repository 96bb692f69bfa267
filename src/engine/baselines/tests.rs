use std::fmt::Write;

use serde_json::json;

use super::*;
use crate::base::Seed;
use crate::datasets::DatasetSpec;

/// Numbers from -1 to 1 that Python draws too: a linear congruential generator, its upper bits.
fn drawn(state: &mut u64, count: usize) -> Vec<f64> {
    let next = |_| {
        *state = (*state * 1_103_515_245 + 12_345) % (1 << 31);
        (*state >> 16) as f64 / 16_384.0 - 1.0
    };
    (0..count).map(next).collect()
}

/// 60 rows to train, 15 to validate and 15 to test on, four features each; the target is a number, its class between `bounds`, or
/// whether it reaches each of them.
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

#[track_caller]
fn assert_metrics(bounds: &[f64], names: &[&str], expected: &[(&str, &[f64])]) {
    assert_metrics_of(&open(bounds, false), names, expected);
}

#[track_caller]
fn assert_metrics_of(data: &OpenDataset, names: &[&str], expected: &[(&str, &[f64])]) {
    let found = baselines(data).unwrap();
    let metrics = found.iter().flat_map(|one| {
        let splits = ["val", "test"].map(|split| (one.name, split, &one.metrics));
        splits.into_iter()
    });
    for ((name, split, metrics), (told, expected)) in metrics.zip(expected) {
        assert_eq!(&format!("{name} {split}"), told);
        for (metric, expected) in names.iter().zip(*expected) {
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
    // DummyRegressor(), Ridge(tol=1e-12), KNeighborsRegressor(1)
    let expected: [(&str, &[f64]); 6] = [
        ("constant val", &[1.550_184_3, -0.456_392_0, 0.987_441_5]),
        ("constant test", &[1.568_243_8, -0.003_564_6, 1.025_956_1]),
        ("linear val", &[0.102_603_1, 0.903_604_8, 0.273_691_6]),
        ("linear test", &[0.117_618_0, 0.924_732_9, 0.257_925_3]),
        ("nearest val", &[0.457_886_6, 0.569_817_4, 0.585_354_2]),
        ("nearest test", &[0.345_897_0, 0.778_650_5, 0.502_590_5]),
    ];
    assert_metrics(&[], &["mse", "r2", "mae"], &expected);
}

#[test]
fn of_two_classes_they_are_those_of_scikit_learn() {
    // DummyClassifier(strategy="prior"), LogisticRegression(tol=1e-10), KNeighborsClassifier(1)
    let none = f64::NAN;
    let expected: [(&str, &[f64]); 6] = [
        (
            "constant val",
            &[0.664_217_0, 0.733_333_3, 0.423_076_9, 0.5],
        ),
        (
            "constant test",
            &[0.690_923_3, 0.533_333_3, 0.347_826_1, 0.5],
        ),
        (
            "linear val",
            &[0.304_471_9, 0.866_666_7, 0.829_545_5, 0.977_272_7],
        ),
        (
            "linear test",
            &[0.354_256_6, 0.933_333_3, 0.932_126_7, 0.946_428_6],
        ),
        ("nearest val", &[none, 0.8, 0.761_904_8, 0.784_090_9]),
        ("nearest test", &[none, 0.8, 0.796_380_1, 0.794_642_9]),
    ];
    assert_metrics(
        &[0.5],
        &["loss", "accuracy", "macro_f1", "roc_auc"],
        &expected,
    );
}

#[test]
fn of_three_classes_they_are_those_of_scikit_learn() {
    let none = f64::NAN;
    let expected: [(&str, &[f64]); 6] = [
        ("constant val", &[1.034_526_8, 0.533_333_3, 0.231_884_1]),
        ("constant test", &[1.062_852_4, 0.466_666_7, 0.212_121_2]),
        ("linear val", &[0.488_625_6, 0.866_666_7, 0.599_359_0]),
        ("linear test", &[0.541_862_9, 0.866_666_7, 0.869_047_6]),
        ("nearest val", &[none, 0.6, 0.433_333_3]),
        ("nearest test", &[none, 0.6, 0.599_567_1]),
    ];
    assert_metrics(&[-0.5, 1.0], &["loss", "accuracy", "macro_f1"], &expected);
}

#[test]
fn of_labels_they_are_those_of_scikit_learn() {
    // DummyClassifier(strategy="prior"), OneVsRestClassifier(LogisticRegression(tol=1e-10)), KNeighborsClassifier(1)
    let none = f64::NAN;
    let expected: [(&str, &[f64]); 6] = [
        (
            "constant val",
            &[
                0.549_674_7,
                0.766_666_7,
                0.533_333_3,
                0.375,
                0.5,
                0.333_333_3,
            ],
        ),
        (
            "constant test",
            &[0.580_607_6, 0.733_333_3, 0.466_666_7, 0.423_076_9, 0.5, 0.5],
        ),
        (
            "linear val",
            &[0.229_045_1, 0.966_666_7, 0.933_333_3, 0.5, 1.0, 1.0],
        ),
        (
            "linear test",
            &[
                0.257_910_8,
                0.966_666_7,
                0.933_333_3,
                0.944_444_4,
                0.965_909_1,
                0.902_083_3,
            ],
        ),
        (
            "nearest val",
            &[none, 0.8, 0.6, 0.4, 0.630_952_4, 0.466_666_7],
        ),
        (
            "nearest test",
            &[none, 0.8, 0.6, 0.706_766_9, 0.784_090_9, 0.696_969_7],
        ),
    ];
    let names = [
        "loss",
        "accuracy",
        "exact_match",
        "macro_f1",
        "roc_auc",
        "average_precision",
    ];
    assert_metrics_of(&open(&[-0.5, 1.0], true), &names, &expected);
}

#[test]
fn data_without_anything_to_predict_have_none() {
    let spec = json!({ "kind": "paths", "samples": 20 });
    let spec: DatasetSpec = serde_json::from_value(spec).unwrap();
    assert_eq!(baselines(&spec.open(Seed(1), 0.2).unwrap()).unwrap(), []);
}
