//! Exports results as tables for pandas, R and spreadsheets: one table of all runs, the original CSV files, and a
//! description of the columns (CSVW).

use std::path::Path;

use crate::results::{
    JoinedTable, ResultSet, cell_slug, csv_files_with_metadata, csvw_table_metadata, pretty_json,
};

use super::{ExportError, check, write};

/// Name of the folder with copies of the original CSV files.
const OWN_TABLES: &str = "results";

/// Writes tables into `folder`, which must be absent, empty or an earlier export; `results` is the results folder.
/// Returns the names of the files.
///
/// # Errors
/// The folder has other files, or reading or writing fails.
pub fn export_csv(
    set: &ResultSet,
    results: &Path,
    folder: &Path,
) -> Result<Vec<String>, ExportError> {
    let file = format!("{}.csv", cell_slug(&set.plan.name));
    let metadata = format!("{file}-metadata.json");
    let joined = JoinedTable::of(set);
    let columns = joined.columns.iter().map(|(column, _)| column);
    let described = pretty_json(&csvw_table_metadata(&file, &set.plan, columns));
    let tables = csv_files_with_metadata(results, &set.plan)?;
    check(folder, &[&file, &metadata])?;
    let tables = tables
        .into_iter()
        .map(|(name, text)| (format!("{OWN_TABLES}/{name}"), text.into_bytes()));
    let files = [(file, joined.csv()), (metadata, described.into_bytes())].into_iter();
    let files = files.chain(tables);
    files
        .map(|(name, bytes)| write(folder, &name, &bytes).map(|()| name))
        .collect()
}
