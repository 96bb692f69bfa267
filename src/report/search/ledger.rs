//! Time that pruning saved, and whether pruned trials that were repeated without pruning would have been the best.

use crate::base::text::count;
use crate::base::units::human;
use crate::plan::search::PrunerSpec;

use super::trial::{Ending, Trial};
use super::trials::{Search, Study};

/// Numbers of epochs that pruning saved and that trials trained.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct EpochTotals {
    pub(crate) pruned: usize,
    pub(crate) trials: usize,
    pub(crate) left: usize,
    pub(crate) trained: usize,
}

impl EpochTotals {
    /// The sum over some trials of a search.
    pub(crate) fn of<'v, 'a: 'v>(
        search: &Search<'_, '_>,
        trials: impl Iterator<Item = Trial<'v, 'a>>,
    ) -> Self {
        let mut sum = Self::default();
        for trial in trials {
            sum.trials += 1;
            sum.trained += trial.epochs().unwrap_or(0);
            if trial.ending() == Ending::Pruned {
                sum.pruned += 1;
                sum.left += left(search, &trial).unwrap_or(0);
            }
        }
        sum
    }
}

/// Epochs that a pruned trial did not train; `None` if the number of planned epochs is unknown.
fn left(search: &Search<'_, '_>, trial: &Trial<'_, '_>) -> Option<usize> {
    let train = search.view.section(trial.cell, "train")?;
    let planned = usize::try_from(train.get("epochs")?.as_u64()?).ok()?;
    let step = trial.info.pruned.as_ref().map(|pruned| pruned.step + 1);
    Some(planned.saturating_sub(trial.epochs().or(step)?))
}

/// Sentence: how many trials were pruned and how much that saved; `None` for a search without a pruner.
pub(super) fn pruning_sentence(search: &Search<'_, '_>) -> Option<String> {
    if matches!(search.spec.pruner, PrunerSpec::None(_)) {
        return None;
    }
    let sum = EpochTotals::of(search, search.trials());
    let trials = count(sum.trials, "trial");
    if sum.pruned == 0 {
        return Some(format!("None of {trials} was pruned."));
    }
    let all = (sum.left + sum.trained).max(1);
    Some(format!(
        "{} of {trials} were pruned, which saved at most {}, {} % of those that would have run without pruning.",
        sum.pruned,
        count(sum.left, "epoch"),
        human(sum.left as f64 / all as f64 * 100.0, 3),
    ))
}

/// Sentence: whether pruned trials that were repeated without pruning (chosen at random by the search's seed) beat the
/// best of their study; `None` without such trials.
pub(crate) fn regret_sentence(search: &Search<'_, '_>) -> Option<String> {
    let runs = search.studies.iter();
    let runs = runs.flat_map(|study| study.regret.iter().map(move |trial| (study, trial)));
    let known: Vec<bool> = runs
        .filter_map(|(study, trial)| beats(search, study, trial))
        .collect();
    let all = count(known.len(), "pruned trial");
    Some(match known.iter().filter(|beats| **beats).count() {
        _ if known.is_empty() => return None,
        0 => format!("None of {all} that ran to the end beats the best of its study."),
        n => format!(
            "{n} of {all} that ran to the end beat the best of the study: pruning missed them."
        ),
    })
}

/// Whether a trial that was repeated without pruning beats the best of its study; `None` if one of them has no value.
fn beats(search: &Search<'_, '_>, study: &Study<'_, '_>, trial: &Trial<'_, '_>) -> Option<bool> {
    let first = search.first_objective();
    let best = *study.best_first(first).first()?;
    Some(first.loss(trial)? < first.loss(&best)?)
}
