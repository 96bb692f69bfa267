//! Describes a search: trials, sampler, pruner, objectives, space.

use std::fmt::Write;

use serde::Serialize;
use serde_json::Value;

use crate::base::text::count;
use crate::cli::table::table;
use crate::plan::search::{ObjectiveDirection, ObjectiveSpec, Parameter, SearchSpec};
use crate::plan::{Plan, toml_text};
use crate::progress::nonzero_counts_text;

/// The search of `plan` in a few lines, and its space as a table; empty without a search.
pub(super) fn text(plan: &Plan) -> String {
    let Some(search) = &plan.search else {
        return String::new();
    };
    let mut text = String::new();
    for (name, words) in lines(search, plan.max_trials_per_study()) {
        let _ = writeln!(text, "{name:<10} {words}");
    }
    text + "\n" + &space(plan, search)
}

fn lines(search: &SearchSpec, trials: usize) -> Vec<(&'static str, String)> {
    let objectives: Vec<String> = search.objectives.iter().map(objective).collect();
    let pruner = search.pruner.prunes().then(|| kind(&search.pruner));
    let (jobs, seed) = (search.jobs, search.seed);
    let lag = search
        .depends_on_results()
        .then(|| format!(", lag {}", search.lag));
    let lag = lag.unwrap_or_default();
    let limits = [
        search.max_time_s.map(|seconds| format!("{seconds} s")),
        search.max_cost.map(|cost| format!("a cost of {cost}")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let after = nonzero_counts_text(&[
        (search.regret, "pruned run to the end"),
        (search.ensemble, "best averaged"),
    ]);
    let lines = [
        ("objective", objectives.join(", ")),
        ("sampler", kind(&search.sampler)),
        ("pruner", pruner.unwrap_or_default()),
        (
            "trials",
            format!("{trials} a study, {jobs} at one time{lag}, seed {seed}"),
        ),
        ("until", limits.join(" or ")),
        ("then", after.trim_start_matches(", ").to_owned()),
    ];
    let lines = lines.into_iter();
    lines.filter(|(_, words)| !words.is_empty()).collect()
}

fn objective(objective: &ObjectiveSpec) -> String {
    let direction = match objective.direction {
        ObjectiveDirection::Minimize => "minimize",
        ObjectiveDirection::Maximize => "maximize",
    };
    let clock = objective.depends_on_clock;
    let clock = if clock { ", depends on the clock" } else { "" };
    format!("{} ({direction}{clock})", objective.column)
}

fn kind(spec: &impl Serialize) -> String {
    let value = serde_json::to_value(spec).unwrap_or_default();
    let settings = value.as_object().into_iter().flatten();
    let settings = settings.filter(|(name, _)| *name != "kind");
    let setting = |(name, value): (&String, &Value)| format!("{name} = {}", toml_text(value));
    let settings: Vec<String> = settings.map(setting).collect();
    let kind = value["kind"].as_str().unwrap_or_default();
    if settings.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind} ({})", settings.join(", "))
    }
}

fn space(plan: &Plan, search: &SearchSpec) -> String {
    let parameters = &search.space.parameters;
    let conditions = (0..parameters.len()).map(|one| condition(plan, one));
    let conditions: Vec<String> = conditions.collect();
    // A column without any text is left out.
    let has_conditions = conditions.iter().any(|text| !text.is_empty());
    let last = has_conditions.then_some("where");
    let header = ["parameter", "values"].into_iter().chain(last);
    let row = |(parameter, condition): (&Parameter, String)| {
        let last = has_conditions.then_some(condition);
        let row = [name(parameter), parameter.domain.to_string()];
        row.into_iter().chain(last)
    };
    table(header, parameters.iter().zip(conditions).map(row), []) + &size(plan)
}

/// Text with the number of points of the space, if it is finite; for every study, if they differ.
fn size(plan: &Plan) -> String {
    let points = (0..plan.len()).map(|study| plan.space_of(study).size());
    let points: Vec<Option<u64>> = points.collect();
    match points.first().copied().flatten() {
        None => String::new(),
        first if points.iter().any(|size| *size != first) => {
            let all: Vec<String> = points.iter().flatten().map(u64::to_string).collect();
            format!("points of the studies: {}\n", all.join(", "))
        }
        Some(size) => count(usize::try_from(size).unwrap_or(usize::MAX), "point") + "\n",
    }
}

/// The parameter's name, and its full path if that is longer.
fn name(parameter: &Parameter) -> String {
    if parameter.name == parameter.path {
        parameter.name.clone()
    } else {
        format!("{} ({})", parameter.name, parameter.path)
    }
}

fn condition(plan: &Plan, parameter: usize) -> String {
    let conditions = plan.conditions(parameter).into_iter();
    let texts = conditions.map(|(name, values)| format!("{name} = {}", values.join(" or ")));
    texts.collect::<Vec<String>>().join(", ")
}
