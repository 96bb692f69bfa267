//! Rules over the measurements: each finding names its rule and its values.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::statistics::{median, range};
use crate::base::text::count;
use crate::base::units::{human, human_integer};
use crate::report::judged::first_names_text;
use crate::report::number::{fixed, times_text};
use crate::report::view::{Cell, View};
use crate::results::Status;

use super::phases::{self, PHASES, breakdown};
use super::{leak, treatment};
use crate::report::quality::{has_learned, loss_column};

/// Something in the measurements that a reader should know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name of the rule that made the finding.
    pub rule: &'static str,
    /// Text of the finding, with the measured values.
    pub text: String,
}

/// Percent of the step from which on waiting for data is a finding.
const WAIT: f64 = 10.0;
/// Percent of the step from which on the residual is a finding.
const RESIDUAL: f64 = 5.0;
/// Percent of the median from which on the spread of runs is a finding.
const SPREAD: f64 = 10.0;
/// Factor between measured and expected time of a cell's runs from which on the difference is a finding.
const FAR: f64 = 2.0;
/// By how much the validation loss of the kept weights must be above the best one to be a finding, as a fraction of it.
const RISEN: f64 = 0.1;
/// R² from which on a linear model counts as exact.
const EXACT: f64 = 0.9995;
/// Largest number of cells in a finding.
const NAMED: usize = 2;

