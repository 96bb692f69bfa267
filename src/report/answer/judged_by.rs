//! The metric by which quality is judged where another measure decides, or between two cells.

use crate::compare::QualityChange;
use crate::report::measure::Measure;
use crate::report::quality::NotComparableQuality;
use crate::report::view::{Cell, View};

use super::asked::answer_metric_columns;
use super::choice::quality;

/// The metric of `compared` that decides between two cells by quality: one that `[report] answer` names, else an
/// objective of a search, else [`quality`]; `None` if none of these exists.
pub(in crate::report) fn deciding_metric(
    view: &View<'_>,
    cells: [&Cell<'_>; 2],
    compared: &[QualityChange],
) -> Option<String> {
    let plan = &view.set.plan;
    let named = answer_metric_columns(view);
    let objectives = plan.search.iter().flat_map(|spec| &spec.objectives);
    let objectives = objectives.map(|objective| objective.column.clone());
    let quality = || Some(quality(view, &cells).ok()?.column);
    let mut columns = named.into_iter().chain(objectives).chain(quality());
    columns.find(|column| compared.iter().any(|metric| metric.column == *column))
}

/// The metric by which the quality of cells is judged beside another measure: the first one that `[report] answer`
/// names, else [`quality`].
pub(super) fn judged_quality(
    view: &View<'_>,
    cells: &[&Cell<'_>],
) -> Result<Measure, NotComparableQuality> {
    let plan = &view.set.plan;
    let is_metric = |name: &String| {
        let name = name.strip_prefix("best_").unwrap_or(name);
        let mut facts = cells.iter().flat_map(|cell| cell.facts());
        name.ends_with("loss") || facts.any(|facts| facts.metrics.contains_key(name))
    };
    let asked = answer_metric_columns(view).into_iter().find(is_metric);
    asked.map_or_else(
        || quality(view, cells),
        |name| Ok(Measure::of_plan(plan, &name)),
    )
}
