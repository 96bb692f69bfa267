//! Memory: the measured high-water mark with its source, and the parts that can be computed.

use std::collections::BTreeSet;

use crate::event::{DeviceMemoryUsage, MemoryParts, RunTimes};
use crate::report::number::{MIB, mebibytes};
use crate::report::section::Section;
use crate::report::table::{Entry, spread_entry};
use crate::report::view::{Cell, View};
use crate::results::BlockRow;

use super::field::{self, CellColumn};

/// A computed part of the memory: heading, formula, bytes.
type Part = (&'static str, &'static str, fn(&MemoryParts) -> u64);

const PARTS: [Part; 4] = [
    ("parameters", "4 bytes × values", |parts| {
        parts.parameter_bytes
    }),
    ("gradients", "4 bytes × values", |parts| {
        parts.gradient_bytes
    }),
    ("optimizer", "optimizer state and weight average", |parts| {
        parts.optimizer_bytes
    }),
    ("activations", "held for backward", |parts| {
        parts.activation_bytes
    }),
];

/// The section with the measured peak memory of each cell and its computed parts.
pub(crate) fn memory_section(view: &View<'_>) -> Section {
    let mut about = "Peaks are of the whole process, with program, data and loader; the computed parts are inside them."
        .to_owned();
    let has_device = view.cells.iter().any(has_device_memory);
    let host = if has_device {
        "host, training"
    } else {
        "peak, training"
    };
    let mut fields = vec![peaks(host, &sources(view), |run| {
        run.times.as_deref()?.peak_train_bytes
    })];
    let computed = |(heading, how, bytes): &Part| {
        let bytes = *bytes;
        CellColumn::derived(heading, "MiB", *how, move |cell| {
            Entry::shown(
                parts(cell).map(|parts| bytes(parts) as f64 / MIB),
                mebibytes,
            )
        })
    };
    fields.extend(PARTS.iter().map(computed));
    if has_device {
        let (allocator, driver) = ("the device's allocator", "the device's driver, at the end");
        fields.extend([
            peaks("GPU, training", allocator, |run| {
                device_memory(run)?.peak_train_bytes
            }),
            peaks("GPU, in use", driver, |run| device_memory(run)?.used_bytes),
        ]);
        about += " On a GPU the parts are in its own memory, not in the host's; in use: by all processes, with libraries and the allocator's reserve.";
    }
    let head = ("memory", "Memory", about);
    let table = field::of_cells(view, head, &fields, |cell| parts(cell).is_some());
    Section::of_table_and_rule(table, "", Vec::new())
}

fn peaks<'f, 'a>(
    heading: &str,
    source: &str,
    get: fn(&BlockRow) -> Option<u64>,
) -> CellColumn<'f, 'a> {
    let how = format!("{source}, median of n runs");
    CellColumn::measured(heading, "MiB", how, move |cell| peak(cell, get))
}

/// The computed parts of the first counted run.
fn parts<'c>(cell: &'c Cell<'_>) -> Option<&'c MemoryParts> {
    Some(&cell.counted.first()?.times.as_deref()?.memory)
}

fn device_memory(run: &BlockRow) -> Option<&DeviceMemoryUsage> {
    Some(&run.times.as_deref()?.device_memory)
}

/// Whether a cell ran on a device that has memory of its own.
fn has_device_memory(cell: &Cell<'_>) -> bool {
    let mut memories = cell.counted.iter().filter_map(|run| device_memory(run));
    memories.any(|memory| memory.used_bytes.is_some())
}

fn peak(cell: &Cell<'_>, get: fn(&BlockRow) -> Option<u64>) -> Entry {
    let values: Vec<f64> = cell
        .counted
        .iter()
        .filter_map(|run| get(run))
        // Every process uses memory: 0 means that a counter did not work.
        .filter(|bytes| *bytes > 0)
        .map(|bytes| bytes as f64 / MIB)
        .collect();
    spread_entry(&values, mebibytes)
}

/// The sources of the memory measurements, as recorded by the runs.
pub(crate) fn sources(view: &View<'_>) -> String {
    let times = view.all_times();
    let names = times.map(|times: &RunTimes| &*times.memory_source);
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        "unknown source".to_owned()
    } else {
        names.into_iter().collect::<Vec<_>>().join(", ")
    }
}
