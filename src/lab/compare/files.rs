//! Writes a comparison as files for other programs: `comparison.csv` and `comparison.json`.

use std::path::Path;

use serde::Serialize;

use crate::results::{ResultsError, create_folder, csv_of, json_with_cells, write_if_changed};

use super::Comparison;
use super::rows::rows;

/// Version of `comparison.json`.
const COMPARISON_FORMAT: u32 = 1;

/// Writes `comparison.csv` and `comparison.json` into `folder` if their content would change.
///
/// # Errors
/// [`ResultsError::System`].
pub fn write_files(folder: &Path, comparison: &Comparison) -> Result<(), ResultsError> {
    create_folder(folder)?;
    let [csv, json] = ["comparison.csv", "comparison.json"].map(|name| folder.join(name));
    write_if_changed(&csv, &csv_of(&rows(comparison)))?;
    write_if_changed(&json, comparison_json(comparison).as_bytes())?;
    Ok(())
}

/// Returns the comparison as JSON without the result sets, one line per pair of cells.
fn comparison_json(comparison: &Comparison) -> String {
    #[derive(Serialize)]
    struct Frame<'a> {
        format_version: u32,
        #[serde(flatten)]
        comparison: &'a Comparison,
        cells: [(); 0],
    }
    let frame = Frame {
        format_version: COMPARISON_FORMAT,
        comparison,
        cells: [],
    };
    json_with_cells(&frame, &comparison.cells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::testing::comparison;

    #[test]
    fn json_reads_back_with_one_line_a_pair() {
        let comparison = comparison();
        let text = comparison_json(&comparison);
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["format_version"], COMPARISON_FORMAT);
        assert_eq!(read["before"]["origin"]["git"]["reference"], "main");
        let cells = read["cells"].as_array().unwrap();
        assert_eq!(cells.len(), comparison.cells.len());
        assert_eq!(cells[0]["judgement"]["verdict"], "slower");
        assert_eq!(cells[0]["judgement"]["ratio"]["value"], 1.1);
        // One of the cells has a cost.
        assert_eq!(cells[0]["costs"][0]["judgement"]["verdict"], "more");
        assert_eq!(text.matches("\"judgement\"").count(), 4);
        assert_eq!(
            text.lines()
                .filter(|line| line.contains("\"judgement\""))
                .count(),
            3
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_same_comparison_touches_no_file_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("out");
        write_files(&folder, &comparison()).unwrap();
        let times = || {
            let files = std::fs::read_dir(&folder).unwrap().map(Result::unwrap);
            let times =
                files.map(|file| (file.path(), file.metadata().unwrap().modified().unwrap()));
            times.collect::<std::collections::BTreeMap<_, _>>()
        };
        let first = times();
        assert_eq!(first.len(), 2);
        write_files(&folder, &comparison()).unwrap();
        assert_eq!(times(), first);
    }

    #[test]
    fn csv_has_a_row_for_every_figure() {
        let text = String::from_utf8(csv_of(&rows(&comparison()))).unwrap();
        insta::assert_snapshot!(text);
    }
}
