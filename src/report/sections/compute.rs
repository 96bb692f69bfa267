//! Model size and arithmetic, and how fast it was done.

use crate::base::units::{human_integer, human_si};
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Table};
use crate::report::view::View;

use super::speed::throughput;

/// The table of parameters and FLOPs.
pub(crate) fn table(view: &View<'_>) -> Table {
    let counted = Provenance::Derived("counted by the operations".into());
    let columns = vec![
        Column::number(
            "parameters",
            "",
            &Provenance::Derived("counted values".into()),
        ),
        Column::number("forward, per sample", "", &counted),
        Column::number("backward, per sample", "", &counted),
        Column::number(
            "achieved",
            "",
            &Provenance::Derived("FLOPs per sample × throughput".into()),
        ),
    ];
    let about = "FLOPs are counted by each operation on its shapes, a multiplication and an addition as two. Achieved \
                 is over the whole step, waiting included."
        .to_owned();
    Table::of_cells(
        view,
        ("compute", "Model and arithmetic", about),
        columns,
        |cell| {
            let facts = cell.runs.iter().find_map(|row| row.facts.as_ref())?;
            let (forward, backward) = (
                facts.flops_forward_per_sample,
                facts.flops_backward_per_sample,
            );
            let achieved = throughput(cell).map(|speed| speed.value * (forward + backward));
            let achieved = achieved.map_or_else(
                || Entry::text("–"),
                |rate| Entry::value(rate, human_si(rate, "FLOP/s")),
            );
            Some(vec![
                Entry::value(facts.parameters as f64, human_integer(facts.parameters)),
                Entry::value(forward, human_si(forward, "FLOP")),
                Entry::value(backward, human_si(backward, "FLOP")),
                achieved,
            ])
        },
    )
}
