//! Checks for contradictions within `[search]` and between it and the rest of the manifest.

use std::collections::BTreeSet;

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Table, Value as Toml};

use super::super::tries::final_settings;
use super::super::{CostSpec, Plan};
use super::{Domain, SearchSpec, SpaceParameter, objective};

/// Checks `[search]` of a plan whose matrices are already read.
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
    sampler(search, node, table, &plan.searched.parameters, mistakes);
    mistakes.extend(pruner(search, table));
    mistakes.extend(money(search, table, &plan.cost));
    mistakes.extend(target(plan, search, table));
    set_by_variants(plan, mistakes);
    final_settings(plan, mistakes);
    warnings.extend(idle(search, table));
}

/// Checks that the manifest has one seed and one repeat, since a trial is one run.
fn one_seed(plan: &Plan, search: Place, mistakes: &mut Vec<Diagnostic>) {
    let written = plan.written.root.entries_of("measure").iter();
    let written = written.map(|(key, node)| (key.name.as_str(), node));
    let assigned = plan.assignments().filter_map(|one| match &one.path[..] {
        [section, key] if section.name == "measure" => Some((key.name.as_str(), &one.node)),
        _ => None,
    });
    for (key, node) in written.chain(assigned) {
        let what = match (key, &node.value) {
            ("seeds", Toml::Array(seeds)) if seeds.len() > 1 => "seed",
            ("repeats", Toml::Integer(2..)) | ("until", _) => "repeat",
            _ => continue,
        };
        mistakes.push(
            Diagnostic::error(format!("a search has one {what}"))
                .at(node.place, "several")
                .context(search, "the search")
                .help("search with one, then train the best with several: `[search.final]`"),
        );
    }
}

fn sampler(
    search: &SearchSpec,
    section: &Node,
    table: &Table,
    parameters: &[SpaceParameter],
    mistakes: &mut Vec<Diagnostic>,
) {
    let sampler = table.get("sampler").unwrap_or(section).place;
    for written in parameters.iter().filter(|_| search.sampler.is_grid()) {
        if let Domain::Float { step: None, .. } = &written.parameter.domain {
            let first = written.values.first();
            let place = first.map_or(written.place, |value| value.assignment.node.place);
            let title = format!(
                "parameter `{}`: a grid needs a step",
                written.parameter.name
            );
            mistakes.push(
                Diagnostic::error(title)
                    .at(place, "any number from here on")
                    .context(sampler, "a grid")
                    .help("give the range a `step`, or list choices"),
            );
        }
    }
}

fn pruner(search: &SearchSpec, table: &Table) -> Option<Diagnostic> {
    if !search.pruner.prunes() {
        return (search.regret > 0).then(|| {
            Diagnostic::error("`search.regret` needs a pruner")
                .at(table.place_of("regret"), "nothing is pruned")
                .help("for example `pruner = \"median\"`")
        });
    }
    let (title, label, help) = match search.objectives.as_slice() {
        [one] if one.pruner_column().is_none() => (
            format!(
                "a pruner cannot watch `{}`: no epoch reports it",
                one.column
            ),
            "known at the end only",
            "use an objective that epochs have, like `best_loss` or `best_val_accuracy`, or `pruner = \"none\"`",
        ),
        [] | [_] => return None,
        [_, _, ..] => (
            "a pruner needs one objective".to_owned(),
            "several",
            "which trial is behind another is not clear with several; use `pruner = \"none\"`",
        ),
    };
    let mistake = Diagnostic::error(title).at(table.place_of("objective"), label);
    Some(
        mistake
            .context(table.place_of("pruner"), "the pruner")
            .help(help),
    )
}

fn money(search: &SearchSpec, table: &Table, cost: &CostSpec) -> Option<Diagnostic> {
    let is_free = cost.core_hour.is_none() && cost.gpu_hour.is_none();
    search.max_cost.filter(|_| is_free).map(|_| {
        Diagnostic::error("`search.max-cost` needs prices")
            .at(table.place_of("max-cost"), "nothing costs anything")
            .help("give them in `[cost]`: `core-hour = 0.02`")
    })
}

