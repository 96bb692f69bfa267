//! A measure over each numeric axis, batch size first; a dot plot by cell if no axis is numeric.

use crate::base::statistics::{median, range};
use crate::base::text::{capitalised, kebab_case};
use crate::plan::AxisKind;
use crate::report::measure::Measure;
use crate::report::plot::{
    DotPlot, DotRow, MAX_SERIES, MAX_SERIES_POINTS, Point, PointPlot, ScaleKind, Series,
};
use crate::report::sections::batch_curve::AXIS;
use crate::report::sections::speed;
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::{PlotContext, band};

/// Largest number of numeric axes with a plot each.
const AXES: usize = 3;
/// Largest number of cells in a plot by cell.
const ROWS: usize = 30;

/// One plot for each numeric axis, or one by cell if there is none; empty without values.
pub(crate) fn plots(view: &View<'_>, measure: &Measure) -> Vec<PlotContext> {
    let cells: Vec<&Cell<'_>> = view.cells.iter().collect();
    let drawing = Drawing::of(view, measure, &cells);
    let axes = drawing.numeric_axes();
    if axes.is_empty() {
        return drawing.by_cell().into_iter().collect();
    }
    let axes = axes.into_iter().take(AXES);
    axes.map(|axis| drawing.over(axis)).collect()
}

/// The plot of some cells over the axis along which their medians differ most, with the id `id`; `None` with fewer than
/// two values. Markers link to table rows: `row` returns the row's id for the index of a cell.
pub(crate) fn deciding(
    view: &View<'_>,
    measure: &Measure,
    cells: &[&Cell<'_>],
    id: &str,
    row: impl Fn(usize) -> String,
) -> Option<PlotContext> {
    let mut drawing = Drawing::of(view, measure, cells);
    // Cells are drawn in the order of `cells`, without those that have no value.
    let mut places = cells.iter().enumerate();
    for one in &mut drawing.cells {
        let place = places.find(|(_, cell)| std::ptr::eq(**cell, one.cell));
        one.row = place.map_or_else(String::new, |(place, _)| row(place));
    }
    let spread = |place: usize| {
        let values = |one: &&Valued<'_, '_>| one.cell.info.axes[place].clone();
        let groups = grouped(drawing.cells.iter(), values).into_iter();
        let medians = groups.filter_map(|group| {
            let values = group.iter().map(|one| one.value);
            median(&values.collect::<Vec<f64>>())
        });
        let medians: Vec<f64> = medians.collect();
        range(&medians).map_or(0.0, |(low, high)| high - low)
    };
    let places = view.axes_in_names.iter().copied();
    let widest = places.max_by(|a, b| spread(*a).total_cmp(&spread(*b)).then(b.cmp(a)));
    let numeric = drawing.numeric_axes();
    let plot = match widest.filter(|place| numeric.contains(place)) {
        Some(place) => Some(drawing.over(place)),
        None => drawing.by_cell(),
    };
    plot.map(|plot| PlotContext {
        id: id.to_owned(),
        ..plot
    })
}

/// Cells with their values of a measure, for one plot.
struct Drawing<'d, 'v, 'a> {
    view: &'d View<'a>,
    measure: &'d Measure,
    /// The cells that have a value.
    cells: Vec<Valued<'v, 'a>>,
}

/// A cell with its value.
struct Valued<'v, 'a> {
    cell: &'v Cell<'a>,
    value: f64,
    text: String,
    interval: Option<(f64, f64)>,
    runs: Vec<f64>,
    /// Id of the cell's row in the decision table; empty if it has none.
    row: String,
}

impl<'d, 'v, 'a> Drawing<'d, 'v, 'a> {
    fn of(view: &'d View<'a>, measure: &'d Measure, cells: &[&'v Cell<'a>]) -> Self {
        let valued = |cell: &&'v Cell<'a>| {
            let number = measure.number(cell)?;
            Some(Valued {
                cell,
                value: number.value,
                text: number.text,
                interval: measure.ends(cell),
                runs: measure.values(cell),
                row: String::new(),
            })
        };
        Self {
            view,
            measure,
            cells: cells.iter().filter_map(valued).collect(),
        }
    }

    /// Indices of the numeric axes with at least two values: batch size first, then matrix order.
    fn numeric_axes(&self) -> Vec<usize> {
        let axes = &self.view.set.plan.axes;
        let is_numeric = |place: &usize| {
            // A cell whose matrix lacks the axis has no point.
            let mut texts = self.cells.iter().map(|one| &one.cell.info.axes[*place]);
            let numbers = texts.all(|text| text.is_empty() || text.parse::<f64>().is_ok());
            axes[*place].kind != AxisKind::Category && numbers
        };
        let varies = |place: &usize| {
            let texts = self.cells.iter().map(|one| &one.cell.info.axes[*place]);
            let mut texts = texts.filter(|text| !text.is_empty());
            let first = texts.next();
            texts.any(|text| Some(text) != first)
        };
        let mut places: Vec<usize> = (0..axes.len()).filter(is_numeric).filter(varies).collect();
        places.sort_by_key(|&place| (axes[place].path != AXIS, place));
        places
    }

