//! `comparison.csv`: a comparison of two sides cell by cell, one row per compared value.

use serde::Serialize;

use crate::base::units::{round_significant, shortest};

/// Significant digits of ratios, p-values and medians, as for times of a single run.
const DIGITS: usize = 6;

/// A row of `comparison.csv`. Fields that do not apply are missing; `ratio` is `after / before`, and relative values
/// are fractions of 1 (0.02 is 2 %). Numbers are the texts of [`comparison_number`]; the fields are named as the
/// columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ComparisonRow {
    /// Key of the cell on the side after; empty for all cells together and for a cell that exists only before.
    pub key: String,
    /// Key of the cell on the side before; empty for all cells together and for a cell that exists only after.
    pub key_before: String,
    /// Kind of row: `matrix`, `time`, `cost`, `timing`, `quality`, `fact`, `work`, `setting`, `added`, `removed`.
    pub kind: String,
    /// Column or setting that the row is about; the name includes the unit.
    pub figure: String,
    /// Seed; only for a fact.
    pub seed: Option<u64>,
    /// Direction: whether `lower` or `higher` is better, or empty.
    pub direction: String,
    /// Value on the side before: a median over runs or seeds, or the text of a fact or setting.
    pub before: String,
    /// Value on the side after: a median over runs or seeds, or the text of a fact or setting.
    pub after: String,
    /// `after / before`.
    pub ratio: String,
    /// Lower end of the ratio's interval.
    pub ratio_low: String,
    /// Upper end of the ratio's interval.
    pub ratio_high: String,
    /// Kind of the interval: `bootstrap95`, `anytime95`, `range`, `single`.
    pub interval: String,
    /// Number of counted runs or seeds, before.
    pub n_before: Option<usize>,
    /// Number of counted runs or seeds, after.
    pub n_after: Option<usize>,
    /// How the runs are arranged in time: `interleaved`, `until-sure` or `sessions`.
    pub design: String,
    /// Test that gave the p-value: `mann-whitney`, `sign-flip`, `sign-bets`; empty for the matrix, which has a
    /// permutation test.
    pub test: String,
    /// Two-sided p-value.
    pub p: String,
    /// The p-value after Holm's correction over all cells and the matrix.
    pub p_holm: String,
    /// Smallest relative effect that this number of runs with this spread would have detected with 80 % power.
    pub detectable: String,
    /// Relative effect size that must be exceeded to matter.
    pub threshold: String,
    /// Source of the threshold: `manifest`, `measured-within` or `measured-between` sessions (A/A runs), or `default`.
    pub threshold_source: String,
    /// Largest relative difference of a fact that still counts as equal.
    pub tolerance: String,
    /// The verdict: `faster`, `slower`, `less`, `more`, `same`, `unclear`, `better`, `worse` …
    pub verdict: String,
    /// Number of runs per side, or of seeds, that a verdict needs; missing if there are enough.
    pub needed: Option<usize>,
    /// Why there is no verdict.
    pub reason: String,
}

/// A value as `comparison.csv` shows it; empty if it is missing or no number.
pub fn comparison_number(value: impl Into<Option<f64>>) -> String {
    let rounded = value.into().map(|value| round_significant(value, DIGITS));
    rounded.and_then(shortest).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::csv_of;

    #[test]
    fn what_is_missing_is_empty_and_what_is_no_number_too() {
        let row = ComparisonRow {
            key: "model=mlp,workers=0".into(),
            kind: "timing".into(),
            figure: "step_ms".into(),
            ratio: comparison_number(1.123_456_789),
            ratio_low: comparison_number(f64::NAN),
            n_after: Some(6),
            ..ComparisonRow::default()
        };
        let text = String::from_utf8(csv_of(&[row])).unwrap();
        let header = "key,key_before,kind,figure,seed,direction,before,after,ratio,ratio_low,ratio_high,interval,n_before,\
                      n_after,design,test,p,p_holm,detectable,threshold,threshold_source,tolerance,verdict,needed,reason\n";
        let expected = "\"model=mlp,workers=0\",,timing,step_ms,,,,,1.12346,,,,,6,,,,,,,,,,,\n";
        assert_eq!(text, format!("{header}{expected}"));
        assert_eq!(csv_of::<ComparisonRow>(&[]), header.as_bytes());
    }
}
