//! Contradictions within `[search]` and between it and the rest of the manifest.

use std::collections::BTreeSet;

use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::manifest::{Key, Node, Table, Value as Toml};

use super::super::assign::Assignment;
use super::super::{CostSpec, Plan};
use super::condition::joined;
use super::tries::final_settings;
use super::{Domain, PrunerSpec, SamplerSpec, SearchSpec, Written, objective};

/// Checks the section of a plan whose matrices are read.
pub(in crate::plan) fn check(
    plan: &Plan,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) {
    let (Some(search), Some(node)) = (&plan.search, plan.written.root.get("search")) else {
        return;
    };
    let Some(table) = node.as_table() else { return };
    one_seed(plan, node.place, mistakes);
    sampler(search, table, node, &plan.searched.parameters, mistakes);
    pruner(search, table, mistakes);
    money(search, table, &plan.cost, mistakes);
    target(plan, search, table, mistakes);
    on_axes(plan, mistakes);
    set_by_variants(plan, mistakes);
    final_settings(plan, mistakes);
    idle(search, table, warnings);
}

fn place(table: &Table, key: &str) -> Place {
    table
        .get(key)
        .map_or_else(Place::default, |node| node.place)
}

/// A trial has one seed and one repeat.
fn one_seed(plan: &Plan, search: Place, mistakes: &mut Vec<Diagnostic>) {
    let measure = plan.written.root.get("measure").and_then(Node::as_table);
    let written = ["seeds", "repeats"].into_iter().filter_map(|key| {
        let node = measure?.get(key)?;
        Some((key, node))
    });
    let written: Vec<(&str, &Node)> = written.collect();
    let axes = plan.matrices.iter().flat_map(|matrix| {
        let values = matrix.axes.iter().flat_map(|axis| &axis.values);
        matrix
            .set
            .iter()
            .chain(values.map(|value| &value.assignment))
    });
    let all = axes.chain(plan.written.variants.values().flatten());
    let assigned = all.filter_map(|one: &Assignment| match &one.path[..] {
        [section, key] if section.name == "measure" => Some((key.name.as_str(), &one.node)),
        _ => None,
    });
    for (key, node) in written.into_iter().chain(assigned) {
        let (is_several, what) = match (key, &node.value) {
            ("seeds", Toml::Array(seeds)) => (seeds.len() > 1, "seed"),
            ("repeats", Toml::Integer(repeats)) => (*repeats > 1, "repeat"),
            _ => continue,
        };
        if is_several {
            mistakes.push(
                Diagnostic::error(format!("a search has one {what}"))
                    .at(node.place, "several")
                    .context(search, "the search")
                    .help("search with one, then train the best with several: `[search.final]`"),
            );
        }
    }
}

fn sampler(
    search: &SearchSpec,
    table: &Table,
    section: &Node,
    parameters: &[Written],
    mistakes: &mut Vec<Diagnostic>,
) {
    if search.sampler != SamplerSpec::Grid {
        return;
    }
    let sampler = table
        .get("sampler")
        .map_or(section.place, |node| node.place);
    for written in parameters {
        let Domain::Float { step: None, .. } = &written.parameter.domain else {
            continue;
        };
        let place = written
            .values
            .first()
            .map(|value| value.assignment.node.place);
        let name = &written.parameter.name;
        mistakes.push(
            Diagnostic::error(format!("parameter `{name}`: a grid needs a step"))
                .at(place.unwrap_or(written.place), "any number from here on")
                .context(sampler, "a grid")
                .help("give the range a `step`, or list choices"),
        );
    }
}

fn pruner(search: &SearchSpec, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    if search.pruner == PrunerSpec::None {
        if search.regret > 0 {
            mistakes.push(
                Diagnostic::error("`search.regret` needs a pruner")
                    .at(place(table, "regret"), "nothing is pruned")
                    .help("for example `pruner = \"median\"`"),
            );
        }
        return;
    }
    let pruner = place(table, "pruner");
    if let [_, _, ..] = search.objectives.as_slice() {
        mistakes.push(
            Diagnostic::error("a pruner needs one objective")
                .at(place(table, "objective"), "several")
                .context(pruner, "the pruner")
                .help("which trial is behind another is not clear with several; use `pruner = \"none\"`"),
        );
    } else if let Some(one) = search.objectives.first()
        && objective::watched(&one.column).is_none()
    {
        mistakes.push(
            Diagnostic::error(format!(
                "a pruner cannot watch `{}`: no epoch reports it",
                one.column
            ))
            .at(place(table, "objective"), "known at the end only")
            .context(pruner, "the pruner")
            .help("use an objective that epochs have, like `best_loss` or `best_val_accuracy`, or `pruner = \"none\"`"),
        );
    }
}

fn money(search: &SearchSpec, table: &Table, cost: &CostSpec, mistakes: &mut Vec<Diagnostic>) {
    if search.max_cost.is_some() && cost.core_hour.is_none() && cost.gpu_hour.is_none() {
        mistakes.push(
            Diagnostic::error("`search.max-cost` needs prices")
                .at(place(table, "max-cost"), "nothing costs anything")
                .help("give them in `[cost]`: `core-hour = 0.02`"),
        );
    }
}

