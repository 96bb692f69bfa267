//! Functions that several rules share: shares of phases, medians over runs, bounds.

use crate::base::statistics::median;
use crate::base::units::human;
use crate::event::RunTimes;
use crate::plan::PredictedColumn;
use crate::report::advice::effect::{Measured, paired_ratio};
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::number::fixed;
use crate::report::sections::phases::breakdown;
use crate::report::view::Cell;

/// Smallest improvement worth a recommendation, as a ratio.
pub(in crate::report::advice) const MIN_GAIN: f64 = 1.02;

/// Fraction of the step's time in a phase, from 0 to 1; `phase` is its index in the table of phases.
pub(super) fn share(cell: &Cell<'_>, phase: usize) -> Option<f64> {
    Some(breakdown(cell)?.shares.get(phase)? / 100.0)
}

/// Median of `value` over the runs of a cell.
pub(super) fn over_runs(cell: &Cell<'_>, value: impl Fn(&RunTimes) -> Option<f64>) -> Option<f64> {
    median(&cell.times().filter_map(value).collect::<Vec<_>>())
}

/// Number of epochs of a cell's runs; the smallest over its seeds.
pub(super) fn epochs(cell: &Cell<'_>) -> Option<usize> {
    cell.facts().map(|facts| facts.epochs).min()
}

/// A fraction as text: `12.3 %`, or `5 %` if the decimal is 0.
pub(super) fn percent(share: f64) -> String {
    let text = fixed(share * 100.0, 1);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

/// Amdahl's bound: the speed-up of the whole if a part with this fraction of its time takes no time.
pub(super) fn amdahl(share: f64) -> Predicted {
    Predicted::bound(MIN_GAIN, 1.0 / (1.0 - share.min(0.99)))
}

/// Sentence with the ratio of `column` measured over pairs of runs.
pub(super) fn measured_effect_text(found: &Measured, column: PredictedColumn) -> String {
    let (pairs, words) = (found.pairs, column.display_name());
    let ratio = human(found.ratio.value, 3);
    format!("Measured here over {pairs} pairs of runs: {ratio}× the {words}.")
}

/// Proposes the change to the cell among `others` with the best measured `column`, if the improvement is at least
/// [`MIN_GAIN`]; the measurement is its prediction.
pub(super) fn best_measured<'a>(
    study: &WorkGroup<'_, 'a>,
    setting: &'static str,
    column: PredictedColumn,
    others: &[&Cell<'a>],
    reasoning: &str,
) -> Option<Vec<Recommendation>> {
    let measured = others.iter().filter_map(|cell| {
        let found = paired_ratio(cell, study.anchor, column)?;
        Some((cell, found, found.improvement(column)[0]))
    });
    let (cell, found, _) = measured
        .filter(|(.., gain)| *gain >= MIN_GAIN)
        .max_by(|a, b| a.2.total_cmp(&b.2))?;
    Some(vec![Recommendation {
        triggers: measured_effect_text(&found, column),
        formula: "ratio of the medians over these pairs, with its interval".to_owned(),
        reasoning: reasoning.to_owned(),
        column,
        ..study.change(
            setting,
            study.setting(cell, setting).clone(),
            Predicted::estimate(found.ends()),
        )
    }])
}
