//! Two sets of measurements → matched cells and verdicts: values, no text.
//!
//! Owns [`Comparison`]: which cells belong together, what differs between them, and what may be said of it. It reads
//! results files only; words, tables and plots are `report`'s, exit codes `cli`'s.

mod build;
mod cells;
mod changes;
mod comparison;
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

pub use build::{Options, axis_place};
pub use comparison::{
    Ambiguity, AxisChange, CellPair, Comparison, EnvironmentChange, FactChange, FieldChange,
    FieldClass, MatchedBy, Origin, QualityChange, QualityVerdict, Side, SpecChange, TimingChange,
    Work,
};
pub use facts::ACROSS_CLASSES;
pub use judgement::{
    Design, Judgement, MatrixJudgement, Obstacle, Ratio, Threshold, ThresholdSource, Verdict,
};
pub use side::{Common, Experiment, Source};
