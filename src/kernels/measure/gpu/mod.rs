//! What a GPU does while it trains, by its own counters: load, clocks, temperature, power, energy, throttling.
//!
//! Owns [`GpuMeter`] (a thread that looks while training goes on), [`GpuUse`] (what it saw) and [`Reading`] (one look).
//! `nvml.rs` reads NVIDIA's counters; it is compiled with the feature `cuda`, and there are none without it.

mod inventory;
mod meter;
#[cfg(feature = "cuda")]
mod nvml;
mod tally;

pub use inventory::{Inventory, ListedGpu};
pub use meter::{GpuMeter, PERIOD, SETTLE, Watch};
#[cfg(feature = "cuda")]
pub use nvml::inventory;
pub use tally::GpuUse;

/// Counters of one GPU.
pub trait Counters {
    /// What they say now.
    fn read(&self) -> Reading;

    /// Millijoules that the GPU has used since its driver was loaded.
    fn energy_mj(&self) -> Option<u64>;
}

/// One look at the counters; what a GPU does not count is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Share of the last moments in which at least one kernel ran, in percent.
    pub busy_percent: Option<u32>,
    /// Clock of the multiprocessors.
    pub clock_mhz: Option<u32>,
    /// Clock of the memory.
    pub memory_clock_mhz: Option<u32>,
    /// Temperature of the chip.
    pub temperature_c: Option<u32>,
    /// Power of the whole board.
    pub power_mw: Option<u32>,
    /// Why the clocks are lower than they could be; empty where they are not.
    pub throttled_by: Option<Vec<&'static str>>,
}

/// What counters are without the feature that reads them.
#[cfg(not(feature = "cuda"))]
const NO_CUDA: &str = "this build has no CUDA (cargo feature `cuda`)";

#[cfg(not(feature = "cuda"))]
impl GpuMeter {
    /// Watches the GPU at `bus_id` by the management library in the file `library`.
    pub fn nvml(_library: std::path::PathBuf, _bus_id: String) -> Self {
        Self::failed(NO_CUDA.to_owned())
    }
}

/// All GPUs, by the management library in the file `library`.
///
/// # Errors
/// A sentence.
#[cfg(not(feature = "cuda"))]
pub fn inventory(_library: &std::path::Path) -> Result<Inventory, String> {
    Err(NO_CUDA.to_owned())
}
