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
/// Fits that have a row.
const ROWS: usize = 40;
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
    let mut rows: Vec<Row> = rows.collect();
    let all = rows.len();
    rows.truncate(ROWS);
    let columns = columns();
    (!rows.is_empty()).then(|| Table {
        id: "scaling".to_owned(),
        title: "Scaling with the number of samples".to_owned(),
        about: format!(
            "time = factor × samples^exponent, by least squares on the logarithms of the cells' medians: 1 is proportional. Training that ends by itself \
             after other numbers of epochs grows by both, and is not carried on. n cells, and the exponent's standard error (n − 2 degrees of \
             freedom; none for two cells). The last column was not measured: it carries the fit on to {BEYOND} times the \
             largest dataset, with the standard error of a single prediction as a factor."
        ),
        sources: sources(&columns),
        columns,
        rows,
        cut: (all > ROWS).then(|| format!("The first {ROWS} of {all} fits.")),
    })
}

fn columns() -> Vec<Column> {
    const FIT: &str = "least squares on logarithms";
    let fit = |what: &str| Provenance::Derived(format!("{FIT}: {what}"));
    let count = Provenance::Measured("cells with a median".into());
    vec![
        Column::text("cells"),
        Column::text("time"),
        Column::count("n", &count),
        Column::number(
            "samples",
            "",
            &Provenance::Assumed("from the manifest".into()),
        ),
        Column::number("exponent", "", &fit("slope")),
        Column::number("standard error", "", &fit("error of the slope")),
        Column::number("spread around the fit", "%", &fit("residual")),
        Column::extrapolated("", "s", format!("{FIT}: prediction")),
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
    // Training ends by itself after other numbers of epochs: epochs × epoch time, fitted apart, is all that can be carried on.
    let told = prediction(points, fit).filter(|_| words == "epoch" || group.has_equal_epochs());
    let spread = fit
        .exponent_error
        .map(|_| (fit.residual.exp() - 1.0) * 100.0);
    let two = |value: f64| human(value, 2);
    Row {
        key: String::new(),
        fields: vec![
            Entry::text(group.name(view)),
            Entry::text(words),
            Entry::count(points.len()),
            Entry::text(format!(
                "{}–{}",
                human_integer(smallest as u64),
                human_integer(largest as u64)
            )),
            Entry::number(Some(&exponent(fit))),
            Entry::shown(fit.exponent_error, two),
            Entry::shown(spread, two),
            told.unwrap_or_else(|| Entry::text("–")),
        ],
        missing: None,
    }
}

/// A scaling exponent, as headline and table show it.
fn exponent(fit: &PowerLaw) -> Number {
    Number {
        text: human(fit.exponent, 3),
        interval: None,
        ends: None,
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

/// Whether all measured cells differ in their number of samples only.
pub(crate) fn is_all(view: &View<'_>) -> bool {
    matches!(groups(view).as_slice(), [only] if only.cells.len() > 1)
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
pub(super) fn prediction(points: &[(f64, f64)], fit: &PowerLaw) -> Option<Entry> {
    let sizes: Vec<f64> = points.iter().map(|(samples, _)| *samples).collect();
    let (_, largest) = range(&sizes)?;
    let beyond = BEYOND * largest;
    let error = fit.prediction_error(beyond)?;
    let (seconds, factor) = (fit.at(beyond), error.exp());
    let (time, size) = (human_seconds(seconds), human_integer(beyond as u64));
    let text = format!("{time} (×/÷ {}) at {size}", human(factor, 3));
    Some(Entry::value(seconds, text).within(seconds / factor, seconds * factor))
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
    /// Whether every run of every cell trained for the same number of epochs.
    fn has_equal_epochs(&self) -> bool {
        let rows = self.cells.iter().flat_map(|(cell, _)| &cell.runs);
        let mut epochs = rows.filter_map(|row| Some(row.facts.as_ref()?.epochs));
        let first = epochs.next();
        epochs.all(|own| Some(own) == first)
    }

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
