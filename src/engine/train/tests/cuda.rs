//! Runs on a GPU or the device stand-in.

use std::sync::Mutex;

use super::super::error::TrainError;
use super::*;
use crate::device::cuda::queued_operations;
use crate::device::{Backend, DeviceKind};
use crate::event::{FailedStatus, OpWork};
use crate::plan::Precision;
use crate::testing::{assert_begins, assert_ends};

fn on_gpu(change: impl FnOnce(&mut CellSpec)) -> CellSpec {
    let mut cell = with(|train| train.device = DeviceKind::Cuda(0));
    change(&mut cell);
    cell
}

#[test]
fn a_gpu_trains_as_the_processor_does_and_twice_to_the_bit() {
    let (cpu, gpu) = (told(cell()), told(on_gpu(|_| {})));
    for (a, b) in cpu.epochs().iter().zip(gpu.epochs()) {
        let (a, b) = (a.train_loss.unwrap(), b.train_loss.unwrap());
        assert!((a - b).abs() <= 1e-4 * a, "{a} {b}");
    }
    let again = told(on_gpu(|_| {}));
    assert_eq!(gpu.facts(), again.facts());
    assert_eq!(gpu.facts().nondeterministic, "");
    let class = &gpu.finished().1.numeric_class;
    assert!(class.contains("-cuda-stand-in"), "{class}");
}

#[test]
fn phases_of_a_gpu_are_those_of_extra_steps_and_change_no_fact() {
    let told_with = |steps| {
        told(on_gpu(|cell| {
            Arc::make_mut(&mut cell.measure).phase_steps = steps;
        }))
    };
    let (without, with) = (told_with(0), told_with(4));
    assert_eq!(without.facts(), with.facts());
    let (_, times) = with.finished();
    let phases = &times.phases;
    let sum = phases.data_wait_ms
        + phases.transfer_ms
        + phases.forward_ms
        + phases.loss_ms
        + phases.backward_ms
        + phases.optimizer_ms
        + phases.other_ms;
    let step_ms = times.phase_step_ms();
    assert!((sum - step_ms).abs() < 1e-9 * step_ms, "{sum} {step_ms}");
    assert!(phases.transfer_ms > 0.0 && phases.backward_ms > 0.0 && times.observer_ratio.is_some());
    let (_, times) = without.finished();
    assert_eq!(times.observer_ratio, None);
    assert!((times.phases.other_ms - times.step_mean_ms).abs() < 1e-9 * times.step_mean_ms);
    assert_eq!((times.warmup_steps, times.measured_steps), (3, Some(9)));
}

#[test]
fn steps_of_a_gpu_last_from_end_to_end() {
    let told = told(on_gpu(|_| {}));
    let (_, times) = told.finished();
    let steps: Vec<f64> = told
        .epochs()
        .iter()
        .flat_map(|epoch| &epoch.steps)
        .map(|step| step.step_ms)
        .collect();
    assert_eq!(steps.len(), 12);
    assert!(steps.iter().all(|step_ms| *step_ms > 0.0), "{steps:?}");
    let sum_s = 1e-3 * steps.iter().sum::<f64>();
    assert!(sum_s <= times.train_s, "{sum_s} {}", times.train_s);
    assert!(times.step_ms > 0.0);
}

#[test]
fn memory_of_a_gpu_is_told_apart_by_its_allocator_and_its_driver() {
    let told = told(on_gpu(|_| {}));
    let memory = &told.finished().1.device_memory;
    let train = memory.peak_train_bytes.unwrap();
    assert!(train > told.finished().1.memory.parameter_bytes);
    assert!(memory.peak_validation_bytes.unwrap() > 0);
    assert!(memory.used_bytes.is_some() && memory.source.contains("cuMemGetInfo"));
}

#[test]
fn a_gpu_is_watched_while_it_trains() {
    let told = told(on_gpu(|_| {}));
    let (facts, times) = told.finished();
    // The stand-in's energy counter grows by 1.5 J with every reading, also with readings by other tests.
    let energy = times.gpu.energy_j.unwrap();
    assert!(energy >= 1.5 * facts.epochs as f64, "{:?}", times.gpu);
    assert!(times.gpu.samples.is_some());
    let by_epoch = times.gpu.energy_j_per_epoch.unwrap();
    assert!((by_epoch * facts.epochs as f64 - energy).abs() < 1e-9 * energy);
    // Load and power are means over a second: a shorter run has none.
    assert!(
        times.train_s > 1.0 || times.gpu.busy_share.is_none(),
        "{times:?}"
    );
}

