//! Runs on a GPU, or on what stands in for one.

use super::super::error::TrainError;
use crate::device::Backend;
use crate::event::FailedStatus;

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
