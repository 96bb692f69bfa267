//! The devices that training can run on, built on dfdx's: opening, synchronising, naming.
//!
//! [`DeviceKind`] is the device in a manifest, [`Backend`] the trait that models are generic over, and [`DeviceFacts`]
//! the description of a device. Operations are in [`crate::ops`], whose `run_on` is the only place that turns a
//! `DeviceKind` into a `Backend`.

mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod facts;
mod kind;
mod pool;
mod software;

pub(crate) use cpu::cpu_arithmetic;
pub use facts::DeviceFacts;
pub use kind::{DeviceKind, ParseDeviceError};
pub use software::{Library, libraries, telemetry_library};

use std::path::PathBuf;

use dfdx::tensor::{HasErr, Storage, Synchronize, TensorFromVec, ZerosTensor};
use dfdx::tensor_ops::Device;

use crate::base::tally;

/// Device memory of `f32` values: a `Vec` on the CPU, a device slice on CUDA.
pub type Buffer<D> = <D as Storage<f32>>::Vec;

/// A device of dfdx that Fieldtrial can train on.
///
/// `Cuda` is neither `Send` nor `Sync`: a device stays on the thread that opened it.
pub trait Backend:
    Device<f32>
    + Storage<f32>
    + Storage<f64>
    + Synchronize
    + ZerosTensor<f32>
    + TensorFromVec<f32>
    + Clone
{
    /// Which kind of device this is, for messages and results.
    const NAME: &'static str;

    /// A time stamp in the device's queue (on CUDA an event).
    type Mark;

    /// Cached conversions of a buffer's values for matrix products, for example rounded to `f16`; empty by default.
    type Rounded: Default + std::fmt::Debug;

    /// Whether work is queued asynchronously, so that phases can only be timed in separate, synchronised steps.
    const IS_ASYNCHRONOUS: bool;

    /// Opens device number `ordinal`.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] if the device, its driver or a library is missing.
    fn open(ordinal: usize) -> Result<Self, DeviceError>;

    /// Moves host values into device memory (on the CPU without a copy).
    fn upload(&self, values: Vec<f32>) -> Result<Buffer<Self>, DeviceError>;

    /// Copies device memory to the host.
    fn download(&self, values: &Buffer<Self>) -> Result<Vec<f32>, DeviceError>;

    /// Describes the device.
    ///
    /// # Errors
    /// Errors of the driver.
    fn facts(&self) -> Result<DeviceFacts, DeviceError> {
        Ok(DeviceFacts {
            kind: Self::NAME.to_owned(),
            count: 1,
            ..DeviceFacts::default()
        })
    }

    /// Sets the arithmetic of all later products.
    ///
    /// # Errors
    /// [`DeviceError::Failed`] if the device does not support this arithmetic.
    fn set_arithmetic(&self, arithmetic: Arithmetic) -> Result<(), DeviceError>;

    /// The first value of every buffer, in one copy to the host.
    fn download_firsts(&self, buffers: &[&Buffer<Self>]) -> Result<Vec<f32>, DeviceError> {
        let first = |buffer: &&Buffer<Self>| {
            let values = self.download(buffer)?;
            Ok(values.first().copied().unwrap_or(f32::NAN))
        };
        buffers.iter().map(first).collect()
    }

    /// Queues a time stamp that the device records after all work queued before; does not wait for it.
    fn mark(&self) -> Result<Self::Mark, DeviceError>;

    /// Seconds from one time stamp to a later one, both reached (that is, after a download or a synchronisation).
    fn seconds_between(&self, from: &Self::Mark, to: &Self::Mark) -> Result<f64, DeviceError>;

    /// Peak bytes of the device's memory that the allocator held since the last call; `None` on a device without its
    /// own memory.
    fn take_peak_bytes(&self) -> Result<Option<u64>, DeviceError> {
        Ok(None)
    }

    /// Free and total bytes of the device's memory, over all processes, from the driver; `None` without such memory.
    fn memory(&self) -> Result<Option<(u64, u64)>, DeviceError> {
        Ok(None)
    }

    /// Address of this device's counters of clocks, power, temperature and load, or why they cannot be read; `None` for
    /// a device without counters.
    fn counters(&self) -> Option<Result<CounterAddress, String>> {
        None
    }

    /// Lists the algorithm of every convolution of this thread so far, by size; empty if no library of the device
    /// chooses algorithms.
    fn convolutions(&self) -> String {
        String::new()
    }

    /// A buffer of `len` copies of `value`; does not wait for the device.
    fn full_buffer(&self, len: usize, value: f32) -> Result<Buffer<Self>, DeviceError> {
        self.upload(vec![value; len])
    }

    /// Allocates `len` zeros.
    fn zeros_buffer(&self, len: usize) -> Result<Buffer<Self>, DeviceError> {
        let free = || self.memory().ok().flatten().map(|(free, _)| free);
        tally::count_tensor::<f32>(len);
        <Self as Storage<f32>>::try_alloc_len(self, len).map_err(|error| {
            DeviceError::from_dfdx::<Self>(error)
                .with_requested_bytes((len * size_of::<f32>()) as u64, free)
        })
    }

    /// Buffers of at least this many values are reused after [`Backend::recycle`].
    const REUSED_LEN: usize = usize::MAX;

    /// `len` values of arbitrary content, all of which the caller must overwrite: from reused memory if possible.
    fn uninit_buffer(&self, len: usize) -> Result<Buffer<Self>, DeviceError> {
        self.zeros_buffer(len)
    }

    /// Stores the memory of `buffer` for a later [`Backend::uninit_buffer`], if it came from there; `buffer` is empty
    /// afterwards. On devices without such a store this does nothing, and the memory is freed with `buffer`.
    fn recycle(_buffer: &mut Buffer<Self>) {}

    /// Marks the end of a step: memory that was not reused for some steps is freed.
    fn trim() {}

    /// Number of values in `buffer`.
    fn buffer_len(&self, buffer: &Buffer<Self>) -> usize {
        <Self as Storage<f32>>::len(self, buffer)
    }
}

