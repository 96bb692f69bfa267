//! The format of results: rows, columns with unit, type and direction, `plan.json`, versions, reading and writing.
//!
//! Contains [`ResultSet`], the content of one folder under `reports/`. `record` writes it; `report` and `compare` read
//! it and do not depend on how it was produced.

mod baselines;
mod checkpoints;
mod columns;
mod command_columns;
mod comparison_csv;
mod datatype;
mod described;
pub mod environment;
mod error;
mod field;
mod files;
mod folder;
pub mod git;
#[cfg(any(test, feature = "testing"))]
pub mod golden;
mod identity;
mod intervals;
mod joined;
mod json;
mod noise;
pub mod objective;
mod ops;
mod pair_sessions;
mod plan_file;
mod predictions;
mod read;
mod recommendations;
mod rows;
mod samples;
mod session;
mod share;
mod slug;
mod steps;
pub mod store;
mod table;
mod tensorboard;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod textconv;
mod trace;
mod write;

pub use baselines::{read_baselines, write_baselines};
pub use checkpoints::{CheckpointRow, write_checkpoint_index};
pub use columns::{TIMINGS_COLUMNS, fixed_column, fixed_unit, is_added_column, metric_column};
pub use command_columns::{declared_column, move_times_to_fixed_columns, timed_columns};
pub use comparison_csv::{ComparisonRow, comparison_number};
pub use datatype::Datatype;
pub use error::ResultsError;
pub(crate) use files::remove_files_not_in;
pub use files::{create_folder, write_if_changed};
pub(crate) use folder::suggest_name;
pub use folder::{
    has_results, no_results_error, relative_to_current_dir, results_folder, results_names_in,
};
pub(crate) use intervals::bootstrap_stream;
pub use intervals::{
    MIN_RUNS_FOR_BOOTSTRAP, counted_runs, exact_interval_over_runs, interval, interval_over_runs,
    timings, value,
};
pub use joined::{ColumnSource, JoinedTable};
pub use json::{json_line, pretty_json};
pub use noise::{NoiseRow, read_noise};
pub use ops::{RESIDUAL, op_records, read_ops, write_ops};
pub use pair_sessions::{PairPrograms, PairSessions};
pub use plan_file::{json_with_cells, last_plan, plan_header, run_sample_ms};
pub use predictions::PredictionFile;
pub use read::{read, read_times};
pub use recommendations::{RecommendationRow, read_recommendations};
pub use samples::{sample_file, write_samples};
pub use session::{Session, millis_of};
pub use share::{InvalidShare, Share};
pub use slug::cell_slug;
pub use steps::{RunSteps, is_steps_csv_outdated, write_steps};
pub use tensorboard::{RunScalars, event_file, remove_other_events, write_events};
pub use textconv::text_for_diff;
pub use trace::{trace_file, trace_json};
pub use write::{axis_columns, csv_of, fact_texts, write};

pub use rows::{
    BaselineRow, BlockRow, CellInfo, ColumnInfo, ConfusionRecord, Direction, Environment,
    EpochRecord, Interval, IntervalKind, OpRecord, PlanFile, ResultSet, RunRow, SampleInfo, Status,
    TimingRow, WorkRecord, by_key, grouped,
};

/// Version of the results format; a folder of another version is refused with an error message.
pub const FORMAT_VERSION: u32 = 1;
