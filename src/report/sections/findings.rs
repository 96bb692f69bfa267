//! Rules over the measurements: each finding names its rule and its values; without one, what was checked is said.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::text::count;
use crate::base::units::human;
use crate::report::number::fixed;
use crate::report::view::{Cell, View};

use super::phases::{self, PHASES, breakdown};
use super::quality::has_learned;
use super::{estimate, leak, treatment};

/// Something in the measurements that a reader should know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule that found it.
    pub rule: &'static str,
    /// What it found, with the values.
    pub text: String,
}

/// Percent of the step from which on waiting for data is told.
const WAIT: f64 = 10.0;
/// Percent of the step from which on the residual is told.
const RESIDUAL: f64 = 5.0;
/// Percent of the median from which on the spread of runs is told.
const SPREAD: f64 = 10.0;
/// Cells that a finding names at most.
const NAMED: usize = 2;

type Rule = (&'static str, String, fn(&View<'_>) -> Option<String>);

/// What the rules find, in their order.
pub(crate) fn found(view: &View<'_>) -> Vec<Finding> {
    let found = rules().into_iter().filter_map(|(rule, _, check)| {
        let text = check(view)?;
        Some(Finding { rule, text })
    });
    found.collect()
}

/// Every rule in words, whether it finds something or not.
pub(crate) fn checked() -> Vec<String> {
    let rules = rules().into_iter();
    rules
        .map(|(rule, words, _)| format!("{rule}: {words}"))
        .collect()
}

fn rules() -> [Rule; 11] {
    [
        (
            "waiting-for-data",
            format!("data wait above {WAIT} % of the step"),
            waiting,
        ),
        (
            "large-residual",
            format!("residual above {RESIDUAL} % of the step, or below 0"),
            residual,
        ),
        (
            "spread",
            format!("interval of the step time wider than {SPREAD} % of its median"),
            spread,
        ),
        (
            "outliers",
            "runs beyond 1.5 interquartile ranges (from 4 runs on)".to_owned(),
            outliers,
        ),
        (
            "no-learning",
            "evaluation loss after training not 1 % below that before it".to_owned(),
            no_learning,
        ),
        (
            "below-noise-floor",
            format!(
                "test or fresh error below the noise of generated data by more than {} standard errors: a leak",
                leak::ERRORS
            ),
            below_noise_floor,
        ),
        (
            "phases-are-not-the-step",
            "phases of a run that sum to less than 99 % or more than 101 % of its step".to_owned(),
            not_the_step,
        ),
        (
            "undeclared-difference",
            "cells along the treatment differ in more than what it sets".to_owned(),
            undeclared_difference,
        ),
        (
            "mixed-code",
            "cells measured with different code".to_owned(),
            mixed_code,
        ),
        (
            "mixed-environment",
            "cells measured in different environments".to_owned(),
            mixed_environment,
        ),
        ("estimate-far-off", estimate::rule(), estimate_far_off),
    ]
}

/// "batch-size 8, workers 0 (2.5 %); …", or `None` for no cell.
fn named(view: &View<'_>, value: impl Fn(&Cell<'_>) -> Option<String>) -> Option<String> {
    let hits: Vec<String> = view
        .cells
        .iter()
        .filter_map(|cell| Some(format!("{} ({})", view.name(cell, None), value(cell)?)))
        .collect();
    let shown = hits
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    match hits.len() {
        0 => None,
        n if n > NAMED => Some(format!("{shown}; and {} more", n - NAMED)),
        _ => Some(shown),
    }
}

fn waiting(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| {
        let share = breakdown(cell)?.shares[0];
        (share > WAIT).then(|| format!("{} %", fixed(share, 1)))
    })?;
    Some(format!("Training waited for data: {cells} of the step."))
}

fn residual(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| {
        let share = breakdown(cell)?.shares[PHASES.len()];
        (!(-0.1..=RESIDUAL).contains(&share)).then(|| format!("{} %", fixed(share, 1)))
    })?;
    Some(format!(
        "Time outside the named phases: {cells} of the step."
    ))
}

fn spread(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| {
        let step = cell.timing?.values.get("step_ms")?;
        let percent = (step.high - step.low) / step.median * 100.0;
        (percent > SPREAD).then(|| format!("{} %", human(percent, 2)))
    })?;
    Some(format!(
        "Runs of one cell differ widely in step time: {cells} of the median."
    ))
}

fn outliers(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| {
        let row = cell.timing?;
        (row.outliers > 0).then(|| format!("{} of {} runs", row.outliers, row.n))
    })?;
    Some(format!(
        "Step times far from the others, kept in all figures: {cells}."
    ))
}

fn no_learning(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| {
        let facts = cell.runs.iter().filter_map(|row| row.facts.as_ref());
        let mut idle = facts.filter(|facts| has_learned(facts) == Some(false));
        let found = idle.next()?;
        let (before, after) = (found.eval_loss_before?, found.eval_loss_after?);
        Some(format!("{} → {}", human(before, 4), human(after, 4)))
    })?;
    Some(format!(
        "Training did not lower the evaluation loss by 1 %: {cells}."
    ))
}

fn below_noise_floor(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| leak::of_cell(view, cell))?;
    Some(format!(
        "Better than the noise of the data allows, which only a leak explains: {cells}."
    ))
}

fn not_the_step(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| {
        let sum = phases::not_the_step(cell)?;
        Some(format!("{} %", fixed(sum, 1)))
    })?;
    Some(format!(
        "The phases do not sum to the step, and no shares are shown: {cells} of the step."
    ))
}

fn undeclared_difference(view: &View<'_>) -> Option<String> {
    let paths = treatment::undeclared(view);
    let words = count(paths.len(), "setting");
    (!paths.is_empty()).then(|| {
        format!(
            "Cells along the treatment differ in {words} that it does not set: {}.",
            paths.join(", ")
        )
    })
}

fn mixed_code(view: &View<'_>) -> Option<String> {
    let hashes: BTreeSet<&str> = view
        .cells
        .iter()
        .filter_map(|cell| cell.info.code_hash.as_deref())
        .collect();
    (hashes.len() > 1).then(|| {
        let list = hashes.into_iter().collect::<Vec<_>>().join(", ");
        format!(
            "Cells were measured with different code ({list}); ratios between them are left out."
        )
    })
}

fn mixed_environment(view: &View<'_>) -> Option<String> {
    let ids: BTreeSet<&str> = view
        .cells
        .iter()
        .filter_map(|cell| Some(&*cell.timing?.env_id))
        .collect();
    (ids.len() > 1).then(|| {
        let list = ids.into_iter().collect::<Vec<_>>().join(", ");
        format!("Cells were measured in different environments ({list}); ratios between them are left out.")
    })
}

fn estimate_far_off(view: &View<'_>) -> Option<String> {
    let cells = named(view, |cell| {
        let ratio = estimate::far_off(cell)?;
        Some(format!("{}×", human(ratio, 3)))
    })?;
    Some(format!(
        "Runs took far longer or shorter than was expected before they began: {cells} the expected time."
    ))
}