    fn over(&self, axis: usize) -> PlotContext {
        let on_axis = self.cells.iter().filter(|one| one.at(axis).is_some());
        // A line connects the cells that differ only in the axis.
        let mut lines = grouped(on_axis, |one| self.view.name(one.cell, Some(axis)));
        let all = lines.len();
        let mut rest = Vec::new();
        if all > MAX_SERIES {
            // Only the lines with the best values are drawn. The sort is stable, so that equal ones stay in plan order.
            lines.sort_by(|a, b| self.best(a).total_cmp(&self.best(b)));
            rest = lines.split_off(MAX_SERIES - 1);
        }
        let is_condensed = lines.iter().any(|line| line.len() > MAX_SERIES_POINTS);
        let named = lines.iter().map(|line| self.series(line, axis).condensed());
        let mut series: Vec<Series> = named.collect();
        if !rest.is_empty() {
            series.push(summed(&rest, axis).condensed());
        }
        let xs = series.iter().flat_map(|line| &line.points);
        let x_scale = ScaleKind::for_values(&xs.map(|point| point.x).collect::<Vec<f64>>());
        let ys: Vec<f64> = self.cells.iter().map(|one| one.value).collect();
        let axis_name = self.view.axis_name(axis);
        let title = capitalised(&format!("{} over {axis_name}", self.measure.name));
        let plot = PointPlot {
            is_joined: true,
            about: title.clone(),
            x_label: axis_name.to_owned(),
            x_scale,
            x_settings: true,
            y_label: self.measure.label(),
            y_scale: self.measure.scale(&ys),
            series,
            ..PointPlot::default()
        };
        let cut = left_out(all, is_condensed);
        PlotContext {
            id: format!("{}-{}", self.id(), kebab_case(axis_name)),
            title,
            caption: format!(
                "{} Cells without a value have no point.{cut}",
                self.caption()
            ),
            svg: plot.draw(),
        }
    }

    /// The plot's id, made of plain characters because it is a file name.
    fn id(&self) -> String {
        kebab_case(&self.measure.name.replace('²', "2"))
    }

    fn caption(&self) -> String {
        if self.measure.is_per_run {
            format!("Measured: medians over runs{}.", whiskers(self.view))
        } else if self.cells.iter().any(|one| one.runs.len() > 1) {
            "Measured: medians over seeds; whiskers: range of the seeds; dots: the seeds."
                .to_owned()
        } else {
            "Measured: one seed each.".to_owned()
        }
    }

    /// The lowest cost that a line reaches.
    fn best(&self, line: &[&Valued<'_, '_>]) -> f64 {
        let costs = line
            .iter()
            .map(|one| self.measure.lower_is_better(one.value));
        costs.fold(f64::INFINITY, f64::min)
    }

    fn series(&self, line: &[&Valued<'_, '_>], axis: usize) -> Series {
        let name = self.view.name(line[0].cell, Some(axis));
        let mut points: Vec<Point> = line
            .iter()
            .filter_map(|one| {
                let at = &one.cell.info.axes[axis];
                Some(Point {
                    x: one.at(axis)?,
                    y: one.value,
                    interval: one.interval,
                    runs: one.runs.clone(),
                    link: one.row.clone(),
                    about: format!("{name}, {at}: {} {}", one.text, self.measure.unit),
                    ..Point::default()
                })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::of(&name, points)
    }

    /// The plot by cell: a row for each cell, the best first; if there are many cells, only the best. `None` without
    /// cells.
    fn by_cell(&self) -> Option<PlotContext> {
        if self.cells.is_empty() {
            return None;
        }
        let mut shown: Vec<&Valued<'_, '_>> = self.cells.iter().collect();
        // The sort is stable, so that equal cells stay in plan order.
        let cost = |one: &Valued<'_, '_>| self.measure.lower_is_better(one.value);
        shown.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
        shown.truncate(ROWS);
        let row = |one: &&Valued<'_, '_>| DotRow {
            label: self.view.name(one.cell, None),
            value: one.value,
            interval: one.interval,
            runs: one.runs.clone(),
            end: one.text.clone(),
            link: one.row.clone(),
            ..DotRow::default()
        };
        let rows: Vec<DotRow> = shown.iter().map(row).collect();
        let title = capitalised(&format!("{} by cell", self.measure.name));
        let plot = DotPlot {
            about: title.clone(),
            x_label: self.measure.label(),
            x_scale: self
                .measure
                .scale(&shown.iter().map(|one| one.value).collect::<Vec<_>>()),
            rows,
            ..DotPlot::default()
        };
        let cut = match self.cells.len() {
            all if all > ROWS => format!(" The best {ROWS} of {all} cells."),
            _ => String::new(),
        };
        Some(PlotContext {
            id: self.id(),
            title,
            caption: format!("{}{cut}", self.caption()),
            svg: plot.draw(),
        })
    }
}

impl Valued<'_, '_> {
    /// The cell's value on a numeric axis.
    fn at(&self, axis: usize) -> Option<f64> {
        self.cell.info.axes[axis].parse().ok()
    }
}

fn left_out(lines: usize, is_condensed: bool) -> String {
    let mut cut = String::new();
    if lines > MAX_SERIES {
        let named = MAX_SERIES - 1;
        let rest = lines - named;
        cut = format!(
            " Of {lines} lines the {named} that reach furthest; of the other {rest} median and range."
        );
    }
    if is_condensed {
        cut += " Of long lines median and range of neighbouring points.";
    }
    cut
}

/// A series of medians and ranges over several lines, at each value of the axis.
fn summed(lines: &[Vec<&Valued<'_, '_>>], axis: usize) -> Series {
    let cells = lines.iter().flatten();
    let points = cells.filter_map(|one| Some((one.at(axis)?, one.value)));
    let name = format!("the other {}: median and range", lines.len());
    band(name, points.collect(), |x, _| x.to_string())
}

fn whiskers(view: &View<'_>) -> String {
    let kinds: Vec<&str> = speed::kinds(view)
        .into_iter()
        .filter(|kind| !kind.starts_with("n = 1"))
        .collect();
    if kinds.is_empty() {
        ", one run each".to_owned()
    } else {
        format!("; whiskers: {}; dots: the runs", kinds.join(" or "))
    }
}
