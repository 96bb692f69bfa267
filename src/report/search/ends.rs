//! What comes after the trials: the ensemble, the final training of the best configuration; and trials that failed.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::units::{human, human_integer, human_seconds};
use crate::report::judged::Judged;
use crate::report::number::Provenance;
use crate::report::sections::cost::wall_s;
use crate::report::table::{Column, Entry, Row, Table};
use crate::results::{self, ResultSet, RunRow, Status};

use super::objective::Objective;
use super::time;
use super::trials::{Ending, Search, Study, Trial};

/// Failed trials that are listed.
const FAILED: usize = 50;
/// Metrics that an ensemble is held against the best trial in.
const METRICS: usize = 8;

/// Trials that failed or gave no value; `None` where there is none.
pub(crate) fn failed(search: &Search<'_, '_>) -> Option<Table> {
    let failed: Vec<Trial<'_, '_>> = search
        .studies
        .iter()
        .flat_map(|study| study.ended(Ending::Failed))
        .collect();
    if failed.is_empty() {
        return None;
    }
    let rows = failed.iter().take(FAILED).map(|trial| {
        let reason = match (trial.cell.status, trial.cell.reason) {
            (Status::Done, _) => "no value of an objective".to_owned(),
            (_, "") => "–".to_owned(),
            (_, reason) => reason.to_owned(),
        };
        Row {
            key: trial.cell.info.key.clone(),
            fields: vec![
                Entry::text(search.trial_name(trial)),
                Entry::text(trial.cell.status.to_string()),
                Entry::text(reason),
                Entry::text(search.point_in_words(&trial.info.point)),
            ],
            missing: None,
        }
    });
    let about = "They are results: samplers and pruners learn nothing from them, and their time and cost count.".to_owned();
    let mut table = Table::of_rows(
        ("search-failed", "Failed trials", about),
        ["trial", "status", "reason", "proposed"]
            .map(Column::text)
            .into(),
        rows.collect(),
    );
    if failed.len() > FAILED {
        let all = human_integer(failed.len() as u64);
        table.cut = Some(format!(
            "The first {FAILED} of {all}; all of them are in runs.csv."
        ));
    }
    Some(table)
}

/// The ensembles beside the best single trials; `None` where there is none.
pub(crate) fn ensemble(search: &Search<'_, '_>) -> Option<Judged> {
    let pairs: Vec<(&Study<'_, '_>, Trial<'_, '_>, Option<Trial<'_, '_>>)> = search
        .studies
        .iter()
        .filter_map(|study| {
            let best = study.best_first(search.first()).first().copied();
            Some((study, study.ensemble?, best))
        })
        .collect();
    let metrics = shared(&pairs);
    if pairs.is_empty() {
        return None;
    }
    let rows = pairs.iter().flat_map(|(study, ensemble, best)| {
        let name = format!(
            "mean of the best {}{}",
            search.spec.ensemble,
            study.suffix()
        );
        let own = ensemble_row(ensemble, name, &metrics);
        let best = best.map(|best| {
            let name = format!("best single, {}", search.trial_name(&best));
            ensemble_row(&best, name, &metrics)
        });
        [Some(own), best].into_iter().flatten()
    });
    let measured = Provenance::Measured("n = 1: one evaluation".into());
    let mut columns = vec![Column::text("model")];
    columns.extend(
        metrics
            .iter()
            .map(|name| Column::number(name, "", &measured)),
    );
    columns.push(Column::text("note"));
    let about = "The mean of the predictions of the best trials by the first objective, beside the best of them alone.".to_owned();
    let table = Table::of_rows(
        ("search-ensemble", "Ensemble", about),
        columns,
        rows.collect(),
    );
    let rule = "both are evaluated on the same data; the best trial was chosen by these values, and so were the members: \
                on data that nobody chose by, both may be worse.";
    Some(Judged::new(table, rule, verdicts(search, &pairs, &metrics)))
}

