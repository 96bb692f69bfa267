//! `precision`: recommends training on a GPU in lower precision.

use crate::plan::PredictedColumn;
use crate::report::advice::recommendation::Recommendation;
use crate::report::advice::study::WorkGroup;

use super::values::{amdahl, best_measured, percent, share};

pub(super) const ABOUT: &str = "On a GPU, recommends the measured arithmetic with the highest throughput, or \
    TF32 where only 32-bit floats were measured. Prediction: that measurement, or Amdahl's bound of forward and backward. \
    Not testable on a machine without a GPU";

const DEVICE: &str = "train.device";
const PRECISION: &str = "train.precision";

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    if study.setting(study.anchor, DEVICE) != "cuda" {
        return None;
    }
    let others = study.others(PRECISION);
    let why = "The best of the measured kinds of arithmetic; compare the losses.";
    let column = PredictedColumn::SamplesPerS;
    if let Some(found) = best_measured(study, PRECISION, column, &others, why) {
        return Some(found);
    }
    let passes = share(study.anchor, 2).zip(share(study.anchor, 4));
    let is_f32 = study.setting(study.anchor, PRECISION) == "f32";
    let (forward, backward) = passes.filter(|_| others.is_empty() && is_f32)?;
    let passes = forward + backward;
    Some(vec![Recommendation {
        triggers: format!("Forward and backward take {} of a step.", percent(passes)),
        formula: "Amdahl's bound: 1 ÷ (1 − share of forward and backward), at least 1.02"
            .to_owned(),
        reasoning: "Only matrix products get faster; compare the losses.".to_owned(),
        ..study.change(PRECISION, "tf32", amdahl(passes))
    }])
}
