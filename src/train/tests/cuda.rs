//! Runs on a GPU, or on what stands in for one.

use super::super::error::TrainError;
use crate::device::Backend;
use crate::event::FailedStatus;

#[test]
fn a_gpu_is_watched_while_it_trains() {
    let told = told(on_gpu(|_| {}));
    let (facts, times) = told.finished();
    // The stand-in finds 1.5 J more at every look; other tests look too.
    let energy = times.gpu.energy_j.unwrap();
    assert!(energy >= 1.5 * facts.epochs as f64, "{:?}", times.gpu);
    assert!(times.gpu.readings.is_some());
    let by_epoch = times.gpu.energy_j_per_epoch.unwrap();
    assert!((by_epoch * facts.epochs as f64 - energy).abs() < 1e-9 * energy);
    // Load and power look back a second: of a run that is shorter they say nothing.
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
    assert!(
        reason.starts_with(&tried) && reason.ends_with(" bytes free"),
        "{reason}"
    );
    assert!(device.zeros_buffer(8).is_ok());
}
