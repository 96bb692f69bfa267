//! [`table`]: rows in columns without lines, for standard output.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Row, Table};

/// A table of rows below a header; the columns in `right` (from 0) are aligned to the right.
pub(super) fn table<R: Into<Row>>(
    header: impl Into<Row>,
    rows: impl IntoIterator<Item = R>,
    right: impl IntoIterator<Item = usize>,
) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header)
        .add_rows(rows);
    for column in right {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 1));
    }
    let line = |line: String| line.trim_end().to_owned() + "\n";
    table.lines().map(line).collect()
}
