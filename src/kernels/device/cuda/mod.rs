//! NVIDIA GPUs as a [`Backend`]; compiled with the feature `cuda` only.
//!
//! Adds to dfdx: driver and libraries found at run time (`libraries.rs`, `forward.rs`), the GPU of a thread
//! (`Context`), kernel launches ([`Launch`]) and matrix products ([`Product`]). Kernels are in `ops/*/kernels.cu`, in
//! the dialect of `dialect.h`; `compile.rs` (a part of `build.rs`) compiles them, for GPUs or, with the feature
//! `cuda-stand-in`, for a driver that computes on the CPU (`stand_in/`), on which all operations are tested.
//!
//! Everything is queued on the default stream, in order, except copies of whole batches to the device (`staging.rs`),
//! which use a second stream to overlap with computation. The host waits for the device only in [`Backend::download`],
//! [`Backend::upload`] when all of its staging buffers are in flight, and synchronising.
#![expect(
    unsafe_code,
    reason = "copies between host and device memory are raw in cudarc's public interface"
)]

mod algorithms;
mod blas;
mod call;
mod choice;
mod context;
mod convolution;
mod convolutions;
mod dnn;
mod error;
mod facts;
mod forward;
mod launch;
mod libraries;
mod mark;
mod partials;
mod product;
mod rounded;
mod sizes;
mod staging;

pub use context::{memory, uploaded};
pub use convolution::{ConvolutionPlan, set_convolution_algorithm};
pub use convolutions::ConvolutionAlgorithm;
pub use dnn::CONVOLUTION;
pub use facts::take_peak_bytes;
pub use launch::{Argument, Launch, THREADS, Value};
pub use libraries::{CudaLibrary, FOLDERS, find};
pub use mark::Mark;
pub use partials::Partials;
pub use product::Product;
pub use rounded::{ConversionCache, Factor, cast_to_half};
pub use sizes::{Convolution, Direction};

use std::rc::Rc;

use cudarc::driver::result::{device, init, memcpy_dtoh_sync};
use cudarc::driver::{CudaSlice, DevicePtr, DevicePtrMut, DeviceRepr};
use dfdx::tensor::{Cuda, Synchronize};

use super::{Arithmetic, Backend, Buffer, CounterAddress, DeviceError, DeviceFacts};
use crate::base::tally;
use crate::base::text::count;
use context::Context;
use error::driver_error;

impl Backend for Cuda {
    type Mark = Mark;
    type Rounded = ConversionCache;

    const NAME: &'static str = "cuda";
    const IS_ASYNCHRONOUS: bool = true;

    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        if let Ok(current) = Context::current()
            && current.device.ordinal() == ordinal
        {
            return Ok(current.opened.clone());
        }
        for part in [CudaLibrary::Driver, CudaLibrary::Blas] {
            find(part).map_err(|reason| DeviceError::Absent(reason.to_owned()))?;
        }
        // `Cuda::try_build` panics if the driver has no device, so initialise the driver first.
        init().map_err(|error| DeviceError::Absent(format!("no usable CUDA driver: {error:?}")))?;
        let gpus = device::get_count().map_err(|error| {
            DeviceError::Absent(format!("the CUDA driver names no device: {error:?}"))
        })?;
        let gpus = usize::try_from(gpus).unwrap_or(0);
        if ordinal >= gpus {
            let gpus = count(gpus, "GPU");
            return Err(DeviceError::Absent(format!(
                "`cuda:{ordinal}` is not here: the driver counts {gpus}"
            )));
        }
        let device = Self::try_build(ordinal, 0).map_err(DeviceError::from_dfdx::<Self>)?;
        Context::make_current(&device)?;
        Ok(device)
    }

    fn facts(&self) -> Result<DeviceFacts, DeviceError> {
        facts::device_facts()
    }

    fn set_arithmetic(&self, arithmetic: Arithmetic) -> Result<(), DeviceError> {
        let capability = self.facts()?.capability.unwrap_or_default();
        if let Some(message) = arithmetic.unsupported_reason(capability) {
            return Err(DeviceError::Failed {
                device: Self::NAME,
                message,
            });
        }
        Context::current()?.set_arithmetic(arithmetic);
        Ok(())
    }

    fn upload(&self, values: Vec<f32>) -> Result<Buffer<Self>, DeviceError> {
        let mut buffer = self.uninit_buffer(values.len())?;
        let address = *buffer.device_ptr_mut();
        let context = Context::current()?;
        // SAFETY: the buffer was allocated just above with this number of values; memory is freed in stream order.
        unsafe { context.staging.borrow_mut().upload(address, &values) }?;
        Ok(buffer)
    }

    fn download(&self, values: &Buffer<Self>) -> Result<Vec<f32>, DeviceError> {
        self.try_synchronize()
            .map_err(DeviceError::from_dfdx::<Self>)?;
        let mut host = vec![0.0_f32; self.buffer_len(values)];
        if !host.is_empty() {
            tally::count_copy();
            // SAFETY: `host` has as many values as the buffer, whose pending work is done.
            unsafe { memcpy_dtoh_sync(&mut host, *values.device_ptr()) }.map_err(driver_error)?;
        }
        Ok(host)
    }

    fn download_firsts(&self, buffers: &[&Buffer<Self>]) -> Result<Vec<f32>, DeviceError> {
        let addresses: Vec<u64> = buffers.iter().map(|buffer| *buffer.device_ptr()).collect();
        let mut values = self.uninit_buffer(addresses.len())?;
        Launch::new("device_gather_firsts")
            .over(addresses.len())
            .args((&uploaded(&addresses)?, &mut values, addresses.len()))
            .run()?;
        self.download(&values)
    }

    fn mark(&self) -> Result<Mark, DeviceError> {
        Mark::record()
    }

    fn seconds_between(&self, from: &Mark, to: &Mark) -> Result<f64, DeviceError> {
        to.seconds_since(from)
    }

    fn take_peak_bytes(&self) -> Result<Option<u64>, DeviceError> {
        take_peak_bytes().map(Some)
    }

    fn memory(&self) -> Result<Option<(u64, u64)>, DeviceError> {
        memory().map(Some)
    }

    fn counters(&self) -> Option<Result<CounterAddress, String>> {
        let address = || {
            Ok(CounterAddress {
                library: super::telemetry_library()?,
                bus_id: facts::bus_id().map_err(|error| error.to_string())?,
            })
        };
        Some(address())
    }

    fn convolutions(&self) -> String {
        Context::current().map_or_else(
            |_| String::new(),
            |context| context.convolutions.algorithms.borrow().to_string(),
        )
    }

    fn uninit_buffer(&self, len: usize) -> Result<Buffer<Self>, DeviceError> {
        forward::without_zero_fill(|| self.zeros_buffer(len))
    }

    fn full_buffer(&self, len: usize, value: f32) -> Result<Buffer<Self>, DeviceError> {
        let mut buffer = self.uninit_buffer(len)?;
        Launch::new("device_fill")
            .over(len)
            .args((&mut buffer, value, len))
            .run()?;
        Ok(buffer)
    }
}

