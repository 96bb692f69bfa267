//! Measurements of a run: phases of a step, medians, memory, and load and clocks of a GPU.
//!
//! [`Stopwatch`] times one step in disjoint phases, [`StepTimeLog`] all steps of a run without warm-up, [`Profiler`]
//! the operations of a step; [`PeakMemory`], [`DeviceMemory`], [`MemoryGrowth`] and [`gpu`] sample memory and the GPU's
//! counters. This module does not depend on operations, devices or models: callers pass names, and a function that
//! waits for the device.

mod clock;
mod device_memory;
pub mod gpu;
mod growth;
mod memory;
mod pace;
mod phase;
mod profile;
mod profiler;

pub use clock::Stopwatch;
pub use device_memory::DeviceMemory;
pub use growth::MemoryGrowth;
pub use memory::{PeakMemory, Peaks};
pub use pace::{StepTimeLog, StepTimeSummary};
pub use phase::{Phase, StepTimes};
pub use profile::{OpCost, OpRow, Profile, SpanKind, TimedSpan};
pub use profiler::{OpId, Profiler};