fn target(plan: &Plan, search: &SearchSpec, table: &Table) -> Option<Diagnostic> {
    let mut objectives = search.objectives.iter();
    let is_needed = objectives.any(|one| one.column == objective::FIRST_EPOCH_AT_TARGET);
    (is_needed && plan.report.target.is_empty()).then(|| {
        Diagnostic::error("`first_epoch_at_target` needs a target")
            .at(table.place_of("objective"), "at which value?")
            .help("say it in `[report]`: `target = { metric = \"val_accuracy\", value = 0.9 }`")
    })
}

/// Reports a variant and a parameter in the same study that set the same value, which is ambiguous.
fn set_by_variants(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let axes = plan.axes.iter().enumerate();
    let names = axes.filter(|(_, axis)| axis.path == "variant");
    let names = names.flat_map(|(place, axis)| axis.values.iter().map(move |name| (place, name)));
    for (place, name) in names {
        let set = plan.written.variants.get(&**name);
        for one in set.into_iter().flatten() {
            let path = Key::dotted(&one.path);
            let is_with = |written: &&SpaceParameter| {
                let mut axes = written.axes.iter();
                written.parameter.path == path
                    && axes.all(|own| own.axis != place || own.values.contains(name))
            };
            if let Some(written) = plan.searched.parameters.iter().find(is_with) {
                mistakes.push(
                    Diagnostic::error(format!("variant `{name}` sets `{path}`, which is searched"))
                        .at(one.place(), "set by the variant")
                        .context(written.place, "chosen by the search")
                        .help(
                            "leave it out, or search it elsewhere only: `when = { variant = … }`",
                        ),
                );
            }
        }
    }
}

/// Warns of jobs that would idle because `lag` limits the trials that run concurrently.
fn idle(search: &SearchSpec, table: &Table) -> Option<Diagnostic> {
    let most = search.lag + 1;
    (search.depends_on_results() && search.jobs > most).then(|| {
        Diagnostic::warning(format!("{} jobs of a study idle", search.jobs - most))
            .at(
                table.place_of("jobs"),
                format!("at most {most} trials of a study run at one time"),
            )
            .help(format!(
                "each trial waits for the one {most} before it; a larger `lag` lets more run at one time"
            ))
    })
}

/// Checks that objectives that are metrics of epochs, or that the pruner reads after epochs, exist; `known` contains
/// the metrics of all studies.
pub(in crate::plan) fn names_of_metrics(plan: &Plan, known: &BTreeSet<String>) -> Vec<Diagnostic> {
    let table = plan.written.root.table("search");
    let (Some(search), Some(table)) = (&plan.search, table) else {
        return Vec::new();
    };
    let unknown = search.objectives.iter().filter_map(|one| {
        let column = &one.column;
        let best = column.strip_prefix("best_").filter(|rest| {
            !objective::known_columns().contains(&&**column) && !rest.ends_with("_epoch")
        });
        let watched = one.pruner_column().or(best.map(str::to_owned))?;
        // Metrics of the test split, and times that a program reports, may be known at the end only.
        let at_end = column.starts_with("test_") || one.depends_on_clock;
        let is_read = !at_end || search.pruner.prunes();
        if !is_read || watched == objective::DECIDING_LOSS || known.contains(&watched) {
            return None;
        }
        let title =
            format!("`search.objective` is `{column}`, and no trial has `{watched}` by epoch");
        let names = known.iter().map(String::as_str);
        let of_test = "the test split is evaluated by epoch with `[validation] split = \"test\"`";
        Some(
            Diagnostic::error(title)
                .at(table.place_of("objective"), "nothing to look at")
                .maybe_help(watched.starts_with("test_").then(|| of_test.to_owned()))
                .suggest_from(&watched, "every epoch has", names),
        )
    });
    unknown.collect()
}
