//! Exports results as tables for pandas, R and spreadsheets: one of all runs, and one that describes its columns.

use std::path::Path;

use serde::Serialize;

use crate::results::{Datatype, Direction, JoinedTable, ResultSet, cell_slug, csv_of};

use super::{ExportError, check, write};

/// A column of the table of all runs.
#[derive(Default, Serialize)]
struct DescribedColumn<'a> {
    column: &'a str,
    #[serde(rename = "type")]
    datatype: Datatype,
    unit: &'a str,
    /// `lower` or `higher`, if one of them is better.
    better: Option<Direction>,
    meaning: &'a str,
}

/// Writes the tables into `folder`, which must be absent, empty or an earlier export. Returns the names of the files.
///
/// # Errors
/// The folder has other files, or writing fails.
pub fn export_csv(set: &ResultSet, folder: &Path) -> Result<Vec<String>, ExportError> {
    let name = cell_slug(&set.plan.name);
    let joined = JoinedTable::of(set);
    let columns = joined.columns.iter().map(|(column, _)| DescribedColumn {
        column: &column.name,
        datatype: column.datatype,
        unit: &column.unit,
        better: Some(column.direction).filter(|better| *better != Direction::None),
        meaning: &column.meaning,
    });
    let columns: Vec<DescribedColumn<'_>> = columns.collect();
    let files = [
        (format!("{name}.csv"), joined.csv()),
        (format!("{name}-columns.csv"), csv_of(&columns)),
    ];
    check(folder, &[&files[0].0, &files[1].0])?;
    let written = files
        .into_iter()
        .map(|(name, bytes)| write(folder, &name, &bytes).map(|()| name));
    written.collect()
}
