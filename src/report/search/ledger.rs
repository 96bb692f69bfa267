//! The pruning ledger: who was ended when, by which value against which threshold; what that spared, and what the
//! pruned trials would have come to where some were run to their end.

use crate::base::text::count;
use crate::base::units::{human, human_integer, human_seconds};
use crate::plan::search::{HalvingSection, MedianSection, PrunerSpec};
use crate::report::judged::Judged;
use crate::report::number::Provenance;
use crate::report::table::{Column, Entry, Row, Table};

use super::trials::{Ending, Search, Study, Trial};

/// Numbers of trials that a field names.
const NAMED: usize = 12;

/// What pruning one trial spared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spared {
    /// Epochs that it trained.
    pub(crate) epochs: usize,
    /// Epochs that it would have trained at most.
    pub(crate) planned: usize,
    /// Mean seconds of its epochs, validation with them; `None` where no time was measured.
    pub(crate) epoch_s: Option<f64>,
}

impl Spared {
    /// Of a pruned trial; `None` where the results do not say how many epochs there were.
    pub(crate) fn of(search: &Search<'_, '_>, trial: &Trial<'_, '_>) -> Option<Self> {
        let planned = search
            .view
            .section(trial.cell, "train")?
            .get("epochs")?
            .as_u64()?;
        let step = trial.info.pruned.as_ref().map(|pruned| pruned.step + 1);
        let epochs = trial.epochs().or(step)?;
        let times = trial.cell.blocks.iter().find_map(|run| run.times.as_ref());
        let inside = times.map(|times| times.train_s + times.validation_s);
        let seconds = inside.or_else(|| trial.wall_s());
        Some(Self {
            epochs,
            planned: usize::try_from(planned).unwrap_or(usize::MAX),
            epoch_s: seconds.map(|seconds| seconds / epochs.max(1) as f64),
        })
    }

    /// Epochs that it did not train.
    pub(crate) fn left(&self) -> usize {
        self.planned.saturating_sub(self.epochs)
    }

    /// Seconds that they would have taken at the pace of those that it did train.
    pub(crate) fn seconds(&self) -> Option<f64> {
        Some(self.epoch_s? * self.left() as f64)
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
                sum.left += spared.as_ref().map_or(0, Spared::left);
                sum.seconds += spared.and_then(|spared| spared.seconds()).unwrap_or(0.0);
            }
        }
        sum
    }

    /// Share of the epochs that pruning spared; `None` for none at all.
    pub(crate) fn share(&self) -> Option<f64> {
        let all = self.left + self.trained;
        (all > 0).then(|| self.left as f64 / all as f64)
    }
}

/// The ledger; `None` for a search that prunes nothing by its manifest.
pub(crate) fn judged(search: &Search<'_, '_>) -> Option<Judged> {
    let rule = rule(&search.spec.pruner)?;
    let pruned: Vec<(&Study<'_, '_>, Trial<'_, '_>)> = search
        .studies
        .iter()
        .flat_map(|study| study.ended(Ending::Pruned).map(move |trial| (study, trial)))
        .collect();
    let is_several = search.studies.len() > 1;
    let rows = pruned
        .iter()
        .map(|(study, trial)| row(search, is_several.then_some(*study), trial));
    let about = "Every pruned trial, with the value and the threshold that decided. The time spared was not measured: it is \
                 the mean epoch of the trial itself × the epochs that it did not train, at most, since early stopping may \
                 have ended it anyway."
        .to_owned();
    let table = Table::of_rows(
        ("search-pruned", "Pruned trials", about),
        columns(search, is_several),
        rows.collect(),
    );
    Some(Judged::new(table, rule, verdicts(search)))
}

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
            if *interval_steps == 1 {
                "step".to_owned()
            } else {
                format!("{interval_steps} steps")
            }
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

fn columns(search: &Search<'_, '_>, is_several: bool) -> Vec<Column> {
    let facts = Provenance::Measured("facts of the run".into());
    let decided = Provenance::Measured("best value up to that step".into());
    let threshold = Provenance::Derived("by the rule, from the named trials’ values".into());
    let metric = search
        .trials()
        .find_map(|trial| Some(trial.info.pruned.as_ref()?.metric.clone()));
    let mut columns = Vec::new();
    if is_several {
        columns.push(Column::text("study"));
    }
    columns.extend([
        Column::setting("trial"),
        Column::number("at step", "", &facts),
        Column::number(
            &format!(
                "best {} so far",
                metric.unwrap_or_else(|| "value".to_owned())
            ),
            "",
            &decided,
        ),
        Column::number("threshold", "", &threshold),
        Column::text("made of trials"),
        Column::number("epochs", "", &facts),
        Column::number(
            "epochs spared",
            "",
            &Provenance::Derived("train.epochs less epochs, at most".into()),
        ),
        Column::number(
            "time spared (not measured)",
            "s",
            &Provenance::Derived("mean epoch of the trial itself × epochs not trained".into()),
        ),
    ]);
    columns
}

fn row(search: &Search<'_, '_>, study: Option<&Study<'_, '_>>, trial: &Trial<'_, '_>) -> Row {
    let mut fields: Vec<Entry> = study
        .map(|study| Entry::text(study.name.clone()))
        .into_iter()
        .collect();
    fields.push(Entry::text(trial.info.number.to_string()));
    let dash = || Entry::text("–");
    match &trial.info.pruned {
        None => fields.extend([dash(), dash(), dash(), Entry::text("not recorded")]),
        Some(pruned) => fields.extend([
            Entry::value(pruned.step as f64, pruned.step.to_string()),
            figure(pruned.value),
            figure(pruned.threshold),
            Entry::text(numbers(&pruned.trials)),
        ]),
    }
    let spared = Spared::of(search, trial);
    let whole = |value: usize| Entry::value(value as f64, human_integer(value as u64));
    fields.push(trial.epochs().map_or_else(dash, whole));
    fields.push(
        spared
            .as_ref()
            .map_or_else(dash, |spared| whole(spared.left())),
    );
    let seconds = spared.and_then(|spared| spared.seconds());
    fields.push(seconds.map_or_else(dash, |seconds| Entry::value(seconds, human(seconds, 3))));
    Row {
        key: trial.cell.info.key.clone(),
        fields,
        missing: None,
    }
}

