//! Parses the setting `report.answer`: the parts that an answer must have.

use crate::plan::AnswerPart;
use crate::report::view::View;

/// The parts of the answer that the manifest asks for (`report.answer`).
pub(super) fn answer_parts(view: &View<'_>) -> Vec<AnswerPart> {
    view.set.plan.report_setting("answer")
}

/// Whether `report.answer` has parts other than metrics.
pub(super) fn has_parts(view: &View<'_>) -> bool {
    let is_metric = |part: &AnswerPart| matches!(part, AnswerPart::Metric(_));
    !answer_parts(view).iter().all(is_metric)
}

/// The columns of the metrics that `report.answer` names.
pub(super) fn answer_metric_columns(view: &View<'_>) -> Vec<String> {
    let parts = answer_parts(view).into_iter();
    let metrics = parts.filter_map(|part| match part {
        AnswerPart::Metric(column) => Some(column),
        _ => None,
    });
    metrics.collect()
}
