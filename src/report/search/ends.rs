//! The section on ensembles: the mean of a study's best trials, compared with its best single trial.

use std::collections::BTreeMap;

use crate::base::units::human;
use crate::report::section::Section;
use crate::report::sections::field::{self, Field};
use crate::report::table::Entry;
use crate::results::Status;

use super::trial::Trial;
use super::trials::Search;

/// Largest number of metrics in the comparison of an ensemble with the best trial.
const METRICS: usize = 8;

/// The section that compares the ensembles with the best single trials; `None` without ensembles.
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
        let best = study.best_first(search.first_objective()).first().copied();
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
    let rows = models
        .into_iter()
        .map(|model| (model.1.cell.info.key.clone(), model));
    let table = field::of_rows(head, &fields, rows);
    let rule = "both are evaluated on the same data, one seed, no test; the best trial was chosen by these values, and so \
                were the members: on data that nobody chose by, both may be worse.";
    Some(Section::of_table_and_rule(table, rule, Vec::new()))
}

fn metrics(trial: &Trial<'_, '_>) -> BTreeMap<String, Option<f64>> {
    let facts = trial.row().and_then(|row| row.facts.as_ref());
    facts.map_or_else(BTreeMap::new, |facts| facts.metrics.clone())
}