fn figure(value: f64) -> Entry {
    if value.is_finite() {
        Entry::value(value, human(value, 5))
    } else {
        Entry::text("not a number")
    }
}

/// "0, 1, 2, 5 and 7": the first few, and how many others there are.
fn numbers(trials: &[usize]) -> String {
    let shown: Vec<String> = trials.iter().take(NAMED).map(usize::to_string).collect();
    match trials.len() {
        0 => "none".to_owned(),
        n if n > NAMED => format!("{} and {} more", shown.join(", "), n - NAMED),
        _ => shown.join(", "),
    }
}

fn verdicts(search: &Search<'_, '_>) -> Vec<String> {
    let sum = Sum::of(search);
    if sum.pruned == 0 {
        return vec![format!(
            "None of {} was pruned.",
            count(sum.trials, "trial")
        )];
    }
    let share = sum.share().map_or_else(String::new, |share| {
        format!(
            ", {} % of all that it would have trained without",
            human(share * 100.0, 3)
        )
    });
    vec![format!(
        "{} of {} were pruned, {} spared{share}; at the pruned trials’ own pace that is {} of trial time (derived, not \
         measured).",
        sum.pruned,
        count(sum.trials, "trial"),
        count(sum.left, "epoch"),
        human_seconds(sum.seconds)
    )]
}

/// Pruned trials that ran to their end; `None` where the manifest asks for none and there is none.
pub(crate) fn regret(search: &Search<'_, '_>) -> Option<Judged> {
    let runs = || {
        search
            .studies
            .iter()
            .flat_map(|study| study.regret.iter().map(move |trial| (study, trial)))
    };
    runs().next()?;
    let is_several = search.studies.len() > 1;
    let rows = runs().map(|(study, trial)| regret_row(search, study, trial, is_several));
    let about = "Pruned trials, drawn by the search’s seed and run again to their end beside the search, which learned \
                 nothing from them."
        .to_owned();
    let first = search.first();
    let mut columns = Vec::new();
    if is_several {
        columns.push(Column::text("study"));
    }
    let clock = Provenance::Measured("n = 1: start to end of the run".into());
    columns.extend([
        Column::setting("trial"),
        first.heading(),
        Column::number(
            "best of the study",
            first.unit(),
            &Provenance::Measured("n = 1: one run each".into()),
        ),
        Column::text("beats it"),
        Column::number("wall, pruned", "s", &clock),
        Column::number("wall, to the end", "s", &clock),
    ]);
    let table = Table::of_rows(
        ("search-regret", "What pruning missed", about),
        columns,
        rows.collect(),
    );
    let rule = "the value at the end of a pruned trial that was run on, held against the best of its study: both measured, \
                one run each.";
    Some(Judged::new(table, rule, vec![missed(search)]))
}

fn best_value(search: &Search<'_, '_>, study: &Study<'_, '_>) -> Option<f64> {
    search
        .first()
        .value(study.best_first(search.first()).first()?)
}

/// Whether a trial that was run to its end beats the best of its study; `None` where one has no value.
fn beats(search: &Search<'_, '_>, study: &Study<'_, '_>, trial: &Trial<'_, '_>) -> Option<bool> {
    let loss = |value: f64| search.first().direction.as_loss(value);
    let own = search.first().value(trial)?;
    Some(loss(own) < loss(best_value(search, study)?))
}

fn regret_row(
    search: &Search<'_, '_>,
    study: &Study<'_, '_>,
    trial: &Trial<'_, '_>,
    is_several: bool,
) -> Row {
    let first = search.first();
    let seconds = |trial: Option<&Trial<'_, '_>>| {
        trial.and_then(Trial::wall_s).map_or_else(
            || Entry::text("–"),
            |wall| Entry::value(wall, human(wall, 3)),
        )
    };
    let same = |other: &&Trial<'_, '_>| other.info.number == trial.info.number;
    let mut fields = Vec::new();
    if is_several {
        fields.push(Entry::text(study.name.clone()));
    }
    fields.extend([
        Entry::text(trial.info.number.to_string()),
        first.entry(trial),
        best_value(search, study).map_or_else(
            || Entry::text("–"),
            |value| Entry::value(value, first.show(value)),
        ),
        Entry::text(match beats(search, study, trial) {
            Some(true) => "yes",
            Some(false) => "no",
            None => "no value",
        }),
        seconds(study.trials.iter().find(same)),
        seconds(Some(trial)),
    ]);
    Row {
        key: trial.cell.info.key.clone(),
        fields,
        missing: None,
    }
}

fn missed(search: &Search<'_, '_>) -> String {
    let runs = search.studies.iter().flat_map(|study| {
        study
            .regret
            .iter()
            .map(move |trial| beats(search, study, trial))
    });
    let known: Vec<bool> = runs.flatten().collect();
    let missed = known.iter().filter(|beats| **beats).count();
    let all = count(known.len(), "pruned trial");
    match missed {
        0 => format!("None of {all} that ran to the end beats the best of its study."),
        n => format!(
            "{n} of {all} that ran to the end beat the best of the study: pruning missed them."
        ),
    }
}
