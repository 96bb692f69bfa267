//! Recommended settings by size: the fastest that was measured, with its numbers; other sizes only by a fit.

use serde_json::Value;

use crate::base::statistics::fit_power_law;
use crate::base::units::human_integer;
use crate::report::judged::{Judged, some_of};
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::{Cell, View};

use super::memory::mebibytes;
use super::ranking::fastest_first;
use super::scaling::groups;
use super::speed::{shown_as, timing};
use super::sweep::interval;
use super::tasks::tasks;

/// Tasks that get a sentence each, at most.
const SENTENCES: usize = 4;

/// The table of the fastest setting of each task.
pub(crate) fn judged(view: &View<'_>) -> Judged {
    let median = Provenance::Measured("median of n runs".into());
    let columns = vec![
        Column::text("dataset"),
        Column::number(
            "samples",
            "",
            &Provenance::Assumed("from the manifest".into()),
        ),
        Column::text("fastest cell"),
        Column::text("device"),
        Column::text("batch size"),
        Column::text("workers"),
        Column::number(
            "threads",
            "",
            &Provenance::Measured("threads that computed".into()),
        ),
        Column::number("throughput", "samples/s", &median),
        Column::number("training", "s", &median),
        Column::number("peak, training", "MiB", &median),
        Column::number(
            "settings measured",
            "",
            &Provenance::Measured("cells with a throughput".into()),
        ),
        Column::text("not told apart from it"),
    ];
    let all: Vec<Vec<&Cell<'_>>> = tasks(view).into_iter().map(|task| task.cells).collect();
    let found: Vec<Row> = all.iter().filter_map(|cells| row(view, cells)).collect();
    let best = all.iter().filter_map(|cells| best(view, cells));
    let mut verdicts: Vec<String> = best.take(SENTENCES).collect();
    verdicts.extend(choice(&all));
    verdicts.extend(unseen(view));
    let rule = "Recommended is the measured cell with the highest median throughput of its task; cells whose intervals \
                overlap with its own are named as not told apart. Sizes that nobody measured come only from the fitted \
                power law, with its error.";
    let about = "One row for each task: the same data, samples and target.".to_owned();
    let table = Table::of_rows(
        ("settings", "Fastest measured settings by size", about),
        columns,
        found,
    );
    Judged::new(table, rule, verdicts)
}

fn row(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<Row> {
    let order = fastest_first(cells);
    let (best, speed) = order.first()?;
    let of = |section: &str, key: &str| {
        let value = view.section(best, section)?.get(key)?;
        (!value.is_null()).then(|| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        })
    };
    let text = |text: Option<String>| Entry::text(text.unwrap_or_else(|| "–".to_owned()));
    let samples = view
        .section(best, "dataset")
        .and_then(|data| data.get("samples"));
    let samples = samples.and_then(Value::as_u64).map(human_integer);
    let name = view.section(best, "dataset_name").and_then(Value::as_str);
    let threads = best.counted.first()?.times.as_ref()?.threads;
    let overlapping = order[1..].iter().filter(|(cell, _)| !is_apart(best, cell));
    let overlapping: Vec<String> = overlapping.map(|(cell, _)| view.name(cell, None)).collect();
    Some(Row {
        key: best.info.key.clone(),
        fields: vec![
            text(name.map(str::to_owned)),
            text(samples),
            Entry::text(view.name(best, None)),
            text(of("train", "device")),
            text(of("train", "batch-size")),
            text(of("loader", "workers")),
            Entry::text(threads.to_string()),
            Entry::number(Some(speed)),
            Entry::number(timing(best, "train_s").as_ref()),
            shown_as(best, "peak_train_bytes", mebibytes),
            Entry::text(order.len().to_string()),
            Entry::text(match order.len() {
                1 => "no other was measured".to_owned(),
                _ if overlapping.is_empty() => "none".to_owned(),
                _ => some_of(&overlapping, 3),
            }),
        ],
        missing: None,
    })
}

/// The fastest cell of a task with a choice; of those that are not told apart from it, the one with the least memory.
fn best(view: &View<'_>, cells: &[&Cell<'_>]) -> Option<String> {
    let order = fastest_first(cells);
    let (best, speed) = order.first().filter(|_| order.len() > 1)?;
    let peak =
        |cell: &Cell<'_>| timing(cell, "peak_train_bytes").map_or(f64::INFINITY, |peak| peak.value);
    let mut alike: Vec<&Cell<'_>> = order
        .iter()
        .map(|(cell, _)| *cell)
        .filter(|cell| !is_apart(best, cell))
        .collect();
    alike.sort_by(|a, b| peak(a).total_cmp(&peak(b)));
    let name = view.name(best, None);
    let least = alike.first().filter(|least| peak(least) < peak(best));
    let least = least.map_or(String::new(), |least| {
        format!(
            " Of the {} that its interval does not tell apart, {} takes the least memory: {} MiB against {} MiB.",
            alike.len() - 1,
            view.name(least, None),
            mebibytes(peak(least)),
            mebibytes(peak(best))
        )
    });
    Some(format!(
        "Fastest of {} measured settings: {name} with {} {}.{least}",
        order.len(),
        speed.text,
        speed.unit
    ))
}

/// Whether the intervals of two throughputs lie apart; those of single runs never do.
fn is_apart(a: &Cell<'_>, b: &Cell<'_>) -> bool {
    match (interval(a, "samples_per_s"), interval(b, "samples_per_s")) {
        (Some(a), Some(b)) => a.low > b.high || a.high < b.low,
        _ => false,
    }
}

fn choice(tasks: &[Vec<&Cell<'_>>]) -> Vec<String> {
    let measured = tasks.iter().map(|cells| fastest_first(cells).len());
    let counts: Vec<usize> = measured.filter(|count| *count > 0).collect();
    let alone = counts.iter().filter(|count| **count == 1).count();
    match (counts.len(), alone) {
        (0, _) => vec!["Nothing was measured, so nothing is recommended.".to_owned()],
        (_, 0) => Vec::new(),
        (all, alone) if all == alone => vec![
            "Of each task one setting was measured: there is nothing to choose from. An axis over batch size, workers or \
             threads would give a choice."
                .to_owned(),
        ],
        (all, alone) => vec![format!("Of {alone} of {all} tasks one setting was measured, which is no choice.")],
    }
}

/// What larger datasets would take, by the fits.
fn unseen(view: &View<'_>) -> Vec<String> {
    let groups = groups(view);
    let sentences = groups.iter().filter_map(|group| {
        let points = group.points("train_s");
        let fit = fit_power_law(&points)?;
        let predicted = super::scaling::prediction(&points, &fit)?;
        Some(format!(
            "{}, not measured: training takes {predicted} samples by the power law fitted to {} sizes.",
            group.name(view),
            points.len()
        ))
    });
    sentences.collect()
}
