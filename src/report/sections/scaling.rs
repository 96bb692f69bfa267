//! How times grow with the number of samples: a power law for each group of cells that differ only in that number.

use serde_json::Value;

use crate::base::statistics::{PowerLaw, fit_power_law, range};
use crate::base::text::capitalised;
use crate::base::units::{human, human_integer, human_seconds};
use crate::report::section::Section;
use crate::report::table::{Column, Entry};
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::field::{self, Field};
use crate::report::timing::timing_value;

/// Times that are fitted: column of `timings.csv` and displayed name.
const TIMES: [(&str, &str); 2] = [("train_s", "training"), ("epoch_s", "epoch")];
/// Factor over the largest dataset up to which the fit is extrapolated.
const BEYOND: f64 = 10.0;

/// Cells that differ only in their number of samples, each with this number.
type Group<'v, 'a> = Vec<(&'v Cell<'a>, f64)>;

/// How one time grows with the number of samples in a group of cells.
struct Fit<'g, 'v, 'a> {
    group: &'g Group<'v, 'a>,
    /// The report's name of the time.
    time: &'static str,
    /// Number of cells that have the time.
    n: usize,
    /// Smallest and largest number of samples.
    sizes: (f64, f64),
    law: PowerLaw,
    /// Whether the time depends only on the number of samples; with different numbers of epochs (early stopping) it
    /// depends on these too.
    is_of_samples: bool,
}

fn fits<'g, 'v, 'a>(groups: &'g [Group<'v, 'a>]) -> Vec<Fit<'g, 'v, 'a>> {
    let pairs = groups
        .iter()
        .flat_map(|group| TIMES.map(|time| (group, time)));
    let fit = |(group, (column, time)): (&'g Group<'v, 'a>, (&str, &'static str))| {
        let point =
            |(cell, samples): &(&Cell<'_>, f64)| Some((*samples, timing_value(cell, column)?));
        let points: Vec<(f64, f64)> = group.iter().filter_map(point).collect();
        let sizes: Vec<f64> = points.iter().map(|(samples, _)| *samples).collect();
        Some(Fit {
            group,
            time,
            n: points.len(),
            sizes: range(&sizes)?,
            law: fit_power_law(&points)?,
            is_of_samples: column != "train_s" || epochs(group).is_none_or(|(a, b)| a >= b),
        })
    };
    pairs.filter_map(fit).collect()
}

/// The table of scaling exponents; `None` if no group has two sizes.
pub(crate) fn scaling_section(view: &View<'_>) -> Option<Section> {
    type OfFit<'f> = Field<'f, &'f Fit<'f, 'f, 'f>>;
    const FIT: &str = "least squares on logarithms";
    let groups = groups(view);
    let fits = fits(&groups);
    if fits.is_empty() {
        return None;
    }
    let two = |value: f64| human(value, 2);
    let of_fit = |what: &str| format!("{FIT}: {what}");
    let fields: [OfFit<'_>; 8] = [
        OfFit::text("cells", |fit| name(view, fit.group)),
        OfFit::text("time", |fit| fit.time.to_owned()),
        OfFit::count("n", "cells with a median", |fit| fit.n),
        OfFit::assumed("samples", "", "from the manifest", |fit| {
            Entry::text(fit.samples("–"))
        }),
        OfFit::derived("exponent", "", of_fit("slope"), |fit| {
            Entry::value(fit.law.exponent, exponent(&fit.law))
        }),
        OfFit::derived("standard error", "", of_fit("error of the slope"), |fit| {
            Entry::shown(fit.law.exponent_error, two)
        }),
        OfFit::derived("spread around the fit", "%", of_fit("residual"), |fit| {
            let spread = (fit.law.residual.exp() - 1.0) * 100.0;
            Entry::shown(fit.law.exponent_error.map(|_| spread), two)
        }),
        OfFit::new(Column::extrapolated("", "s", of_fit("prediction")), |fit| {
            let told = fit.prediction().filter(|_| fit.is_of_samples);
            told.unwrap_or_else(|| Entry::text("–"))
        }),
    ];
    let about = format!(
        "time = factor × samples^exponent, by least squares on the logarithms of the cells' medians: 1 is proportional. Training that ends by itself \
         after different numbers of epochs: its time depends on both, and is not extrapolated. n cells, and the exponent's standard error (n − 2 degrees of \
         freedom; none for two cells). The last column was not measured: it extrapolates the fit to {BEYOND} times the \
         largest dataset, with the standard error of a single prediction as a factor."
    );
    let head = ("scaling", "Scaling with the number of samples", about);
    let rows = fits.iter().map(|fit| (String::new(), fit));
    let table = field::of_rows(head, &fields, rows);
    Some(Section::of_table_and_rule(table, "", growths(view)))
}

