//! Two sets of measurements → matched cells and verdicts: values, no text.
//!
//! Owns [`Comparison`]: which cells belong together, what differs between them, and what may be said of it. It reads
//! results files only; words, tables and plots are `report`'s, exit codes `cli`'s.

mod build;
mod cells;
mod changes;
mod comparison;
<<<<<<< HEAD
mod draft;
mod environment;
mod facts;
#[cfg(test)]
pub(crate) mod golden;
mod judgement;
mod matching;
mod side;
#[cfg(test)]
mod tests;
mod timings;
=======
mod doubt;
mod files;
mod gate;
mod judgement;
mod rows;
#[cfg(test)]
pub(crate) mod testing;
>>>>>>> main

pub use build::{Options, axis_place};
pub use comparison::{
    Ambiguity, AxisChange, CellPair, Comparison, EnvironmentChange, FactChange, FieldChange,
    FieldClass, MatchedBy, Origin, QualityChange, QualityVerdict, Side, SpecChange, TimingChange,
    Work,
};
<<<<<<< HEAD
pub use facts::ACROSS_CLASSES;
=======
pub use doubt::Doubt;
pub use files::{COMPARISON_FORMAT, comparison_json, write_files};
pub use gate::{FailOn, Finding, Violation, violations};
>>>>>>> main
pub use judgement::{
    Design, Judgement, MatrixJudgement, Obstacle, Ratio, Test, Threshold, ThresholdSource, Verdict,
};
pub use side::{Common, Experiment, Source};
