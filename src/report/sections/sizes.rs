//! Training time, memory and quality by dataset size, beside each other.

use crate::event::RunFacts;
use crate::report::number::{Number, times};
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};

use super::field::{self, Field, MEDIAN};
use super::memory::mebibytes;
use super::quality::{metric_names, over_seeds, seeds_in_words, with_direction};
use super::scaling::{Group, groups};
use super::speed::{in_mib, timing};

/// Metrics that are shown at most; all of them stand under quality.
const METRICS: usize = 6;

/// A column of a group, one of its cells and its number of samples.
type OfSize<'f> = Field<'f, (&'f Group<'f, 'f>, &'f Cell<'f>, f64)>;

/// The table of sizes; `None` where no cells differ in their number of samples only.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let mut groups = groups(view);
    groups.retain(|group| group.cells.len() > 2);
    if groups.is_empty() {
        return None;
    }
    let sort = |group: &mut Group<'_, '_>| group.cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    groups.iter_mut().for_each(sort);
    let metrics = metrics(view);
    let seeds = seeds_in_words(view);
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
                let ratio = ratio.map(|(own, first)| own.value / first.value);
                Entry::shown(ratio, times)
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
    Some(field::of_rows(
        ("sizes", "Dataset sizes", about),
        &fields,
        rows,
    ))
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
