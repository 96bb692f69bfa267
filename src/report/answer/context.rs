//! [`Answer`]: the answer to a report's question, as templates receive it.

use serde::Serialize;

use crate::report::sections::plots::PlotContext;
use crate::report::table::Table;

/// Largest number of tasks, cells, values or reasons in a sentence.
pub(super) const NAMED: usize = 3;

/// The answer to a report's question, with the figures and tables that support it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Answer {
    /// One to three sentences for each task, of at most four tasks.
    pub sentences: Vec<String>,
    /// The deciding measure, and why it decides: `throughput, as the axes change only speed`.
    pub by: String,
    /// Plots of the deciding measure by cell; empty if nothing was measured.
    pub figures: Vec<PlotContext>,
    /// The cells of each named task, the best first, with the result of each one's comparison with the best.
    pub tables: Vec<Table>,
    /// Cells that did not run, with the reasons; empty if all cells ran.
    pub not_run: String,
}
