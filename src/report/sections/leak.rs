//! Results that are better than the noise of the data allows, which only a leak of the target explains.

use crate::base::units::human;
use crate::datasets::{DatasetSpec, NoiseFloor};
use crate::event::RunFacts;
use crate::report::view::{Cell, View};

/// Number of standard errors by which a result must be better than the noise floor to be reported.
const ERRORS: f64 = 4.0;

/// Sentence: the noise floor of the cells' common data; `None` if the noise is unknown.
pub(crate) fn floor_sentence(view: &View<'_>) -> Option<String> {
    let floor = view.cells.iter().find_map(|cell| floor(view, cell))?;
    Some(format!(
        " Noise floor of the generated data: MSE {}, R² {:.5} in normalised units, MSE {} in original ones; what is \
         better by more than chance is a leak.",
        human(floor.mse, 3),
        floor.r2(),
        human(floor.mse_original, 3)
    ))
}

/// The first of a cell's results that is better than the noise floor allows, as text; `None` without such a result.
pub(crate) fn leaked_result(view: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let floor = floor(view, cell)?;
    cell.facts().flat_map(|facts| below(&floor, facts)).next()
}

fn below(floor: &NoiseFloor, facts: &RunFacts) -> Vec<String> {
    // A mean square over n rows divided by a variance estimated from n rows has the relative standard error √(2/n +
    // 2/n).
    let chance = ERRORS * 2.0 / (floor.rows.max(1) as f64).sqrt();
    let mse = |floor: f64| floor * (1.0 - chance);
    let limits = [
        ("test_mse", mse(floor.mse)),
        ("fresh_mse", mse(floor.mse_original)),
        ("test_r2", 1.0 - mse(floor.mse)),
        ("fresh_r2", 1.0 - mse(floor.mse)),
    ];
    let found = limits.iter().filter_map(|(name, limit)| {
        let value = facts.metrics.get(*name).copied().flatten()?;
        let is_better = if name.ends_with("r2") {
            value > *limit
        } else {
            value < *limit
        };
        is_better.then(|| format!("{name} {}", human(value, 6)))
    });
    found.collect()
}

fn floor(view: &View<'_>, cell: &Cell<'_>) -> Option<NoiseFloor> {
    let dataset = view.section(cell, "dataset")?.clone();
    let dataset: DatasetSpec = serde_json::from_value(dataset).ok()?;
    dataset.noise_floor()
}
