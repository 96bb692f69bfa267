//! What the manifest asks of the search: assumed, not measured.

use crate::base::text::count;
use crate::base::units::{human_seconds, shortest};
use crate::plan::search::{Domain, Parameter, Space};
use crate::plan::toml_text;
use crate::report::table::Table;

use super::trials::Search;

/// Sampler, pruner, objectives, lag, seed, budget; defaults too.
pub(super) fn table(search: &Search<'_, '_>) -> Table {
    let spec = search.spec;
    let text = |value: serde_json::Result<serde_json::Value>| toml_text(&value.unwrap_or_default());
    let goals = search.objectives.iter().map(|objective| {
        let clock = if objective.is_clock {
            ", depends on the clock"
        } else {
            ""
        };
        format!("{}{clock}", objective.goal())
    });
    let goals: Vec<String> = goals.collect();
    let each = match search.studies.len() {
        0 | 1 => "",
        _ => " in each study",
    };
    let lag = format!(
        "{0}: a trial is decided from the trials more than {0} before it, so that any number of jobs gives the same trials",
        spec.lag
    );
    let seed = format!("{} (of sampler and regret sample)", spec.seed);
    let mut rows = vec![
        ("trials", format!("{}{each}", spec.trials)),
        ("objective", goals.join("; ")),
        ("sampler", text(serde_json::to_value(&spec.sampler))),
        ("pruner", text(serde_json::to_value(&spec.pruner))),
        ("lag", lag),
        ("seed", seed),
        ("jobs", format!("{} (--jobs overrides it)", spec.jobs)),
    ];
    let time = spec.max_time_s.map(human_seconds);
    rows.extend(time.map(|time| ("max-time", time)));
    let cost = spec.max_cost.and_then(shortest);
    rows.extend(cost.map(|cost| ("max-cost", cost)));
    if spec.regret > 0 {
        let pruned = count(spec.regret, "pruned trial");
        rows.push(("regret", format!("{pruned}{each} run again to the end")));
    }
    if spec.ensemble > 0 {
        let best = count(spec.ensemble, "best trial");
        let mean = format!("mean of the predictions of {best}{each}");
        rows.push(("ensemble", mean));
    }
    let finals = spec.final_set.iter();
    let finals = finals.map(|(path, value)| format!("{path} = {}", toml_text(value)));
    rows.extend(finals.map(|set| ("final training", set)));
    let about = "Assumed, from the manifest’s search section.".to_owned();
    let head = ("search-settings", "The search", about);
    let rows = rows
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value]);
    Table::of_texts(head, &["setting", "as the manifest has it"], rows)
}

/// The parameters, their values and when they exist.
pub(super) fn space(search: &Search<'_, '_>) -> Table {
    let space = &search.spec.space;
    let about = format!(
        "{}, assumed from the manifest: what the sampler could choose.",
        count(space.parameters.len(), "parameter")
    );
    let rows = space.parameters.iter().map(|parameter| {
        let values = parameter.domain.to_string();
        vec![parameter.name.clone(), values, when(space, parameter)]
    });
    let head = ("search-space", "The space", about);
    Table::of_texts(head, &["parameter", "values", "exists"], rows)
}

fn when(space: &Space, parameter: &Parameter) -> String {
    let Some(condition) = &parameter.when else {
        return "always".to_owned();
    };
    let other = space.parameters.get(condition.parameter);
    let Some((name, Domain::Choice { texts, .. })) = other.map(|one| (&one.name, &one.domain))
    else {
        return "under a condition".to_owned();
    };
    let choices = condition.choices.iter();
    let choices: Vec<&str> = choices
        .filter_map(|place| Some(&**texts.get(*place)?))
        .collect();
    format!("where {name} is {}", choices.join(" or "))
}