/// Where to read the counters of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterAddress {
    /// The file of NVIDIA's management library (NVML).
    pub library: PathBuf,
    /// The device's PCI address, `0000:18:00.0`.
    pub bus_id: String,
}

/// The arithmetic of matrix products and convolutions; sums are `f32` in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Arithmetic {
    /// IEEE single precision.
    #[default]
    Single,
    /// Inputs rounded to TF32: 10 bits of fraction, the range of `f32`.
    Tf32,
    /// Inputs rounded to `f16`: 10 bits of fraction, up to 65,504.
    Half,
    /// Inputs rounded to `bf16`: 7 bits of fraction, the range of `f32`.
    Bfloat,
}

impl Arithmetic {
    /// Whether inputs are rounded to 16 bits.
    pub fn is_16_bit(self) -> bool {
        matches!(self, Self::Half | Self::Bfloat)
    }

    /// The lowest compute capability of NVIDIA GPUs that support the arithmetic.
    pub fn least_capability(self) -> (i32, i32) {
        match self {
            Self::Single => (0, 0),
            Self::Tf32 | Self::Bfloat => (8, 0),
            Self::Half => (7, 0),
        }
    }

    /// Why a GPU of this compute capability does not support the arithmetic; `None` if it does.
    pub fn unsupported_reason(self, capability: (i32, i32)) -> Option<String> {
        let (least, (major, minor)) = (self.least_capability(), capability);
        (capability < least).then(|| {
            format!(
                "products in {self} need compute capability {}.{}, this GPU has {major}.{minor}",
                least.0, least.1
            )
        })
    }
}

impl std::fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Single => "f32",
            Self::Tf32 => "TF32",
            Self::Half => "f16",
            Self::Bfloat => "bf16",
        })
    }
}

