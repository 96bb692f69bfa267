//! Plots as SVG text: lines and bars, with units on the axes, legends, and colours that hold in light and dark.
//!
//! Owns the drawing, not what is drawn: [`LinePlot`] and [`BarPlot`] are values, and the same value gives the same
//! bytes. Series differ in colour, marker and dash, so that no meaning hangs on colour alone.

mod bars;
mod line;
mod scale;
mod svg;

pub(crate) use bars::{Bar, BarPlot, Segment};
pub(crate) use line::{LinePlot, Point, Series};
pub(crate) use scale::ScaleKind;
pub(crate) use svg::standalone;

/// Style of every plot, for the page that holds it.
pub(crate) const STYLE: &str = include_str!("plot.css");

/// Series that colours and markers tell apart.
pub(crate) const SERIES: usize = 8;
