//! `noise.csv`: results of comparing a build with itself (A/A) on a machine, session by session.

use std::path::Path;

use crate::base::units::round_significant;

use super::ResultsError;
use super::field::Field;
use super::files::read_csv;
use super::write::csv_text;

/// Digits of times and ratios.
const DIGITS: usize = 6;

const HEADER: [&str; 9] = [
    "env_id",
    "session",
    "key",
    "cell_hash",
    "pairs",
    "median_ms_per_sample",
    "ratio",
    "ratio_low",
    "ratio_high",
];

/// A row of `noise.csv`: one cell in one session in which a build was compared with itself (`ab --aa`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NoiseRow {
    /// `env_id` of the machine and build, as in `env.toml`.
    pub env_id: String,
    /// The session, named by its start (`2026-11-21T19:05:33.250Z`).
    pub session: String,
    /// Key of the cell.
    pub key: String,
    /// Hash of the cell's specification.
    pub cell_hash: String,
    /// Pairs of runs.
    pub pairs: usize,
    /// Median time per sample over all runs of both sides, in ms.
    pub median_ms_per_sample: f64,
    /// Ratio of the two sides' medians; without noise it would be 1.
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    pub ratio_low: f64,
    /// Upper end of the ratio's interval.
    pub ratio_high: f64,
}

/// Returns the file's text.
pub fn noise_csv(rows: &[NoiseRow]) -> Vec<u8> {
    let fields = rows.iter().map(|row| {
        let texts = [&row.env_id, &row.session, &row.key, &row.cell_hash].map(String::clone);
        let numbers = [
            row.median_ms_per_sample,
            row.ratio,
            row.ratio_low,
            row.ratio_high,
        ];
        let numbers = numbers.map(|value| round_significant(value, DIGITS).show());
        [&texts[..], &[row.pairs.show()], &numbers].concat()
    });
    csv_text(HEADER.map(str::to_owned).into(), fields)
}

/// Reads the file in `folder`; no rows if it does not exist.
///
/// # Errors
/// [`ResultsError`]: an unreadable or damaged file.
pub fn read_noise(folder: &Path) -> Result<Vec<NoiseRow>, ResultsError> {
    let path = folder.join("noise.csv");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_csv(&path)?;
    let damaged = |(line, reason)| ResultsError::damaged(&path, format!("line {line}"), reason);
    parse_noise(&text).map_err(damaged)
}

/// Parses the file's text; the error is the damaged line, and what is wrong with it.
fn parse_noise(text: &str) -> Result<Vec<NoiseRow>, (u64, String)> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| (1, error.to_string()))?;
    if header != HEADER.as_slice() {
        return Err((1, format!("expected the header `{}`", HEADER.join(","))));
    }
    if !text.ends_with('\n') {
        let line = text.lines().count() as u64;
        return Err((line, "the file ends within this line".to_owned()));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let line = |place: Option<&csv::Position>| place.map_or(0, csv::Position::line);
        let record = record.map_err(|error| (line(error.position()), error.to_string()))?;
        let line = line(record.position());
        rows.push(row(&record).map_err(|reason| (line, reason))?);
    }
    Ok(rows)
}

fn row(record: &csv::StringRecord) -> Result<NoiseRow, String> {
    let text = |place: usize| match record.get(place).unwrap_or_default() {
        "" => Err(format!("column `{}` is empty", HEADER[place])),
        text => Ok(text.to_owned()),
    };
    let positive = |place: usize| {
        let text = record.get(place).unwrap_or_default();
        let value = f64::read(text).ok().filter(|&value| value > 0.0);
        value.ok_or_else(|| {
            let name = HEADER[place];
            format!("column `{name}`: expected a number above 0, found `{text}`")
        })
    };
    let pairs = text(4)?;
    Ok(NoiseRow {
        env_id: text(0)?,
        session: text(1)?,
        key: text(2)?,
        cell_hash: text(3)?,
        pairs: usize::read(&pairs)
            .map_err(|expected| format!("column `pairs`: expected {expected}, found `{pairs}`"))?,
        median_ms_per_sample: positive(5)?,
        ratio: positive(6)?,
        ratio_low: positive(7)?,
        ratio_high: positive(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> NoiseRow {
        NoiseRow {
            env_id: "e1".into(),
            session: "2026-11-21T19:05:33Z".into(),
            key: "model=a,batch-size=8".into(),
            cell_hash: "00ff".into(),
            pairs: 10,
            median_ms_per_sample: 1.25,
            ratio: 1.003,
            ratio_low: 0.98,
            ratio_high: 1.03,
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let rows = [
            example(),
            NoiseRow {
                session: "2026-11-22T08:00:00Z".into(),
                ..example()
            },
        ];
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("noise.csv"), noise_csv(&rows)).expect("writes");
        assert_eq!(read_noise(folder.path()).expect("reads"), rows);
    }

    #[test]
    fn no_file_is_no_row() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read_noise(folder.path()).expect("none").is_empty());
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let whole = String::from_utf8(noise_csv(&[example()])).expect("text");
        for (damaged, line, word) in [
            (whole.replace("1.003", "0"), 2, "above 0"),
            (whole.replace(",10,", ",ten,"), 2, "whole number"),
            (whole.replace("00ff", ""), 2, "`cell_hash` is empty"),
            (whole.replace("pairs", "runs"), 1, "header"),
            (whole.replace(",1.03\n", "\n"), 2, "fields"),
            (whole.trim_end().to_owned(), 2, "ends within"),
        ] {
            let (at, reason) = parse_noise(&damaged).expect_err("damaged");
            assert_eq!(at, line, "{reason}");
            assert!(reason.contains(word), "{reason}");
        }
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("noise.csv"), "env_id\n").expect("writes");
        let error = read_noise(folder.path()).expect_err("damaged").to_string();
        assert!(error.contains("noise.csv`, line 1"), "{error}");
    }
}
