//! Which plots a report has: throughput over each numeric axis, loss curves, phases.

mod complexity;
mod curves;
mod knee;
mod phase_bars;
mod throughput;

use serde::Serialize;

use crate::report::view::View;

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

/// The plots of a report, by where they belong.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Plots {
    /// Throughput over the numeric axes, or per cell where there is none.
    pub throughput: Vec<PlotContext>,
    /// Parameters against the time of a sample.
    pub complexity: Vec<PlotContext>,
    /// Throughput over batch size, with the knee.
    pub knee: Vec<PlotContext>,
    /// Shares of the phases.
    pub phases: Vec<PlotContext>,
    /// Loss and metric curves.
    pub curves: Vec<PlotContext>,
}

impl Plots {
    /// Draws every plot that the results have values for.
    pub(crate) fn of(view: &View<'_>) -> Self {
        Self {
            throughput: throughput::plots(view),
            complexity: complexity::plots(view),
            knee: knee::plots(view),
            phases: phase_bars::plots(view),
            curves: curves::plots(view),
        }
    }

    /// Every plot.
    pub fn all(&self) -> impl Iterator<Item = &PlotContext> {
        self.throughput
            .iter()
            .chain(&self.complexity)
            .chain(&self.knee)
            .chain(&self.phases)
            .chain(&self.curves)
    }
}
