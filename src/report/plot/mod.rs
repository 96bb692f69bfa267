//! Plots as SVG text, in one style: axes with units and a note of their scale, whiskers or bands for intervals, small
//! dots for the runs, legends, and colours that hold in light, dark and print.
//!
//! Owns the drawing, not what is drawn. The kinds are values with `draw() -> String`; the same value gives the same
//! bytes. Series differ in colour, marker and dash, so that no meaning hangs on colour alone; every drawing has a title
//! and a description for those who do not see it. Fields have defaults: `..PointPlot::default()`.
//!
//! | kind | for | what a caller gives |
//! |---|---|---|
//! | [`PointPlot`], joined | a value over a setting or over epochs; a batch-size curve with its knee | [`Series`] of [`Point`]s, from left to right; `guides: vec![(16.0, "knee: 16".into())]` marks a setting |
//! | [`PointPlot`] | two measured values against each other: parameters and time | [`Series`] of [`Point`]s with labels |
//! | [`DotPlot`] | a value by cell with its interval and runs, or ratios around 1 on a logarithmic axis | [`DotRow`]s; of ratios each of a kind with its own marker, and the threshold as a band |
//! | [`BarPlot`] | shares of what adds up, by cell (a part each, stacked: share by category) | [`Bar`]s with one [`Segment`] per part; the axis begins at 0 |
//!
//! At most [`SERIES`] series have names; a caller sums up the rest ([`Series::condensed`] shortens long lines). A
//! drawing goes into a report as a `PlotContext`, whose caption says what whiskers and dots are.

mod bars;
mod dots;
mod frame;
mod line;
mod scale;
mod scatter;
mod series;
mod svg;
#[cfg(test)]
mod tests;

pub(crate) use bars::{Bar, BarPlot, Segment};
#[cfg(test)]
pub(in crate::report) use dots::MESSAGES as MESSAGES_OF_DOTS;
pub(crate) use dots::{DotPlot, DotRow};
pub(crate) use scale::ScaleKind;
pub(crate) use scatter::PointPlot;
pub(crate) use series::{POINTS, Point, Series};
pub(crate) use svg::standalone;

/// Style of every plot, for the page that holds it.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// Series that colours and markers tell apart.
pub(crate) const SERIES: usize = 8;
