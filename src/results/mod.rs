//! The format of results: rows, columns with unit, type and direction, `plan.json`, versions, reading and writing.
//!
//! Owns [`ResultSet`], everything that one folder under `reports/` says. `record` writes it, `report` and `compare`
//! read it; neither knows how it came about.

mod rows;
pub mod store;

pub use rows::{
    BlockRow, CellInfo, ColumnInfo, Direction, Environment, EpochRecord, Interval, IntervalKind,
    PlanFile, ResultSet, RunRow, Status, TimingRow,
};

/// Version of the results' format; a folder of another version is refused with a sentence.
pub const FORMAT_VERSION: u32 = 1;
