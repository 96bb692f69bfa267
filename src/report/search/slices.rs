//! The first objective against each parameter: a slice through the trials.

use crate::base::text::{capitalised, kebab_case};
use crate::plan::search::{Domain, Parameter, Value};
use crate::report::plot::{Point, PointPlot, SERIES, ScaleKind};
use crate::report::sections::plots::PlotContext;

use super::objective::Near;
use super::trials::{Ending, Search, Study, short_name, text};

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
#[derive(Default)]
struct Axis {
    names: Vec<String>,
    scale: ScaleKind,
    is_settings: bool,
    /// The numbers that the choices are, where all of them are numbers.
    numbers: Option<Vec<f64>>,
}

impl Axis {
    fn of(domain: &Domain) -> Self {
        let mut axis = Self::default();
        match domain {
            Domain::Choice { texts, .. } => {
                let numbers = texts.iter().map(|text| text.parse().ok());
                axis.numbers = numbers.collect();
                match &axis.numbers {
                    Some(numbers) => {
                        axis.scale = ScaleKind::for_values(numbers);
                        axis.is_settings = true;
                    }
                    None if texts.len() <= NAMES => axis.names.clone_from(texts),
                    None => {}
                }
            }
            Domain::Int { log: true, .. } | Domain::Float { log: true, .. } => {
                axis.scale = ScaleKind::Log10;
            }
            Domain::Int { low, high, .. } => axis.is_settings = high - low < 9,
            Domain::Float { .. } => {}
        }
        axis
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

/// The done trials of a study at their values of a parameter, and the places of the pruned ones.
fn points(
    near: &mut Near<'_>,
    study: &Study<'_, '_>,
    place: usize,
    (parameter, axis): (&Parameter, &Axis),
) -> (Vec<Point>, Vec<(f64, f64)>) {
    let objective = near.objective;
    let points = study.ended(Ending::Done).filter_map(|trial| {
        let value = trial.info.point.get(place)?;
        let y = near.keep(objective.value(&trial)?)?;
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
        let reached = trial.info.pruned.as_ref()?.value;
        let known = Some(reached).filter(|y| y.is_finite());
        Some((axis.place(value), near.keep(known?)?))
    });
    (points, pruned.collect())
}

fn plot(search: &Search<'_, '_>, place: usize) -> Option<PlotContext> {
    let objective = search.first();
    let parameters = &search.spec.space.parameters;
    let parameter = &parameters[place];
    let axis = Axis::of(&parameter.domain);
    let mut near = Near::of(search, objective);
    let (mut series, mut dots) = (Vec::new(), Vec::new());
    for study in search.studies.iter().take(SERIES) {
        let (points, pruned) = points(&mut near, study, place, (parameter, &axis));
        if !points.is_empty() || !pruned.is_empty() {
            dots.push(pruned);
            series.push(study.series("trials", points));
        }
    }
    let points = series.iter().flat_map(|series| &series.points);
    let mut ys: Vec<f64> = points.map(|point| point.y).collect();
    if ys.len() < 2 {
        return None;
    }
    ys.extend(dots.iter().flatten().map(|(_, y)| *y));
    let name = short_name(parameters, place);
    let mut caption = "Marks: done trials, n = 1.".to_owned();
    if dots.iter().any(|dots| !dots.is_empty()) {
        caption += " Small dots: pruned trials, at their best value when they ended.";
    }
    if near.left_out > 0 {
        let left_out = near.left_out;
        caption = format!("{caption} {left_out} far worse values are left out.");
    }
    let drawing = PointPlot {
        about: format!("{} by {name}", objective.name),
        x_label: name.to_owned(),
        x_scale: axis.scale,
        x_names: axis.names,
        x_settings: axis.is_settings,
        y_label: objective.label(),
        y_scale: objective.scale(&ys),
        series,
        dots,
        ..PointPlot::default()
    };
    Some(PlotContext {
        id: format!("search-slice-{}", kebab_case(&parameter.name)),
        title: capitalised(&format!("{} by {name}", objective.name)),
        caption: caption + &drawing.merged_note(),
        svg: drawing.draw(),
    })
}