/// Uninitialised scratch memory for one operation, which must write it before it reads it.
///
/// # Errors
/// [`DeviceError::OutOfMemory`].
pub fn scratch<T: DeviceRepr>(len: usize) -> Result<CudaSlice<T>, DeviceError> {
    Context::current()?.scratch(len)
}

/// The arithmetic of products on this thread's GPU.
///
/// # Errors
/// [`DeviceError::Absent`] before the thread has opened one.
pub fn arithmetic() -> Result<Arithmetic, DeviceError> {
    Ok(Context::current()?.arithmetic())
}

/// A copy of `values` (numbers and addresses) in device memory, for a kernel to read. Copies are cached, because most
/// tables are the same in every step.
///
/// # Errors
/// [`DeviceError::OutOfMemory`].
pub fn table(values: Vec<u64>) -> Result<Rc<CudaSlice<u64>>, DeviceError> {
    Context::current()?.table(values)
}

/// Copies device memory to the host; waits for the device.
///
/// # Errors
/// Errors of the driver, including those of work that was queued before.
pub fn downloaded<T: DeviceRepr + Copy + Default>(
    values: &CudaSlice<T>,
) -> Result<Vec<T>, DeviceError> {
    tally::count_copy();
    Context::current()?
        .device
        .dtoh_sync_copy(values)
        .map_err(driver_error)
}

/// Numbers of operations that a thread has queued on the device.
#[cfg(all(any(test, feature = "testing"), feature = "cuda-stand-in"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OperationCounts {
    /// Numbers of kernels, fills with zeros, copies, and calls that set the thread's context.
    pub of_driver: [u64; 4],
    /// Number of cuBLAS matrix products.
    pub products: u64,
    /// Number of cuDNN convolutions.
    pub convolutions: u64,
}

/// Numbers of operations that this thread has queued so far on the stand-in (a driver that computes on the CPU).
#[cfg(all(any(test, feature = "testing"), feature = "cuda-stand-in"))]
pub fn queued_operations() -> OperationCounts {
    let mut of_driver = [0; 4];
    let (mut products, mut convolutions) = (0, 0);
    // SAFETY: functions of the stand-in, which write four numbers and one each.
    unsafe {
        call::done(of_driver.as_mut_ptr());
        call::products(&raw mut products);
        call::convolutions(&raw mut convolutions);
    }
    OperationCounts {
        of_driver,
        products,
        convolutions,
    }
}

/// Makes the stand-in run this thread's launches in reverse order of blocks and threads, so that a missing barrier
/// changes the result.
#[cfg(all(any(test, feature = "testing"), feature = "cuda-stand-in"))]
pub(crate) fn set_reverse_execution(backwards: bool) {
    // SAFETY: a function of the stand-in.
    unsafe { call::set_backwards(backwards.into()) };
}

#[cfg(all(test, feature = "cuda-stand-in"))]
mod registers;
#[cfg(all(test, feature = "cuda-stand-in"))]
mod tests;
