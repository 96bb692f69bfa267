//! Loading: the time that training waited, and the time that loading worked.

use crate::base::units::human;
use crate::report::table::{Entry, Table};
use crate::report::view::{Cell, View};

use super::field::{self, OfCell};
use super::speed::timing_value;

/// Percent of training from which on waiting is worth a table.
const WAITED: f64 = 10.0;

/// The table of loading times; `None` where no cell waited for more than [`WAITED`] percent of its training.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let mut shares = view.cells.iter().filter_map(waited_share);
    shares.find(|share| *share > WAITED)?;
    let fields = [
        OfCell::timed("waited", "loader_wait_s"),
        OfCell::timed("worked", "loader_work_s"),
        OfCell::derived(
            "waited, of training",
            "%",
            "waited ÷ training time",
            |cell| Entry::shown(waited_share(cell), |share| human(share, 2)),
        ),
    ];
    let about = "Waited: training had no batch. Worked: reading, decoding, augmenting and collating, summed over \
                 workers; work beyond the waiting was hidden behind training. Both over the whole run."
        .to_owned();
    let head = ("loader", "Loading", about);
    Some(field::of_cells(view, head, &fields, |cell| {
        timing_value(cell, "loader_wait_s").is_some()
    }))
}

/// Percent of training that waited.
fn waited_share(cell: &Cell<'_>) -> Option<f64> {
    let train = timing_value(cell, "train_s").filter(|train| *train > 0.0)?;
    Some(timing_value(cell, "loader_wait_s")? / train * 100.0)
}
