//! Checks `train.freeze` and `train.fresh` against the names of the parameters, if the planner can know them.

use std::path::Path;

use crate::diag::{Diagnostic, Place};
use crate::layers::{checkpoint, names};
use crate::manifest::Node;
use crate::models::{Layer, ModelSpec};

use super::Plan;
use super::assign::is_of_train;
use super::homes::Unit;
use super::matrix::Axis;
use super::reader::Reader;
use super::tries::value_combinations;
use super::units::{Resolved, Units};
use super::validate::with_axis_name;

/// Reports patterns that match no parameter, models whose parameters are all frozen, and `fresh` without `init-from`.
pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let mut found: Vec<Diagnostic> = Vec::new();
    for matrix in &plan.matrices {
        let reader = Reader::new(plan, matrix);
        let axes = reader.axes_where(|path| {
            let is_own = |key| is_of_train(path, key);
            ["freeze", "fresh", "init-from"].into_iter().any(is_own)
                || matches!(Unit::of(path), Some(Unit::Model | Unit::Dataset))
        });
        let mut units = Units::new(reader);
        for choice in value_combinations(matrix, &axes, Axis::representative_values) {
            let train = reader.at(&choice).section("train");
            let is_written = |key| {
                train
                    .as_table()
                    .is_some_and(|table| table.get(key).is_some())
            };
            if !is_written("freeze") && !is_written("fresh") {
                continue;
            }
            let wrong = of_cell(&train, &units.resolve(&choice)).into_iter();
            let wrong = wrong.map(|mistake| with_axis_name(mistake, plan, matrix));
            // Cells with the same patterns have the same mistakes, which are reported once.
            let new: Vec<_> = wrong.filter(|mistake| !found.contains(mistake)).collect();
            found.extend(new);
        }
    }
    mistakes.append(&mut found);
}

fn of_cell(section: &Node, cell: &Resolved) -> Vec<Diagnostic> {
    let (train, mut mistakes) = (&cell.train, Vec::new());
    let place_of = |key| {
        let table = section.as_table();
        table.map_or(section.place, |table| table.place_of(key))
    };
    if !train.fresh.is_empty() && train.init_from.is_none() {
        let title = "`train.fresh` needs `init-from`; without it, all parameters start fresh";
        let help = "`init-from` names the file with the values of the others";
        mistakes.push(
            Diagnostic::error(title)
                .at(place_of("fresh"), "")
                .help(help),
        );
    }
    if cell.problem.is_some() || cell.data.unknown.is_some() {
        return mistakes;
    }
    let Some(names) = names_of(cell) else {
        return mistakes;
    };
    for (key, patterns) in [("freeze", &train.freeze), ("fresh", &train.fresh)] {
        let is_matched = |pattern: &str| {
            let matches = names::matcher(&[pattern.to_owned()]);
            names.iter().any(|name| matches(name))
                || (key == "fresh" && is_in_file(pattern, train.init_from.as_deref()))
        };
        for (index, pattern) in patterns.iter().enumerate() {
            if !is_matched(pattern) {
                let place = place_in(section, key, index);
                mistakes.push(unmatched(key, pattern, &cell.model.name, &names).at(place, ""));
            }
        }
    }
    let is_frozen = names::matcher(&train.freeze);
    if names.iter().all(|name| is_frozen(name)) {
        mistakes.push(Diagnostic::error(names::ALL_FROZEN).at(place_of("freeze"), ""));
    }
    mistakes
}

/// The names of the model's parameters; `None` if they are unknown without building the model.
fn names_of(cell: &Resolved) -> Option<Vec<String>> {
    let facts = &cell.data.facts;
    match &*cell.model.value {
        ModelSpec::Mlp(spec) => Some(spec.parameter_names()),
        ModelSpec::Layers(spec) => {
            let layers = spec.expand(facts.features, facts.target).ok()?;
            Some(layers.iter().flat_map(Layer::parameter_names).collect())
        }
        _ => None,
    }
}

/// Whether the pattern matches a name in the file of initial weights. To be called only if no name of the model
/// matches, since the file may be large.
fn is_in_file(pattern: &str, file: Option<&Path>) -> bool {
    let tensors = file.and_then(|file| checkpoint::read(file).ok());
    let mut tensors = tensors.iter().flatten();
    let matches = names::matcher(&[pattern.to_owned()]);
    tensors.any(|tensor| matches(&tensor.name))
}

fn unmatched(key: &str, pattern: &str, model: &str, names: &[String]) -> Diagnostic {
    let title = format!("`train.{key}`: `{pattern}` matches no parameter of model `{model}`");
    let mut mistake = Diagnostic::error(title);
    for help in names::nearest_help(pattern, names) {
        mistake = mistake.help(help);
    }
    mistake
}

/// Position in the manifest of the pattern with index `index` in the list `key`.
fn place_in(section: &Node, key: &str, index: usize) -> Place {
    let list = section.as_table().and_then(|table| table.get(key));
    let pattern = list.and_then(|list| list.as_array()?.get(index));
    pattern.or(list).unwrap_or(section).place
}
