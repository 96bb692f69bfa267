//! GPUs during training, from their counters (NVML): load, clocks, temperature, energy, throttling.

use std::collections::BTreeSet;

use crate::base::units::human;
use crate::event::GpuUsage;
use crate::report::number::fixed;
use crate::report::section::Section;
use crate::report::table::{ColumnKind, Entry};
use crate::report::view::{Cell, View};
use crate::results::{Interval, interval_over_runs};

use super::cost::is_on_gpu;
use super::field::{self, CellColumn};

/// Mark of a cell whose GPU clocks were throttled.
const WARNING: &str = "⚠";

/// The table of counters; `None` if no cell was trained on a GPU.
pub(crate) fn gpu_section(view: &View<'_>) -> Option<Section> {
    view.cells.iter().find(|cell| is_on_gpu(view, cell))?;
    let about = "Of the whole device while a run trained, whoever used it, as medians over the runs of a cell."
        .to_owned();
    let has_times = |cell: &Cell<'_>| cell.counted.first().is_some_and(|run| run.times.is_some());
    let head = ("gpu", "Use of the GPU", about);
    let table = field::of_cells(view, head, &fields(view), has_times);
    let rule = format!(
        "{WARNING} marks a cell at some of whose readings power, heat or the board held the clocks down: its times are not those \
         of the device at its full clock."
    );
    Some(Section::of_table_and_rule(table, rule, Vec::new()))
}

fn fields<'f, 'a>(view: &'f View<'_>) -> Vec<CellColumn<'f, 'a>> {
    type Get = fn(&GpuUsage) -> Option<f64>;
    let number = |heading, unit, how: &str, get: Get, show: fn(f64) -> String| {
        let how = format!("NVML, {how}");
        CellColumn::measured(heading, unit, how, move |cell| {
            let found = median(cell, get);
            let entry = |found: Interval| Entry::between(found.median, found.ends(), show);
            found.map_or_else(|| Entry::text("–"), entry)
        })
    };
    let whole: fn(f64) -> String = |value| fixed(value, 0);
    let mean = "mean of the readings";
    let busy = "share of training with a kernel running";
    let board = "counter of the board, else mean power × seconds";
    let throttled_of = "NVML, share of the readings";
    vec![
        CellColumn::text("counters", |cell| state(view, cell).to_owned()),
        number(
            "GPU busy",
            "%",
            busy,
            |gpu| gpu.busy_share,
            |share| fixed(share, 1),
        )
        .of(ColumnKind::Utilisation),
        number("clock", "MHz", mean, |gpu| gpu.clock_mhz, whole),
        number("power", "W", mean, |gpu| gpu.power_w, whole),
        number(
            "energy per epoch",
            "J",
            board,
            |gpu| gpu.energy_j_per_epoch,
            |joules| human(joules, 3),
        ),
        CellColumn::measured("throttled", "%", throttled_of, throttled),
    ]
}

/// Whether a cell's counters were read, or why not.
fn state(view: &View<'_>, cell: &Cell<'_>) -> &'static str {
    let readings = median(cell, |gpu| Some(gpu.samples? as f64));
    if readings.is_some() {
        "NVML"
    } else if is_on_gpu(view, cell) {
        "not measured: no NVML"
    } else {
        ""
    }
}

fn median(cell: &Cell<'_>, value: impl Fn(&GpuUsage) -> Option<f64>) -> Option<Interval> {
    let runs = cell.counted.iter();
    let values: Vec<f64> = runs
        .filter_map(|run| value(&run.times.as_deref()?.gpu))
        .collect();
    interval_over_runs(&cell.info.key, &values)
}

/// Percentage of readings at which the clocks were throttled, with the reason.
fn throttled(cell: &Cell<'_>) -> Entry {
    let Some(share) = median(cell, |gpu| gpu.throttled_share) else {
        return Entry::text("–");
    };
    let entry = Entry::between(share.median, share.ends(), |share| fixed(share, 1));
    let reasons = reasons(cell);
    if reasons.is_empty() {
        return entry;
    }
    let detail = if entry.detail.is_empty() {
        reasons
    } else {
        format!("{}: {reasons}", entry.detail)
    };
    Entry {
        text: format!("{WARNING} {}", entry.text),
        detail,
        ..entry
    }
}

/// Reasons that limited the clocks of a cell's GPU in any of its runs; empty without any.
fn reasons(cell: &Cell<'_>) -> String {
    let all = cell
        .times()
        .flat_map(|times| times.gpu.throttle_reasons.split_whitespace());
    let all: BTreeSet<&str> = all.collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultSet;
    use crate::results::golden::ddpm;

    /// The golden results as if they were measured on a GPU: the first cell with counters and throttled clocks, the
    /// others without counters.
    fn on_gpu() -> ResultSet {
        let mut set = ddpm();
        for cell in &mut set.plan.cells {
            if let Some(train) = cell.spec.get_mut("train") {
                train["device"] = "cuda".into();
            }
        }
        let first = set.plan.cells[0].key.clone();
        let runs = set.blocks.iter_mut().filter(|run| run.key == first);
        for (run, busy) in runs.zip([80.0, 90.0, 85.0]) {
            let Some(times) = run.times_mut() else {
                continue;
            };
            times.gpu = GpuUsage {
                busy_share: Some(busy),
                clock_mhz: Some(1980.0),
                temperature_c: Some(61.0),
                power_w: Some(412.3),
                energy_j: Some(4.0 * 1234.6),
                energy_j_per_epoch: Some(1234.0),
                throttled_share: Some(busy - 70.0),
                throttle_reasons: "power-cap thermal".into(),
                samples: Some(200),
                ..GpuUsage::default()
            }
            .into();
        }
        set
    }

    #[test]
    fn counters_stand_with_their_ranges_and_throttling_is_marked() {
        let set = on_gpu();
        let view = View::of(&set);
        let found = gpu_section(&view).expect("a section");
        let row = &found.tables[0].rows[0];
        let texts = row.texts();
        let start = texts.len() - 6;
        assert_eq!(
            texts[start..],
            ["NVML", "85.0", "1,980", "412", "1,230", "⚠ 15.0"]
        );
        assert_eq!(row.fields[start + 1].detail, "80.0–90.0");
        assert_eq!(
            row.fields[start + 5].detail,
            "10.0–20.0: power-cap, thermal"
        );
        assert_eq!(row.fields[start + 5].value, Some(15.0));
    }

    #[test]
    fn cells_without_counters_say_so() {
        let set = on_gpu();
        let found = gpu_section(&View::of(&set)).expect("a section");
        let second = &found.tables[0].rows[1].fields;
        let place = second.len() - 6;
        assert_eq!(second[place].text, "not measured: no NVML");
        assert!(second[place + 1..].iter().all(|entry| entry.text == "–"));
    }
}
