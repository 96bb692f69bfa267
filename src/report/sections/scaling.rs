//! How times grow with the number of samples: a power law per group of cells that differ in nothing else.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::statistics::{PowerLaw, fit_power_law, range};
use crate::base::units::{human, human_integer, human_seconds};
use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table, sources};
use crate::report::view::{Cell, View};

use super::speed::timing;

/// Times that are fitted: the column of `timings.csv`, and what the report calls it.
const TIMES: [(&str, &str); 2] = [("train_s", "training"), ("epoch_s", "epoch")];
/// How far beyond the largest dataset the fit is carried on.
const BEYOND: f64 = 10.0;

/// Cells that differ in their number of samples only.
pub(super) struct Group<'v, 'a> {
    /// Each with its samples.
    pub(super) cells: Vec<(&'v Cell<'a>, f64)>,
}

/// The table of scaling exponents; `None` where no group has two sizes.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let groups = groups(view);
    let rows = groups.iter().flat_map(|group| {
        let fits = TIMES.iter().filter_map(|(column, words)| {
            let points = group.points(column);
            let fit = fit_power_law(&points)?;
            Some(row(view, group, words, &points, &fit))
        });
        fits.collect::<Vec<_>>()
    });
    let rows: Vec<Row> = rows.collect();
    let columns = columns();
    (!rows.is_empty()).then(|| Table {
        id: "scaling".to_owned(),
        title: "Scaling with the number of samples".to_owned(),
        about: format!(
            "time = factor × samples^exponent, by least squares on the logarithms of the cells' medians: 1 is proportional, \
             below 1 larger datasets cost less per sample. n cells, and the exponent's standard error (n − 2 degrees of \
             freedom; none for two cells). The last column was not measured: it carries the fit on to {BEYOND} times the \
             largest dataset, with the standard error of a single prediction as a factor."
        ),
        sources: sources(&columns),
        columns,
        rows,
        cut: None,
    })
}

fn columns() -> Vec<Column> {
    let fit = |what: &str| Provenance::Derived(format!("least squares on logarithms: {what}"));
    let count = Provenance::Measured("cells with a median".into());
    vec![
        Column::text("cells"),
        Column::text("time"),
        Column::number("n", "", &count),
        Column::number(
            "samples",
            "",
            &Provenance::Assumed("from the manifest".into()),
        ),
        Column::number("exponent", "", &fit("slope")),
        Column::number("standard error", "", &fit("error of the slope")),
        Column::number("spread around the fit", "%", &fit("residual")),
        Column::number("extrapolated, not measured", "", &fit("prediction")),
    ]
}

fn row(
    view: &View<'_>,
    group: &Group<'_, '_>,
    words: &str,
    points: &[(f64, f64)],
    fit: &PowerLaw,
) -> Row {
    let sizes: Vec<f64> = points.iter().map(|(samples, _)| *samples).collect();
    let (smallest, largest) = range(&sizes).unwrap_or_default();
    let or_dash = |text: Option<String>| Entry::text(text.unwrap_or_else(|| "–".to_owned()));
    let percent = |share: f64| human((share.exp() - 1.0) * 100.0, 2);
    Row {
        key: String::new(),
        fields: vec![
            Entry::text(group.name(view)),
            Entry::text(words),
            Entry::text(points.len().to_string()),
            Entry::text(format!(
                "{}–{}",
                human_integer(smallest as u64),
                human_integer(largest as u64)
            )),
            Entry::number(Some(&exponent(fit))),
            or_dash(fit.exponent_error.map(|error| human(error, 2))),
            or_dash(fit.exponent_error.map(|_| percent(fit.residual))),
            or_dash(prediction(points, fit)),
        ],
        missing: None,
    }
}

/// A scaling exponent, as headline and table show it.
fn exponent(fit: &PowerLaw) -> Number {
    Number {
        text: human(fit.exponent, 3),
        interval: None,
        interval_name: "",
        unit: String::new(),
        provenance: Provenance::Derived("slope of the fit on logarithms".into()).to_string(),
        value: fit.exponent,
    }
}

