//! Measurements of a GPU during training, from its counters: load, clocks, temperature, power, energy, throttling.
//!
//! [`GpuMeter`] is a thread that takes samples ([`Reading`]) during training, [`GpuUsage`] their summary. `nvml.rs`
//! reads NVIDIA's counters; without the feature `cuda` there are none.

mod inventory;
mod meter;
#[cfg(feature = "cuda")]
mod nvml;
mod tally;

pub use inventory::{Inventory, ListedGpu};
pub use meter::{GpuMeter, GpuSampler, PERIOD, SETTLING_TIME};
#[cfg(feature = "cuda")]
pub use nvml::inventory;
pub use tally::GpuUsage;

/// The counters of one GPU.
pub trait Counters {
    /// Takes a sample.
    fn read(&self) -> Reading;

    /// Millijoules used since the driver was loaded; `None` if the GPU has no such counter.
    fn energy_mj(&self) -> Option<u64>;
}

/// One sample of the counters; `None` for those that a GPU does not have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Percentage of the last sampling period in which at least one kernel ran.
    pub busy_percent: Option<u32>,
    /// Clock of the multiprocessors in MHz.
    pub clock_mhz: Option<u32>,
    /// Clock of the memory in MHz.
    pub memory_clock_mhz: Option<u32>,
    /// Temperature of the chip in °C.
    pub temperature_c: Option<u32>,
    /// Power of the whole board in milliwatts.
    pub power_mw: Option<u32>,
    /// Why the clocks are throttled; empty if they are not.
    pub throttled_by: Option<Vec<&'static str>>,
}

/// The error of a build without the feature `cuda`.
#[cfg(not(feature = "cuda"))]
const NO_CUDA: &str = "this build has no CUDA (cargo feature `cuda`)";

#[cfg(not(feature = "cuda"))]
impl GpuMeter {
    /// Samples the GPU at PCI address `bus_id`, with NVML from the file `library`.
    pub fn nvml(_library: std::path::PathBuf, _bus_id: String) -> Self {
        Self::failed(NO_CUDA.to_owned())
    }
}

/// Lists all GPUs, with NVML from the file `library`.
///
/// # Errors
/// A sentence why the GPUs cannot be listed.
#[cfg(not(feature = "cuda"))]
pub fn inventory(_library: &std::path::Path) -> Result<Inventory, String> {
    Err(NO_CUDA.to_owned())
}
