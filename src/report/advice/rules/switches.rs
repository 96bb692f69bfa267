//! `switches`: what PyTorch can do faster, where a program has a parameter for it.

use serde_json::Value;

use crate::plan::PredictedColumn;
use crate::report::advice::recommendation::Draft;
use crate::report::advice::study::Study;
use crate::report::sections::difference::part;
use crate::report::sections::speed::timing_value;

use super::Said;
use super::values::{amdahl, percent, share};

pub(super) const ABOUT: &str = "Of a program with a parameter for it (`roles` of the command) that no measured cell turns \
    on: recommends `torch.compile` and the channels-last format where forward and backward take 20 % of a step or more, \
    autocast there on a GPU, and pinned memory on a GPU where the rest of a step, copies among it, takes 5 % or more. \
    Prediction: Amdahl's bound of these phases";

/// Share of forward and backward from which on less time for them is worth a test.
const PASSES: f64 = 0.2;
/// Share of the rest of a step from which on faster copies are.
const COPIES: f64 = 0.05;

/// A role: what it is, whether only a GPU gains by it, and what to know of it.
struct Role {
    name: &'static str,
    needs_gpu: bool,
    reasoning: &'static str,
}

const ROLES: [Role; 4] = [
    Role {
        name: "compile",
        needs_gpu: false,
        reasoning: "Compiled modules run fewer and larger kernels; compiling itself takes time at the start, which counts in \
                    no step.",
    },
    Role {
        name: "amp",
        needs_gpu: true,
        reasoning: "Products and convolutions in 16 bits; compare the losses.",
    },
    Role {
        name: "channels-last",
        needs_gpu: false,
        reasoning: "Convolutions need no change of the format in memory.",
    },
    Role {
        name: "pin-memory",
        needs_gpu: true,
        reasoning: "Batches in pinned memory are copied to the GPU while it computes.",
    },
];

pub(super) fn find(study: &Study<'_, '_>) -> Said {
    let (view, anchor) = (study.view, study.anchor);
    let roles = part(view, anchor, "model.roles").and_then(Value::as_object);
    // Says nothing on pages of other models.
    let roles = roles.ok_or(String::new())?;
    let model = part(view, anchor, "model_name").and_then(Value::as_str);
    let model = model.ok_or("the model has no name")?;
    let shares = share(anchor, 2).zip(share(anchor, 4)).zip(share(anchor, 6));
    let ((forward, backward), rest) = shares.ok_or("the phases of a step are not known")?;
    let is_on_gpu = timing_value(anchor, "peak_device_bytes").is_some();
    let (mut drafts, mut refused) = (Vec::new(), Vec::new());
    for role in &ROLES {
        let Some(parameter) = roles.get(role.name).and_then(Value::as_str) else {
            continue;
        };
        let setting = format!("models.{model}.{parameter}");
        let is_on = |cell: &&_| study.setting(cell, &setting) == true;
        let (of, share, least) = match role.name {
            "pin-memory" => (
                "What no other phase has, copies among it, takes",
                rest,
                COPIES,
            ),
            _ => ("Forward and backward take", forward + backward, PASSES),
        };
        if view.measured().any(|cell| is_on(&cell)) {
            refused.push(format!("{}: measured here", role.name));
        } else if role.needs_gpu && !is_on_gpu {
            refused.push(format!("{}: the program used no GPU", role.name));
        } else if share < least {
            refused.push(format!("{}: {of} {} of a step", role.name, percent(share)));
        } else {
            drafts.push(Draft {
                triggers: format!("{of} {} of a step.", percent(share)),
                formula: "Amdahl's bound: 1 ÷ (1 − this share), at least 1.02".to_owned(),
                reasoning: role.reasoning.to_owned(),
                ..study.change(setting, true, PredictedColumn::SamplesPerS, amdahl(share))
            });
        }
    }
    if drafts.is_empty() {
        return Err(refused.join(", "));
    }
    Ok(drafts)
}
