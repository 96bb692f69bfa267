//! Describes a search: trials, sampler, pruner, objectives, space.

use std::fmt::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use serde::Serialize;
use serde_json::Value;

use crate::base::text::count;
use crate::plan::search::{ObjectiveDirection, Parameter, SearchSpec};
use crate::plan::{Plan, toml_text};

/// The search of `plan` in a few lines, and its space as a table; empty without a search.
pub(super) fn text(plan: &Plan) -> String {
    let Some(search) = &plan.search else {
        return String::new();
    };
    let mut text = String::new();
    for (name, words) in lines(search) {
        let _ = writeln!(text, "{name:<10} {words}");
    }
    text + "\n" + &space(plan, search)
}

fn lines(search: &SearchSpec) -> Vec<(&'static str, String)> {
    let objectives: Vec<String> = search
        .objectives
        .iter()
        .map(|one| {
            let direction = match one.direction {
                ObjectiveDirection::Minimize => "minimize",
                ObjectiveDirection::Maximize => "maximize",
            };
            let clock = if one.depends_on_clock {
                ", depends on the clock"
            } else {
                ""
            };
            format!("{} ({direction}{clock})", one.column)
        })
        .collect();
    let mut lines = vec![
        ("objective", objectives.join(", ")),
        ("sampler", kind(&search.sampler)),
    ];
    if search.pruner.prunes() {
        lines.push(("pruner", kind(&search.pruner)));
    }
    let mut running = format!("{} at one time", search.jobs);
    if search.learns() {
        let _ = write!(running, ", lag {}", search.lag);
    }
    let _ = write!(running, ", seed {}", search.seed);
    lines.push(("trials", format!("{} a study, {running}", search.trials)));
    let limits = [
        search.max_time_s.map(|seconds| format!("{seconds} s")),
        search.max_cost.map(|cost| format!("a cost of {cost}")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    if !limits.is_empty() {
        lines.push(("until", limits.join(" or ")));
    }
    let after = [
        (search.regret, "pruned run to the end"),
        (search.ensemble, "best averaged"),
    ];
    let after = after.iter().filter(|(n, _)| *n > 0);
    let after: Vec<String> = after.map(|(n, what)| format!("{n} {what}")).collect();
    if !after.is_empty() {
        lines.push(("then", after.join(", ")));
    }
    lines
}

fn kind(spec: &impl Serialize) -> String {
    let value = serde_json::to_value(spec).unwrap_or_default();
    let settings = value.as_object().into_iter().flatten();
    let settings: Vec<String> = settings
        .filter(|(name, _)| *name != "kind")
        .map(|(name, value)| format!("{name} = {}", toml_text(value)))
        .collect();
    let kind = value
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if settings.is_empty() {
        kind.to_owned()
    } else {
        format!("{kind} ({})", settings.join(", "))
    }
}

fn space(plan: &Plan, search: &SearchSpec) -> String {
    let parameters = &search.space.parameters;
    let conditions: Vec<String> = (0..parameters.len())
        .map(|one| condition(plan, one))
        .collect();
    let has_conditions = conditions.iter().any(|text| !text.is_empty());
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    let last = has_conditions.then_some("where");
    table.set_header(["parameter", "values"].into_iter().chain(last));
    for (parameter, condition) in parameters.iter().zip(conditions) {
        let last = has_conditions.then_some(condition);
        let values = parameter.domain.to_string();
        table.add_row([name(parameter), values].into_iter().chain(last));
    }
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 1));
    }
    let text = table.to_string();
    let lines = text.lines().map(|line| line.trim_end().to_owned() + "\n");
    let points: Vec<Option<u64>> = (0..plan.len())
        .map(|study| plan.space_of(study).size())
        .collect();
    let first = points.first().copied().flatten();
    let size = match first {
        None => String::new(),
        Some(_) if points.iter().any(|size| *size != first) => {
            let all: Vec<String> = points.iter().flatten().map(u64::to_string).collect();
            format!("points of the studies: {}\n", all.join(", "))
        }
        Some(size) => format!(
            "{}\n",
            count(usize::try_from(size).unwrap_or(usize::MAX), "point")
        ),
    };
    lines.collect::<String>() + &size
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
    let texts: Vec<String> = conditions
        .map(|(name, values)| format!("{name} = {}", values.join(" or ")))
        .collect();
    texts.join(", ")
}
