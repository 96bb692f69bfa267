//! NVIDIA GPUs as a [`Backend`]; compiled with the feature `cuda` only.
#![expect(
    unsafe_code,
    reason = "copies between host and device memory are raw in cudarc's public interface"
)]

use cudarc::driver::result::{memcpy_dtoh_sync, memcpy_htod_sync};
use cudarc::driver::{DevicePtr, DevicePtrMut};
use dfdx::tensor::{Cuda, Storage, Synchronize};

use super::{Backend, Buffer, DeviceError};

impl Backend for Cuda {
    const NAME: &'static str = "cuda";
    const IS_ASYNCHRONOUS: bool = true;

    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        // `Cuda::try_build` panics where there is no driver, so ask the driver first.
        cudarc::driver::result::init()
            .map_err(|error| DeviceError::Absent(format!("no usable CUDA driver: {error:?}")))?;
        let count = cudarc::driver::result::device::get_count().map_err(|error| {
            DeviceError::Absent(format!("the CUDA driver names no device: {error:?}"))
        })?;
        if ordinal >= usize::try_from(count).unwrap_or(0) {
            return Err(DeviceError::Absent(format!(
                "`cuda:{ordinal}` is not here: the driver counts {count} GPUs"
            )));
        }
        Self::try_build(ordinal, 0).map_err(DeviceError::from_dfdx::<Self>)
    }

    fn upload(&self, values: Vec<f32>) -> Result<Buffer<Self>, DeviceError> {
        let mut buffer = <Self as Storage<f32>>::try_alloc_len(self, values.len())
            .map_err(DeviceError::from_dfdx::<Self>)?;
        if !values.is_empty() {
            // SAFETY: the buffer was allocated just above with exactly this number of values.
            unsafe { memcpy_htod_sync(*buffer.device_ptr_mut(), &values) }
                .map_err(|error| failed(&error))?;
        }
        Ok(buffer)
    }

    fn download(&self, values: &Buffer<Self>) -> Result<Vec<f32>, DeviceError> {
        self.try_synchronize()
            .map_err(DeviceError::from_dfdx::<Self>)?;
        let mut host = vec![0.0_f32; self.buffer_len(values)];
        if !host.is_empty() {
            // SAFETY: `host` has as many values as the buffer, whose work is done.
            unsafe { memcpy_dtoh_sync(&mut host, *values.device_ptr()) }
                .map_err(|error| failed(&error))?;
        }
        Ok(host)
    }
}

fn failed(error: &dyn std::fmt::Debug) -> DeviceError {
    DeviceError::Failed {
        device: Cuda::NAME,
        message: format!("{error:?}"),
    }
}
