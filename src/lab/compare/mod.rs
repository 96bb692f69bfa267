//! Compares two sets of measurements: matched cells and verdicts, as values without text.
//!
//! The result is a [`Comparison`]: matched cells, their differences, and verdicts. [`Histories`] are the times of all commits
//! with their changes. The module only reads results files; texts, tables and plots are made by `report`, exit codes by `cli`.

mod best;
mod build;
mod cells;
mod changes;
mod commit;
mod comparison;
mod cost;
mod costs;
mod counts;
mod draft;
mod environment;
mod facts;
mod files;
mod floor;
#[cfg(any(test, feature = "testing"))]
pub mod golden;
mod history;
mod judgement;
mod matching;
mod noise;
mod rows;
mod side;
mod source;
mod statistics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod timings;
mod unclear_reason;
mod verdict;
mod waiting;

pub use best::{min_runs_to_rank_best, p_values_within_pairs, paired_p_value};
pub use build::{Options, axis_index};
pub use changes::{collect_settings, is_within, setting_changes, setting_text};
pub use comparison::{
    AxisChange, CellPair, Comparison, CountsComparability, EnvironmentChange, FactChange,
    FieldChange, FieldClass, MatchedBy, Origin, QualityChange, Side, SpecChange, TimingChange,
    Waiting, Work, WorkChange,
};
pub use cost::{Cost, CostChange, CostOverCells};
pub use files::write_files;
pub use floor::{CellNoiseFloor, CellNoiseFloors, MIN_FLOOR_SESSIONS};
pub use history::{
    CellHistory, Histories, History, HistoryPoint, MeasuredSession, SESSIONS_FOR_A_CHANGE, Shift,
};
pub use judgement::{
    Design, Judgement, MatrixJudgement, NotComparableReason, QualityVerdict, Ratio, Test,
    Threshold, ThresholdSource, Verdict,
};
pub use side::{MatchedExperiments, searches_beside};
pub use source::{Experiment, Source};
#[cfg(test)]
pub(crate) use statistics::mann_whitney;
pub use statistics::{sign_flips, student_quantile};
pub use timings::ratio_of_cells;
pub use unclear_reason::UnclearReason;
pub use verdict::{has_sequential_verdict, needed_pairs, needed_runs, session_threshold};
