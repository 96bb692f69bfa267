//! Reads `[search]`.

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::diag::{Diagnostic, Place, did_you_mean, list, nearest};
use crate::manifest::{Key, Node, Table, Value as Toml};

use super::super::axis_info::AxisInfo;
use super::super::head::json;
use super::super::homes::long_path;
use super::super::resolve::read as read_section;
use super::condition::{Known, joined, long, when};
use super::domain::{self, domain};
use super::section::{ObjectiveSection, PrunerSection, SamplerSection, SearchSection};
use super::{ObjectiveSpec, Parameter, SearchSpec, Space, Written, objective};

/// Keys of `[search]` that are not plain values.
pub(in crate::plan) const APART: [&str; 5] = ["objective", "sampler", "pruner", "space", "final"];

const SPACE_FORM: &str =
    "write `[search.space]`, and under it a line for each setting: `batch-size = [8, 16]`";
const FINAL_FORM: &str = "write settings by path: `final = { \"train.epochs\" = 50 }`";

/// Reads the section; its parameters with their places. `None` where it is unclear what is searched.
pub(in crate::plan) fn read(
    node: &Node,
    axes: &[AxisInfo],
    mistakes: &mut Vec<Diagnostic>,
) -> Option<(SearchSpec, Vec<Written>)> {
    let table = node.as_table()?;
    let mut plain = node.clone();
    for name in APART {
        plain.as_table_mut()?.take(name);
    }
    for name in ["space", "final"] {
        if let Some(node) = table.get(name).filter(|node| node.as_table().is_none()) {
            mistakes.push(
                Diagnostic::error(format!("`search.{name}` is a table, found {}", node.kind()))
                    .at(node.place, "expected settings by path")
                    .help(if name == "space" {
                        SPACE_FORM
                    } else {
                        FINAL_FORM
                    }),
            );
        }
    }
    let section: SearchSection = taken(read_section(&plain, "search", "search", &APART), mistakes);
    let sampler: SamplerSection = tagged(table, "sampler", mistakes);
    let pruner: PrunerSection = tagged(table, "pruner", mistakes);
    let objectives = objectives(node, table, mistakes);
    let written = space(node, table, axes, mistakes);
    let is_grid = matches!(sampler, SamplerSection::Grid(_));
    if table.get("trials").is_none() && !is_grid {
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
        sampler: sampler.into(),
        pruner: pruner.into(),
        objectives,
        trials: section.trials.unwrap_or(0),
        jobs: section.jobs,
        lag: section.lag,
        seed: section.seed,
        max_time_s: section.max_time,
        max_cost: section.max_cost,
        regret: section.regret,
        ensemble: section.ensemble,
        final_set: final_set(table, &written, mistakes),
    };
    Some((spec, written))
}

fn taken<T: Default>(read: Result<T, Vec<Diagnostic>>, mistakes: &mut Vec<Diagnostic>) -> T {
    read.unwrap_or_else(|found| {
        mistakes.extend(found);
        T::default()
    })
}