/// `first_epoch_at_target` needs a target.
fn target(plan: &Plan, search: &SearchSpec, table: &Table, mistakes: &mut Vec<Diagnostic>) {
    let mut columns = search.objectives.iter().map(|one| one.column.as_str());
    if columns.any(|column| column == objective::FIRST_EPOCH_AT_TARGET)
        && plan.report.target.is_empty()
    {
        mistakes.push(
            Diagnostic::error("`first_epoch_at_target` needs a target")
                .at(place(table, "objective"), "at which value?")
                .help(
                    "say it in `[report]`: `target = { metric = \"val_accuracy\", value = 0.9 }`",
                ),
        );
    }
}

/// A setting cannot be both an axis and a parameter.
fn on_axes(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for written in &plan.searched.parameters {
        let axes = plan.matrices.iter().flat_map(|matrix| &matrix.axes);
        for axis in axes.filter(|axis| axis.long() == written.parameter.path) {
            mistakes.push(
                Diagnostic::error(format!(
                    "`{}` is an axis and a parameter of the search",
                    written.parameter.path
                ))
                .at(written.place, "chosen by the search")
                .context(axis.place, "an axis of the matrix")
                .help("leave one of them out"),
            );
        }
    }
}

/// A variant and a parameter that exists with it set the same value: which one counts is ambiguous.
fn set_by_variants(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for (place, axis) in plan.axes.iter().enumerate() {
        if axis.path != "variant" {
            continue;
        }
        let sets = axis.values.iter().filter_map(|name| {
            let set = plan.written.variants.get(&**name)?;
            Some((name, set))
        });
        for (name, one) in sets.flat_map(|(name, set)| set.iter().map(move |one| (name, one))) {
            let path = joined(&one.path);
            let is_with = |written: &&Written| {
                let mut axes = written.axes.iter();
                written.parameter.path == path
                    && axes.all(|own| own.axis != place || own.values.contains(name))
            };
            let Some(written) = plan.searched.parameters.iter().find(is_with) else {
                continue;
            };
            let key: Option<&Key> = one.path.first();
            mistakes.push(
                Diagnostic::error(format!("variant `{name}` sets `{path}`, which is searched"))
                    .at(key.map(|key| key.place).unwrap_or_default(), "set by the variant")
                    .context(written.place, "chosen by the search")
                    .help(format!(
                        "leave it out, or search it elsewhere only: `when = {{ variant = … }}` without `{name}`"
                    )),
            );
        }
    }
}

/// Warns of jobs that would idle because `lag` limits the trials that run concurrently.
fn idle(search: &SearchSpec, table: &Table, warnings: &mut Vec<Diagnostic>) {
    let learns = !matches!(
        search.sampler,
        SamplerSpec::Grid | SamplerSpec::Random | SamplerSpec::Sobol
    ) || search.pruner != PrunerSpec::None;
    let most = search.lag + 1;
    if learns && search.jobs > most {
        warnings.push(
            Diagnostic::warning(format!("{} jobs of a study idle", search.jobs - most))
                .at(
                    place(table, "jobs"),
                    format!("at most {most} trials of a study run at one time"),
                )
                .help(format!(
                    "trials wait for those {most} before them: raise `lag`"
                )),
        );
    }
}

/// Checks that the metrics which objectives and pruner read by epoch exist; `known` has those of all studies.
pub(in crate::plan) fn names_of_metrics(plan: &Plan, known: &BTreeSet<String>) -> Vec<Diagnostic> {
    let table = plan.written.root.get("search").and_then(Node::as_table);
    let (Some(search), Some(table)) = (&plan.search, table) else {
        return Vec::new();
    };
    let has_pruner = search.pruner != PrunerSpec::None;
    let looked_at = search.objectives.iter().filter_map(|one| {
        let watched = objective::watched(&one.column)?;
        let is_best = one.column.strip_prefix("best_") == Some(watched.as_str());
        let is_missing = watched != objective::DECIDING_LOSS && !known.contains(&watched);
        ((is_best || has_pruner) && is_missing).then_some((one, watched))
    });
    let names = || known.iter().map(String::as_str);
    let unknown = looked_at.map(|(one, watched)| {
        Diagnostic::error(format!(
            "`search.objective` is `{}`, and no trial has `{watched}` by epoch",
            one.column
        ))
        .at(place(table, "objective"), "nothing to look at")
        .maybe_help(watched.starts_with("test_").then(|| {
            "the test split is evaluated by epoch with `[validation] split = \"test\"`".to_owned()
        }))
        .maybe_help(did_you_mean(&watched, names()))
        .help(format!("every epoch has {}", list(names())))
    });
    unknown.collect()
}

pub(in crate::plan) fn too_many_studies(section: &Node, count: usize) -> Diagnostic {
    Diagnostic::error("the matrix has too many studies")
        .at(
            section.place,
            format!("{count} cells, each searched on its own"),
        )
        .help(format!("a search has at most {}", super::MOST_STUDIES))
}
