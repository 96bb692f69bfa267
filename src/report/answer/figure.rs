//! The figure of an answer: the deciding measure by cell, with all runs as points.

use crate::report::measure::Measure;
use crate::report::plot::{Point, PointPlot, Series};
use crate::report::sections::plots::{self, PlotContext, over_axis};
use crate::report::sections::ranking::speed_column;
use crate::report::view::{Cell, View};

use super::choice::{ComparedToBest, TaskRanking};
use super::table::{self, row_id};

/// Largest number of point labels that stay legible.
const LABELS: usize = 12;

/// Plot of the deciding measure by cell, for one task; `number` in the plot's id distinguishes it from the plots of
/// other tasks.
pub(super) fn choice_plot(
    view: &View<'_>,
    choice: &TaskRanking<'_, '_>,
    number: Option<usize>,
) -> Option<PlotContext> {
    if choice.cells.len() < 2 {
        return None;
    }
    let id = number.map_or("answer".to_owned(), |number| format!("answer-{number}"));
    let mut plot = match choice.measures.as_slice() {
        [measure] => {
            let cells: Vec<&Cell<'_>> = choice.cells.iter().map(|one| one.cell).collect();
            let row = |place| row_id(&table::id(number), place);
            over_axis::deciding(view, measure, &cells, &id, row)?
        }
        [one, other, ..] => front(view, choice, (one, other), id, number),
        [] => return None,
    };
    if !choice.task.is_empty() {
        plot.title = format!("{}, {}", plot.title, choice.task);
    }
    Some(plot)
}

/// Scatter plot of all cells by two measures; cells on the Pareto front are a series of their own.
fn front(
    view: &View<'_>,
    choice: &TaskRanking<'_, '_>,
    (one, other): (&Measure, &Measure),
    id: String,
    number: Option<usize>,
) -> PlotContext {
    let is_on = |standing: ComparedToBest| standing == ComparedToBest::OnFront;
    let count = choice
        .cells
        .iter()
        .filter(|cell| is_on(cell.standing))
        .count();
    let series = |name: &str, wanted: bool| {
        let cells = choice.cells.iter().enumerate();
        let points = cells
            .filter(|(_, cell)| is_on(cell.standing) == wanted)
            .map(|(place, cell)| {
                let name = view.name(cell.cell, None);
                let (y, x) = (&cell.numbers[0], &cell.numbers[1]);
                Point {
                    x: x.value,
                    y: y.value,
                    interval: one.ends(cell.cell),
                    about: format!(
                        "{name}: {} at {}",
                        y.text_with_interval(),
                        x.text_with_interval()
                    ),
                    link: row_id(&table::id(number), place),
                    label: if wanted && count <= LABELS {
                        name
                    } else {
                        String::new()
                    },
                    ..Point::default()
                }
            });
        Series::of(name, points)
    };
    let values = |place: usize| -> Vec<f64> {
        let numbers = choice.cells.iter().map(|cell| &cell.numbers[place]);
        numbers.map(|number| number.value).collect()
    };
    let axis = |measure: &Measure, place| {
        let scale = measure.scale(&values(place));
        (measure.name.clone(), measure.label(), scale)
    };
    let drawn = PointPlot {
        series: vec![
            series("on the Pareto front", true),
            series("other cells", false),
        ],
        ..PointPlot::default()
    };
    let caption = "Measured: medians; whiskers: range of runs or seeds. Of a cell on the front no other is better by both.";
    plots::front(
        id,
        [axis(one, 0), axis(other, 1)],
        caption.to_owned(),
        drawn,
    )
}

/// Plots of the epoch time over the number of samples.
pub(super) fn over_samples(view: &View<'_>) -> Vec<PlotContext> {
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let pace = Measure::of(speed_column(&cells));
    let row = |place| row_id(table::CELLS_TABLE_ID, place);
    let plot = over_axis::deciding(view, &pace, &cells, "answer", row);
    plot.into_iter().collect()
}
