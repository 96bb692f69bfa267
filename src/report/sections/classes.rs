//! Classes of cells side by side, with a ratio only between cells that do the same work, and treatments with all that
//! differs between them.

use crate::base::statistics::geometric_mean;
use crate::base::units::human;
use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table, sources, spread_entry};
use crate::report::view::{Cell, View};

use super::complexity::sample_ms;
use super::difference;
use super::ranking::not_comparable;
use super::speed::timing;
use super::tasks::grouped;

/// Cells of one class.
pub(crate) struct Class<'v, 'a> {
    /// Value of the axis, or kind of the model.
    pub(crate) name: String,
    /// Its cells, in plan order.
    pub(crate) cells: Vec<&'v Cell<'a>>,
}

/// What classes are made of.
enum By {
    /// The values of the axis at this place.
    Axis(usize),
    /// The kinds of models.
    Kind,
}

/// The classes of a plan, in plan order: values of `report.classes`, else the kinds of models; one class where all cells
/// are alike.
pub(crate) fn of_plan<'v, 'a>(view: &'v View<'a>) -> Vec<Class<'v, 'a>> {
    let by = by(view);
    classes(view, view.cells.iter().collect(), &by)
}

/// The table of classes; `None` where there is only one.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let by = by(view);
    let datasets = grouped(view.cells.iter(), |cell| {
        view.section(cell, "dataset").map(ToString::to_string)
    });
    if of_plan(view).len() < 2 {
        return None;
    }
    let several = datasets.len() > 1;
    let mut rows = Vec::new();
    for cells in &datasets {
        let classes = classes(view, cells.clone(), &by);
        for class in &classes {
            rows.push(row(view, &by, class, &classes[0], several));
        }
    }
    let what = match by {
        By::Axis(place) => format!("Cells by {}", view.set.plan.axes[place].name),
        By::Kind => "Cells by kind of model".to_owned(),
    };
    let columns = columns(several);
    Some(Table {
        id: "classes".to_owned(),
        title: "Classes".to_owned(),
        about: format!(
            "{what}: medians over the measured cells of a class, below them the range of the cells. Classes whose cells differ \
             in dataset, loss, model shape or algorithm do other work per sample: a ratio of their times would \
             measure the choice of cells, and is not drawn."
        ),
        sources: sources(&columns),
        columns,
        rows,
        cut: None,
    })
}

fn by(view: &View<'_>) -> By {
    let axes = &view.set.plan.axes;
    let named = view
        .set
        .plan
        .report
        .get("classes")
        .and_then(|name| name.as_str());
    let place = named.and_then(|name| axes.iter().position(|axis| axis.is_called(name)));
    place.map_or(By::Kind, By::Axis)
}

fn classes<'v, 'a>(view: &View<'a>, cells: Vec<&'v Cell<'a>>, by: &By) -> Vec<Class<'v, 'a>> {
    let name = |cell: &Cell<'a>| match by {
        By::Axis(place) => view.words(*place, &cell.info.axes[*place]),
        By::Kind => {
            let kind = difference::part(view, cell, "model.kind").and_then(|kind| kind.as_str());
            kind.unwrap_or("all cells").to_owned()
        }
    };
    let groups = grouped(cells.into_iter(), name);
    let class = |cells: Vec<&'v Cell<'a>>| Class {
        name: name(cells[0]),
        cells,
    };
    groups.into_iter().map(class).collect()
}

fn columns(several: bool) -> Vec<Column> {
    let cells = Provenance::Measured("cells with a median".into());
    let middle = Provenance::Derived("median over cells".into());
    let ratio = Provenance::Derived(
        "geometric mean over pairs of cells, own time per sample ÷ that of the first class".into(),
    );
    let mut columns = vec![Column::text("class")];
    columns.extend(several.then(|| Column::text("dataset")));
    columns.push(Column::count("cells", &cells));
    columns.push(Column::number("epoch", "s", &middle));
    columns.push(Column::number("step", "ms", &middle));
    columns.push(Column::number("time per sample", "ms", &middle));
    columns.push(Column::number("time ÷ first class", "", &ratio));
    columns.push(Column::text("why no ratio"));
    columns
}

