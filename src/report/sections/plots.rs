//! The plots of a report: a measure over each numeric axis, loss curves, phases.

pub(crate) mod complexity;
pub(crate) mod curves;
mod knee;
pub(crate) mod over_axis;
pub(crate) mod phase_bars;

use serde::Serialize;

/// A plot, as templates place it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlotContext {
    /// Its file is `plots/<id>.svg`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What the figure shows, from what, and what it leaves out.
    pub caption: String,
    /// The drawing, for a page that has the plots' style.
    pub svg: String,
}
