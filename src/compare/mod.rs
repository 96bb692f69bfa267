//! Two sets of measurements → matched cells and verdicts: values, no text.
//!
//! Owns [`Comparison`]: which cells belong together, what differs between them, and what may be said of it. It reads
//! results files only; words, tables and plots are `report`'s, exit codes `cli`'s.

mod comparison;
mod doubt;

pub use comparison::{
    Ambiguity, AxisChange, CellPair, Comparison, Design, EnvironmentChange, FactChange,
    FieldChange, FieldClass, Judgement, MatchedBy, MatrixJudgement, Obstacle, Origin,
    QualityChange, QualityVerdict, Ratio, Side, SpecChange, Test, Threshold, ThresholdSource,
    TimingChange, Verdict, Work,
};
pub use doubt::Doubt;
