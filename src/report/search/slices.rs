//! The first objective against each parameter: a slice through the trials.

use crate::base::text::{capitalised, kebab_case};
use crate::plan::search::{Domain, Value};
use crate::report::plot::{Point, SERIES, ScaleKind, ScatterPlot, Series};
use crate::report::sections::plots::PlotContext;

use super::objective::Objective;
use super::trials::{Ending, Search, short_name, text};

/// Parameters that have a drawing.
const MOST: usize = 12;
/// From this many choices on their names would lie on each other.
const NAMES: usize = 8;

/// The drawings, in the order of the space.
pub(crate) fn plots(search: &Search<'_, '_>) -> Vec<PlotContext> {
    let trials: Vec<_> = search.trials().collect();
    let used = search.used(&trials);
    let shown = used.len().min(MOST);
    let drawings = used[..shown].iter();
    let mut plots: Vec<PlotContext> = drawings.filter_map(|&place| plot(search, place)).collect();
    if let Some(last) = plots.last_mut().filter(|_| used.len() > MOST) {
        let all = used.len();
        last.caption = format!("{} The first {MOST} of {all} parameters.", last.caption);
    }
    plots
}

/// How the values of a parameter lie on an axis.
struct Axis {
    names: Vec<String>,
    scale: ScaleKind,
    is_settings: bool,
    /// The numbers that the choices are, where all of them are numbers.
    numbers: Option<Vec<f64>>,
}

impl Axis {
    fn of(domain: &Domain) -> Self {
        let (names, scale, is_settings, numbers) = match domain {
            Domain::Choice { texts, .. } => {
                let numbers: Option<Vec<f64>> =
                    texts.iter().map(|text| text.parse().ok()).collect();
                match numbers {
                    Some(numbers) => (
                        Vec::new(),
                        ScaleKind::for_values(&numbers),
                        true,
                        Some(numbers),
                    ),
                    None => (texts.clone(), ScaleKind::Linear, false, None),
                }
            }
            Domain::Int { log, low, high, .. } => {
                (Vec::new(), logarithmic(*log), high - low < 9 && !log, None)
            }
            Domain::Float { log, .. } => (Vec::new(), logarithmic(*log), false, None),
        };
        let names = if names.len() > NAMES {
            Vec::new()
        } else {
            names
        };
        Self {
            names,
            scale,
            is_settings,
            numbers,
        }
    }

    fn place(&self, value: Value) -> f64 {
        match (value, &self.numbers) {
            (Value::Choice { choice }, Some(numbers)) => {
                numbers.get(choice).copied().unwrap_or(choice as f64)
            }
            (value, _) => value.as_f64(),
        }
    }
}

fn logarithmic(is_log: bool) -> ScaleKind {
    if is_log {
        ScaleKind::Log10
    } else {
        ScaleKind::Linear
    }
}

fn plot(search: &Search<'_, '_>, place: usize) -> Option<PlotContext> {
    let objective = search.first();
    let parameters = &search.spec.space.parameters;
    let parameter = &parameters[place];
    let axis = Axis::of(&parameter.domain);
    let (mut series, mut dots) = (Vec::new(), Vec::new());
    for study in search.studies.iter().take(SERIES) {
        let points = study.ended(Ending::Done).filter_map(|trial| {
            let value = trial.info.point.get(place)?;
            let y = objective.value(&trial)?;
            Some(Point {
                x: axis.place(value),
                y,
                about: format!(
                    "trial {}: {} {}, {} {}",
                    trial.info.number,
                    parameter.name,
                    text(parameter, value),
                    objective.column,
                    objective.show(y)
                ),
                ..Point::default()
            })
        });
        let points: Vec<Point> = points.collect();
        let pruned = study.ended(Ending::Pruned).filter_map(|trial| {
            let value = trial.info.point.get(place)?;
            Some((axis.place(value), trial.info.pruned.as_ref()?.value))
        });
        let pruned: Vec<(f64, f64)> = pruned.filter(|(_, y)| y.is_finite()).collect();
        if points.is_empty() && pruned.is_empty() {
            continue;
        }
        dots.push(pruned);
        series.push(Series {
            name: if study.name.is_empty() {
                "trials".to_owned()
            } else {
                study.name.clone()
            },
            points,
            is_band: false,
        });
    }
    if series
        .iter()
        .map(|series| series.points.len())
        .sum::<usize>()
        < 2
    {
        return None;
    }
    let name = short_name(parameters, place);
    let (drawing, left_out) = drawing(objective, axis, name, series, dots);
    Some(PlotContext {
        id: format!("search-slice-{}", kebab_case(&parameter.name)),
        title: capitalised(&format!("{} by {name}", objective.name)),
        caption: format!("{}{}{}", caption(&drawing), left_out, drawing.merged_note()),
        svg: drawing.draw(),
    })
}

fn drawing(
    objective: &Objective,
    axis: Axis,
    name: &str,
    mut series: Vec<Series>,
    mut dots: Vec<Vec<(f64, f64)>>,
) -> (ScatterPlot, String) {
    let left_out = without_far(objective, &mut series, &mut dots);
    let ys = series
        .iter()
        .flat_map(|series| series.points.iter().map(|point| point.y));
    let ys: Vec<f64> = ys.chain(dots.iter().flatten().map(|(_, y)| *y)).collect();
    let drawing = ScatterPlot {
        about: format!("{} by {name}", objective.name),
        x_label: name.to_owned(),
        x_scale: axis.scale,
        x_names: axis.names,
        x_settings: axis.is_settings,
        y_label: objective.label(),
        y_scale: objective.scale(&ys),
        series,
        dots,
        ..ScatterPlot::default()
    };
    let left_out = if left_out > 0 {
        format!(" {left_out} far worse values are left out.")
    } else {
        String::new()
    };
    (drawing, left_out)
}

/// Leaves out values so far from the best that they would squeeze everything else; returns how many.
fn without_far(
    objective: &Objective,
    series: &mut [Series],
    dots: &mut [Vec<(f64, f64)>],
) -> usize {
    let loss = |value: f64| objective.direction.as_loss(value);
    let mut losses: Vec<f64> = series
        .iter()
        .flat_map(|series| series.points.iter().map(|point| loss(point.y)))
        .collect();
    losses.sort_by(f64::total_cmp);
    let (Some(best), Some(middle)) = (losses.first(), losses.get(losses.len() / 2)) else {
        return 0;
    };
    // Ten times as far from the best as the trial in the middle, on the scale of the best at least.
    let limit = best + 10.0 * (middle - best).max(best.abs());
    let count = |series: &[Series], dots: &[Vec<(f64, f64)>]| {
        series
            .iter()
            .map(|series| series.points.len())
            .sum::<usize>()
            + dots.iter().map(Vec::len).sum::<usize>()
    };
    let before = count(series, dots);
    for one in series.iter_mut() {
        one.points.retain(|point| loss(point.y) <= limit);
    }
    for one in dots.iter_mut() {
        one.retain(|(_, y)| loss(*y) <= limit);
    }
    before - count(series, dots)
}

fn caption(drawing: &ScatterPlot) -> String {
    if drawing.dots.iter().any(|dots| !dots.is_empty()) {
        "Marks: done trials, n = 1. Small dots: pruned trials, at their best value when they ended."
            .to_owned()
    } else {
        "Marks: done trials, n = 1.".to_owned()
    }
}
