//! `early-stopping`: recommends to stop soon after the best epoch.

use serde_json::json;

use crate::base::statistics::{median, range};
use crate::base::text::count;
use crate::base::units::human;
use crate::plan::{EarlyStoppingSpec, PredictedColumn};
use crate::report::advice::recommendation::{Predicted, Recommendation};
use crate::report::advice::study::WorkGroup;
use crate::report::view::Cell;

use super::values::{epochs, percent};

pub(super) const ABOUT: &str = "Where a validation loss is best in the first 60 % of 10 epochs or more: recommends the \
    smallest patience of 3, 5, 10, 15, 20, 30, 50 that still reaches the best epoch of every seed on the measured curves. \
    Prediction: the share of the epochs until it would have stopped, with the spread of the training time";

const SETTING: &str = "train.early-stopping";
/// Smallest number of epochs of a run for which the rule applies.
const EPOCHS: usize = 10;
/// Latest best epoch for which the rule applies, as a fraction of the run's epochs.
const BEST: f64 = 0.6;
/// Values of `patience` in epochs that are tried.
const PATIENCE: [usize; 7] = [3, 5, 10, 15, 20, 30, 50];
/// Largest fraction of the epochs that may still run with early stopping for a recommendation to be worth a test.
const LEFT: f64 = 0.9;

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let anchor = study.anchor;
    // The rule does not apply if early stopping is on already, or to a program of the user, which this setting would
    // not stop.
    if anchor.is_of_command || !study.setting(anchor, SETTING).is_null() {
        return None;
    }
    let epochs = epochs(anchor).filter(|epochs| *epochs >= EPOCHS)?;
    let runs = anchor.runs.iter();
    let curves: Vec<Vec<f64>> = runs.map(|run| curve(anchor, run.seed)).collect();
    if curves.iter().any(|curve| curve.len() < epochs) {
        return None;
    }
    let best = curves.iter().map(|curve| best(curve)).max().unwrap_or(0) + 1;
    if best as f64 > BEST * epochs as f64 {
        return None;
    }
    let (patience, middle, (low, high)) = shortest(&curves, epochs)?;
    let spread = spread(anchor);
    Some(vec![Recommendation {
        triggers: format!(
            "The validation loss is best at epoch {best} of {epochs} at the latest, over {}.",
            count(curves.len(), "seed")
        ),
        formula: format!(
            "epochs until {patience} in a row are no better, on the measured curves ÷ {epochs}; ± {} for the spread of the \
             training time",
            percent(spread)
        ),
        reasoning: gain(&curves)?,
        column: PredictedColumn::TrainS,
        ..study.change(
            SETTING,
            json!({"patience": patience}),
            Predicted::estimate([middle, low * (1.0 - spread), high * (1.0 + spread)]),
        )
    }])
}

/// Sentence with the validation losses of the last epoch's weights, which are kept now, and of the best epoch's.
fn gain(curves: &[Vec<f64>]) -> Option<String> {
    let over = |get: fn(&[f64]) -> Option<f64>| {
        let losses: Vec<f64> = curves.iter().filter_map(|curve| get(curve)).collect();
        median(&losses).map(|loss| human(loss, 4))
    };
    let last = over(|curve| curve.last().copied())?;
    let best = over(|curve| curve.get(best(curve)).copied())?;
    Some(format!(
        "Now the weights of the last epoch are kept, with a validation loss of {last} (median over seeds). Early stopping keeps \
         those of the best epoch, with {best}."
    ))
}

/// The smallest patience that reaches every curve's best epoch and is worth a test; then the fraction of the epochs
/// that would have run: median and range over the curves.
fn shortest(curves: &[Vec<f64>], epochs: usize) -> Option<(usize, f64, (f64, f64))> {
    PATIENCE.into_iter().find_map(|patience| {
        let ends = curves.iter().map(|curve| end(curve, patience));
        let ends = ends.collect::<Option<Vec<usize>>>()?;
        let shares: Vec<f64> = ends.iter().map(|end| *end as f64 / epochs as f64).collect();
        let middle = median(&shares).filter(|share| *share <= LEFT)?;
        Some((patience, middle, range(&shares)?))
    })
}

/// Validation losses of a run by epoch.
fn curve(cell: &Cell<'_>, seed: u64) -> Vec<f64> {
    let rows = cell.epochs.iter().filter(|row| row.seed == seed);
    let loss = |name: &str, row: &&crate::results::EpochRecord| {
        row.epoch.validation.get(name).copied().flatten()
    };
    rows.filter_map(|row| loss("val_loss", row).or_else(|| loss("test_loss", row)))
        .collect()
}

/// Epoch of the best loss as early stopping determines it, counted from 0.
fn best(curve: &[f64]) -> usize {
    judged(curve, usize::MAX).0
}

/// Number of epochs until early stopping; `None` if training would have stopped before the best epoch, or never.
fn end(curve: &[f64], patience: usize) -> Option<usize> {
    let (reached, end) = judged(curve, patience);
    (reached == best(curve) && end < curve.len()).then_some(end)
}

/// The best epoch and the number of epochs until early stopping, with the default `min-delta`.
fn judged(curve: &[f64], patience: usize) -> (usize, usize) {
    let min_delta = EarlyStoppingSpec::default().min_delta;
    let (mut best, mut lowest) = (0, f64::INFINITY);
    for (epoch, loss) in curve.iter().enumerate() {
        if *loss < lowest - min_delta {
            (best, lowest) = (epoch, *loss);
        } else if epoch - best >= patience {
            return (best, epoch + 1);
        }
    }
    (best, curve.len())
}

/// Half the relative width of the training time's interval; at least 0.05.
fn spread(cell: &Cell<'_>) -> f64 {
    let row = cell.timing.and_then(|row| row.values.get("train_s"));
    let half = row.map_or(0.0, |time| (time.high - time.low) / (2.0 * time.median));
    half.max(0.05)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_ends_where_training_would_have_stopped() {
        let curve = [3.0, 2.0, 2.5, 1.0, 1.1, 1.2, 1.3, 1.4];
        assert_eq!(best(&curve), 3);
        assert_eq!(end(&curve, 3), Some(7));
        assert_eq!(
            end(&curve, 1),
            None,
            "it would have stopped before the best epoch"
        );
        assert_eq!(end(&curve, 5), None, "it would never have stopped");
    }
}
