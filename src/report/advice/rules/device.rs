//! `device` and `precision`: only where the machine has a GPU.

use serde_json::Value;

use crate::plan::{Claim, PredictedColumn};
use crate::report::advice::recommendation::Draft;
use crate::report::advice::study::Study;

use super::Said;
use super::values::{amdahl, best_measured, percent, share};

pub(super) const ABOUT_DEVICE: &str = "Recommends the measured device with the highest throughput, where it gave 2 % more \
    or better. Not testable on a machine without a GPU; nothing is predicted of a device that was not measured";
pub(super) const ABOUT_PRECISION: &str = "On a GPU, recommends the measured arithmetic with the highest throughput, or \
    TF32 where only 32-bit floats were measured. Prediction: that measurement, or Amdahl's bound of forward and backward. \
    Not testable on a machine without a GPU";

const DEVICE: &str = "train.device";
const PRECISION: &str = "train.precision";

pub(super) fn find_device(study: &Study<'_, '_>) -> Said {
    if !has_gpu(study) {
        return Said::Nothing("not testable here: this machine has no GPU".to_owned());
    }
    let others = study.others(DEVICE).into_iter();
    let why = "The best of the measured devices.";
    best_measured(study, DEVICE, PredictedColumn::SamplesPerS, others, why).map_or_else(
        || Said::Nothing("no other device was measured to be faster".to_owned()),
        |draft| Said::Recommended(vec![draft]),
    )
}

pub(super) fn find_precision(study: &Study<'_, '_>) -> Said {
    if !has_gpu(study) {
        return Said::Nothing("not testable here: this machine has no GPU".to_owned());
    }
    if study.setting(study.anchor, DEVICE) != "cuda" {
        return Said::Nothing("the CPU has 32-bit floats only".to_owned());
    }
    let others = study.others(PRECISION);
    let is_alone = others.is_empty();
    let why = "The best of the measured kinds of arithmetic; compare the losses.";
    let column = PredictedColumn::SamplesPerS;
    if let Some(draft) = best_measured(study, PRECISION, column, others.into_iter(), why) {
        return Said::Recommended(vec![draft]);
    }
    let passes = share(study.anchor, 2).zip(share(study.anchor, 4));
    let passes = passes.map(|(forward, backward)| forward + backward);
    let is_f32 = study.setting(study.anchor, PRECISION) == "f32";
    let Some(passes) = passes.filter(|_| is_alone && is_f32) else {
        return Said::Nothing("no other arithmetic was measured to be faster".to_owned());
    };
    Said::Recommended(vec![Draft {
        setting: PRECISION,
        from: study.setting(study.anchor, PRECISION).clone(),
        to: Value::from("tf32"),
        column,
        claim: Claim::Gain,
        predicted: amdahl(passes),
        triggers: format!("Forward and backward take {} of a step.", percent(passes)),
        formula: "Amdahl's bound: 1 ÷ (1 − share of forward and backward), at least 1.02"
            .to_owned(),
        reasoning: "Only matrix products get faster; compare the losses.".to_owned(),
    }])
}

fn has_gpu(study: &Study<'_, '_>) -> bool {
    let devices = study.environment("devices");
    devices.is_some_and(|devices| devices != "none" && devices != "unknown")
}
