//! `device` and `precision`: only where the machine has a GPU.

use crate::plan::PredictedColumn;
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
    needs_gpu(study)?;
    let why = "The best of the measured devices.";
    best_measured(
        study,
        DEVICE,
        PredictedColumn::SamplesPerS,
        &study.others(DEVICE),
        why,
    )
    .ok_or_else(|| "no other device was measured to be faster".to_owned())
}

pub(super) fn find_precision(study: &Study<'_, '_>) -> Said {
    needs_gpu(study)?;
    if study.setting(study.anchor, DEVICE) != "cuda" {
        return Err("the CPU has 32-bit floats only".to_owned());
    }
    let others = study.others(PRECISION);
    let why = "The best of the measured kinds of arithmetic; compare the losses.";
    let column = PredictedColumn::SamplesPerS;
    if let Some(found) = best_measured(study, PRECISION, column, &others, why) {
        return Ok(found);
    }
    let passes = share(study.anchor, 2).zip(share(study.anchor, 4));
    let is_f32 = study.setting(study.anchor, PRECISION) == "f32";
    let (forward, backward) = passes
        .filter(|_| others.is_empty() && is_f32)
        .ok_or("no other arithmetic was measured to be faster")?;
    let passes = forward + backward;
    Ok(vec![Draft {
        triggers: format!("Forward and backward take {} of a step.", percent(passes)),
        formula: "Amdahl's bound: 1 ÷ (1 − share of forward and backward), at least 1.02"
            .to_owned(),
        reasoning: "Only matrix products get faster; compare the losses.".to_owned(),
        ..study.change(PRECISION, "tf32", column, amdahl(passes))
    }])
}

fn needs_gpu(study: &Study<'_, '_>) -> Result<(), String> {
    let devices = study.environment("devices");
    match devices {
        None | Some("none" | "unknown") => {
            Err("not testable here: this machine has no GPU".to_owned())
        }
        Some(_) => Ok(()),
    }
}
