//! What a cell's machine has, as `env.toml` names it.

use crate::report::view::{Cell, View};

/// A number among the fields that must match, of the environment `id`.
fn number(view: &View<'_>, id: &str, field: &str) -> Option<f64> {
    let environment = view.set.environments.get(id)?;
    let value = environment.must_match.get(field)?.parse::<f64>().ok()?;
    (value > 0.0).then_some(value)
}

/// Bytes of memory of a cell's machine; the system's figure in whole GiB.
pub(crate) fn memory_bytes(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    let gib = number(view, &cell.timing?.env_id, "memory_gib")?;
    Some(gib * f64::from(1 << 30))
}

/// Logical cores of the machine of the environment `id`.
pub(crate) fn cores(view: &View<'_>, id: &str) -> Option<f64> {
    number(view, id, "logical_cores")
}
