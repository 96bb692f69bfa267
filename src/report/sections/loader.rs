//! Loading: the time that training waited, and the time that loading worked.

use crate::base::units::human;
use crate::event::RunTimes;
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Table, spread_entry};
use crate::report::view::{Cell, View};

use super::speed::timing;

/// The table of loading times.
pub(crate) fn table(view: &View<'_>) -> Table {
    let how = Provenance::Measured("median of n runs".into());
    let columns = vec![
        Column::number("waited", "s", &how),
        Column::number("worked", "s", &how),
        Column::number(
            "waited, of training",
            "%",
            &Provenance::Derived("waited ÷ training time".into()),
        ),
        Column::number("start of workers", "ms", &how),
        Column::number("stop of workers", "ms", &how),
    ];
    let about = "Waited: training had no batch. Worked: reading, decoding, augmenting and collating, summed over \
                 workers; work beyond the waiting was hidden behind training. Both over the whole run. Below a \
                 median the range of the runs, where it is not one run or runs alike."
        .to_owned();
    Table::of_cells(view, ("loader", "Loading", about), columns, |cell| {
        let wait = timing(cell, "loader_wait_s")?;
        let work = timing(cell, "loader_work_s");
        let train = timing(cell, "train_s").filter(|train| train.value > 0.0);
        let share = train.map(|train| wait.value / train.value * 100.0);
        Some(vec![
            Entry::number(Some(&wait)),
            Entry::number(work.as_ref()),
            Entry::shown(share, |share| human(share, 2)),
            per_start(cell, |times| times.loader.start_ms),
            per_start(cell, |times| times.loader.stop_ms),
        ])
    })
}

fn per_start(cell: &Cell<'_>, get: fn(&RunTimes) -> f64) -> Entry {
    let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
    let values: Vec<f64> = times.map(get).collect();
    spread_entry(&values, |value| human(value, 2))
}
