//! What a clock, the operating system and a GPU's counters say about a run: phases of a step, medians, memory, load.
//!
//! Owns [`Stopwatch`] (one step, cut into exclusive phases), [`Pace`] (all steps of a run, warm-up dropped),
//! [`PeakMemory`], [`DeviceMemory`], [`MemoryGrowth`], [`gpu`] and [`Profiler`] (a step cut into its operations, where one
//! is handed on). It knows no operation, no device and no model: it is handed names, and a function that waits for the device.

mod clock;
mod device_memory;
pub mod gpu;
mod growth;
mod memory;
mod pace;
mod profile;
mod profiler;

pub use clock::{Phase, StepTimes, Stopwatch};
pub use device_memory::DeviceMemory;
pub use growth::MemoryGrowth;
pub use memory::{PeakMemory, Peaks};
pub use pace::{Pace, PaceSummary, median};
pub use profile::{Moment, OpRow, Profile, What};
pub use profiler::{OpCost, OpId, Profiler};
