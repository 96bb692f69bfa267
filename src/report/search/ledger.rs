//! The pruning ledger: who was ended when, by which value against which threshold; what that spared, and what the
//! pruned trials would have come to where some were run to their end.

use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::plan::search::{HalvingSection, MedianSection, PrunerSpec};
use crate::report::section::Section;
use crate::report::sections::field::{self, Field};
use crate::report::table::Entry;

use super::shown::{OfStudy, keyed, of_trials};
use super::trials::{Ending, Search, Study, Trial};

/// A column of a trial of a study.
type OfPruned<'f, 's, 'v, 'a> = Field<'f, OfStudy<'s, 'v, 'a>>;

/// What pruning one trial spared.
struct Spared {
    /// Epochs that it did not train.
    left: usize,
    /// Seconds that they would have taken at the pace of those that it did train, validation with them; `None` where no
    /// time was measured.
    seconds: Option<f64>,
}

impl Spared {
    /// Of a pruned trial; `None` where the results do not say how many epochs there were.
    fn of(search: &Search<'_, '_>, trial: &Trial<'_, '_>) -> Option<Self> {
        let train = search.view.section(trial.cell, "train")?;
        let planned = usize::try_from(train.get("epochs")?.as_u64()?).ok()?;
        let step = trial.info.pruned.as_ref().map(|pruned| pruned.step + 1);
        let epochs = trial.epochs().or(step)?;
        let times = trial
            .cell
            .blocks
            .iter()
            .find_map(|run| run.times.as_deref());
        let inside = times.map(|times| times.train_s + times.validation_s);
        let seconds = inside.or_else(|| trial.wall_s());
        let left = planned.saturating_sub(epochs);
        Some(Self {
            left,
            seconds: seconds.map(|seconds| seconds / epochs.max(1) as f64 * left as f64),
        })
    }
}

/// Epochs and seconds that pruning spared in a whole search, and the epochs that its trials trained.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Sum {
    pub(crate) pruned: usize,
    pub(crate) trials: usize,
    pub(crate) left: usize,
    pub(crate) seconds: f64,
    pub(crate) trained: usize,
}

impl Sum {
    /// Over all trials of a search.
    pub(crate) fn of(search: &Search<'_, '_>) -> Self {
        Self::over(search, search.trials())
    }

    /// Over the trials of a study.
    pub(crate) fn of_study(search: &Search<'_, '_>, study: &Study<'_, '_>) -> Self {
        Self::over(search, study.trials.iter().copied())
    }

    fn over<'v, 'a: 'v>(
        search: &Search<'_, '_>,
        trials: impl Iterator<Item = Trial<'v, 'a>>,
    ) -> Self {
        let mut sum = Self::default();
        for trial in trials {
            sum.trials += 1;
            sum.trained += trial.epochs().unwrap_or(0);
            if trial.ending() == Ending::Pruned {
                sum.pruned += 1;
                let spared = Spared::of(search, &trial);
                sum.left += spared.as_ref().map_or(0, |spared| spared.left);
                sum.seconds += spared.and_then(|spared| spared.seconds).unwrap_or(0.0);
            }
        }
        sum
    }
}

/// The ledger; `None` for a search that prunes nothing by its manifest.
pub(super) fn judged(search: &Search<'_, '_>) -> Option<Section> {
    let rule = rule(&search.spec.pruner)?;
    let pruned = search.studies.iter();
    let pruned =
        pruned.flat_map(|study| study.ended(Ending::Pruned).map(move |trial| (study, trial)));
    let pruned: Vec<OfStudy<'_, '_, '_>> = pruned.collect();
    let facts = "facts of the run";
    let decided = "best value up to that step";
    let threshold = "by the rule, from the named trials’ values";
    let left = "train.epochs less epochs, at most";
    let pace = "mean epoch of the trial itself × epochs not trained";
    let mut infos = search
        .trials()
        .filter_map(|trial| trial.info.pruned.as_ref());
    let metric = infos.next().map_or("value", |info| &info.metric);
    let best = format!("best {metric} so far");
    let whole = |value: Option<usize>| value.map_or_else(|| Entry::text("–"), Entry::count);
    let figure = |value: Option<f64>| match value {
        Some(value) if !value.is_finite() => Entry::text("not a number"),
        value => Entry::shown(value, |value| human(value, 5)),
    };
    let mut fields: Vec<OfPruned<'_, '_, '_, '_>> = of_trials(search, |own| own);
    fields.extend([
        OfPruned::measured("at step", "", facts, move |(_, trial)| {
            whole(trial.info.pruned.as_ref().map(|pruned| pruned.step))
        }),
        OfPruned::measured(&best, "", decided, move |(_, trial)| {
            figure(trial.info.pruned.as_ref().map(|pruned| pruned.value))
        }),
        OfPruned::derived("threshold", "", threshold, move |(_, trial)| {
            figure(trial.info.pruned.as_ref().map(|pruned| pruned.threshold))
        }),
        OfPruned::derived("epochs spared", "", left, move |(_, trial)| {
            whole(Spared::of(search, trial).map(|spared| spared.left))
        }),
        OfPruned::derived("time spared (not measured)", "s", pace, |(_, trial)| {
            let seconds = Spared::of(search, trial).and_then(|spared| spared.seconds);
            Entry::shown(seconds, |seconds| human(seconds, 3))
        }),
    ]);
    let head = ("search-pruned", "Pruned trials", ABOUT.to_owned());
    let table = field::of_rows(head, &fields, keyed(pruned, |(_, trial)| trial));
    Some(Section::judged(table, rule, vec![verdict(search)]))
}

