//! [`Answer`]: what templates see of an answer.

use serde::Serialize;

use crate::report::sections::plots::PlotContext;
use crate::report::table::Table;

/// Tasks, cells, values and reasons that sentences name.
pub(super) const NAMED: usize = 3;

/// What a report answers, and what the answer rests on.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Answer {
    /// One to three sentences for each task, of at most four tasks.
    pub sentences: Vec<String>,
    /// What decided and why that: `throughput, as the axes change only speed`.
    pub by: String,
    /// What decided, by cell; empty where nothing was measured.
    pub figures: Vec<PlotContext>,
    /// The cells of each named task, the best first, with how each stands to the best.
    pub tables: Vec<Table>,
    /// Cells that did not run, with the reasons; empty for none.
    pub not_run: String,
}
