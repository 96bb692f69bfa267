//! What the manifest asks of the search: assumed, not measured.

use crate::base::text::count;
use crate::base::units::{human_seconds, shortest};
use crate::plan::search::{Domain, Parameter, Space};
use crate::plan::toml_text;
use crate::report::table::Table;

use super::shown::Shown;
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
    let lag = spec.lag;
    let mut rows = vec![
        ("trials", format!("{}{each}", spec.trials)),
        ("objective", goals.join("; ")),
        ("sampler", text(serde_json::to_value(&spec.sampler))),
        ("pruner", text(serde_json::to_value(&spec.pruner))),
        (
            "lag",
            format!(
                "{lag}: a trial is decided from the trials more than {lag} before it, so that any number of jobs gives the \
                 same trials"
            ),
        ),
        (
            "seed",
            format!("{} (of sampler and regret sample)", spec.seed),
        ),
        ("jobs", format!("{} (--jobs overrides it)", spec.jobs)),
    ];
    rows.extend(
        spec.max_time_s
            .map(|seconds| ("max-time", human_seconds(seconds))),
    );
    let cost = spec.max_cost.and_then(shortest);
    rows.extend(cost.map(|cost| ("max-cost", cost)));
    if spec.regret > 0 {
        let pruned = count(spec.regret, "pruned trial");
        rows.push(("regret", format!("{pruned}{each} run again to the end")));
    }
    if spec.ensemble > 0 {
        let best = count(spec.ensemble, "best trial");
        rows.push((
            "ensemble",
            format!("mean of the predictions of {best}{each}"),
        ));
    }
    let finals = spec.final_set.iter();
    rows.extend(
        finals.map(|(path, value)| ("final training", format!("{path} = {}", toml_text(value)))),
    );
    let about = "Assumed, from the manifest’s search section.".to_owned();
    Shown::<(&str, String)>::new()
        .words("setting", |(name, _)| *name)
        .words("as the manifest has it", |(_, value)| value.clone())
        .table(("search-settings", "The search", about), &rows, |_| "")
}

/// The parameters, their values and when they exist.
pub(super) fn space(search: &Search<'_, '_>) -> Table {
    let space = &search.spec.space;
    let about = format!(
        "{}, assumed from the manifest: what the sampler could choose.",
        count(space.parameters.len(), "parameter")
    );
    Shown::<Parameter>::new()
        .words("parameter", |parameter| parameter.name.clone())
        .words("values", |parameter| parameter.domain.to_string())
        .words("exists", |parameter| when(space, parameter))
        .table(
            ("search-space", "The space", about),
            &space.parameters,
            |_| "",
        )
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
