//! Size and arithmetic of the models against the time that they take.

use crate::base::units::{human, human_integer, human_si};
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};

use super::speed::{throughput, timing};
use super::target::targets;

/// The table of parameters, FLOPs and times.
pub(crate) fn table(view: &View<'_>) -> Table {
    let targets = targets(view);
    let counted = Provenance::Derived("counted by the operations".into());
    let median = Provenance::Measured("median of n runs".into());
    let values = Provenance::Derived("counted values".into());
    let per_sample = Provenance::Derived("1000 ÷ throughput".into());
    let rate = Provenance::Derived("FLOPs per sample × throughput".into());
    let mut columns = vec![
        Column::number("parameters", "", &values),
        Column::number("FLOPs per sample", "", &counted),
        Column::number("epoch", "s", &median),
        Column::number("step", "ms", &median),
        Column::number("time per sample", "ms", &per_sample),
        Column::number("achieved", "", &rate),
    ];
    columns.extend(targets.iter().map(super::target::Target::column));
    columns.push(Column::number("time to the best epoch", "s", &median));
    let stated = if targets.is_empty() {
        " No target is stated ([report] target), so that no time to one is told."
    } else {
        ""
    };
    let about = format!(
        "FLOPs of forward and backward pass, counted by each operation on its shapes, a multiplication and an addition as \
         two; achieved is over the whole step, waiting included. The best epoch need not be where training \
         converges.{stated}"
    );
    let head = ("complexity", "Complexity against time", about);
    Table::of_cells(view, head, columns, |cell| {
        let facts = cell.runs.iter().find_map(|row| row.facts.as_ref())?;
        let (forward, backward) = (
            facts.flops_forward_per_sample,
            facts.flops_backward_per_sample,
        );
        let flops = Entry {
            detail: format!("forward {}", human_si(forward, "FLOP")),
            ..Entry::value(forward + backward, human_si(forward + backward, "FLOP"))
        };
        let achieved = throughput(cell).map(|speed| speed.value * (forward + backward));
        let mut fields = vec![
            Entry::value(facts.parameters as f64, human_integer(facts.parameters)),
            flops,
            Entry::number(timing(cell, "epoch_s").as_ref()),
            Entry::number(timing(cell, "step_ms").as_ref()),
            sample_ms(cell).map_or_else(|| Entry::text("–"), |ms| Entry::value(ms, human(ms, 3))),
            achieved.map_or_else(
                || Entry::text("–"),
                |rate| Entry::value(rate, human_si(rate, "FLOP/s")),
            ),
        ];
        fields.extend(targets.iter().map(|target| target.time(cell)));
        fields.push(Entry::number(timing(cell, "best_epoch_s").as_ref()));
        Some(fields)
    })
}

/// Milliseconds that training takes for a sample: `1000 ÷ throughput`.
pub(crate) fn sample_ms(cell: &Cell<'_>) -> Option<f64> {
    let speed = throughput(cell)?;
    (speed.value > 0.0).then(|| 1000.0 / speed.value)
}