fn row(
    view: &View<'_>,
    by: &By,
    class: &Class<'_, '_>,
    first: &Class<'_, '_>,
    several: bool,
) -> Row {
    let measured: Vec<&Cell<'_>> = measured(&class.cells);
    let mut fields = vec![Entry::text(class.name.clone())];
    if several {
        let name = difference::part(view, class.cells[0], "dataset_name").map(difference::plain);
        fields.push(Entry::text(name.unwrap_or_default()));
    }
    if measured.is_empty() {
        return Row {
            key: String::new(),
            fields,
            missing: Some(class.cells[0].why_missing()),
        };
    }
    let column = |name: &str| {
        let values = measured
            .iter()
            .filter_map(|cell| Some(timing(cell, name)?.value));
        over_cells(&values.collect::<Vec<f64>>())
    };
    fields.push(Entry::value(
        measured.len() as f64,
        measured.len().to_string(),
    ));
    fields.push(column("epoch_s"));
    fields.push(column("step_ms"));
    let per_sample = measured.iter().filter_map(|cell| sample_ms(view, cell));
    fields.push(over_cells(&per_sample.collect::<Vec<f64>>()));
    let (ratio, why) = if class.name == first.name {
        (Entry::text("–"), "the first class".to_owned())
    } else {
        against(view, by, class, first)
    };
    fields.push(ratio);
    fields.push(Entry::text(why));
    Row {
        key: String::new(),
        fields,
        missing: None,
    }
}

fn measured<'v, 'a>(cells: &[&'v Cell<'a>]) -> Vec<&'v Cell<'a>> {
    cells
        .iter()
        .copied()
        .filter(|cell| cell.is_measured())
        .collect()
}

fn over_cells(values: &[f64]) -> Entry {
    spread_entry(values, |value| human(value, 3))
}

/// The ratio to the first class, or why there is none.
fn against(
    view: &View<'_>,
    by: &By,
    class: &Class<'_, '_>,
    first: &Class<'_, '_>,
) -> (Entry, String) {
    let without = match by {
        By::Axis(place) => Some(*place),
        By::Kind => None,
    };
    let (own, base) = (measured(&class.cells), measured(&first.cells));
    let pairs = pairs(&own, &base, without);
    let ratios = pairs.iter().filter_map(|(own, base)| {
        let is_alike = not_comparable(view, own, base).is_none();
        is_alike.then_some(sample_ms(view, own)? / sample_ms(view, base)?)
    });
    let ratios: Vec<f64> = ratios.collect();
    if let Some(mean) = geometric_mean(&ratios) {
        let ratio = Number::ratio(mean, "time per sample");
        let detail = match ratios.len() {
            1 => "1 pair".to_owned(),
            n => format!("{n} pairs"),
        };
        let entry = Entry {
            detail,
            ..Entry::value(ratio.value, ratio.text)
        };
        return (entry, "–".to_owned());
    }
    let differs = difference::of_steps(view, &own, &base);
    let why = if differs.is_empty() {
        "not comparable: no two cells share everything else".to_owned()
    } else {
        format!("not comparable: different {}", differs.join(", "))
    };
    (Entry::text("–"), why)
}

/// Pairs of cells that agree on every axis but one.
pub(super) fn pairs<'v, 'a>(
    own: &[&'v Cell<'a>],
    base: &[&'v Cell<'a>],
    without: Option<usize>,
) -> Vec<(&'v Cell<'a>, &'v Cell<'a>)> {
    let rest = |cell: &Cell<'_>| -> Vec<String> {
        let axes = cell.info.axes.iter().enumerate();
        axes.filter(|(place, _)| Some(*place) != without)
            .map(|(_, value)| value.clone())
            .collect()
    };
    let known: std::collections::BTreeMap<Vec<String>, &Cell<'a>> =
        base.iter().map(|cell| (rest(cell), *cell)).collect();
    own.iter()
        .filter_map(|cell| Some((*cell, *known.get(&rest(cell))?)))
        .collect()
}
