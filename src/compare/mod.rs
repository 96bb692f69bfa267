//! Two sets of measurements → matched cells and verdicts: values, no text.
//!
//! Owns [`Comparison`]: which cells belong together, what differs between them, and what may be said of it. It reads
//! results files only; words, tables and plots are `report`'s, exit codes `cli`'s.

mod comparison;
mod doubt;
mod files;
mod floor;
mod gate;
mod judgement;
mod rows;
mod statistics;
#[cfg(test)]
pub(crate) mod testing;
mod verdict;

pub use comparison::{
    Ambiguity, AxisChange, CellPair, Comparison, EnvironmentChange, FactChange, FieldChange,
    FieldClass, MatchedBy, Origin, QualityChange, QualityVerdict, Side, SpecChange, TimingChange,
    Work,
};
pub use doubt::Doubt;
pub use files::{COMPARISON_FORMAT, comparison_json, write_files};
pub use floor::{Floor, Floors};
pub use gate::{FailOn, Finding, Violation, violations};
pub use judgement::{
    Design, Judgement, MatrixJudgement, Obstacle, Ratio, Test, Threshold, ThresholdSource, Verdict,
};
pub use verdict::{Samples, Verdicts, judge, judge_quality, needed_runs, ratio};
