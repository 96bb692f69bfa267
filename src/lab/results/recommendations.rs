//! `recommendations.csv`: the recommendations of a report, their predictions, and the measured effects.

use std::path::Path;

use crate::base::units::{round_significant, shortest};

use super::ResultsError;
use super::files::read_text;

/// Digits of predicted and measured ratios.
const DIGITS: usize = 5;

const HEADER: [&str; 16] = [
    "rule",
    "cell",
    "setting",
    "from",
    "to",
    "column",
    "claim",
    "predicted",
    "low",
    "high",
    "reasoning",
    "status",
    "measured",
    "measured_low",
    "measured_high",
    "verdict",
];

/// A row of `recommendations.csv`. Ratios are of `column`: with the change divided by without it.
#[derive(Debug, Clone, PartialEq, Default)]
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
    /// `gain`, `no-worse` or `value`.
    pub claim: String,
    /// Predicted ratio; empty if only bounds are known.
    pub predicted: Option<f64>,
    /// Lower end, or lower bound, of the predicted ratio.
    pub low: f64,
    /// Upper end, or upper bound, of the predicted ratio.
    pub high: f64,
    /// Why, in a sentence.
    pub reasoning: String,
    /// `proposed`, `tested`, or `dropped` if earlier results refuted it.
    pub status: String,
    /// Measured ratio with its interval.
    pub measured: Option<[f64; 3]>,
    /// `confirmed`, `refuted` or `unclear`; empty until it is measured.
    pub verdict: String,
}

/// Returns the file's text.
pub fn recommendations_csv(rows: &[RecommendationRow]) -> Vec<u8> {
    let number = |value: f64| shortest(round_significant(value, DIGITS)).unwrap_or_default();
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing into memory cannot fail.
    let _ = writer.write_record(HEADER);
    for row in rows {
        let mut fields = vec![
            row.rule.clone(),
            row.cell.clone(),
            row.setting.clone(),
            row.from.clone(),
            row.to.clone(),
            row.column.clone(),
            row.claim.clone(),
        ];
        fields.push(row.predicted.map(number).unwrap_or_default());
        fields.extend([row.low, row.high].map(number));
        fields.extend([row.reasoning.clone(), row.status.clone()]);
        let measured = row.measured.map(|ends| ends.map(number));
        fields.extend(measured.unwrap_or_default());
        fields.push(row.verdict.clone());
        let _ = writer.write_record(fields);
    }
    writer.into_inner().unwrap_or_default()
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
    let text = read_text(&path)?;
    let damaged = |line: usize, reason: String| ResultsError::Damaged {
        path: path.clone(),
        place: format!("line {line}"),
        reason,
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let record = record.map_err(|error| damaged(index + 2, error.to_string()))?;
        let row = row(&record);
        rows.push(row.ok_or_else(|| damaged(index + 2, "expected a recommendation".to_owned()))?);
    }
    Ok(rows)
}

fn row(record: &csv::StringRecord) -> Option<RecommendationRow> {
    let text = |place: usize| record.get(place).map(str::to_owned);
    let number = |place: usize| -> Option<f64> { record.get(place)?.parse().ok() };
    let predicted = match record.get(7)? {
        "" => None,
        _ => Some(number(7)?),
    };
    let measured = number(12).zip(number(13)).zip(number(14));
    Some(RecommendationRow {
        rule: text(0)?,
        cell: text(1)?,
        setting: text(2)?,
        from: text(3)?,
        to: text(4)?,
        column: text(5)?,
        claim: text(6)?,
        predicted,
        low: number(8)?,
        high: number(9)?,
        reasoning: text(10)?,
        status: text(11)?,
        measured: measured.map(|((middle, low), high)| [middle, low, high]),
        verdict: text(15)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
                measured: Some([1.2, 1.19, 1.22]),
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
        std::fs::write(
            folder.path().join("recommendations.csv"),
            recommendations_csv(&rows),
        )
        .expect("writes");
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
