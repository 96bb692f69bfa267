//! Reads `[search]`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::diag::{Diagnostic, Place, did_you_mean, nearest};
use crate::manifest::{Key, Node, Table};
use crate::models::{Better, MetricSpec};

use super::super::assign;
use super::super::axis_info::AxisInfo;
use super::super::homes::{dotted_path, long_path};
use super::super::reader::of_kind;
use super::super::resolve::{SectionResult, or_default, read as read_section};
use super::super::targets::columns_help;
use super::condition::{ConditionTargets, read_condition};
use super::domain::{self, domain};
use super::section::{ObjectiveSection, PrunerSpec, SamplerSpec, SearchSection};
use super::{
    ObjectiveDirection, ObjectiveSpec, Parameter, SearchSpec, Space, SpaceParameter, objective,
};

/// Keys of `[search]` that are not plain values, and are read separately.
pub(in crate::plan) const SEPARATELY_READ_KEYS: [&str; 5] =
    ["objective", "sampler", "pruner", "space", "final"];

const SPACE_FORM: &str =
    "write `[search.space]`, and under it a line for each setting: `batch-size = [8, 16]`";
const FINAL_FORM: &str = "write settings by path: `final = { \"train.epochs\" = 50 }`";

/// Reads `[search]`; returns the settings, and the parameters with their positions. `None` if it is not a table.
pub(in crate::plan) fn read(
    node: &Node,
    axes: &[AxisInfo],
    declared: &BTreeMap<String, MetricSpec>,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<(SearchSpec, Vec<SpaceParameter>)> {
    let table = node.as_table()?;
    let mut plain = node.clone();
    for name in SEPARATELY_READ_KEYS {
        plain.as_table_mut()?.take(name);
    }
    for (name, form) in [("space", SPACE_FORM), ("final", FINAL_FORM)] {
        if let Some(node) = table.get(name).filter(|node| node.as_table().is_none()) {
            let expected = format!("`search.{name}` is a table");
            let mistake = node.unexpected(&expected, "expected settings by path");
            mistakes.push(mistake.help(form));
        }
    }
    let section: SearchSection = or_default(
        read_section(&plain, "search", &SEPARATELY_READ_KEYS),
        mistakes,
    );
    let sampler: SamplerSpec = tagged(table, "sampler", mistakes);
    let pruner: PrunerSpec = tagged(table, "pruner", mistakes);
    let objectives = objectives(node, table, declared, mistakes);
    let written = space(node, table, axes, mistakes);
    if table.get("trials").is_none() && !sampler.is_grid() {
        mistakes.push(
            Diagnostic::error("`[search]` needs `trials`")
                .at(node.place, "`trials` is missing here")
                .help("how many each study has: `trials = 20`"),
        );
    }
    let spec = SearchSpec {
        space: Space {
            parameters: written.iter().map(|one| one.parameter.clone()).collect(),
        },
        sampler,
        pruner,
        objectives,
        trials: section.trials.unwrap_or(0),
        jobs: section.jobs,
        lag: section.lag,
        seed: section.seed,
        max_time_s: section.max_time,
        max_cost: section.max_cost,
        regret: section.regret,
        ensemble: section.ensemble,
        failed: section.failed,
        final_set: final_set(table, &written, mistakes),
    };
    Some((spec, written))
}

/// Reads the key `name`: a table with `kind`, or a kind alone; if it is missing, the default.
fn tagged<T: DeserializeOwned + JsonSchema + Default>(
    table: &Table,
    name: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> T {
    let Some(node) = table.get(name) else {
        return T::default();
    };
    let alone = node
        .as_str()
        .map(|kind| of_kind(&Key::new(kind, node.place)));
    let path = format!("search.{name}");
    let read = read_section(alone.as_ref().unwrap_or(node), &path, &[]);
    or_default(read, mistakes)
}

fn objectives(
    section: &Node,
    table: &Table,
    declared: &BTreeMap<String, MetricSpec>,
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<ObjectiveSpec> {
    let node = table.get("objective");
    let nodes = node.map_or(&[][..], Node::alternatives);
    if nodes.is_empty() {
        mistakes.push(
            Diagnostic::error("`[search]` needs an `objective`")
                .at(node.unwrap_or(section).place, "nothing to optimise")
                .help("for example `objective = \"best_loss\"`"),
        );
    }
    let mut objectives: Vec<ObjectiveSpec> = Vec::new();
    for node in nodes {
        let (place, spec) = match one_objective(node, declared) {
            Ok(found) => found,
            Err(found) => {
                mistakes.extend(found);
                continue;
            }
        };
        if objectives.iter().any(|known| known.column == spec.column) {
            let mistake = Diagnostic::error(format!("`{}` is an objective twice", spec.column));
            mistakes.push(mistake.at(place, "again"));
        } else {
            objectives.push(spec);
        }
    }
    objectives
}

fn one_objective(
    node: &Node,
    declared: &BTreeMap<String, MetricSpec>,
) -> SectionResult<(Place, ObjectiveSpec)> {
    let (place, column, direction) = if let Some(column) = node.as_str() {
        (node.place, column.to_owned(), None)
    } else {
        let path = "search.objective";
        let section = read_section::<ObjectiveSection>(node, path, &[])?;
        let column = node.as_table().and_then(|table| table.get("column"));
        (
            column.unwrap_or(node).place,
            section.column,
            section.direction,
        )
    };
    let metric = declared.get(column.strip_prefix("best_").unwrap_or(&column));
    let by_command = metric.map(|metric| match metric.better {
        Better::Lower => ObjectiveDirection::Minimize,
        Better::Higher => ObjectiveDirection::Maximize,
    });
    let known = by_command.or_else(|| objective::direction(&column));
    let is_slip = || {
        let mut columns = objective::known_columns().into_iter();
        known.is_none()
            && columns.all(|other| other != column)
            && nearest(&column, objective::known_columns()).is_some()
    };
    if metric.is_none() && (!objective::is_known(&column) || is_slip()) {
        return Err(vec![no_column(&column, place)]);
    }
    let Some(direction) = direction.or(known) else {
        let label = "the column does not say whether lower or higher is better";
        let form = format!("{{ column = \"{column}\", direction = \"minimize\" }}");
        let title = format!("`search.objective`: is a large `{column}` better?");
        let help = format!("write `{form}`, or `\"maximize\"`");
        return Err(vec![Diagnostic::error(title).at(place, label).help(help)]);
    };
    let is_time = metric.is_some_and(|metric| metric.time);
    let depends_on_clock = is_time || objective::varies_between_runs(&column);
    let spec = ObjectiveSpec {
        column,
        direction,
        depends_on_clock,
        is_declared: metric.is_some() && !is_time,
    };
    Ok((place, spec))
}

fn no_column(column: &str, place: Place) -> Diagnostic {
    let known = objective::known_columns;
    let metric = || format!("did you mean `val_{column}`?");
    let has_direction = objective::direction(column).is_some();
    let meant = did_you_mean(column, known()).or_else(|| has_direction.then(metric));
    Diagnostic::error(format!(
        "`search.objective` is `{column}`, which is no column"
    ))
    .at(place, "neither a column nor a metric")
    .maybe_help(meant)
    .help(columns_help(known(), objective::METRIC_PREFIXES))
}

fn space(
    section: &Node,
    table: &Table,
    axes: &[AxisInfo],
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<SpaceParameter> {
    let mut entries = Vec::new();
    for (key, node) in table.entries_of("space") {
        add_parameters(key, node, &mut entries);
    }
    if entries.is_empty() {
        mistakes.push(
            Diagnostic::error("`[search]` has nothing to choose")
                .at(table.get("space").unwrap_or(section).place, "`[search.space]` is missing or empty")
                .help("name settings by their paths: `\"train.optimizer.lr\" = { float = [1e-5, 1e-3], log = true }`"),
        );
    }
    let names = entries.iter().map(|(key, _)| key);
    let names = names.map(|key| (key.name.clone(), dotted_path(&key.name, key.place)));
    let all: Vec<(String, String)> = names.collect();
    let mut written: Vec<SpaceParameter> = Vec::new();
    for (key, node) in &entries {
        let known = ConditionTargets {
            earlier: &written,
            all: &all,
            axes,
        };
        match parameter(key, node, &known, mistakes) {
            Ok(parameter) => written.push(parameter),
            Err(found) => mistakes.extend(found),
        }
    }
    written
}

/// Adds the parameters at `key` to `found`. A path without quotes (`train.optimizer.lr`) is read as nested tables,
/// which are searched for parameters.
fn add_parameters<'a>(key: &Key, node: &'a Node, found: &mut Vec<(Key, &'a Node)>) {
    let is_values = |table: &&Table| table.names().any(|name| domain::KEYS.contains(&name));
    let is_section = key.name.contains('.') || long_path(&key.name, key.place).is_err();
    let table = node
        .as_table()
        .filter(|table| is_section && !is_values(table));
    let entries = table.map_or(&[][..], |table| &table.entries);
    let holds = |(_, node): &(Key, Node)| node.as_table().is_some() || node.as_array().is_some();
    if entries.is_empty() || !entries.iter().all(holds) {
        found.push((key.clone(), node));
        return;
    }
    for (below, child) in entries {
        let name = format!("{}.{}", key.name, below.name);
        add_parameters(&Key::new(name, below.place), child, found);
    }
}

fn parameter(
    key: &Key,
    node: &Node,
    known: &ConditionTargets<'_>,
    mistakes: &mut Vec<Diagnostic>,
) -> SectionResult<SpaceParameter> {
    let name = key.name.as_str();
    let path = long_path(name, key.place).map_err(|mistake| vec![mistake])?;
    let path: Arc<[Key]> = path.into();
    if let Some(mistake) = not_to_be_searched(name, &path, key.place) {
        return Err(vec![mistake]);
    }
    let long = Key::dotted(&path);
    let mut earlier = known.earlier.iter();
    if let Some(first) = earlier.find(|one| one.parameter.path == long) {
        let mistake = Diagnostic::error(format!("`{long}` is in the space twice"));
        let mistake = mistake.at(key.place, "the same setting again");
        return Err(vec![mistake.context(first.place, "first here")]);
    }
    let (when, axes) = match node.as_table().and_then(|table| table.get("when")) {
        Some(node) => read_condition(name, node, known, mistakes),
        None => (None, Vec::new()),
    };
    let (domain, values) = domain(name, &path, node, mistakes)?;
    Ok(SpaceParameter {
        parameter: Parameter {
            name: name.to_owned(),
            path: long,
            domain,
            when,
        },
        path,
        place: key.place,
        values,
        axes,
    })
}

/// The error if a setting cannot be searched, because it must be the same in every cell or changes no result; else
/// `None`.
fn not_to_be_searched(name: &str, path: &[Key], place: Place) -> Option<Diagnostic> {
    let names: Vec<&str> = path.iter().map(|key| key.name.as_str()).collect();
    let label = match names.as_slice() {
        ["variant"] => "an axis of the matrix",
        ["measure", ..] | ["limits", "time" | "memory", ..] => "it decides no result",
        ["train", "save-to"] => "it names a file",
        _ => return None,
    };
    let mistake = Diagnostic::error(format!("`{name}` cannot be searched")).at(place, label);
    let form = "a study each: `[matrix] variant = [\"before\", \"after\"]`";
    Some(mistake.maybe_help((name == "variant").then(|| form.to_owned())))
}

/// Reads `[search.final]`: values of settings, by full dotted path.
fn final_set(
    table: &Table,
    written: &[SpaceParameter],
    mistakes: &mut Vec<Diagnostic>,
) -> serde_json::Map<String, serde_json::Value> {
    let mut set = serde_json::Map::new();
    let table = table.table("final");
    let assigned = table.map(|table| assign::read(table, mistakes));
    for one in assigned.unwrap_or_default() {
        let (path, place) = (Key::dotted(&one.path), one.place());
        if let Some(parameter) = written.iter().find(|known| known.parameter.path == path) {
            let title = format!("`search.final` sets `{path}`, which is searched");
            let mistake = Diagnostic::error(title).at(place, "set here");
            mistakes.push(mistake.context(parameter.place, "chosen by the search"));
        } else if set.insert(path.clone(), one.node.to_json()).is_some() {
            let mistake = Diagnostic::error(format!("`search.final` sets `{path}` twice"));
            mistakes.push(mistake.at(place, "again"));
        }
    }
    set
}
