//! A caveat if the deciding quality measures different quantities in the cells: the target, or its logarithm.

use serde_json::Value;

use crate::report::sections::difference::part;
use crate::report::view::{Cell, View};

use super::choice::{Ranked, TaskRanking};

/// Endings of metrics that are computed from the target as the model learns it, which may be the target's logarithm.
const AS_LEARNED: [&str; 3] = ["r2", "mse", "loss"];

/// Caveat: the deciding metric is of the logarithm of the target in some cells and of the target itself in others.
/// `None` if all cells agree; programs of the user are left out, since this is unknown for them.
pub(super) fn caveat(view: &View<'_>, choice: &TaskRanking<'_, '_>) -> Option<String> {
    let is_as_learned = |column: &str| {
        let last = column.rsplit('_').next();
        last.is_some_and(|last| AS_LEARNED.contains(&last))
    };
    let mut measures = choice.measures.iter();
    let measure = measures.find(|measure| is_as_learned(&measure.column))?;
    let models = choice.cells.iter().filter(|one| !one.cell.is_of_command);
    let (logged, plain): (Vec<&Ranked<'_, '_>>, Vec<_>) =
        models.partition(|one| learns_logarithm(view, one.cell));
    let (logged, plain) = (logged.first()?.cell, plain.first()?.cell);
    let targets = part(view, logged, "dataset.target").and_then(Value::as_array);
    let own_units = match targets {
        Some(targets) if targets.len() > 1 => "",
        _ => "; `val_mae` and `test_mae` are in the target's own units, and can be compared",
    };
    Some(format!(
        "Not in one unit: {} is of the logarithm of the target in some cells ({}), and of the target itself in others ({}){own_units}.",
        measure.name,
        view.name(logged, None),
        view.name(plain, None),
    ))
}

/// Whether a cell's model learns the logarithm of a target (`log = true`).
fn learns_logarithm(view: &View<'_>, cell: &Cell<'_>) -> bool {
    let columns = part(view, cell, "dataset.columns").and_then(Value::as_object);
    let mut columns = columns.into_iter().flatten();
    columns.any(|(_, column)| column.get("log") == Some(&Value::Bool(true)))
}
