//! Plots as SVG text, in one style: axes with units and a note of their scale, whiskers or bands for intervals, small
//! dots for the runs, legends, and colours that work in light mode, dark mode and print.
//!
//! This module only draws; callers choose the content. Each kind of plot is a struct with `draw() -> String`; equal
//! values give equal bytes. Series differ in colour, marker and dash, so that colour alone carries no meaning; every
//! plot has a title and a description for screen readers. Fields have defaults: `..PointPlot::default()`.
//!
//! | kind | for | what a caller gives |
//! |---|---|---|
//! | [`PointPlot`], joined | a value over a setting or over epochs; a batch-size curve with its knee | [`Series`] of [`Point`]s, from left to right; `guides: vec![(16.0, "knee: 16".into())]` marks a setting |
//! | [`PointPlot`] | two measured values, one per axis: parameters and time | [`Series`] of [`Point`]s with labels |
//! | [`DotPlot`] | a value by cell with its interval and runs, or ratios around 1 on a logarithmic axis | [`DotRow`]s; of ratios each of a kind with its own marker, and the threshold as a band |
//! | [`BarPlot`] | parts of a whole, by cell (a part each, stacked: share by category) | [`Bar`]s with one [`Segment`] per part; the axis begins at 0 |
//!
//! At most [`MAX_SERIES`] series have names; callers must aggregate further ones ([`Series::condensed`] shortens long
//! lines). A drawing goes into a report as a `PlotContext`, whose caption says what whiskers and dots are.

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
pub(crate) use series::{MAX_SERIES_POINTS, Point, Series};
pub(crate) use svg::standalone;

/// Style of every plot, for the page that contains it.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// Largest number of series with distinct colours and markers.
pub(crate) const MAX_SERIES: usize = 8;
