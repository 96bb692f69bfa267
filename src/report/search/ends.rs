//! What comes after the trials: the ensemble, and the final training of the best configuration.

use std::collections::BTreeMap;

use crate::base::units::{human, human_seconds};
use crate::report::section::Section;
use crate::report::sections::cost::wall_s;
use crate::report::sections::field::{self, Field};
use crate::report::table::Entry;
use crate::results::{self, ResultSet, RunRow, Status};

use super::best_trials;
use super::objective::Objective;
use super::shown::{keyed, plain};
use super::time;
use super::trials::{Search, Trial};

/// Metrics that an ensemble is held against the best trial in.
const METRICS: usize = 8;

/// The ensembles beside the best single trials; `None` where there is none.
pub(super) fn ensemble(search: &Search<'_, '_>) -> Option<Section> {
    type OfModel<'f, 'v, 'a> = Field<'f, (String, Trial<'v, 'a>)>;
    let mut models: Vec<(String, Trial<'_, '_>)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for study in &search.studies {
        let Some(ensemble) = study.ensemble else {
            continue;
        };
        let mean = format!(
            "mean of the best {}{}",
            search.spec.ensemble,
            study.suffix()
        );
        models.push((mean, ensemble));
        let best = study.best_first(search.first()).first().copied();
        models.extend(best.map(|best| {
            let name = format!("best single, {}", search.trial_name(&best));
            (name, best)
        }));
        let known = metrics(&ensemble).into_iter();
        let known = known.filter(|(name, value)| value.is_some() && !names.contains(name));
        let known: Vec<String> = known.map(|(name, _)| name).collect();
        names.extend(known);
    }
    if models.is_empty() {
        return None;
    }
    names.truncate(METRICS);
    let mut fields = vec![OfModel::text("model", |(name, _)| name.clone())];
    fields.extend(names.iter().map(|name| {
        OfModel::measured(name, "", "n = 1: one evaluation", |(_, trial)| {
            let value = metrics(trial).get(name).copied().flatten();
            Entry::shown(value, |value| human(value, 5))
        })
    }));
    fields.push(OfModel::text("note", |(_, trial)| {
        match trial.cell.status {
            Status::Done => "–".to_owned(),
            status => format!("{status}: {}", trial.cell.reason),
        }
    }));
    let about = "The mean of the predictions of the best trials by the first objective, beside the best of them alone.";
    let head = ("search-ensemble", "Ensemble", about.to_owned());
    let table = field::of_rows(head, &fields, keyed(models, |(_, trial)| trial));
    let rule = "both are evaluated on the same data, one seed, no test; the best trial was chosen by these values, and so \
                were the members: on data that nobody chose by, both may be worse.";
    Some(Section::judged(table, rule, Vec::new()))
}

fn metrics(trial: &Trial<'_, '_>) -> BTreeMap<String, Option<f64>> {
    let facts = trial.row().and_then(|row| row.facts.as_ref());
    facts.map_or_else(BTreeMap::new, |facts| facts.metrics.clone())
}

/// A part of the way to the best model: what, how long, with which result.
type Part = (String, Option<f64>, String);
type OfPart = Field<'static, Part>;

/// The time to the best model: the search and the final training; without results of that, how to get them.
pub(super) fn best_model(
    search: &Search<'_, '_>,
    name: &str,
    beside: Option<&ResultSet>,
) -> Section {
    let makespan = time::whole(search).map(|found| found.makespan_s);
    let mut parts: Vec<Part> = vec![("search, makespan".to_owned(), makespan, found(search))];
    let runs = beside.map_or_else(Vec::new, |set| final_runs(search, set));
    if runs.is_empty() {
        let command = format!("not run: fieldtrial run reports/{name}/best.toml");
        parts.push(("final training".to_owned(), None, command));
    } else {
        parts.extend(runs);
        let total: Option<f64> = parts.iter().map(|(_, seconds, _)| *seconds).sum();
        let total = total.map(|total| {
            let name = "time to the best model".to_owned();
            (name, Some(total), "–".to_owned())
        });
        parts.extend(total);
    }
    let about = format!(
        "The search, then the training of the best configuration as reports/{name}/best.toml has it."
    );
    let clock = "n = 1: start and wall time of each run";
    let fields = [
        OfPart::text("part", |(part, ..)| part.clone()),
        OfPart::measured("time", "", clock, |(_, seconds, _)| {
            Entry::shown(*seconds, human_seconds)
        }),
        OfPart::text("result", |(.., result)| result.clone()),
    ];
    let head = ("search-final", "Time to the best model", about);
    let table = field::of_rows(head, &fields, plain(parts));
    let rule = "makespan of the search + wall time of the final training; time between the two does not count. The best of \
                many on the split that chose it is optimistic; a metric of a split that chose nothing is not.";
    Section::judged(table, rule, Vec::new())
}

/// The best value of each study, with how many it is the best of on the split that chose it.
fn found(search: &Search<'_, '_>) -> String {
    let first = search.first();
    let best = best_trials(search)
        .into_iter()
        .filter_map(|(study, trial)| {
            let value = first.show(first.value(&trial)?);
            let (column, name) = (&first.column, search.trial_name(&trial));
            let optimism = first.optimism(&study.trials).unwrap_or_default();
            let split = search.view.section(trial.cell, "validation");
            let is_tested = split.is_some_and(|validation| validation["split"] == "test");
            let fresh = trial.row().and_then(|row| first.fresh(row, is_tested));
            let fresh = fresh.unwrap_or_default();
            Some(format!("{column} {value} ({name}{optimism}){fresh}"))
        });
    let best: Vec<String> = best.collect();
    if best.is_empty() {
        "no done trial".to_owned()
    } else {
        best.join("; ")
    }
}

/// The final trainings.
fn final_runs(search: &Search<'_, '_>, set: &ResultSet) -> Vec<Part> {
    let rows = set.runs.iter().map(|row| {
        let mut runs = set.blocks.iter();
        let is_own = |run: &&results::BlockRow| run.key == row.key && run.seed == row.seed;
        let seconds = runs.by_ref().filter(is_own).map(wall_s);
        let walls: Vec<f64> = seconds.flatten().collect();
        let seconds = (!walls.is_empty()).then(|| walls.iter().sum());
        let what = if set.runs.len() > 1 {
            format!("final training, {}", row.key)
        } else {
            "final training".to_owned()
        };
        (what, seconds, outcome(search.first(), set, row))
    });
    rows.collect()
}

/// Status and value of a final training.
fn outcome(objective: &Objective, set: &ResultSet, row: &RunRow) -> String {
    let Some(facts) = row.facts.as_ref().filter(|_| row.status == Status::Done) else {
        return format!("{}: {}", row.status, row.reason);
    };
    let (column, epochs) = (&objective.column, facts.epochs);
    let texts = results::fact_texts(facts);
    let own = texts.iter().find(|(name, _)| name == column);
    let value = own.and_then(|(_, text)| text.parse().ok());
    let of_epochs = set.epochs.iter().filter(|epoch| epoch.key == row.key);
    let mut names = of_epochs.flat_map(|epoch| epoch.epoch.validation.keys());
    let is_tested = names.any(|name| name.starts_with("test_"));
    let fresh = objective.fresh(row, is_tested).unwrap_or_default();
    match value {
        Some(value) => {
            let value = objective.show(value);
            format!("{column} {value} after {epochs} epochs{fresh}")
        }
        None => format!("done, {epochs} epochs{fresh}"),
    }
}