/// What the ledger is.
const ABOUT: &str = "Every pruned trial, with the value and the threshold that decided. The time spared was not measured: it \
                     is the mean epoch of the trial itself × the epochs that it did not train, at most, since early \
                     stopping may have ended it anyway.";

fn rule(pruner: &PrunerSpec) -> Option<String> {
    match pruner {
        PrunerSpec::None(_) => None,
        PrunerSpec::Median(MedianSection {
            startup_trials,
            warmup_steps,
            interval_steps,
        }) => Some(format!(
            "median: from {} and step {warmup_steps} on, every {}, a trial ends when its best value so far is worse than \
             the median of the done trials’ values at that step. A step is an epoch, from 0. Only trials more than the lag \
             before it count.",
            count(*startup_trials, "done trial"),
            count(*interval_steps, "step").trim_start_matches("1 ")
        )),
        PrunerSpec::SuccessiveHalving(HalvingSection {
            min_resource,
            reduction,
            early_stopping_rate,
        }) => Some(format!(
            "successive halving: at rungs of {min_resource} × {reduction}^({early_stopping_rate} + rung) steps a trial \
             goes on when it is among the best 1 / {reduction} of those that came there. A step is an epoch, from 0."
        )),
    }
}

fn verdict(search: &Search<'_, '_>) -> String {
    let sum = Sum::of(search);
    let trials = count(sum.trials, "trial");
    if sum.pruned == 0 {
        return format!("None of {trials} was pruned.");
    }
    let all = (sum.left + sum.trained).max(1);
    format!(
        "{} of {trials} were pruned, {} spared, {} % of all that it would have trained without; at the pruned trials’ own pace \
         that is {} of trial time (derived, not measured).",
        sum.pruned,
        count(sum.left, "epoch"),
        human(sum.left as f64 / all as f64 * 100.0, 3),
        human_seconds(sum.seconds)
    )
}

/// Pruned trials that ran to their end; `None` where there is none.
pub(crate) fn regret(search: &Search<'_, '_>) -> Option<Section> {
    let runs = search.studies.iter();
    let runs = runs.flat_map(|study| study.regret.iter().map(move |trial| (study, *trial)));
    let runs: Vec<OfStudy<'_, '_, '_>> = runs.collect();
    let known: Vec<bool> = runs.iter().filter_map(|run| beats(search, run)).collect();
    if runs.is_empty() {
        return None;
    }
    let first = search.first();
    let one = "n = 1: one run each";
    let clock = "n = 1: start to end of the run";
    let seconds = |trial: Option<&Trial<'_, '_>>| {
        Entry::shown(trial.and_then(Trial::wall_s), |wall| human(wall, 3))
    };
    let mut fields: Vec<OfPruned<'_, '_, '_, '_>> = of_trials(search, |own| own);
    fields.extend([
        OfPruned::new(first.heading(), |(_, trial)| first.entry(trial)),
        OfPruned::measured("best of the study", first.unit(), one, |(study, _)| {
            Entry::shown(best_value(search, study), |value| first.show(value))
        }),
        OfPruned::text("beats it", |run| match beats(search, run) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "no value",
        }),
        OfPruned::measured("wall, pruned", "s", clock, move |(study, trial)| {
            let mut trials = study.trials.iter();
            seconds(trials.find(|other| other.info.number == trial.info.number))
        }),
        OfPruned::measured("wall, to the end", "s", clock, move |(_, trial)| {
            seconds(Some(trial))
        }),
    ]);
    let about = ABOUT_REGRET.to_owned();
    let head = ("search-regret", "What pruning missed", about);
    let table = field::of_rows(head, &fields, keyed(runs, |(_, trial)| trial));
    let all = count(known.len(), "pruned trial");
    let verdict = match known.iter().filter(|beats| **beats).count() {
        0 => format!("None of {all} that ran to the end beats the best of its study."),
        n => format!(
            "{n} of {all} that ran to the end beat the best of the study: pruning missed them."
        ),
    };
    let rule = "the value at the end of a pruned trial that was run on, held against the best of its study: both measured, \
                one run each.";
    Some(Section::judged(table, rule, vec![verdict]))
}

/// What the trials that ran on are.
const ABOUT_REGRET: &str = "Pruned trials, drawn by the search’s seed and run again to their end beside the search, which \
                            learned nothing from them.";

fn best_value(search: &Search<'_, '_>, study: &Study<'_, '_>) -> Option<f64> {
    let first = search.first();
    first.value(study.best_first(first).first()?)
}

/// Whether a trial that was run to its end beats the best of its study; `None` where one has no value.
fn beats(search: &Search<'_, '_>, (study, trial): &OfStudy<'_, '_, '_>) -> Option<bool> {
    let loss = |value: f64| search.first().direction.as_loss(value);
    let own = search.first().value(trial)?;
    Some(loss(own) < loss(best_value(search, study)?))
}