#[test]
fn more_than_a_gpu_has_is_out_of_memory_with_what_was_tried() {
    let device = dfdx::tensor::Cuda::open(0).unwrap();
    let (len, bytes) = (1_usize << 29, 1_u64 << 31);
    let error = TrainError::from(device.zeros_buffer(len).unwrap_err());
    assert_eq!(error.status(), FailedStatus::Oom);
    let reason = error.to_string();
    let tried = format!("an allocation of {bytes} bytes on `cuda` failed, ");
    assert_begins(&reason, &tried);
    assert_ends(&reason, " bytes free");
    assert!(device.zeros_buffer(8).is_ok());
}

/// Numbers of kernels, fills, copies, products, convolutions and switches of the thread's context in one step of a
/// small U-Net, whose blocks have the same operations as the full-size one; and the bytes of its activations.
fn step_of_the_unet(precision: Precision) -> ([u64; 6], u64) {
    let queued = |steps| {
        let cell = on_gpu(|cell| {
            let train = Arc::make_mut(&mut cell.train);
            (train.epochs, train.batch_size, train.steps_per_epoch) = (1, 4, Some(steps));
            (train.precision, train.clip) = (precision, Some(1.0));
        });
        let mut cell = of_unet(cell, 8, 0.02);
        Arc::make_mut(&mut cell.measure).phase_steps = 0;
        // The run has a thread of its own, whose counters begin at 0.
        let seen = Mutex::new([0; 6]);
        let seen_by = |_: &EpochRow| {
            let queued = queued_operations();
            let [kernels, fills, copies, switches] = queued.of_driver;
            let (products, convolutions) = (queued.products, queued.convolutions);
            *seen.lock().unwrap() = [kernels, fills, copies, products, convolutions, switches];
            Reply::Continue
        };
        let told = told_and_answered(order(cell), seen_by);
        let (facts, times) = told.finished();
        let sum = |of: fn(&OpWork) -> Option<u64>| facts.work.iter().filter_map(of).sum();
        let counted = [sum(|row| row.launches), sum(|row| row.copies)];
        let [launches, copies]: [u64; 2] = counted;
        let bytes = times.memory.activation_bytes;
        (seen.into_inner().unwrap(), [bytes, launches, copies])
    };
    let (counts, told): (Vec<[u64; 6]>, Vec<[u64; 3]>) = (2..=4).map(queued).unzip();
    // If the stand-in's `malloc` gives a buffer another address than in the step before, which differs from process to
    // process, a table of addresses is copied once more. The smallest count is that of a step without this copy.
    let least = |kind: usize| {
        counts
            .windows(2)
            .map(|pair| pair[1][kind] - pair[0][kind])
            .min()
    };
    let step: [u64; 6] = std::array::from_fn(|kind| least(kind).unwrap_or_default());
    let [kernels, _, copies, products, convolutions, _] = step;
    let launches = kernels + products + convolutions;
    assert_eq!(told[0][1], launches, "what `work.csv` has");
    // `work.csv` counts neither copies of tables nor copies that cudarc makes by itself.
    assert!((1..=copies).contains(&told[0][2]), "{copies}: {told:?}");
    (step, told[0][0])
}

#[test]
fn a_step_of_the_unet_queues_few_operations_and_mixed_precision_keeps_less() {
    let activations = [
        (Precision::F32, 539),
        (Precision::Amp, 633),
        (Precision::Bf16, 633),
    ]
    .map(|(precision, most)| {
        let (queued, bytes) = step_of_the_unet(precision);
        let [_, fills, .., switches] = queued;
        let sum: u64 = queued[..5].iter().sum();
        assert!(sum <= most, "{precision:?}: {sum}, {queued:?}");
        assert!(fills <= 5, "{precision:?}: {fills} fills with zeros");
        assert_eq!(switches, 0, "a key of the tape calls the driver");
        bytes
    });
    let [single, half, bfloat] = activations;
    assert!(10 * half <= 6 * single, "{half} of {single} bytes");
    assert_eq!(bfloat, half);
}
