//! Schedules set the learning rate of the steps.

use super::*;
use crate::optim::ScheduleSpec;

fn scheduled(schedule: ScheduleSpec, change: impl FnOnce(&mut TrainSpec)) -> CellSpec {
    with(|train| {
        train.schedule = schedule;
        change(train);
    })
}

/// A plateau schedule for which no loss is ever an improvement: the threshold asks for a loss below 0.
fn plateau(patience: usize) -> ScheduleSpec {
    let settings = "kind = 'plateau', factor = 0.5, threshold = 1e9, threshold-mode = 'abs'";
    spec(&format!("{settings}, patience = {patience}"))
}

fn rates(told: &Recorded) -> Vec<f64> {
    told.epochs().iter().map(|row| row.lr.unwrap()).collect()
}

#[test]
fn a_rate_falls_on_a_plateau_of_the_validation_loss() {
    let cell = scheduled(plateau(1), |train| train.epochs = 7);
    let told = told(cell.clone());
    assert_eq!(
        rates(&told),
        [0.01, 0.01, 0.01, 0.005, 0.005, 0.0025, 0.0025]
    );
    assert_eq!(super::told(cell.clone()).curves(), told.curves());
    let mut two = cell;
    Arc::make_mut(&mut two.train).threads = Some(2);
    assert_eq!(super::told(two).curves(), told.curves());
}

#[test]
fn without_a_validation_split_it_is_the_training_loss() {
    let cell = scheduled(plateau(0), |train| train.epochs = 4);
    let told = told(of_digits(cell, 0.0));
    assert!(told.epochs().iter().all(|row| row.validation.is_empty()));
    assert_eq!(rates(&told), [0.01, 0.01, 0.005, 0.0025]);
}

#[test]
fn a_plateau_of_rare_validations_counts_epochs() {
    let mut cell = scheduled(plateau(2), |train| train.epochs = 9);
    Arc::make_mut(&mut cell.validation).every = 2;
    // Epochs 1, 3, 5, 7 and 8 (from 0) are validated; the rate falls after epoch 5, with four epochs without
    // improvement.
    let falls = [0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.005, 0.005, 0.005];
    assert_eq!(rates(&told(cell)), falls);
}

#[test]
fn a_plateau_and_early_stopping_judge_by_themselves() {
    let stopping = |patience| {
        let cell = scheduled(plateau(1), |train| {
            train.epochs = 50;
            train.early_stopping = Some(EarlyStoppingSpec {
                patience,
                min_delta: 1e9,
                restore_best: true,
            });
        });
        rates(&told(cell))
    };
    assert_eq!(stopping(2), [0.01, 0.01, 0.01]);
    assert_eq!(stopping(4), [0.01, 0.01, 0.01, 0.005, 0.005]);
}

#[test]
fn a_cycle_changes_the_rate_from_step_to_step() {
    let cycle = || spec("kind = 'one-cycle'");
    let told = told(scheduled(cycle(), |_| ()));
    // 3 epochs of 4 steps, as in the test of `OneCycleLR`, with a tenth of its rate; the rates of the epochs' first
    // steps.
    let expected = [4e-4, 9.330_129_698_414_118e-3, 2.830_609_982_086_992e-3];
    for (own, expected) in rates(&told).into_iter().zip(expected) {
        assert!((own - expected).abs() < 1e-14, "{own} {expected}");
    }
    // The cycle changes the rate within a single epoch too.
    let one = |schedule| {
        let cell = scheduled(schedule, |train| train.epochs = 1);
        super::told(cell).facts().weight_checksum.clone()
    };
    let constant: ScheduleSpec = spec("kind = 'linear'");
    assert_ne!(one(cycle()), one(constant.clone()));
    assert_eq!(one(constant), one(ScheduleSpec::default()));
}
