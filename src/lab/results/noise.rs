//! `noise.csv`: results of comparing a build with itself (A/A) on a machine, session by session.

use std::path::Path;

use serde::Serialize;

use super::ResultsError;
use super::recommendations::rounded;
use super::table::{Cursor, rows_if_there};

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

/// A row of `noise.csv`: one cell in one session in which a build was compared with itself (`ab --aa`). The fields are
/// named as the columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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
    #[serde(serialize_with = "rounded::<6, _, _>")]
    pub median_ms_per_sample: f64,
    /// Ratio of the two sides' medians; without noise it would be 1.
    #[serde(serialize_with = "rounded::<6, _, _>")]
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    #[serde(serialize_with = "rounded::<6, _, _>")]
    pub ratio_low: f64,
    /// Upper end of the ratio's interval.
    #[serde(serialize_with = "rounded::<6, _, _>")]
    pub ratio_high: f64,
}

/// Reads the file in `folder`; no rows if it does not exist.
///
/// # Errors
/// [`ResultsError`]: an unreadable or damaged file.
pub fn read_noise(folder: &Path) -> Result<Vec<NoiseRow>, ResultsError> {
    let header = HEADER.map(str::to_owned);
    rows_if_there(&folder.join("noise.csv"), &header, row)
}

fn row(row: &mut Cursor<'_>) -> Result<NoiseRow, ResultsError> {
    Ok(NoiseRow {
        env_id: row.next_text()?,
        session: row.next_text()?,
        key: row.next_text()?,
        cell_hash: row.next_text()?,
        pairs: row.next()?,
        median_ms_per_sample: row.next_positive()?,
        ratio: row.next_positive()?,
        ratio_low: row.next_positive()?,
        ratio_high: row.next_positive()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::csv_of;

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
        std::fs::write(folder.path().join("noise.csv"), csv_of(&rows)).expect("writes");
        assert_eq!(read_noise(folder.path()).expect("reads"), rows);
    }

    #[test]
    fn no_file_is_no_row() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read_noise(folder.path()).expect("none").is_empty());
    }

    #[test]
    fn damage_is_named_with_its_line() {
        let whole = String::from_utf8(csv_of(&[example()])).expect("text");
        let folder = tempfile::tempdir().expect("a folder");
        for (damaged, place, word) in [
            (
                whole.replace("1.003", "0"),
                "line 2, column `ratio`",
                "above 0",
            ),
            (whole.replace(",10,", ",ten,"), "line 2", "whole number"),
            (
                whole.replace("00ff", ""),
                "line 2, column `cell_hash`",
                "nothing",
            ),
            (whole.replace("pairs", "runs"), "line 1", "header"),
            (whole.replace(",session,", ","), "line 2", "fields"),
            (whole.replace(",1.03\n", "\n"), "line 2", "fields"),
            (whole.trim_end().to_owned(), "line 2", "ends within"),
            ("env_id\n".to_owned(), "noise.csv`, line 1", "header"),
        ] {
            std::fs::write(folder.path().join("noise.csv"), damaged).expect("writes");
            let error = read_noise(folder.path()).expect_err("damaged").to_string();
            assert!(error.contains(place), "{error}");
            assert!(error.contains(word), "{error}");
        }
    }
}