impl Fit<'_, '_, '_> {
    /// The smallest and the largest number of samples as text: `1,000–16,000`.
    fn samples(&self, dash: &str) -> String {
        let [smallest, largest] =
            [self.sizes.0, self.sizes.1].map(|size| human_integer(size as u64));
        format!("{smallest}{dash}{largest}")
    }

    /// Extrapolated time for ten times the largest dataset; `None` for two sizes, which give no error estimate.
    fn prediction(&self) -> Option<Entry> {
        let beyond = BEYOND * self.sizes.1;
        let error = self.law.prediction_error(beyond)?;
        let (seconds, factor) = (self.law.at(beyond), error.exp());
        let (time, size) = (human_seconds(seconds), human_integer(beyond as u64));
        let text = format!("{time} (×/÷ {}) at {size}", human(factor, 3));
        Some(Entry::value(seconds, text).with_interval(seconds / factor, seconds * factor))
    }
}

/// A scaling exponent, as shown in headlines and tables.
fn exponent(fit: &PowerLaw) -> String {
    human(fit.exponent, 3)
}

/// Sentences: how each time grows with the number of samples, for every group with at least three sizes.
pub(crate) fn growths(view: &View<'_>) -> Vec<String> {
    let groups = groups(view);
    let (told, untold): (Vec<_>, Vec<_>) =
        fits(&groups).into_iter().partition(|fit| fit.is_of_samples);
    let head = |fit: &Fit<'_, '_, '_>| match name(view, fit.group) {
        all if all == "all" => format!("{} time", capitalised(fit.time)),
        cells => format!("{cells}: {} time", capitalised(fit.time)),
    };
    let growth = |fit: &Fit<'_, '_, '_>| {
        let error = human(fit.law.exponent_error?, 2);
        Some(format!(
            "{} grows with the number of samples to the power of {} (standard error {error}, n = {} sizes; 1 is \
             proportional; {} samples).",
            head(fit),
            exponent(&fit.law),
            fit.n,
            fit.samples(" to ")
        ))
    };
    let with_epochs = |fit: &Fit<'_, '_, '_>| {
        let (fewest, most) = epochs(fit.group)?;
        Some(format!(
            "{}, of training that ended by itself after {fewest} to {most} epochs, grows to the power of {} (standard error {}).",
            head(fit),
            exponent(&fit.law),
            human(fit.law.exponent_error?, 2)
        ))
    };
    let mut sentences: Vec<String> = told.iter().filter_map(growth).collect();
    if !sentences.is_empty() {
        sentences.extend(untold.iter().filter_map(with_epochs));
    }
    sentences
}

/// Whether all measured cells differ only in their number of samples.
pub(crate) fn differ_only_in_samples(view: &View<'_>) -> bool {
    matches!(groups(view).as_slice(), [only] if only.len() > 1)
}

/// Measured cells whose specifications, apart from `measure` and `limits`, differ only in the dataset's `samples`.
fn groups<'v, 'a>(view: &'v View<'a>) -> Vec<Group<'v, 'a>> {
    let rest = |cell: &Cell<'_>| parts(view, cell).map(|(_, rest)| rest);
    let sized = view.measured().filter(|cell| rest(cell).is_some());
    let groups = grouped(sized, |cell| rest(cell)).into_iter();
    groups
        .map(|cells| {
            let cells = cells.into_iter();
            let cells = cells.filter_map(|cell| Some((cell, parts(view, cell)?.0)));
            cells.collect()
        })
        .collect()
}

/// The number of samples, and everything else that determines the work, as text.
fn parts(view: &View<'_>, cell: &Cell<'_>) -> Option<(f64, String)> {
    let mut dataset = view.section(cell, "dataset")?.clone();
    let samples = dataset.as_object_mut()?.remove("samples")?.as_f64()?;
    let others = ["model", "loss", "train", "loader", "validation"];
    let others = others.map(|name| view.section(cell, name).unwrap_or(&Value::Null).to_string());
    Some((samples, format!("{dataset} {}", others.join(" "))))
}

/// Smallest and largest number of epochs of a run; `None` if unknown.
fn epochs(group: &Group<'_, '_>) -> Option<(f64, f64)> {
    let facts = group.iter().flat_map(|(cell, _)| cell.facts());
    let epochs = facts.map(|facts| facts.epochs as f64);
    range(&epochs.collect::<Vec<f64>>())
}

/// Name of a group: settings that the group's cells share and others do not have.
pub(super) fn name(view: &View<'_>, group: &Group<'_, '_>) -> String {
    let cells: Vec<&Cell<'_>> = group.iter().map(|(cell, _)| *cell).collect();
    view.shared_name(&cells)
}
