//! The plots of a report: a measure over each numeric axis, loss curves, phases.

pub(crate) mod curves;
pub(crate) mod over_axis;
pub(crate) mod phase_bars;

use serde::Serialize;

use crate::base::statistics::{median, range};
use crate::report::plot::{Point, Series};

/// A plot, as templates place it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlotContext {
    /// The plot's file is `plots/<id>.svg`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Content of the figure, its source, and what it leaves out.
    pub caption: String,
    /// The drawing, for a page that has the plots' style.
    pub svg: String,
}

/// A band: median and range of the `(x, y)` values with equal x; `about` is the text at the point `(x, y)`.
fn band(name: String, mut values: Vec<(f64, f64)>, about: impl Fn(f64, f64) -> String) -> Series {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let same = values.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq());
    let points = same.filter_map(|same| {
        let (x, values) = (same[0].0, same.iter().map(|(_, y)| *y));
        let values: Vec<f64> = values.collect();
        let y = median(&values)?;
        Some(Point {
            x,
            y,
            interval: range(&values),
            about: format!("{name}, {}", about(x, y)),
            ..Point::default()
        })
    });
    Series {
        points: points.collect(),
        name,
        is_band: true,
    }
}
