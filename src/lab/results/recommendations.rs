//! `recommendations.csv`: the recommendations of a report, their predictions, and the measured effects.

use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use crate::base::units::{round_significant, shortest};

use super::ResultsError;
use super::files::read_csv;

/// A row of `recommendations.csv`; its fields are named as the columns. Ratios are the value of `column` with the
/// change divided by that without.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecommendationRow {
    /// Rule that made the recommendation.
    pub rule: String,
    /// Key of the cell that it applies to.
    pub cell: String,
    /// Setting, by its long path.
    pub setting: String,
    /// Current value of the cell.
    pub from: String,
    /// Recommended value.
    pub to: String,
    /// Column that is predicted.
    pub column: String,
    /// Kind of prediction: `gain`, `no-worse` or `value`.
    pub claim: String,
    /// Predicted ratio; empty if only bounds are known.
    #[serde(serialize_with = "rounded::<5, _, _>")]
    pub predicted: Option<f64>,
    /// Lower end, or lower bound, of the predicted ratio.
    #[serde(serialize_with = "rounded::<5, _, _>")]
    pub low: f64,
    /// Upper end, or upper bound, of the predicted ratio.
    #[serde(serialize_with = "rounded::<5, _, _>")]
    pub high: f64,
    /// Why the change should help, in a sentence.
    pub reasoning: String,
    /// `proposed`, `tested`, or `dropped` if earlier results refuted it.
    pub status: String,
    /// Measured ratio.
    #[serde(serialize_with = "rounded::<5, _, _>")]
    pub measured: Option<f64>,
    /// Lower end of the measured interval.
    #[serde(serialize_with = "rounded::<5, _, _>")]
    pub measured_low: Option<f64>,
    /// Upper end of the measured interval.
    #[serde(serialize_with = "rounded::<5, _, _>")]
    pub measured_high: Option<f64>,
    /// `confirmed`, `refuted` or `unclear`; empty until it is measured.
    pub verdict: String,
}

/// Writes a number with this many digits; a missing one as an empty field.
pub(super) fn rounded<const DIGITS: usize, V, S>(
    value: &V,
    serializer: S,
) -> Result<S::Ok, S::Error>
where
    V: Into<Option<f64>> + Copy,
    S: Serializer,
{
    let value: Option<f64> = (*value).into();
    let text = value.and_then(|value| shortest(round_significant(value, DIGITS)));
    serializer.serialize_str(&text.unwrap_or_default())
}

/// Reads the file in `folder`; no rows if it does not exist.
///
/// # Errors
/// [`ResultsError`]: an unreadable or damaged file.
pub fn read_recommendations(folder: &Path) -> Result<Vec<RecommendationRow>, ResultsError> {
    let path = folder.join("recommendations.csv");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_csv(&path)?;
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.records().zip(2..).map(|(record, line)| {
        let damaged = |reason| ResultsError::damaged(&path, format!("line {line}"), reason);
        let record = record.map_err(|error| damaged(error.to_string()))?;
        let row = record.deserialize(None);
        row.map_err(|_| damaged("expected a recommendation".to_owned()))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::csv_of;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let rows = [
            RecommendationRow {
                rule: "batch-size".into(),
                cell: "model=a,batch-size=8".into(),
                setting: "train.batch-size".into(),
                from: "8".into(),
                to: "16".into(),
                column: "samples_per_s".into(),
                claim: "gain".into(),
                predicted: Some(1.25),
                low: 1.1,
                high: 1.4,
                reasoning: "a step costs, \"whatever\" its size".into(),
                status: "tested".into(),
                measured: Some(1.2),
                measured_low: Some(1.19),
                measured_high: Some(1.22),
                verdict: "confirmed".into(),
            },
            RecommendationRow {
                rule: "optimizer-bound".into(),
                low: 1.02,
                high: 1.16,
                ..RecommendationRow::default()
            },
        ];
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("recommendations.csv"), csv_of(&rows)).expect("writes");
        assert_eq!(read_recommendations(folder.path()).expect("reads"), rows);
    }

    #[test]
    fn damage_is_named_and_no_file_is_no_row() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(
            read_recommendations(folder.path())
                .expect("none")
                .is_empty()
        );
        let path = folder.path().join("recommendations.csv");
        std::fs::write(&path, "rule,cell\nbatch-size,x\n").expect("writes");
        let error = read_recommendations(folder.path()).expect_err("damaged");
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