/// Reads a table with `kind`, or a kind alone.
fn tagged<T: DeserializeOwned + Default>(
    table: &Table,
    name: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> T {
    let Some(node) = table.get(name) else {
        return T::default();
    };
    let mut of_kind = node.clone();
    if node.as_str().is_some() {
        let key = Key {
            name: "kind".to_owned(),
            place: node.place,
        };
        let entries = vec![(key, node.clone())];
        of_kind.value = Toml::Table(Table { entries });
    }
    let path = format!("search.{name}");
    let read = read_section(&of_kind, &path, &path, &[]);
    taken(read, mistakes)
}

fn objectives(section: &Node, table: &Table, mistakes: &mut Vec<Diagnostic>) -> Vec<ObjectiveSpec> {
    let nodes = match table.get("objective") {
        Some(node) => node.as_array().unwrap_or(std::slice::from_ref(node)),
        None => &[],
    };
    if nodes.is_empty() {
        let place = table
            .get("objective")
            .map_or(section.place, |node| node.place);
        mistakes.push(
            Diagnostic::error("`[search]` needs an `objective`")
                .at(place, "nothing to optimise")
                .help("for example `objective = \"best_loss\"`"),
        );
    }
    let mut objectives: Vec<ObjectiveSpec> = Vec::new();
    for node in nodes {
        let Some((place, spec)) = one_objective(node, mistakes) else {
            continue;
        };
        if objectives.iter().any(|known| known.column == spec.column) {
            mistakes.push(
                Diagnostic::error(format!("`{}` is an objective twice", spec.column))
                    .at(place, "again"),
            );
            continue;
        }
        objectives.push(spec);
    }
    objectives
}

fn one_objective(node: &Node, mistakes: &mut Vec<Diagnostic>) -> Option<(Place, ObjectiveSpec)> {
    let (place, column, direction) = if let Some(column) = node.as_str() {
        (node.place, column.to_owned(), None)
    } else {
        let path = "search.objective";
        let read = read_section::<ObjectiveSection>(node, path, path, &[]);
        let section = read.map_err(|found| mistakes.extend(found)).ok()?;
        let column = node.as_table().and_then(|table| table.get("column"));
        let place = column.map_or(node.place, |column| column.place);
        (place, section.column, section.direction)
    };
    let is_slip = || {
        let is_fixed = objective::known_columns().contains(&column.as_str());
        let says_nothing = objective::direction(&column).is_none();
        !is_fixed && says_nothing && nearest(&column, objective::known_columns()).is_some()
    };
    if !objective::is_known(&column) || is_slip() {
        mistakes.push(no_column(&column, place));
        return None;
    }
    let Some(direction) = direction.or_else(|| objective::direction(&column)) else {
        mistakes.push(
            Diagnostic::error(format!("`search.objective`: is a large `{column}` better?"))
                .at(place, "the column does not say whether lower or higher is better")
                .help(format!(
                    "write `{{ column = \"{column}\", direction = \"minimize\" }}`, or `\"maximize\"`"
                )),
        );
        return None;
    };
    let depends_on_clock = objective::is_clock(&column);
    let spec = ObjectiveSpec {
        column,
        direction,
        depends_on_clock,
    };
    Some((place, spec))
}

fn no_column(column: &str, place: Place) -> Diagnostic {
    let known = objective::known_columns;
    let metric = objective::metric_starts()
        .iter()
        .find(|start| **start == "val_")
        .map(|start| format!("{start}{column}"))
        .filter(|_| objective::direction(column).is_some());
    let meant = did_you_mean(column, known())
        .or_else(|| metric.map(|metric| format!("did you mean `{metric}`?")));
    Diagnostic::error(format!(
        "`search.objective` is `{column}`, which is no column"
    ))
    .at(place, "neither a column nor a metric")
    .maybe_help(meant)
    .help(format!(
        "columns are {}; metrics begin with {}",
        list(known()),
        list(objective::metric_starts().iter().copied())
    ))
}

fn space(
    section: &Node,
    table: &Table,
    axes: &[AxisInfo],
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<Written> {
    let space = table.get("space");
    let entries = flat(space);
    if entries.is_empty() {
        let place = space.map_or(section.place, |node| node.place);
        mistakes.push(
            Diagnostic::error("`[search]` has nothing to choose")
                .at(place, "`[search.space]` is missing or empty")
                .help("name settings by their paths: `\"train.optimizer.lr\" = { float = [1e-5, 1e-3], log = true }`"),
        );
    }
    let names = entries.iter();
    let all: Vec<(String, String)> = names
        .map(|(key, _)| (key.name.clone(), long(&key.name, key.place)))
        .collect();
    let mut written: Vec<Written> = Vec::new();
    for (key, node) in &entries {
        let known = Known {
            earlier: &written,
            all: &all,
            axes,
        };
        let read = parameter(key, node, &known, mistakes);
        written.extend(read);
    }
    written
}

/// The parameters, also where paths are written without quotes.
fn flat(space: Option<&Node>) -> Vec<(Key, Node)> {
    fn visit(key: &Key, node: &Node, found: &mut Vec<(Key, Node)>) {
        let is_values = |table: &Table| table.names().any(|name| domain::KEYS.contains(&name));
        let is_section = !key.name.contains('.') && long_path(&key.name, key.place).is_err();
        match node.as_table() {
            Some(table) if !is_values(table) && (is_section || key.name.contains('.')) => {
                let tables = |node: &Node| node.as_table().is_some() || node.as_array().is_some();
                if table.entries.is_empty() || !table.entries.iter().all(|(_, node)| tables(node)) {
                    found.push((key.clone(), node.clone()));
                    return;
                }
                for (below, child) in &table.entries {
                    let joined = Key {
                        name: format!("{}.{}", key.name, below.name),
                        place: below.place,
                    };
                    visit(&joined, child, found);
                }
            }
            _ => found.push((key.clone(), node.clone())),
        }
    }
    let mut found = Vec::new();
    let table = space.and_then(Node::as_table);
    for (key, node) in table.into_iter().flat_map(|table| &table.entries) {
        visit(key, node, &mut found);
    }
    found
}

fn parameter(
    key: &Key,
    node: &Node,
    known: &Known<'_>,
    mistakes: &mut Vec<Diagnostic>,
) -> Option<Written> {
    let name = key.name.as_str();
    let path = long_path(name, key.place).map_err(|mistake| mistakes.push(mistake));
    let path: Arc<[Key]> = path.ok()?.into();
    if let Some(mistake) = not_to_be_searched(name, &path, key.place) {
        mistakes.push(mistake);
        return None;
    }
    let long = joined(&path);
    let earlier = known.earlier.iter();
    if let Some(first) = earlier.into_iter().find(|one| one.parameter.path == long) {
        mistakes.push(
            Diagnostic::error(format!("`{long}` is in the space twice"))
                .at(key.place, "the same setting again")
                .context(first.place, "first here"),
        );
        return None;
    }
    let (when, axes) = match node.as_table().and_then(|table| table.get("when")) {
        Some(node) => when(name, node, known, mistakes),
        None => (None, Vec::new()),
    };
    let (domain, values) = domain(name, &path, node, mistakes)?;
    Some(Written {
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

/// The error for settings that must be the same in every cell or that change no result.
fn not_to_be_searched(name: &str, path: &[Key], place: Place) -> Option<Diagnostic> {
    let names: Vec<&str> = path.iter().map(|key| key.name.as_str()).collect();
    match names.as_slice() {
        ["variant"] => Some(
            Diagnostic::error("`variant` cannot be searched")
                .at(place, "an axis of the matrix")
                .help("a study each: `[matrix] variant = [\"before\", \"after\"]`"),
        ),
        ["measure", ..] | ["limits", "time" | "memory", ..] => Some(
            Diagnostic::error(format!("`{name}` cannot be searched"))
                .at(place, "it decides no result"),
        ),
        ["train", "save-to"] => Some(
            Diagnostic::error(format!("`{name}` cannot be searched")).at(place, "it names a file"),
        ),
        _ => None,
    }
}

/// Reads `[search.final]`, by long path.
fn final_set(
    table: &Table,
    written: &[Written],
    mistakes: &mut Vec<Diagnostic>,
) -> serde_json::Map<String, serde_json::Value> {
    let mut set = serde_json::Map::new();
    let table = table.get("final").and_then(Node::as_table);
    for one in table
        .map(|table| super::super::assign::read(table, mistakes))
        .unwrap_or_default()
    {
        let (path, place) = (joined(&one.path), one.path.first().map(|key| key.place));
        let place = place.unwrap_or_default();
        if let Some(parameter) = written.iter().find(|known| known.parameter.path == path) {
            mistakes.push(
                Diagnostic::error(format!("`search.final` sets `{path}`, which is searched"))
                    .at(place, "set here")
                    .context(parameter.place, "chosen by the search"),
            );
        } else if set.insert(path.clone(), json(&one.node)).is_some() {
            mistakes.push(
                Diagnostic::error(format!("`search.final` sets `{path}` twice")).at(place, "again"),
            );
        }
    }
    set
}
