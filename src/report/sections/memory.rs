//! Memory: the measured high-water mark with its source, and beside it the parts that can be computed.

use crate::base::units::human;
use crate::event::{DeviceMemoryTimes, MemoryParts, RunTimes};
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Table, spread_entry};
use crate::report::view::{Cell, View};
use crate::results::BlockRow;

/// The table of memory.
pub(crate) fn table(view: &View<'_>) -> Table {
    let has_growth = view.cells.iter().any(|cell| !growth(cell).is_empty());
    let has_device = view.cells.iter().any(has_device_memory);
    let columns = columns(view, has_growth, has_device);
    let about = about(has_growth, has_device);
    Table::of_cells(view, ("memory", "Memory", about), columns, |cell| {
        let times = cell.counted.first()?.times.as_ref()?;
        let parts: &MemoryParts = &times.memory;
        let each = [
            parts.parameter_bytes,
            parts.gradient_bytes,
            parts.optimizer_bytes,
            parts.activation_bytes,
        ];
        let mut fields = vec![
            peak(cell, |run| run.times.as_ref()?.peak_train_bytes),
            peak(cell, |run| run.times.as_ref()?.peak_validation_bytes),
            peak(cell, |run| run.peak_rss_bytes),
        ];
        fields.extend(each.map(|bytes| in_mebibytes(bytes as f64)));
        let sum = each
            .iter()
            .fold(0u64, |sum, part| sum.saturating_add(*part));
        fields.push(in_mebibytes(sum as f64));
        if has_growth {
            fields.push(spread_entry(&growth(cell), |kib| human(kib, 3)));
        }
        if has_device {
            fields.extend([
                peak(cell, |run| device_memory(run)?.peak_train_bytes),
                peak(cell, |run| device_memory(run)?.peak_validation_bytes),
                peak(cell, |run| device_memory(run)?.used_bytes),
            ]);
        }
        Some(fields)
    })
}

fn columns(view: &View<'_>, has_growth: bool, has_device: bool) -> Vec<Column> {
    let sources = sources(view);
    let measured = |what: &str| Provenance::Measured(format!("{what}, median of n runs"));
    let computed = |what: &str| Provenance::Derived(what.to_owned());
    let mut columns = vec![
        Column::number("peak, training", "MiB", &measured(&sources)),
        Column::number("peak, validation", "MiB", &measured(&sources)),
        Column::number("peak, process", "MiB", &measured("wait4")),
        Column::number("parameters", "MiB", &computed("4 bytes × values")),
        Column::number("gradients", "MiB", &computed("4 bytes × values")),
        Column::number("optimizer", "MiB", &computed("state and average")),
        Column::number("activations", "MiB", &computed("held for backward")),
        Column::number("parts, sum", "MiB", &computed("sum of the parts")),
    ];
    if has_growth {
        let how = "resident memory after the last step less that after the warm-up, ÷ steps; median of n runs";
        let how = Provenance::Measured(how.into());
        columns.push(Column::number("growth per step", "KiB", &how));
    }
    if has_device {
        let allocator = measured("the device's allocator");
        columns.push(Column::number("device, training", "MiB", &allocator));
        columns.push(Column::number("device, validation", "MiB", &allocator));
        let driver = measured("the device's driver, at the end");
        columns.push(Column::number("device, in use", "MiB", &driver));
    }
    columns
}

fn about(has_growth: bool, has_device: bool) -> String {
    let growing = if has_growth {
        " Growth per step is after the warm-up: what grows on and on is a leak; below 0, memory was given back."
    } else {
        ""
    };
    let device = if has_device {
        " A device with memory of its own holds the parts there; in use is whoever's, with libraries, kernels and the \
         allocator's reserve."
    } else {
        ""
    };
    format!(
        "Peaks are of the whole process: program, data and loader too; below them the range of the runs, where it is not \
         one run or runs alike. The computed parts are inside the peak, not beside it.{growing}{device}"
    )
}

fn device_memory(run: &BlockRow) -> Option<&DeviceMemoryTimes> {
    Some(&run.times.as_ref()?.device_memory)
}

/// Whether a cell ran on a device that has memory of its own.
fn has_device_memory(cell: &Cell<'_>) -> bool {
    let mut memories = cell.counted.iter().filter_map(|run| device_memory(run));
    memories.any(|memory| memory.used_bytes.is_some())
}

/// KiB of resident memory that a measured step gained: median over runs; `None` where it was not measured.
fn growth(cell: &Cell<'_>) -> Vec<f64> {
    let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
    let per_step = times.filter_map(|times| {
        let bytes = times.memory_growth_bytes? as f64;
        (times.measured_steps > 0).then(|| bytes / 1024.0 / times.measured_steps as f64)
    });
    per_step.collect()
}

/// Bytes of a MiB, the unit of all columns of memory, so that they compare at a glance.
pub(crate) const MIB: f64 = 1_048_576.0;

/// MiB to three digits, or four from 1,000 on.
pub(crate) fn mebibytes(mib: f64) -> String {
    human(mib, if mib >= 1000.0 { 4 } else { 3 })
}

fn in_mebibytes(bytes: f64) -> Entry {
    Entry::value(bytes / MIB, mebibytes(bytes / MIB))
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
    let times = view.set.blocks.iter().filter_map(|run| run.times.as_ref());
    let mut names: Vec<&str> = times
        .map(|times: &RunTimes| &*times.memory_source)
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    if names.is_empty() {
        "unknown source".to_owned()
    } else {
        names.join(", ")
    }
}
