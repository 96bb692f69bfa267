//! The plots of a report: a measure over each numeric axis, loss curves, phases.

pub(crate) mod curves;
pub(crate) mod over_axis;
pub(crate) mod phase_bars;

use serde::Serialize;

use crate::base::statistics::{median, range};
use crate::base::text::capitalised;
use crate::report::plot::{Point, PointPlot, ScaleKind, Series};

/// A plot, for templates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlotContext {
    /// Id of the plot, whose file is `plots/<id>.svg`.
    pub id: String,
    /// Heading of the plot.
    pub title: String,
    /// Content of the figure, its source, and what it leaves out.
    pub caption: String,
    /// The plot as SVG, for a page that contains the plots' CSS.
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

/// What an axis shows: its name, its label with a unit, its scale.
pub(crate) type AxisLabel = (String, String, ScaleKind);

/// Adds title and axes to `drawn`, a scatter plot of two measures whose series are the points on the Pareto front and
/// the others.
pub(crate) fn front(
    id: String,
    [y, x]: [AxisLabel; 2],
    caption: String,
    drawn: PointPlot,
) -> PlotContext {
    let title = format!("{} against {}", y.0, x.0);
    let drawing = PointPlot {
        about: title.clone(),
        x_label: x.1,
        x_scale: x.2,
        y_label: y.1,
        y_scale: y.2,
        ..drawn
    };
    PlotContext {
        id,
        title: capitalised(&title),
        caption,
        svg: drawing.draw(),
    }
}