/// A rule: its name, its text with `{}` for what was found, and the function that finds it and returns it as text.
pub(crate) type Rule = (&'static str, &'static str, fn(&View<'_>) -> Option<String>);

/// Every rule, in the order of their findings; `docs/reports.md` describes each.
pub(crate) const RULES: [Rule; 18] = [
    (
        "waiting-for-data",
        "Training waited for data (percent of the step): {}.",
        |view| named(view, waiting),
    ),
    (
        "large-residual",
        "Time outside the named phases (percent of the step): {}.",
        |view| named(view, residual),
    ),
    (
        "spread",
        "Runs of one cell differ widely in step time (interval in percent of the median): {}.",
        |view| named(view, spread),
    ),
    (
        "outliers",
        "Step times far from the others, kept in all figures: {}.",
        |view| named(view, outliers),
    ),
    ("data", "Of the data: {}.", |view| {
        Some(view.set.plan.data_remarks.join("; ")).filter(|found| !found.is_empty())
    }),
    (
        "failed-runs",
        "Medians leave out runs that failed, so that a cell may look better than it is: {}.",
        |view| named(view, failed_runs),
    ),
    (
        "unequal-training",
        "Programs trained on different numbers of samples ({}), so that their quality is not that of equal training.",
        unequal_training,
    ),
    (
        "nondeterministic",
        "Runs of a program with the same seed gave different results; only the first run’s results are used: {}.",
        |view| named(view, nondeterministic),
    ),
    (
        "no-learning",
        "Training did not lower the evaluation loss by 1 %: {}.",
        |view| named(view, no_learning),
    ),
    (
        "overtrained",
        "The weights of the last epoch are kept, and their validation loss is more than 10 % above that of the best epoch, which \
         `train.early-stopping` would keep (medians over seeds): {}.",
        |view| named(view, overtrained),
    ),
    (
        "below-noise-floor",
        "Better than the noise of the data allows, which only a leak explains: {}.",
        |view| named(view, below_noise_floor),
    ),
    (
        "exact-baseline",
        "A linear model predicts held-out rows without error ({}): a feature contains the target, or several sum to it.",
        exact_baseline,
    ),
    (
        "phases-are-not-the-step",
        "The phases do not sum to the step, and no shares are shown (percent of the step): {}.",
        |view| named(view, not_the_step),
    ),
    (
        "one-rank",
        "Several processes trained together, and only rank 0 was observed: samples and throughput are those of rank 0 × the number of ranks, \
         which assumes that each trains on as many samples of its own: {}.",
        |view| named(view, one_rank),
    ),
    (
        "undeclared-difference",
        "Cells along the treatment differ in {}.",
        undeclared_difference,
    ),
    (
        "mixed-code",
        "Cells were measured with different code ({}); ratios between them are left out.",
        // Programs of `kind = "command"` each have their own code hash, so they are left out.
        |view| {
            several(view, |cell| {
                let code = cell.info.code_hash.as_deref();
                code.filter(|_| !cell.is_of_command)
            })
        },
    ),
    (
        "mixed-environment",
        "Cells were measured in different environments ({}); ratios between them are left out.",
        |view| several(view, |cell| Some(&*cell.timing?.env_id)),
    ),
    (
        "estimate-far-off",
        "Runs took far longer or shorter than was expected before they began (time ÷ expected time): {}.",
        |view| named(view, far_off),
    ),
];

/// Findings of the rules, in their order.
pub(crate) fn found(view: &View<'_>) -> Vec<Finding> {
    let found = RULES.into_iter().filter_map(|(rule, words, check)| {
        let text = words.replace("{}", &check(view)?);
        Some(Finding { rule, text })
    });
    found.collect()
}

/// What a rule found in a cell: how bad it is, and its values as text.
type Hit = Option<(f64, String)>;

/// Cells with their values as text, the worst first: "batch-size 8, workers 0 (2.5 %); …", or `None` without cells.
fn named(view: &View<'_>, value: fn(&View<'_>, &Cell<'_>) -> Hit) -> Option<String> {
    let hits = view.cells.iter().filter_map(|cell| {
        let (badness, value) = value(view, cell)?;
        Some((badness, format!("{} ({value})", view.name(cell, None))))
    });
    let mut hits: Vec<(f64, String)> = hits.collect();
    // Equally bad ones stay in plan order.
    hits.sort_by(|a, b| b.0.total_cmp(&a.0));
    let hits: Vec<String> = hits.into_iter().map(|(_, hit)| hit).collect();
    (!hits.is_empty()).then(|| first_names_text(&hits, NAMED, "; "))
}

fn waiting(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let share = breakdown(cell)?.shares[0];
    (share > WAIT).then(|| (share, format!("{} %", fixed(share, 1))))
}

/// The fewest and the most samples that programs trained on, as text; `None` if they differ by at most 1 %, or without
/// programs whose samples are known.
fn unequal_training(view: &View<'_>) -> Option<String> {
    let programs = view.measured().filter(|cell| cell.is_of_command);
    let samples = programs
        .flat_map(Cell::facts)
        .map(|facts| facts.samples as f64);
    let samples: Vec<f64> = samples.filter(|samples| *samples > 0.0).collect();
    let (least, most) = range(&samples)?;
    (most > 1.01 * least).then(|| {
        let text = |samples| human_integer(samples as u64);
        format!("{} to {}", text(least), text(most))
    })
}

/// Numbers of failed runs of a measured cell, by status.
fn failed_runs(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let mut failed: BTreeMap<&str, usize> = BTreeMap::new();
    for run in cell.runs.iter().filter(|run| run.status.is_failure()) {
        *failed.entry(run.status.text()).or_default() += 1;
    }
    let lost: usize = failed.values().sum();
    let words = failed
        .iter()
        .map(|(status, runs)| format!("{runs} {status}"));
    let words = words.collect::<Vec<_>>().join(", ");
    let all = count(cell.runs.len(), "seed");
    (cell.is_measured() && lost > 0).then(|| (lost as f64, format!("of {all} {words}")))
}

fn one_rank(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let ranks = cell.times().find_map(|times| times.ranks)?;
    Some((0.0, format!("{ranks} ranks")))
}

fn residual(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let share = breakdown(cell)?.shares[PHASES.len()];
    let is_large = !(-0.1..=RESIDUAL).contains(&share);
    is_large.then(|| (share.abs(), format!("{} %", fixed(share, 1))))
}

fn spread(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let step = cell.timing?.values.get("step_ms")?;
    let percent = (step.high - step.low) / step.median * 100.0;
    (percent > SPREAD).then(|| (percent, format!("{} %", human(percent, 2))))
}

fn outliers(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let row = cell.timing?;
    let share = row.outliers as f64 / row.n as f64;
    (row.outliers > 0).then(|| (share, format!("{} of {} runs", row.outliers, row.n)))
}

/// The facts in which the runs of a user's program differ. Fieldtrial's own models are left out: for them the column
/// `nondeterministic` names operations, and the results agree.
fn nondeterministic(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let mut names = cell.facts().map(|facts| &*facts.nondeterministic);
    let names = names.find(|names| !names.is_empty() && cell.is_of_command)?;
    Some((0.0, names.to_owned()))
}

/// The run of a cell whose loss rose most.
fn no_learning(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let idle = cell
        .facts()
        .filter(|facts| has_learned(facts) == Some(false));
    let found = idle.filter_map(|facts| {
        let (before, after) = (facts.eval_loss_before?, facts.eval_loss_after?);
        let rise = (after - before) / before.abs().max(f64::MIN_POSITIVE);
        Some((rise, format!("{} → {}", human(before, 4), human(after, 4))))
    });
    found.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The rise of the loss after the best epoch of a cell that keeps the last weights and has no early stopping.
fn overtrained(view: &View<'_>, cell: &Cell<'_>) -> Hit {
    if cell.is_of_command || !cell.info.spec["train"]["early-stopping"].is_null() {
        return None;
    }
    let column = loss_column(view);
    let losses: Vec<(f64, f64)> = cell
        .facts()
        .filter_map(|facts| {
            facts
                .metrics
                .get(column)
                .copied()
                .flatten()
                .zip(facts.best_loss)
        })
        .collect();
    let over = |get: fn(&(f64, f64)) -> f64| median(&losses.iter().map(get).collect::<Vec<f64>>());
    let (kept, best) = (over(|both| both.0)?, over(|both| both.1)?);
    let rise = (kept - best) / best.abs().max(f64::MIN_POSITIVE);
    (rise > RISEN).then(|| (rise, format!("{} → {}", human(best, 4), human(kept, 4))))
}

/// The first of a cell's results that is better than the noise floor allows.
fn below_noise_floor(view: &View<'_>, cell: &Cell<'_>) -> Hit {
    Some((0.0, leak::leaked_result(view, cell)?))
}

/// R² of the linear baselines on rows that they were not fitted to, where it is 1 to three digits.
fn exact_baseline(view: &View<'_>) -> Option<String> {
    let linear = view.set.baselines.iter();
    let linear = linear.filter(|row| row.baseline == "linear");
    let of = |name: &str| {
        let values = linear.clone().filter_map(|row| *row.metrics.get(name)?);
        median(&values.collect::<Vec<f64>>())
    };
    let r2 = of("test_r2").or_else(|| of("val_r2"))?;
    (r2 >= EXACT).then(|| format!("R² {}", fixed(r2, 3)))
}

fn not_the_step(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let sum = phases::mismatched_phase_sum(cell).filter(|sum| sum.is_finite())?;
    Some(((sum - 100.0).abs(), format!("{} %", fixed(sum, 1))))
}

fn far_off(_: &View<'_>, cell: &Cell<'_>) -> Hit {
    let done = cell.blocks.iter().filter(|run| run.status == Status::Done);
    let pairs = done.filter_map(|run| run.estimated_s.zip(run.wall_s));
    let (estimated, measured) = pairs.fold((0.0, 0.0), |sum, own| (sum.0 + own.0, sum.1 + own.1));
    let ratio: f64 = measured / estimated;
    // Differences below a second are the variation of process starts.
    let factor = ratio.max(1.0 / ratio);
    let is_far = factor > FAR && (measured - estimated).abs() >= 1.0;
    (estimated > 0.0 && is_far).then(|| (factor, times_text(ratio)))
}

fn undeclared_difference(view: &View<'_>) -> Option<String> {
    let paths = treatment::undeclared_settings(view);
    let words = count(paths.len(), "setting");
    let found = || format!("{words} that it does not set: {}", paths.join(", "));
    (!paths.is_empty()).then(found)
}

/// The distinct values of `get` among the cells, as text; `None` if there are fewer than two.
fn several<'v, 'a>(view: &'v View<'a>, get: fn(&'v Cell<'a>) -> Option<&'v str>) -> Option<String> {
    let values: BTreeSet<&str> = view.cells.iter().filter_map(get).collect();
    let list = || values.iter().copied().collect::<Vec<_>>().join(", ");
    (values.len() > 1).then(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden::ddpm;

    #[test]
    fn the_worst_cells_are_named() {
        let mut set = ddpm();
        set.timings.iter_mut().for_each(|row| row.outliers = 0);
        let shown = [1, 2, 4, 3];
        for (row, outliers) in set.timings.iter_mut().zip(shown) {
            (row.n, row.outliers) = (10, outliers);
        }
        let text = named(&View::of(&set), outliers).expect("cells");
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(
            place("4 of 10") < place("3 of 10") && text.ends_with("and 2 more"),
            "{text}"
        );
    }

    #[test]
    fn results_of_a_program_that_differ_are_told() {
        let mut set = ddpm();
        set.runs[0].facts.as_mut().expect("facts").nondeterministic = "loss".into();
        let told = |set: &_| named(&View::of(set), nondeterministic);
        assert_eq!(told(&set), None);
        set.plan.cells[0].spec["model"] = serde_json::json!({ "kind": "command" });
        assert!(told(&set).is_some_and(|told| told.ends_with("(loss)")));
    }

    /// Pages do not explain the rules, so `docs/reports.md` must have each of them.
    #[test]
    fn every_rule_is_documented() {
        let page = include_str!("../../../docs/reports.md");
        for (rule, ..) in RULES {
            assert!(page.contains(&format!("\n| `{rule}` | ")), "{rule}");
        }
    }
}
