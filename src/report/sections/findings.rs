//! Rules over the measurements: each finding names its rule and its values; without one, what was checked is said.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::base::text::count;
use crate::base::units::human;
use crate::report::judged::some_of;
use crate::report::number::{fixed, times};
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

/// A rule over the measurements.
struct Rule {
    name: &'static str,
    /// What it looks for.
    words: String,
    /// What it says, with `{}` in the place of what it found.
    finding: &'static str,
    /// What it found, in words.
    check: Check,
}

type Check = fn(&View<'_>) -> Option<String>;

/// What the rules find, in their order.
pub(crate) fn found(view: &View<'_>) -> Vec<Finding> {
    let found = rules().into_iter().filter_map(|rule| {
        let found = (rule.check)(view)?;
        Some(Finding {
            rule: rule.name,
            text: rule.finding.replace("{}", &found),
        })
    });
    found.collect()
}

/// Every rule in words, whether it finds something or not.
pub(crate) fn checked() -> Vec<String> {
    let rules = rules().into_iter();
    rules
        .map(|rule| format!("{}: {}", rule.name, rule.words))
        .collect()
}

fn rules() -> Vec<Rule> {
    of_steps().into_iter().chain(of_results()).collect()
}

fn rule(name: &'static str, words: &str, finding: &'static str, check: Check) -> Rule {
    Rule {
        name,
        words: words.to_owned(),
        finding,
        check,
    }
}

/// Rules over the times of steps.
fn of_steps() -> [Rule; 4] {
    [
        rule(
            "waiting-for-data",
            &format!("data wait above {WAIT} % of the step"),
            "Training waited for data (percent of the step): {}.",
            |view| named(view, waiting),
        ),
        rule(
            "large-residual",
            &format!("residual above {RESIDUAL} % of the step, or below 0"),
            "Time outside the named phases (percent of the step): {}.",
            |view| named(view, residual),
        ),
        rule(
            "spread",
            &format!("interval of the step time wider than {SPREAD} % of its median"),
            "Runs of one cell differ widely in step time (interval in percent of the median): {}.",
            |view| named(view, spread),
        ),
        rule(
            "outliers",
            "runs beyond 1.5 interquartile ranges (from 4 runs on)",
            "Step times far from the others, kept in all figures: {}.",
            |view| named(view, outliers),
        ),
    ]
}

/// Rules over what was reached, and over the results as a whole.
fn of_results() -> [Rule; 8] {
    [
        rule(
            "data",
            "tables with equal rows on both sides of a split, a column that tells the target, or one that counts rows; images left out",
            "Of the data: {}.",
            |view| Some(view.set.plan.data_remarks.join("; ")).filter(|found| !found.is_empty()),
        ),
        rule(
            "no-learning",
            "evaluation loss after training not 1 % below that before it",
            "Training did not lower the evaluation loss by 1 %: {}.",
            |view| named(view, no_learning),
        ),
        rule(
            "below-noise-floor",
            &format!(
                "test or fresh error below the noise of generated data by more than {} standard errors: a leak",
                leak::ERRORS
            ),
            "Better than the noise of the data allows, which only a leak explains: {}.",
            |view| named(view, leak::of_cell),
        ),
        rule(
            "phases-are-not-the-step",
            "phases of a run that sum to less than 99 % or more than 101 % of its step",
            "The phases do not sum to the step, and no shares are shown (percent of the step): {}.",
            |view| named(view, not_the_step),
        ),
        rule(
            "undeclared-difference",
            "cells along the treatment differ in more than what it sets",
            "Cells along the treatment differ in {}.",
            undeclared_difference,
        ),
        rule(
            "mixed-code",
            "cells measured with different code",
            "Cells were measured with different code ({}); ratios between them are left out.",
            // Every command is code of its own.
            |view| {
                several(view, |cell| {
                    let code = cell.info.code_hash.as_deref();
                    code.filter(|_| !cell.is_of_command)
                })
            },
        ),
        rule(
            "mixed-environment",
            "cells measured in different environments",
            "Cells were measured in different environments ({}); ratios between them are left out.",
            |view| several(view, |cell| Some(&*cell.timing?.env_id)),
        ),
        rule(
            "estimate-far-off",
            &estimate::rule(),
            "Runs took far longer or shorter than was expected before they began (time ÷ expected time): {}.",
            |view| named(view, |_, cell| Some(times(estimate::far_off(cell)?))),
        ),
    ]
}

/// "batch-size 8, workers 0 (2.5 %); …", or `None` for no cell.
fn named(view: &View<'_>, value: fn(&View<'_>, &Cell<'_>) -> Option<String>) -> Option<String> {
    let hits: Vec<String> = view
        .cells
        .iter()
        .filter_map(|cell| {
            Some(format!(
                "{} ({})",
                view.name(cell, None),
                value(view, cell)?
            ))
        })
        .collect();
    (!hits.is_empty()).then(|| some_of(&hits, NAMED, "; "))
}

fn waiting(_: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let share = breakdown(cell)?.shares[0];
    (share > WAIT).then(|| format!("{} %", fixed(share, 1)))
}

fn residual(_: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let share = breakdown(cell)?.shares[PHASES.len()];
    (!(-0.1..=RESIDUAL).contains(&share)).then(|| format!("{} %", fixed(share, 1)))
}

fn spread(_: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let step = cell.timing?.values.get("step_ms")?;
    let percent = (step.high - step.low) / step.median * 100.0;
    (percent > SPREAD).then(|| format!("{} %", human(percent, 2)))
}

fn outliers(_: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let row = cell.timing?;
    (row.outliers > 0).then(|| format!("{} of {} runs", row.outliers, row.n))
}

fn no_learning(_: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let found = cell
        .facts()
        .find(|facts| has_learned(facts) == Some(false))?;
    let (before, after) = (found.eval_loss_before?, found.eval_loss_after?);
    Some(format!("{} → {}", human(before, 4), human(after, 4)))
}

fn not_the_step(_: &View<'_>, cell: &Cell<'_>) -> Option<String> {
    let sum = phases::not_the_step(cell).filter(|sum| sum.is_finite())?;
    Some(format!("{} %", fixed(sum, 1)))
}

fn undeclared_difference(view: &View<'_>) -> Option<String> {
    let paths = treatment::undeclared(view);
    let words = count(paths.len(), "setting");
    let found = || format!("{words} that it does not set: {}", paths.join(", "));
    (!paths.is_empty()).then(found)
}

/// The different values among the cells, where there are several.
fn several<'v, 'a>(view: &'v View<'a>, get: fn(&'v Cell<'a>) -> Option<&'v str>) -> Option<String> {
    let values: BTreeSet<&str> = view.cells.iter().filter_map(get).collect();
    let list = || values.iter().copied().collect::<Vec<_>>().join(", ");
    (values.len() > 1).then(list)
}
