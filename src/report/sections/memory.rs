//! Memory: the measured high-water mark with its source, and beside it the parts that can be computed.

use std::collections::BTreeSet;

use crate::base::units::human;
use crate::event::{DeviceMemoryTimes, MemoryParts, RunTimes};
use crate::report::table::{Entry, Table, spread_entry};
use crate::report::view::{Cell, View};
use crate::results::BlockRow;

use super::field::{self, OfCell};

/// A computed part: its heading, its rule, its bytes.
type Part = (&'static str, &'static str, fn(&MemoryParts) -> u64);

const PARTS: [Part; 4] = [
    ("parameters", "4 bytes × values", |parts| {
        parts.parameter_bytes
    }),
    ("gradients", "4 bytes × values", |parts| {
        parts.gradient_bytes
    }),
    ("optimizer", "state and average", |parts| {
        parts.optimizer_bytes
    }),
    ("activations", "held for backward", |parts| {
        parts.activation_bytes
    }),
];

/// The table of memory.
pub(crate) fn table(view: &View<'_>) -> Table {
    let mut about = "Peaks are of the whole process: program, data and loader too; below them the range of the runs, where it is not \
                     one run or runs alike. The computed parts are inside the peak, not beside it."
        .to_owned();
    let sources = sources(view);
    let mut fields = vec![
        peaks("peak, training", &sources, |run| {
            run.times.as_deref()?.peak_train_bytes
        }),
        peaks("peak, validation", &sources, |run| {
            run.times.as_deref()?.peak_validation_bytes
        }),
        peaks("peak, process", "wait4", |run| run.peak_rss_bytes),
    ];
    let computed = |heading: &str, how: &str, bytes: fn(&MemoryParts) -> u64| {
        OfCell::derived(heading, "MiB", how, move |cell| {
            Entry::shown(
                parts(cell).map(|parts| bytes(parts) as f64 / MIB),
                mebibytes,
            )
        })
    };
    fields.extend(
        PARTS
            .iter()
            .map(|(heading, how, bytes)| computed(heading, how, *bytes)),
    );
    fields.push(computed("parts, sum", "sum of the parts", |parts| {
        let bytes = PARTS.iter().map(|(.., bytes)| bytes(parts));
        bytes.fold(0, u64::saturating_add)
    }));
    if view.cells.iter().any(|cell| !growth(cell).is_empty()) {
        let how = "resident memory after the last step less that after the warm-up, ÷ steps; median of n runs";
        fields.push(OfCell::measured("growth per step", "KiB", how, |cell| {
            spread_entry(&growth(cell), |kib| human(kib, 3))
        }));
        about += " Growth per step is after the warm-up: what grows on and on is a leak; below 0, memory was given back.";
    }
    if view.cells.iter().any(has_device_memory) {
        let (allocator, driver) = ("the device's allocator", "the device's driver, at the end");
        fields.extend([
            peaks("device, training", allocator, |run| {
                device_memory(run)?.peak_train_bytes
            }),
            peaks("device, validation", allocator, |run| {
                device_memory(run)?.peak_validation_bytes
            }),
            peaks("device, in use", driver, |run| {
                device_memory(run)?.used_bytes
            }),
        ]);
        about += " A device with memory of its own holds the parts there; in use is whoever's, with libraries, kernels and the \
                  allocator's reserve.";
    }
    let head = ("memory", "Memory", about);
    field::of_cells(view, head, &fields, |cell| parts(cell).is_some())
}

fn peaks<'f, 'a>(heading: &str, source: &str, get: fn(&BlockRow) -> Option<u64>) -> OfCell<'f, 'a> {
    let how = format!("{source}, median of n runs");
    OfCell::measured(heading, "MiB", how, move |cell| peak(cell, get))
}

/// The computed parts of the first run that counts.
fn parts<'c>(cell: &'c Cell<'_>) -> Option<&'c MemoryParts> {
    Some(&cell.counted.first()?.times.as_deref()?.memory)
}

fn device_memory(run: &BlockRow) -> Option<&DeviceMemoryTimes> {
    Some(&run.times.as_deref()?.device_memory)
}

/// Whether a cell ran on a device that has memory of its own.
fn has_device_memory(cell: &Cell<'_>) -> bool {
    let mut memories = cell.counted.iter().filter_map(|run| device_memory(run));
    memories.any(|memory| memory.used_bytes.is_some())
}

/// KiB of resident memory that a measured step gained: median over runs; `None` where it was not measured.
fn growth(cell: &Cell<'_>) -> Vec<f64> {
    let per_step = cell.times().filter_map(|times| {
        let bytes = times.memory_growth_bytes? as f64;
        let steps = times.measured_steps.filter(|steps| *steps > 0);
        steps.map(|steps| bytes / 1024.0 / steps as f64)
    });
    per_step.collect()
}

/// Bytes of a MiB, the unit of all columns of memory, so that they compare at a glance.
pub(crate) const MIB: f64 = 1_048_576.0;

/// MiB to three digits, or four from 1,000 on.
pub(crate) fn mebibytes(mib: f64) -> String {
    human(mib, if mib >= 1000.0 { 4 } else { 3 })
}

fn peak(cell: &Cell<'_>, get: fn(&BlockRow) -> Option<u64>) -> Entry {
    let values: Vec<f64> = cell
        .counted
        .iter()
        .filter_map(|run| get(run))
        // No process takes nothing: a zero is a counter that did not work.
        .filter(|bytes| *bytes > 0)
        .map(|bytes| bytes as f64 / MIB)
        .collect();
    spread_entry(&values, mebibytes)
}

/// The sources that the runs name.
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
