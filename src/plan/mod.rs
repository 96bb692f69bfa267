//! From a manifest to all of its cells, and whether they can run.
//!
//! Owns [`CellSpec`], the resolved cell that a worker reads back, and the sections that rooms above read. It runs
//! nothing, generates nothing and draws nothing.

mod axis_info;
mod cell;
mod settings;
mod stand_in;
pub use stand_in::{Feasibility, PlannedCell};

pub use axis_info::{AxisInfo, AxisKind};
pub use cell::{Algorithm, CellSpec, EarlyStoppingSpec, Precision, TrainSpec, ValidationSpec};
pub use settings::{LimitsSpec, MeasureSpec, ReportSpec};
