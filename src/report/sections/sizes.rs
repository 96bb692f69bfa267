//! Training time, memory and quality by dataset size, beside each other.

use crate::base::statistics::fit_power_law;
use crate::base::units::{human, human_integer};
use crate::event::RunFacts;
use crate::report::judged::Judged;
use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::{Cell, View};

use super::memory::mebibytes;
use super::quality::{metric_names, over_seeds, seeds_in_words, with_direction};
use super::scaling::{Group, groups};
use super::speed::{in_mib, timing};

/// Metrics that are shown at most; all of them stand under quality.
const METRICS: usize = 6;

/// The table of sizes; `None` where no cells differ in their number of samples only.
pub(crate) fn judged(view: &View<'_>) -> Option<Judged> {
    let mut groups = groups(view);
    groups.retain(|group| group.cells.len() > 1);
    if groups.is_empty() {
        return None;
    }
    for group in &mut groups {
        group.cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    let metrics = metrics(view);
    let columns = columns(view, &metrics);
    let rows = groups.iter().flat_map(|group| rows(view, group, &metrics));
    let about = "Cells that differ in their number of samples only. How the times grow is fitted under “Scaling with the \
                 number of samples”."
        .to_owned();
    let table = Table::of_rows(("sizes", "Dataset sizes", about), columns, rows.collect());
    let rule = "Growth is called below or above proportional where the fitted exponent is two standard errors from 1. A \
                metric of one size is told apart from that of another where the ranges of their seeds do not overlap.";
    let verdicts = groups
        .iter()
        .flat_map(|group| verdicts(view, group, &metrics));
    Some(Judged::new(table, rule, verdicts.collect()))
}

/// Metrics of validation and test; the loss only where it is no other metric's twin.
fn metrics(view: &View<'_>) -> Vec<String> {
    let all = metric_names(view);
    let has_error = all.iter().any(|name| name.ends_with("_mse"));
    let is_shown = |name: &String| {
        let is_split = name.starts_with("val_") || name.starts_with("test_");
        is_split && !(has_error && name.ends_with("_loss"))
    };
    all.into_iter().filter(is_shown).take(METRICS).collect()
}

fn columns(view: &View<'_>, metrics: &[String]) -> Vec<Column> {
    let median = Provenance::Measured("median of n runs".into());
    let seeds = Provenance::Measured(seeds_in_words(view));
    let mut columns = vec![
        Column::text("cells"),
        Column::number(
            "samples",
            "",
            &Provenance::Assumed("from the manifest".into()),
        ),
        Column::count("n", &Provenance::Measured("runs that count".into())),
        Column::number("training", "s", &median),
        Column::number(
            "against the smallest",
            "",
            &Provenance::Derived("training ÷ that of the smallest size".into()),
        ),
        Column::number("epochs", "", &seeds),
        Column::number("peak, training", "MiB", &median),
    ];
    let metrics = metrics.iter();
    columns.extend(metrics.map(|name| Column::number(&with_direction(view, name), "", &seeds)));
    columns
}

fn rows(view: &View<'_>, group: &Group<'_, '_>, metrics: &[String]) -> Vec<Row> {
    let smallest = group
        .cells
        .first()
        .and_then(|(cell, _)| timing(cell, "train_s"));
    let cells = group.cells.iter().map(|(cell, samples)| {
        let training = timing(cell, "train_s");
        let ratio = training.as_ref().zip(smallest.as_ref());
        let ratio = ratio.map(|(own, first)| Number::ratio(own.value / first.value, ""));
        let epochs = over_seeds(cell, &|facts: &RunFacts| Some(facts.epochs as f64));
        let mut fields = vec![
            Entry::text(group.name(view)),
            Entry::count(*samples as usize),
            Entry::count(cell.timing.map_or(0, |row| row.n)),
            Entry::number(training.as_ref()),
            Entry::number(ratio.as_ref()),
            Entry::number(epochs.as_ref()),
            in_mib(cell, "peak_train_bytes", mebibytes),
        ];
        let own = metrics
            .iter()
            .map(|name| Entry::number(metric(cell, name).as_ref()));
        fields.extend(own);
        Row {
            key: cell.info.key.clone(),
            fields,
            missing: None,
        }
    });
    cells.collect()
}

fn metric(cell: &Cell<'_>, name: &str) -> Option<Number> {
    over_seeds(cell, &|facts: &RunFacts| {
        facts.metrics.get(name).copied().flatten()
    })
}

fn verdicts(view: &View<'_>, group: &Group<'_, '_>, metrics: &[String]) -> Vec<String> {
    let name = group.name(view);
    let times = [
        ("train_s", "training time"),
        ("epoch_s", "time of an epoch"),
    ];
    let growth = times.iter().filter_map(|(column, words)| {
        let fit = fit_power_law(&group.points(column))?;
        let exponent = human(fit.exponent, 3);
        Some(match fit.exponent_error {
            None => format!("{name}: {words} grows with samples^{exponent} between two sizes, which leave no error."),
            Some(error) => {
                let direction = if fit.exponent + 2.0 * error < 1.0 {
                    "below proportional"
                } else if fit.exponent - 2.0 * error > 1.0 {
                    "above proportional"
                } else {
                    "not told apart from proportional"
                };
                format!("{name}: {words} grows with samples^{exponent} (± {} standard error): {direction}.", human(error, 2))
            }
        })
    });
    let mut verdicts: Vec<String> = growth.collect();
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for metric in metrics {
        let Some(text) = told_apart(group, metric) else {
            continue;
        };
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(metric),
            None => found.push((text, vec![metric])),
        }
    }
    let quality = found
        .iter()
        .map(|(text, names)| format!("{name}: {}: {text}", names.join(", ")));
    verdicts.extend(quality);
    verdicts
}

/// Which sizes' seeds lie apart from those of the largest size that has several.
fn told_apart(group: &Group<'_, '_>, name: &str) -> Option<String> {
    let ends = |cell: &Cell<'_>| {
        let facts = cell.runs.iter().filter_map(|row| row.facts.as_ref());
        let values: Vec<f64> = facts
            .filter_map(|facts| facts.metrics.get(name).copied().flatten())
            .collect();
        (values.len() > 1)
            .then(|| crate::base::statistics::range(&values))
            .flatten()
    };
    let mut known: Vec<(f64, (f64, f64))> = group
        .cells
        .iter()
        .filter_map(|(cell, samples)| Some((*samples, ends(cell)?)))
        .collect();
    let (largest, (low, high)) = known.pop()?;
    if known.is_empty() {
        return None;
    }
    let apart = known.iter().filter(|(_, (a, b))| *b < low || *a > high);
    let apart: Vec<String> = apart
        .map(|(samples, _)| human_integer(*samples as u64))
        .collect();
    let largest = human_integer(largest as u64);
    Some(if apart.is_empty() {
        format!("no smaller size is told apart from {largest} samples.")
    } else {
        let (some, all) = (apart.len(), known.len());
        format!(
            "told apart from {largest} samples: {} ({some} of {all} smaller sizes).",
            apart.join(", ")
        )
    })
}
