//! `switches`: recommends `torch.compile`, autocast, channels-last and pinned memory to programs that have a parameter which
//! turns it on.

use serde_json::Value;

use crate::report::advice::recommendation::ProposedChange;
use crate::report::advice::study::Study;
use crate::report::sections::difference::part;
use crate::report::timing::timing_value;
use crate::report::view::Cell;

use super::values::{amdahl, percent, share};

pub(super) const ABOUT: &str = "Of a program with a parameter for it (`roles` of the command) that no measured cell turns \
    on: recommends `torch.compile` and the channels-last format where forward and backward take 20 % of a step or more, \
    autocast there on a GPU, and pinned memory on a GPU where the rest of a step, copies among it, takes 5 % or more. \
    Prediction: Amdahl's bound of these phases";

/// The phases of a step that a role of a parameter (such as `torch.compile`) shortens.
struct Phases {
    /// Beginning of the sentence that states the phases' share.
    words: &'static str,
    /// Positions of these phases in the table of phases.
    places: &'static [usize],
    /// Fraction of the step's time below which the role is not recommended.
    least: f64,
}

const PASSES: Phases = Phases {
    words: "Forward and backward take",
    places: &[2, 4],
    least: 0.2,
};
const COPIES: Phases = Phases {
    words: "What no other phase has, copies among it, takes",
    places: &[6],
    least: 0.05,
};

/// A role that a parameter of a program can have, by its name in the manifest.
struct Role {
    name: &'static str,
    shortens: Phases,
    needs_gpu: bool,
    reasoning: &'static str,
}

const ROLES: [Role; 4] = [
    Role {
        name: "compile",
        shortens: PASSES,
        needs_gpu: false,
        reasoning: "Compiled modules run fewer and larger kernels; compiling itself takes time at the start, which counts in \
                    no step.",
    },
    Role {
        name: "amp",
        shortens: PASSES,
        needs_gpu: true,
        reasoning: "Products and convolutions in 16 bits; compare the losses.",
    },
    Role {
        name: "channels-last",
        shortens: PASSES,
        needs_gpu: false,
        reasoning: "Convolutions need no change of the format in memory.",
    },
    Role {
        name: "pin-memory",
        shortens: COPIES,
        needs_gpu: true,
        reasoning: "Batches in pinned memory are copied to the GPU while it computes.",
    },
];

pub(super) fn find(study: &Study<'_, '_>) -> Option<Vec<ProposedChange>> {
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
        let shares = role.shortens.places.iter();
        let share: Option<f64> = shares.map(|place| share(anchor, *place)).sum();
        let share = share?;
        let is_on = |cell: &Cell<'_>| study.setting(cell, &setting) == true;
        let is_possible = !role.needs_gpu || is_on_gpu;
        if is_possible && share >= role.shortens.least && !view.measured().any(is_on) {
            proposals.push(ProposedChange {
                triggers: format!("{} {} of a step.", role.shortens.words, percent(share)),
                formula: "Amdahl's bound: 1 ÷ (1 − this share), at least 1.02".to_owned(),
                reasoning: role.reasoning.to_owned(),
                ..study.change(setting, true, amdahl(share))
            });
        }
    }
    Some(proposals)
}