/// Names of the metrics that ensembles have.
fn shared(pairs: &[(&Study<'_, '_>, Trial<'_, '_>, Option<Trial<'_, '_>>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, ensemble, _) in pairs {
        for (name, value) in metrics(ensemble) {
            if value.is_some() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names.truncate(METRICS);
    names
}

fn metrics(trial: &Trial<'_, '_>) -> BTreeMap<String, Option<f64>> {
    let facts = trial.row().and_then(|row| row.facts.as_ref());
    facts.map_or_else(BTreeMap::new, |facts| facts.metrics.clone())
}

fn ensemble_row(trial: &Trial<'_, '_>, name: String, names: &[String]) -> Row {
    let own = metrics(trial);
    let mut fields = vec![Entry::text(name)];
    fields.extend(names.iter().map(|name| {
        let value = own.get(name).copied().flatten();
        value.map_or_else(
            || Entry::text("–"),
            |value| Entry::value(value, human(value, 5)),
        )
    }));
    fields.push(Entry::text(match trial.cell.status {
        Status::Done => "–".to_owned(),
        status => format!("{status}: {}", trial.cell.reason),
    }));
    Row {
        key: trial.cell.info.key.clone(),
        fields,
        missing: None,
    }
}

fn verdicts(
    search: &Search<'_, '_>,
    pairs: &[(&Study<'_, '_>, Trial<'_, '_>, Option<Trial<'_, '_>>)],
    names: &[String],
) -> Vec<String> {
    let wanted = &search.first().column;
    let plain = wanted.strip_prefix("best_").unwrap_or(wanted);
    let Some(name) = names
        .iter()
        .find(|name| *name == wanted || *name == plain || name.ends_with(plain))
    else {
        return Vec::new();
    };
    let sentences = pairs.iter().filter_map(|(study, ensemble, best)| {
        let own = metrics(ensemble).get(name).copied().flatten()?;
        let single = metrics(&(*best)?).get(name).copied().flatten()?;
        let loss = |value: f64| search.first().direction.as_loss(value);
        let word = if loss(own) < loss(single) {
            "better than"
        } else if loss(own) > loss(single) {
            "worse than"
        } else {
            "equal to"
        };
        Some(format!(
            "{name}{}: the ensemble’s {} is {word} the best single trial’s {} (one seed, no test).",
            study.suffix(),
            human(own, 5),
            human(single, 5)
        ))
    });
    sentences.collect()
}

/// The time to the best model: the search and the final training; without results of that, how to get them.
pub(crate) fn best_model(
    search: &Search<'_, '_>,
    name: &str,
    beside: Option<&ResultSet>,
) -> Judged {
    let found = time::whole(search);
    let clock = Provenance::Measured("n = 1: start and wall time of each run".into());
    let columns = vec![
        Column::text("part"),
        Column::number("time", "", &clock),
        Column::text("result"),
    ];
    let row = |part: &str, seconds: Option<f64>, result: String| Row {
        key: String::new(),
        fields: vec![
            Entry::text(part),
            seconds.map_or_else(
                || Entry::text("–"),
                |seconds| Entry::value(seconds, human_seconds(seconds)),
            ),
            Entry::text(result),
        ],
        missing: None,
    };
    let mut rows = vec![row(
        "search, makespan",
        found.map(|found| found.makespan_s),
        best_in_words(search),
    )];
    let command = format!("fieldtrial run reports/{name}/best.toml");
    let finals = beside
        .map(|set| final_runs(search, set))
        .unwrap_or_default();
    let mut verdicts = Vec::new();
    if finals.is_empty() {
        rows.push(row("final training", None, format!("not run: {command}")));
        verdicts.push(format!(
            "The best configuration was not trained in full: not run: {command}."
        ));
    }
    let mut total = found.map(|found| found.makespan_s);
    for (what, seconds, result) in finals {
        total = total.zip(seconds).map(|(sum, own)| sum + own);
        rows.push(row(&what, seconds, result));
    }
    if let Some(total) = total.filter(|_| beside.is_some() && verdicts.is_empty()) {
        rows.push(row("time to the best model", Some(total), "–".to_owned()));
        verdicts.push(format!(
            "From the first trial to the finished best model: {} (search and final training, one after the other).",
            human_seconds(total)
        ));
    }
    let about = format!(
        "The search, then the training of the best configuration as reports/{name}/best.toml has it."
    );
    let table = Table::of_rows(
        ("search-final", "Time to the best model", about),
        columns,
        rows,
    );
    let rule = "makespan of the search + wall time of the final training; time between the two does not count.";
    Judged::new(table, rule, verdicts)
}

fn best_in_words(search: &Search<'_, '_>) -> String {
    let first = search.first();
    let best = search.studies.iter().filter_map(|study| {
        let trial = super::front::chosen(search, study)?;
        let value = first.show(first.value(&trial)?);
        Some(format!(
            "{} {value} ({})",
            first.column,
            search.trial_name(&trial)
        ))
    });
    let best: Vec<String> = best.collect();
    if best.is_empty() {
        "no done trial".to_owned()
    } else {
        best.join("; ")
    }
}

/// The final trainings: what, seconds, result.
fn final_runs(search: &Search<'_, '_>, set: &ResultSet) -> Vec<(String, Option<f64>, String)> {
    let several = set.runs.len() > 1;
    let rows = set.runs.iter().map(|row| {
        let runs = set
            .blocks
            .iter()
            .filter(|run| run.key == row.key && run.seed == row.seed);
        let walls: Vec<f64> = runs.filter_map(wall_s).collect();
        let seconds = (!walls.is_empty()).then(|| walls.iter().sum());
        let what = if several {
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
    if row.status != Status::Done {
        return format!("{}: {}", row.status, row.reason);
    }
    let value = value_of(objective, set, row);
    let epochs = row.facts.as_ref().map_or(0, |facts| facts.epochs);
    value.map_or_else(
        || format!("done, {epochs} epochs"),
        |value| {
            format!(
                "{} {} after {epochs} epochs",
                objective.column,
                objective.show(value)
            )
        },
    )
}

/// The objective's value of a run in other results.
fn value_of(objective: &Objective, set: &ResultSet, row: &RunRow) -> Option<f64> {
    let facts = row.facts.as_ref()?;
    let _ = set;
    let shown = results::fact_texts(facts);
    let (_, text) = shown.iter().find(|(name, _)| *name == objective.column)?;
    text.parse().ok()
}

/// Results of the final training beside those of the search, where they are of its `best.toml`.
pub(crate) fn read_beside(folder: &Path, name: &str) -> Option<ResultSet> {
    let beside = folder.join("..").join(format!("{name}-best"));
    let set = results::read(&beside).ok()?;
    (set.plan.name == format!("{name}-best")).then_some(set)
}
