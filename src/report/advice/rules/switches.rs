//! `switches`: recommends `torch.compile`, autocast, channels-last and pinned memory to programs with a parameter that
//! turns this on.

use serde_json::Value;

use crate::report::advice::recommendation::Recommendation;
use crate::report::advice::study::WorkGroup;
use crate::report::sections::difference::part;
use crate::report::timing::timing_value;
use crate::report::view::Cell;

use super::values::{amdahl, percent, share};

pub(super) const ABOUT: &str = "Of a program with a parameter for it (`roles` of the command) that no measured cell turns \
    on: recommends `torch.compile` and the channels-last format where forward and backward take 20 % of a step or more, \
    autocast there on a GPU, and pinned memory on a GPU where the rest of a step, copies among it, takes 5 % or more. \
    Prediction: Amdahl's bound of these phases";

/// A role that a parameter of a program can have (such as `torch.compile`), and the phases of a step that it shortens.
struct Role {
    /// Name of the role in the manifest.
    name: &'static str,
    /// Beginning of the sentence that states the phases' share.
    words: &'static str,
    /// Indices of these phases in the table of phases.
    places: &'static [usize],
    /// Fraction of the step's time below which the role is not recommended.
    least: f64,
    needs_gpu: bool,
    reasoning: &'static str,
}

/// `torch.compile` shortens forward and backward. The roles with `..COMPILE` shorten the same phases.
const COMPILE: Role = Role {
    name: "compile",
    words: "Forward and backward take",
    places: &[2, 4],
    least: 0.2,
    needs_gpu: false,
    reasoning: "Compiled modules run fewer and larger kernels; compiling itself takes time at the start, which counts in \
                no step.",
};

const ROLES: [Role; 4] = [
    COMPILE,
    Role {
        name: "amp",
        needs_gpu: true,
        reasoning: "Products and convolutions in 16 bits; compare the losses.",
        ..COMPILE
    },
    Role {
        name: "channels-last",
        reasoning: "Convolutions need no change of the format in memory.",
        ..COMPILE
    },
    Role {
        name: "pin-memory",
        words: "Time outside the other phases, including copies, takes",
        places: &[6],
        least: 0.05,
        needs_gpu: true,
        reasoning: "Batches in pinned memory are copied to the GPU while it computes.",
    },
];

pub(super) fn find(study: &WorkGroup<'_, '_>) -> Option<Vec<Recommendation>> {
    let (view, anchor) = (study.view, study.anchor);
    let roles = part(view, anchor, "model.roles").and_then(Value::as_object);
    let roles = roles?;
    let model = part(view, anchor, "model_name").and_then(Value::as_str)?;
    let is_on_gpu = timing_value(anchor, "peak_device_bytes").is_some();
    let mut proposals = Vec::new();
    for role in &ROLES {
        let Some(parameter) = roles.get(role.name).and_then(Value::as_str) else {
            continue;
        };
        let setting = format!("models.{model}.{parameter}");
        let shares = role.places.iter();
        let share: Option<f64> = shares.map(|place| share(anchor, *place)).sum();
        let share = share?;
        let is_on = |cell: &Cell<'_>| study.setting(cell, &setting) == true;
        let is_possible = !role.needs_gpu || is_on_gpu;
        if is_possible && share >= role.least && !view.measured().any(is_on) {
            proposals.push(Recommendation {
                triggers: format!("{} {} of a step.", role.words, percent(share)),
                formula: "Amdahl's bound: 1 ÷ (1 − this share), at least 1.02".to_owned(),
                reasoning: role.reasoning.to_owned(),
                ..study.change(setting, true, amdahl(share))
            });
        }
    }
    Some(proposals)
}
