//! The devices that training can run on, as dfdx knows them: opening, synchronising, naming.
//!
//! Owns [`DeviceKind`] (what a manifest says) and [`Backend`] (what models are generic over). It knows no operation:
//! those stand in [`crate::ops`], whose `run_on` is the only place that turns a `DeviceKind` into a `Backend`.

mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod kind;
mod software;

pub use kind::{DeviceKind, ParseDeviceError};
pub use software::{Library, libraries, telemetry_library};

use std::path::PathBuf;

use dfdx::tensor::{HasErr, Storage, Synchronize, TensorFromVec, ZerosTensor};
use dfdx::tensor_ops::Device;

/// Device memory of `f32` values: a `Vec` on the CPU, a device slice on CUDA.
pub type Buffer<D> = <D as Storage<f32>>::Vec;

/// A device of dfdx that Fieldtrial can train on.
///
/// `Cuda` is neither `Send` nor `Sync`: a device lives on the thread that opened it.
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

    /// Whether work is queued and returns before it is done, so that phases need synchronised steps of their own.
    const IS_ASYNCHRONOUS: bool;

    /// Opens device number `ordinal`.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] where no such device, driver or library is found.
    fn open(ordinal: usize) -> Result<Self, DeviceError>;

    /// Moves host values into device memory (on the CPU without a copy).
    fn upload(&self, values: Vec<f32>) -> Result<Buffer<Self>, DeviceError>;

    /// Copies device memory to the host.
    fn download(&self, values: &Buffer<Self>) -> Result<Vec<f32>, DeviceError>;

    /// Chooses the arithmetic of products from here on.
    ///
    /// # Errors
    /// [`DeviceError::Failed`] where the device has no such arithmetic.
    fn set_arithmetic(&self, arithmetic: Arithmetic) -> Result<(), DeviceError> {
        match arithmetic {
            Arithmetic::Single => Ok(()),
            Arithmetic::Tf32 | Arithmetic::Half => Err(DeviceError::Failed {
                device: Self::NAME,
                message: format!("products in {arithmetic} need an NVIDIA GPU"),
            }),
        }
    }

    /// Where this device's clocks, power, temperature and load are counted, or why they are not; `None` for a device
    /// without counters of its own.
    fn counters(&self) -> Option<Result<CounterAddress, String>> {
        None
    }

    /// `len` times `value`, without waiting for the device.
    fn full_buffer(&self, len: usize, value: f32) -> Result<Buffer<Self>, DeviceError> {
        self.upload(vec![value; len])
    }

    /// Allocates `len` zeros.
    fn zeros_buffer(&self, len: usize) -> Result<Buffer<Self>, DeviceError> {
        <Self as Storage<f32>>::try_alloc_len(self, len).map_err(DeviceError::from_dfdx::<Self>)
    }

    /// Number of values in `buffer`.
    fn buffer_len(&self, buffer: &Buffer<Self>) -> usize {
        <Self as Storage<f32>>::len(self, buffer)
    }
}

/// Where the counters of a GPU are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterAddress {
    /// The file of NVIDIA's management library.
    pub library: PathBuf,
    /// The device's address on the bus, `0000:18:00.0`.
    pub bus_id: String,
}

/// How products of matrices and convolutions are computed; sums are `f32` in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Arithmetic {
    /// IEEE single precision.
    #[default]
    Single,
    /// Inputs rounded to TF32: 10 bits of fraction, the range of `f32`.
    Tf32,
    /// Inputs rounded to `f16`: 10 bits of fraction, up to 65,504.
    Half,
}

impl std::fmt::Display for Arithmetic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Single => "f32",
            Self::Tf32 => "TF32",
            Self::Half => "f16",
        })
    }
}

/// What a device can answer with instead of a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The device, its driver or its libraries are not on this machine, or not in this build.
    #[error("{0}")]
    Absent(String),
    /// Device memory is exhausted.
    #[error("out of memory on `{device}`")]
    OutOfMemory {
        /// The device's name.
        device: &'static str,
    },
    /// Any other failure of a driver or library, in its own words.
    #[error("`{device}` failed: {message}")]
    Failed {
        /// The device's name.
        device: &'static str,
        /// The library's message.
        message: String,
    },
}

impl DeviceError {
    /// Turns dfdx's error of device `D` into ours.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "it is handed to `map_err` by name"
    )]
    pub fn from_dfdx<D: Backend>(error: <D as HasErr>::Err) -> Self {
        let message = format!("{error:?}");
        if message.contains("OutOfMemory") || message.contains("OUT_OF_MEMORY") {
            Self::OutOfMemory { device: D::NAME }
        } else {
            Self::Failed {
                device: D::NAME,
                message,
            }
        }
    }
}
