//! `comparison.csv`: a comparison of two sides cell by cell, one row per compared value.

use crate::base::units::{round_significant, shortest};

/// Digits of ratios, tests and medians: as many as the times of a single run have.
const DIGITS: usize = 6;

const HEADER: [&str; 25] = [
    "key",
    "key_before",
    "kind",
    "figure",
    "seed",
    "direction",
    "before",
    "after",
    "ratio",
    "ratio_low",
    "ratio_high",
    "interval",
    "n_before",
    "n_after",
    "design",
    "test",
    "p",
    "p_holm",
    "detectable",
    "threshold",
    "threshold_source",
    "tolerance",
    "verdict",
    "needed",
    "reason",
];

/// A row of `comparison.csv`. Fields that do not apply are missing; `ratio` is `after / before`, and relative values are
/// fractions of 1 (0.02 is 2 %).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ComparisonRow {
    /// Key on the side after; empty for the whole matrix and for a cell that exists only before.
    pub key: String,
    /// Key on the side before; empty for the whole matrix and for a cell that exists only after.
    pub key_before: String,
    /// Kind of row: `matrix`, `time`, `timing`, `quality`, `fact`, `setting`, `added`, `removed`.
    pub kind: String,
    /// Column or setting that the row is about; the name includes the unit.
    pub figure: String,
    /// Seed; only for a fact.
    pub seed: Option<u64>,
    /// Direction: whether `lower` or `higher` is better, or empty.
    pub direction: String,
    /// Value before: a median over runs or seeds, or the text of a fact or setting.
    pub before: String,
    /// Value after.
    pub after: String,
    /// `after / before`.
    pub ratio: Option<f64>,
    /// Lower end of the ratio's interval.
    pub ratio_low: Option<f64>,
    /// Upper end of the ratio's interval.
    pub ratio_high: Option<f64>,
    /// Kind of the interval: `bootstrap95`, `range`, `single`.
    pub interval: String,
    /// Number of counted runs or seeds, before.
    pub n_before: Option<usize>,
    /// Number of counted runs or seeds, after.
    pub n_after: Option<usize>,
    /// `interleaved` or `sessions`.
    pub design: String,
    /// Test that gave the p-value: `mann-whitney`, `sign-flip`; empty for the matrix, which has a permutation test.
    pub test: String,
    /// Two-sided p-value.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over all cells and the matrix.
    pub p_holm: Option<f64>,
    /// Smallest relative effect that this number of runs with this spread would have detected with 80 % power.
    pub detectable: Option<f64>,
    /// Relative effect size that must be exceeded to matter.
    pub threshold: Option<f64>,
    /// Where the threshold comes from.
    pub threshold_source: String,
    /// Largest relative difference of a fact that still counts as equal.
    pub tolerance: Option<f64>,
    /// The verdict.
    pub verdict: String,
    /// Runs per side, or seeds, that a verdict needs, where there are too few.
    pub needed: Option<usize>,
    /// Why there is no verdict.
    pub reason: String,
}

impl ComparisonRow {
    fn fields(&self) -> [String; HEADER.len()] {
        let number = |value: Option<f64>| {
            let rounded = value.map(|value| round_significant(value, DIGITS));
            rounded.and_then(shortest).unwrap_or_default()
        };
        let count = |value: Option<usize>| value.map_or(String::new(), |n| n.to_string());
        [
            self.key.clone(),
            self.key_before.clone(),
            self.kind.clone(),
            self.figure.clone(),
            self.seed.map_or(String::new(), |seed| seed.to_string()),
            self.direction.clone(),
            self.before.clone(),
            self.after.clone(),
            number(self.ratio),
            number(self.ratio_low),
            number(self.ratio_high),
            self.interval.clone(),
            count(self.n_before),
            count(self.n_after),
            self.design.clone(),
            self.test.clone(),
            number(self.p),
            number(self.p_holm),
            number(self.detectable),
            number(self.threshold),
            self.threshold_source.clone(),
            number(self.tolerance),
            self.verdict.clone(),
            count(self.needed),
            self.reason.clone(),
        ]
    }
}

/// A measured value as `comparison.csv` shows it.
pub fn comparison_number(value: f64) -> String {
    shortest(round_significant(value, DIGITS)).unwrap_or_default()
}

/// Returns the file's text.
pub fn comparison_csv(rows: &[ComparisonRow]) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::Any(b'\n'))
        .from_writer(Vec::new());
    // Writing into memory cannot fail.
    let _ = writer.write_record(HEADER);
    for row in rows {
        let _ = writer.write_record(row.fields());
    }
    writer.into_inner().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_empty_and_what_is_no_number_too() {
        let row = ComparisonRow {
            key: "model=mlp,workers=0".into(),
            kind: "timing".into(),
            figure: "step_ms".into(),
            ratio: Some(1.123_456_789),
            ratio_low: Some(f64::NAN),
            n_after: Some(6),
            ..ComparisonRow::default()
        };
        let text = String::from_utf8(comparison_csv(&[row])).unwrap();
        let expected = "\"model=mlp,workers=0\",,timing,step_ms,,,,,1.12346,,,,,6,,,,,,,,,,,\n";
        assert_eq!(text, format!("{}\n{expected}", HEADER.join(",")));
    }
}
