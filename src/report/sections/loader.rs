//! Loading: the time that training waited, and the time that loading worked.

use crate::base::units::human;
use crate::event::RunTimes;
use crate::report::table::{Entry, Table, spread_entry};
use crate::report::view::{Cell, View};

use super::field::{self, MEDIAN, OfCell};
use super::speed::timing_value;

/// The table of loading times.
pub(crate) fn table(view: &View<'_>) -> Table {
    let fields = [
        OfCell::timed("waited", "loader_wait_s"),
        OfCell::timed("worked", "loader_work_s"),
        OfCell::derived(
            "waited, of training",
            "%",
            "waited ÷ training time",
            |cell| Entry::shown(waited_share(cell), |share| human(share, 2)),
        ),
        per_start("start of workers", |times| times.loader.start_ms),
        per_start("stop of workers", |times| times.loader.stop_ms),
    ];
    let about = "Waited: training had no batch. Worked: reading, decoding, augmenting and collating, summed over \
                 workers; work beyond the waiting was hidden behind training. Both over the whole run. Below a \
                 median the range of the runs, where it is not one run or runs alike."
        .to_owned();
    let head = ("loader", "Loading", about);
    field::of_cells(view, head, &fields, |cell| {
        timing_value(cell, "loader_wait_s").is_some()
    })
}

/// Percent of training that waited.
pub(super) fn waited_share(cell: &Cell<'_>) -> Option<f64> {
    let train = timing_value(cell, "train_s").filter(|train| *train > 0.0)?;
    Some(timing_value(cell, "loader_wait_s")? / train * 100.0)
}

fn per_start<'f, 'a>(heading: &str, get: fn(&RunTimes) -> f64) -> OfCell<'f, 'a> {
    OfCell::measured(heading, "ms", MEDIAN, move |cell| {
        spread_entry(&cell.times().map(get).collect::<Vec<f64>>(), |ms| {
            human(ms, 2)
        })
    })
}
