use super::super::Scale;
use super::super::testing::{read, split_sizes};
use super::*;
use crate::ops::testing::parse_numbers;

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
    let first: Vec<f32> = parse_numbers("0.5075349 -0.52224827 0.50058424 0.51647186 -0.8134346");
    assert_eq!(linear.numbers()[..5], first);
    assert_eq!(linear.targets.values, [0.746_662_26, 1.488_429]);
    let bent = spec(1, RegressionTarget::Nonlinear).generate(1, Purpose::Data);
    let first: Vec<f32> = parse_numbers("-0.53415495 0.74545234 -0.54416496 -0.745028 0.010752037");
    assert_eq!(bent.numbers(), first);
    assert_eq!(bent.targets.values, [1.653_741]);
}

#[test]
fn a_larger_dataset_begins_with_the_smaller_one() {
    let spec = spec(0, RegressionTarget::Linear);
    let small = spec.generate(100, Purpose::Data);
    let large = spec.generate(BLOCK_ROWS + 100, Purpose::Data);
    assert_eq!(small.numbers(), &large.numbers()[..500]);
    assert_ne!(
        small.numbers(),
        spec.generate(100, Purpose::Fresh).numbers()
    );
}

#[test]
fn splits_are_70_15_15_without_overlap() {
    let open = spec(1001, RegressionTarget::Linear).open(Seed(1)).unwrap();
    let splits = open.splits;
    assert_eq!(splits.sizes(), [701, 150, 150]);
    let mut all = [splits.train, splits.validation, splits.test].concat();
    all.sort_unstable();
    assert_eq!(all, (0..1001).collect::<Vec<u32>>());
}

#[test]
fn training_rows_alone_give_the_statistics() {
    let open = spec(400, RegressionTarget::Linear).open(Seed(1)).unwrap();
    let table = spec(400, RegressionTarget::Linear).generate(400, Purpose::Data);
    let scale = scales(&table.targets.values, 1, &open.splits.train, 0.0)[0];
    assert_eq!(open.dataset.normalisation().target, Some(scale));
    let scales = scales(table.numbers(), COLUMNS, &open.splits.train, 0.0);
    assert_eq!(open.dataset.normalisation().features, scales);
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

/// The linear target has noise of standard deviation 0.1 and a variance of 7.23 + 0.01.
#[test]
fn the_linear_target_leaves_the_stated_floor() {
    let rows = 50_000;
    let table = spec(rows, RegressionTarget::Linear).generate(rows, Purpose::Data);
    let noise: f64 = (0..rows)
        .map(|row| {
            let x = &table.numbers()[row * COLUMNS..][..COLUMNS];
            let clean: f64 = x.iter().zip(WEIGHTS).map(|(x, w)| f64::from(*x) * w).sum();
            (f64::from(table.targets.values[row]) - clean).powi(2)
        })
        .sum::<f64>()
        / rows as f64;
    let all: Vec<u32> = (0..rows as u32).collect();
    let Scale { std, .. } = scales(&table.targets.values, 1, &all, 0.0)[0];
    assert!((noise / std.powi(2) - 0.001_38).abs() < 5e-5);
}

#[test]
fn facts_need_no_rows() {
    let facts = |seed, samples| {
        let spec = RegressionSpec {
            seed,
            ..spec(samples, RegressionTarget::Nonlinear)
        };
        spec.facts().unwrap()
    };
    for (samples, sizes) in [(1, [1, 0, 0]), (7, [5, 1, 1]), (1003, [703, 150, 150])] {
        assert_eq!(split_sizes(&facts(7, samples)), sizes);
    }
    assert_ne!(facts(7, 1000).fingerprint, facts(8, 1000).fingerprint);
}
