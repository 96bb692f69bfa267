//! Runs whose steps the device controls, on a GPU or the device stand-in: divergence and precision.

use super::*;
use crate::device::DeviceKind;
use crate::plan::Precision;

const GPU: DeviceKind = DeviceKind::Cuda(0);

fn on(device: DeviceKind, change: impl FnOnce(&mut TrainSpec)) -> CellSpec {
    with(|train| {
        train.device = device;
        change(train);
    })
}

/// A run whose loss exceeds `limits.max-loss` in the middle of the first epoch.
fn diverging(device: DeviceKind, change: impl FnOnce(&mut TrainSpec)) -> Recorded {
    let mut cell = on(device, |train| {
        train.batch_size = 4;
        train.optimizer = spec("kind = 'sgd', lr = 0.5, momentum = 0.9");
        train.ema = Some(EmaSpec::default());
        change(train);
    });
    Arc::make_mut(&mut cell.limits).max_loss = Some(10.0);
    told(cell)
}

#[test]
fn a_diverged_run_has_the_facts_of_the_cpu() {
    for accumulate in [1, 2] {
        let [cpu, gpu] = [DeviceKind::Cpu, GPU]
            .map(|device| diverging(device, |train| train.accumulate = accumulate));
        let (expected, own) = (cpu.facts(), gpu.facts());
        let step = |facts: &RunFacts| {
            let reason = facts.diverged.as_deref().unwrap_or("nothing diverged");
            reason.rsplit(' ').next().map(str::to_owned)
        };
        assert_eq!(step(own), step(expected));
        assert!(expected.steps > 0, "it should diverge later");
        assert_eq!(
            (own.steps, own.samples, own.epochs),
            (expected.steps, expected.samples, expected.epochs)
        );
        let rows = |told: &Recorded| {
            told.epochs()
                .iter()
                .map(|row| row.steps.len())
                .sum::<usize>()
        };
        assert_eq!(rows(&gpu), rows(&cpu));
    }
}

#[test]
fn schedules_and_optimizers_have_the_losses_of_the_cpu() {
    let lion = "kind = 'lion', lr = 1e-3, weight-decay = 0.1, decay = 'matrices'";
    for (schedule, optimizer) in [
        ("kind = 'one-cycle'", "kind = 'rmsprop'"),
        ("kind = 'plateau', patience = 0", lion),
    ] {
        let [cpu, gpu] = [DeviceKind::Cpu, GPU].map(|device| {
            told(on(device, |train| {
                train.epochs = 6;
                (train.schedule, train.optimizer) = (spec(schedule), spec(optimizer));
            }))
        });
        for (own, expected) in gpu.epochs().iter().zip(cpu.epochs()) {
            assert_eq!(own.lr, expected.lr);
            let [own, expected] = [*own, expected].map(|row| row.train_loss.unwrap());
            assert!((own - expected).abs() < 1e-5 * expected, "{own} {expected}");
        }
    }
}

#[test]
fn steps_after_a_divergence_leave_the_weights_as_they_are() {
    let whole = diverging(GPU, |_| ());
    let good = whole.facts().steps as usize;
    let rows: usize = whole.epochs().iter().map(|row| row.steps.len()).sum();
    assert_eq!(rows, good + 1);
    let cut = diverging(GPU, |train| {
        train.epochs = 1;
        train.steps_per_epoch = Some(good);
    });
    assert_eq!(cut.facts().diverged, None);
    assert_eq!(cut.facts().weight_checksum, whole.facts().weight_checksum);
}

#[test]
fn precisions_agree_but_for_their_rounding() {
    let [single, tf32, amp, bf16] = Precision::ALL.map(|precision| {
        let told = told(on(GPU, |train| {
            train.precision = precision;
            train.clip = Some(1.0);
        }));
        told.facts().clone()
    });
    let loss = |facts: &RunFacts| facts.final_loss.unwrap();
    for (rounded, most) in [(&tf32, 3e-3), (&amp, 3e-3), (&bf16, 2.4e-2)] {
        let error = (loss(rounded) / loss(&single) - 1.0).abs();
        assert!(error < most, "{} for {}", loss(rounded), loss(&single));
        assert_ne!(rounded.weight_checksum, single.weight_checksum);
    }
    for unscaled in [&single, &bf16] {
        assert!(!unscaled.metrics.contains_key("skipped_steps"));
    }
    assert_eq!(amp.metrics["skipped_steps"], Some(0.0));
}
