//! Plots as SVG text, in one style: axes with units and a note of their scale, whiskers or bands for intervals, small
//! dots for the runs, legends, and colours that hold in light, dark and print.
//!
//! Owns the drawing, not what is drawn. The kinds are values with `draw() -> String`; the same value gives the same
//! bytes. Series differ in colour, marker and dash, so that no meaning hangs on colour alone; every drawing has a title
//! and a description for those who do not see it. Fields have defaults: `..LinePlot::default()`.
//!
//! | kind | for | what a caller gives |
//! |---|---|---|
//! | [`LinePlot`] | a value over a setting or over epochs; a batch-size curve with its knee | [`Series`] of [`Point`]s, from left to right; `guides: vec![Guide::X(16.0, "knee: 16".into())]` marks a setting, `Guide::Y` a target |
//! | [`ScatterPlot`] | two measured values against each other: parameters and time | [`Series`] of [`Point`]s with labels; `curve` for a fit |
//! | [`IntervalPlot`] | ratios with intervals around 1, on a logarithmic axis | [`IntervalRow`]s, each of a kind with its own marker, and the threshold as a band |
//! | [`DotPlot`] | a value by cell with its interval and runs | [`DotRow`]s; the axis is logarithmic from a factor of 10 on |
//! | [`BarPlot`] | what adds up by cell (one part), or shares of it (a part each, stacked: share by category) | [`Bar`]s with one [`Segment`] per part; the axis begins at 0 |
//!
//! At most [`SERIES`] series have names; a caller sums up the rest ([`Series::condensed`] shortens long lines). A
//! drawing goes into a report as a `PlotContext`, whose caption says what whiskers and dots are.

mod bars;
mod dots;
mod frame;
#[cfg(test)]
mod gallery;
mod intervals;
mod line;
mod scale;
mod scatter;
mod series;
mod svg;

#[cfg(test)]
pub(in crate::report) use bars::MESSAGES as MESSAGES_OF_BARS;
pub(crate) use bars::{Bar, BarPlot, Segment};
pub(crate) use dots::{DotPlot, DotRow};
#[cfg(test)]
pub(in crate::report) use intervals::MESSAGES as MESSAGES_OF_INTERVALS;
pub(crate) use intervals::{IntervalPlot, IntervalRow};
pub(crate) use line::LinePlot;
pub(crate) use scale::ScaleKind;
pub(crate) use scatter::ScatterPlot;
pub(crate) use series::{Guide, POINTS, Point, Series};
pub(crate) use svg::standalone;

/// Style of every plot, for the page that holds it.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// Series that colours and markers tell apart.
pub(crate) const SERIES: usize = 8;
