//! Training time, memory and quality by dataset size, beside each other.

use crate::base::units::human_integer;
use crate::event::RunFacts;
use crate::report::judged::Judged;
use crate::report::number::Number;
use crate::report::table::Entry;
use crate::report::view::{Cell, View};

use super::field::{self, Field};
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
    type OfSize<'f> = Field<'f, (&'f Group<'f, 'f>, &'f Cell<'f>, f64)>;
    let metrics = metrics(view);
    let seeds = seeds_in_words(view);
    const MEDIAN: &str = "median of n runs";
    let training = |cell: &Cell<'_>| timing(cell, "train_s");
    let mut fields: Vec<OfSize<'_>> = vec![
        OfSize::text("cells", |(group, ..)| group.name(view)),
        OfSize::assumed("samples", "", "from the manifest", |(.., samples)| {
            Entry::count(*samples as usize)
        }),
        OfSize::count("n", "runs that count", |(_, cell, _)| {
            cell.timing.map_or(0, |row| row.n)
        }),
        OfSize::measured("training", "s", MEDIAN, |(_, cell, _)| {
            Entry::number(training(cell).as_ref())
        }),
        OfSize::derived(
            "against the smallest",
            "",
            "training ÷ that of the smallest size",
            |(group, cell, _)| {
                let smallest = group.cells.first().and_then(|(first, _)| training(first));
                let ratio = training(cell).zip(smallest);
                let ratio = ratio.map(|(own, first)| Number::ratio(own.value / first.value, ""));
                Entry::number(ratio.as_ref())
            },
        ),
        OfSize::measured("epochs", "", &*seeds, |(_, cell, _)| {
            let epochs = over_seeds(cell, &|facts: &RunFacts| Some(facts.epochs as f64));
            Entry::number(epochs.as_ref())
        }),
        OfSize::measured("peak, training", "MiB", MEDIAN, |(_, cell, _)| {
            in_mib(cell, "peak_train_bytes", mebibytes)
        }),
    ];
    fields.extend(metrics.iter().map(|name| {
        OfSize::measured(&with_direction(view, name), "", &*seeds, |(_, cell, _)| {
            Entry::number(metric(cell, name).as_ref())
        })
    }));
    let rows = groups.iter().flat_map(|group| {
        let cells = group.cells.iter();
        cells.map(move |(cell, samples)| (cell.info.key.clone(), (group, *cell, *samples)))
    });
    let about = "Cells that differ in their number of samples only. How the times grow is fitted under “Scaling with the \
                 number of samples”."
        .to_owned();
    let table = field::of_rows(("sizes", "Dataset sizes", about), &fields, rows);
    let rule = "A metric of one size is told apart from that of another where the ranges of their seeds do not overlap.";
    let verdicts = groups.iter();
    let verdicts = verdicts.flat_map(|group| verdicts_of(view, group, &metrics));
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

fn metric(cell: &Cell<'_>, name: &str) -> Option<Number> {
    over_seeds(cell, &|facts: &RunFacts| {
        facts.metrics.get(name).copied().flatten()
    })
}

fn verdicts_of(view: &View<'_>, group: &Group<'_, '_>, metrics: &[String]) -> Vec<String> {
    let name = group.name(view);
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
    found
        .iter()
        .map(|(text, names)| format!("{name}: {}: {text}", names.join(", ")))
        .collect()
}

/// Which sizes' seeds lie apart from those of the largest size that has several.
fn told_apart(group: &Group<'_, '_>, name: &str) -> Option<String> {
    let ends = |cell: &Cell<'_>| metric(cell, name)?.ends;
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