/// What one fit says: the time, the cells, the exponent, and remarks.
pub(crate) struct Growth {
    /// `epoch`, `training`.
    pub(crate) time: &'static str,
    /// The cells in words.
    pub(crate) cells: String,
    /// The exponent, the same value as in the table.
    pub(crate) exponent: Number,
    /// Its error, and over how many samples.
    pub(crate) remarks: Vec<String>,
}

/// The growth of each time, in every group of three sizes or more.
pub(crate) fn growths(view: &View<'_>) -> Vec<Growth> {
    let groups = groups(view);
    let fits = groups.iter().flat_map(|group| {
        let growths = TIMES.iter().filter_map(|time| growth(view, group, *time));
        growths.collect::<Vec<_>>()
    });
    fits.collect()
}

fn growth(
    view: &View<'_>,
    group: &Group<'_, '_>,
    (column, time): (&str, &'static str),
) -> Option<Growth> {
    let points = group.points(column);
    let fit = fit_power_law(&points)?;
    let error = fit.exponent_error?;
    let sizes: Vec<f64> = points.iter().map(|(samples, _)| *samples).collect();
    let (smallest, largest) = range(&sizes)?;
    let (smallest, largest) = (
        human_integer(smallest as u64),
        human_integer(largest as u64),
    );
    Some(Growth {
        time,
        cells: group.name(view),
        exponent: exponent(&fit),
        remarks: vec![
            format!(
                "standard error {}, n = {} sizes",
                human(error, 2),
                points.len()
            ),
            format!("1 is proportional; {smallest} to {largest} samples"),
        ],
    })
}

/// Measured cells whose specifications differ in the dataset's `samples` only, what is measured and limited aside.
pub(super) fn groups<'v, 'a>(view: &'v View<'a>) -> Vec<Group<'v, 'a>> {
    let mut groups: Vec<Group<'_, '_>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for cell in view.cells.iter().filter(|cell| cell.is_measured()) {
        let Some((samples, rest)) = parts(view, cell) else {
            continue;
        };
        let place = *places.entry(rest).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group { cells: Vec::new() });
        }
        groups[place].cells.push((cell, samples));
    }
    groups
}

/// What ten times the largest dataset would take, by the fit; `None` where two sizes leave no error.
pub(super) fn prediction(points: &[(f64, f64)], fit: &PowerLaw) -> Option<String> {
    let sizes: Vec<f64> = points.iter().map(|(samples, _)| *samples).collect();
    let (_, largest) = range(&sizes)?;
    let beyond = BEYOND * largest;
    let error = fit.prediction_error(beyond)?;
    let time = human_seconds(fit.at(beyond));
    let (factor, size) = (human(error.exp(), 3), human_integer(beyond as u64));
    Some(format!("{time} (×/÷ {factor}) at {size}"))
}

/// The number of samples, and everything else that decides the work, as text.
fn parts(view: &View<'_>, cell: &Cell<'_>) -> Option<(f64, String)> {
    let mut dataset = view.section(cell, "dataset")?.clone();
    let samples = dataset.as_object_mut()?.remove("samples")?.as_f64()?;
    let others = ["model", "loss", "train", "loader", "validation"];
    let others = others.map(|name| view.section(cell, name).unwrap_or(&Value::Null).to_string());
    Some((samples, format!("{dataset} {}", others.join(" "))))
}

impl Group<'_, '_> {
    /// Samples and median of the time in `column`, of the cells that have it.
    pub(super) fn points(&self, column: &str) -> Vec<(f64, f64)> {
        let point =
            |(cell, samples): &(&Cell<'_>, f64)| Some((*samples, timing(cell, column)?.value));
        self.cells.iter().filter_map(point).collect()
    }

    /// What its cells have in common and others do not.
    pub(super) fn name(&self, view: &View<'_>) -> String {
        let cells: Vec<&Cell<'_>> = self.cells.iter().map(|(cell, _)| *cell).collect();
        view.shared_name(&cells)
    }
}