/// An error of a device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The device, its driver or its libraries are missing on this machine or in this build.
    #[error("{0}")]
    Absent(String),
    /// Device memory is exhausted.
    #[error("{}", exhausted(device, *bytes, *free))]
    OutOfMemory {
        /// The device's name.
        device: &'static str,
        /// Bytes that were requested, if known.
        bytes: Option<u64>,
        /// Bytes that were free, if the driver reports them.
        free: Option<u64>,
    },
    /// Any other failure of a driver or library, with its own message.
    #[error("`{device}` failed: {message}")]
    Failed {
        /// The device's name.
        device: &'static str,
        /// The library's message.
        message: String,
    },
}

impl DeviceError {
    /// The error that memory of `device` is exhausted, with an unknown number of requested bytes.
    pub(crate) fn out_of_memory(device: &'static str) -> Self {
        Self::OutOfMemory {
            device,
            bytes: None,
            free: None,
        }
    }

    /// Adds the number of requested bytes (`asked`) and of free bytes (`ask_free`) to an out-of-memory error; returns
    /// other errors unchanged.
    #[must_use]
    pub(crate) fn with_requested_bytes(
        self,
        asked: u64,
        ask_free: impl FnOnce() -> Option<u64>,
    ) -> Self {
        match self {
            Self::OutOfMemory {
                device,
                bytes: None,
                ..
            } => Self::OutOfMemory {
                device,
                bytes: Some(asked),
                free: ask_free(),
            },
            other => other,
        }
    }

    /// Converts an error of dfdx's device `D`.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is handed to `map_err` by name"
    )]
    pub fn from_dfdx<D: Backend>(error: <D as HasErr>::Err) -> Self {
        Self::from_debug(D::NAME, &error)
    }

    /// Converts an error of dfdx or a driver to `OutOfMemory` or `Failed`.
    pub(crate) fn from_debug(device: &'static str, error: &dyn std::fmt::Debug) -> Self {
        let message = format!("{error:?}");
        if message.contains("OutOfMemory") || message.contains("OUT_OF_MEMORY") {
            Self::out_of_memory(device)
        } else {
            Self::Failed { device, message }
        }
    }
}

/// Message with requested and free bytes, as far as known.
fn exhausted(device: &str, bytes: Option<u64>, free: Option<u64>) -> String {
    let tried = match bytes {
        Some(bytes) => format!("an allocation of {bytes} bytes on `{device}` failed"),
        None => format!("out of memory on `{device}`"),
    };
    match free {
        Some(free) => format!("{tried}, {free} bytes free"),
        None => tried,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_that_a_gpu_lacks_is_named_with_what_it_has() {
        let (pascal, volta, turing, ampere) = ((6, 1), (7, 0), (7, 5), (8, 0));
        for capability in [pascal, volta, turing, ampere] {
            assert_eq!(Arithmetic::Single.unsupported_reason(capability), None);
        }
        let lack = Arithmetic::Half.unsupported_reason(pascal).unwrap();
        assert_eq!(
            lack,
            "products in f16 need compute capability 7.0, this GPU has 6.1"
        );
        assert_eq!(Arithmetic::Half.unsupported_reason(volta), None);
        assert!(Arithmetic::Tf32.unsupported_reason(turing).is_some());
        assert_eq!(Arithmetic::Tf32.unsupported_reason(ampere), None);
    }

    #[test]
    fn the_cpu_computes_in_f32_and_bf16() {
        let cpu = dfdx::tensor::Cpu::open(0).unwrap();
        for arithmetic in [Arithmetic::Bfloat, Arithmetic::Single] {
            cpu.set_arithmetic(arithmetic).unwrap();
            assert_eq!(cpu_arithmetic(), arithmetic);
        }
        let error = cpu.set_arithmetic(Arithmetic::Tf32).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`cpu` failed: products in TF32 need an NVIDIA GPU"
        );
    }
}
