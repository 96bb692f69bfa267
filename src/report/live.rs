//! [`LivePage`]: the web page about running runs (`run --live`).

use std::path::Path;

use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::base::text::capitalised;
use crate::results::write_if_changed;

use super::ReportError;
use super::plot::{MAX_SERIES, Point, PointPlot, ScaleKind, Series};
use super::template::{engine, render};

/// Content of the page.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LivePage {
    /// `title` of the manifest, or its name.
    pub title: String,
    /// `question` of the manifest; empty for none.
    pub question: String,
    /// How many runs are finished, and how long the rest will take.
    pub state: String,
    /// Share of all steps that are done, in percent.
    pub percent: f64,
    /// The best results so far, one sentence each.
    pub best: Vec<String>,
    /// When the page was written.
    pub written: String,
    /// Seconds after which a browser reloads the page; `None` after the end of all runs.
    pub refresh_s: Option<u64>,
    /// File of the report, empty as long as there is none.
    pub report: String,
    /// Runs in progress.
    pub running: Vec<LiveRun>,
    /// Losses over epochs, by run.
    #[serde(skip)]
    pub curves: Vec<LiveCurve>,
    /// Runs that failed, with the reason.
    pub failed: Vec<String>,
    /// Runs that have ended and not failed, the latest first.
    pub ended: Vec<LiveRun>,
    /// Text with the number of ended runs that are not listed; empty if all are.
    pub more: String,
}

/// A run on the page.
#[derive(Debug, Clone, Serialize)]
pub struct LiveRun {
    /// Name of the run.
    pub name: String,
    /// The run's progress, or its result.
    pub text: String,
    /// Share of the run's steps that are done, in percent.
    pub percent: f64,
}

/// The losses of a run: epoch and loss, in training and in validation.
#[derive(Debug, Clone, Default)]
pub struct LiveCurve {
    /// Name of the run.
    pub name: String,
    /// Epoch and training loss.
    pub train: Vec<(usize, f64)>,
    /// Epoch and validation loss.
    pub validation: Vec<(usize, f64)>,
}

#[derive(Serialize)]
struct Context<'a> {
    #[serde(flatten)]
    page: &'a LivePage,
    plots: Vec<Plot>,
}

#[derive(Serialize)]
struct Plot {
    svg: String,
    caption: String,
}

impl LivePage {
    /// Writes the page, atomically.
    ///
    /// # Errors
    /// [`ReportError`] if the page cannot be rendered or written.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let curves = &self.curves[..MAX_SERIES.min(self.curves.len())];
        let train = curves.iter().map(|curve| (&*curve.name, &*curve.train));
        let validation = curves
            .iter()
            .map(|curve| (&*curve.name, &*curve.validation));
        let train = plot("training loss", train);
        let plots = train.into_iter().chain(plot("validation loss", validation));
        let context = Value::from(Serde(&Context {
            page: self,
            plots: plots.collect(),
        }));
        let text = render(&engine(None), "live.html.j2", &context)?;
        write_if_changed(path, text.as_bytes())?;
        Ok(())
    }
}

fn plot<'a>(
    name: &str,
    curves: impl Iterator<Item = (&'a str, &'a [(usize, f64)])>,
) -> Option<Plot> {
    let series = curves.map(|(run, curve)| {
        let points = curve.iter().map(|&(epoch, loss)| Point {
            x: epoch as f64,
            y: loss,
            about: format!("{run}, epoch {epoch}: {loss:.5}"),
            ..Point::default()
        });
        Series::of(run, points).condensed()
    });
    let series: Vec<Series> = series.filter(|series| series.points.len() > 1).collect();
    if series.is_empty() {
        return None;
    }
    let values = series.iter().flat_map(|line| &line.points);
    let values: Vec<f64> = values.map(|point| point.y).collect();
    let drawing = PointPlot {
        is_joined: true,
        about: format!("{name} over epochs"),
        x_label: "epoch".to_owned(),
        y_label: name.to_owned(),
        y_scale: ScaleKind::for_values(&values),
        series,
        ..PointPlot::default()
    };
    let name = capitalised(name);
    Some(Plot {
        svg: drawing.draw(),
        caption: format!("{name} of current runs and of the last few that ended."),
    })
}
