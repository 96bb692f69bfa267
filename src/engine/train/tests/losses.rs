//! The losses for numbers and classes are used in the steps and in the metrics.

use super::*;
use crate::base::Seed;
use crate::losses::{ClassWeights, HuberSpec, L1Spec};

/// Facts of a run on 44 rows with one number to predict.
fn numbers(loss: LossSpec) -> RunFacts {
    let mut cell = cell();
    cell.loss = Arc::new(loss);
    told(cell).facts().clone()
}

#[test]
fn losses_of_numbers_are_other_losses_with_the_same_metrics() {
    let squared = numbers(LossSpec::Mse(MseSpec {}));
    let absolute = numbers(LossSpec::L1(L1Spec {}));
    let huber = |delta| numbers(LossSpec::Huber(HuberSpec { delta }));
    for facts in [&absolute, &huber(0.5)] {
        let names = |facts: &RunFacts| facts.metrics.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(facts), names(&squared));
        assert_ne!(facts.weight_checksum, squared.weight_checksum);
        assert!(facts.metrics["val_r2"].is_some());
    }
    let value = |facts: &RunFacts, name: &str| facts.metrics[name].unwrap();
    // The mean absolute error is at most the root of the mean squared error.
    let (mean, square) = (value(&absolute, "val_loss"), value(&absolute, "val_mse"));
    assert!(mean > 0.0 && mean <= square.sqrt(), "{mean}, {square}");
    // With so large a δ every error is in the quadratic part of the Huber loss, which is half the squared error.
    let wide = huber(1e6);
    let (half, square) = (value(&wide, "val_loss"), value(&wide, "val_mse"));
    assert!((half - 0.5 * square).abs() < 1e-6, "{half}, {square}");
}

/// A run on images of digits with 10 classes.
fn digits(loss: CrossEntropySpec) -> CellSpec {
    let cell = with(|train| (train.epochs, train.batch_size) = (1, 32));
    CellSpec {
        loss: Arc::new(LossSpec::CrossEntropy(loss)),
        ..of_digits(cell, 0.1)
    }
}

fn weighted(weights: ClassWeights) -> CrossEntropySpec {
    CrossEntropySpec {
        weights: Some(weights),
        ..CrossEntropySpec::default()
    }
}

#[test]
fn balanced_weights_are_those_of_the_training_rows() {
    let cell = digits(weighted(ClassWeights::Balanced));
    let seed = Seed(order(cell.clone()).seed);
    let data = cell
        .dataset
        .open(seed, cell.validation.fraction_or_zero())
        .unwrap();
    let rows = &data.splits.train;
    let count = |class| {
        let labels = rows.iter().map(|row| data.dataset.labels()[*row as usize]);
        labels.filter(|label| *label == class).count()
    };
    let weights = (0..10).map(|class| rows.len() as f64 / (10 * count(class)) as f64);
    let given = digits(weighted(ClassWeights::Given(weights.collect())));
    let checksum = |cell| told(cell).facts().weight_checksum.clone();
    let balanced = checksum(cell);
    assert_eq!(balanced, checksum(given));
    assert_ne!(balanced, checksum(digits(CrossEntropySpec::default())));
}

#[test]
fn smoothed_labels_cost_more_and_teach_as_well() {
    let mut cell = digits(CrossEntropySpec {
        label_smoothing: 0.1,
        ..CrossEntropySpec::default()
    });
    Arc::make_mut(&mut cell.train).epochs = 4;
    let facts = told(cell).facts().clone();
    assert!(facts.metrics["val_accuracy"].unwrap() > 0.85);
    // Least possible loss: the entropy of a smoothed target, 0.91 for one class and 0.01 for each of the nine others.
    let least = -(0.91 * f64::ln(0.91) + 9.0 * 0.01 * f64::ln(0.01));
    assert!(facts.metrics["val_loss"].unwrap() > least);
}
