use super::super::testing::{known, read, sizes};
use super::*;

fn spec(samples: usize, target: RegressionTarget) -> RegressionSpec {
    RegressionSpec {
        samples,
        target,
        seed: 7,
    }
}

#[test]
fn the_first_rows_are_the_same_on_every_machine() {
    let linear = spec(2, RegressionTarget::Linear).generate(2, Purpose::Data);
    let first = [
        0.507_534_9_f32,
        -0.522_248_27,
        0.500_584_24,
        0.516_471_86,
        -0.813_434_6,
    ];
    assert_eq!(linear.features[..5], first);
    assert_eq!(linear.values, [0.746_662_26, 1.488_429]);
    let bent = spec(1, RegressionTarget::Nonlinear).generate(1, Purpose::Data);
    let first = [
        -0.534_154_95,
        0.745_452_34,
        -0.544_164_96,
        -0.745_028,
        0.010_752_037,
    ];
    assert_eq!(bent.features, first);
    assert_eq!(bent.values, [1.653_741]);
}

#[test]
fn a_larger_dataset_begins_with_the_smaller_one() {
    let spec = spec(0, RegressionTarget::Linear);
    let small = spec.generate(100, Purpose::Data);
    let large = spec.generate(BLOCK_ROWS + 100, Purpose::Data);
    assert_eq!(small.features, large.features[..500]);
    assert_ne!(small.features, spec.generate(100, Purpose::Fresh).features);
}

#[test]
fn splits_are_70_15_15_without_overlap() {
    let open = spec(1001, RegressionTarget::Linear).open(Seed(1)).unwrap();
    let splits = open.splits;
    assert_eq!(sizes(&splits), [701, 150, 150]);
    let mut all = [splits.train, splits.validation, splits.test].concat();
    all.sort_unstable();
    assert_eq!(all, (0..1001).collect::<Vec<u32>>());
}

#[test]
fn training_rows_alone_give_the_statistics() {
    let open = spec(400, RegressionTarget::Linear).open(Seed(1)).unwrap();
    let table = spec(400, RegressionTarget::Linear).generate(400, Purpose::Data);
    let (mean, std) = statistics(&table.values, 1, 0, &open.splits.train);
    let scale = open.dataset.normalisation().target.unwrap();
    let (scale_mean, scale_std) = (scale.mean, scale.std);
    assert!((mean - scale_mean).abs() < 1e-12 && (std - scale_std).abs() < 1e-7);

    let (features, values, labels) = read(&*open.dataset, &open.splits.train);
    let rows: Vec<u32> = (0..values.len() as u32).collect();
    for column in 0..COLUMNS {
        let (mean, std) = statistics(&features, COLUMNS, column, &rows);
        assert!(
            mean.abs() < 1e-6 && (std - 1.0).abs() < 1e-5,
            "{mean} {std}"
        );
    }
    assert_eq!(labels, vec![0; values.len()]);
}

#[test]
fn the_fresh_set_has_the_same_scale_and_other_rows() {
    let open = spec(1000, RegressionTarget::Linear).open(Seed(1)).unwrap();
    let fresh = open.fresh.unwrap();
    assert_eq!(fresh.normalisation(), open.dataset.normalisation());
    assert_eq!(fresh.rows(), 150);
    let (row, ..) = read(&*fresh, &[149]);
    assert!(row.iter().all(|x| x.abs() < 6.0));
}

/// Noise of standard deviation 0.1, and a target variance of 7.23 + 0.01.
#[test]
fn the_linear_target_leaves_the_stated_floor() {
    let rows = 50_000;
    let table = spec(rows, RegressionTarget::Linear).generate(rows, Purpose::Data);
    let noise: f64 = (0..rows)
        .map(|row| {
            let x = &table.features[row * COLUMNS..][..COLUMNS];
            let clean: f64 = x.iter().zip(WEIGHTS).map(|(x, w)| f64::from(*x) * w).sum();
            (f64::from(table.values[row]) - clean).powi(2)
        })
        .sum::<f64>()
        / rows as f64;
    let all: Vec<u32> = (0..rows as u32).collect();
    let (_, std) = statistics(&table.values, 1, 0, &all);
    assert!((noise / std.powi(2) - 0.001_38).abs() < 5e-5);
}

#[test]
fn facts_agree_with_the_opened_dataset() {
    for samples in [1, 7, 1000, 1003] {
        let spec = spec(samples, RegressionTarget::Nonlinear);
        let facts = spec.facts().unwrap();
        let splits = spec.open(Seed(3)).unwrap().splits;
        assert_eq!(known(&facts), sizes(&splits));
    }
    let other = RegressionSpec {
        seed: 8,
        ..spec(1000, RegressionTarget::Nonlinear)
    };
    let facts = spec(1000, RegressionTarget::Nonlinear).facts().unwrap();
    assert_ne!(facts.fingerprint, other.facts().unwrap().fingerprint);
}

#[test]
fn no_samples_are_a_mistake() {
    let error = spec(0, RegressionTarget::Linear).facts().unwrap_err();
    assert_eq!(
        error.to_string(),
        "`samples` must be from 1 to 4294967295, not 0"
    );
}
