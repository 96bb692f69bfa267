//! What a clock and the operating system say about a run: phases of a step, medians, memory.
//!
//! Owns [`Stopwatch`] (one step, cut into exclusive phases), [`Pace`] (all steps of a run, warm-up dropped) and
//! [`PeakMemory`]. It knows no operation, no device and no model: it is handed a function that waits for the device.

mod clock;
mod memory;
mod pace;

pub use clock::{Phase, StepTimes, Stopwatch};
pub use memory::{PeakMemory, Peaks};
pub use pace::{Pace, PaceSummary, median};
