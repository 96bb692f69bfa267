//! From written sections and assignments to typed units.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::de::DeserializeOwned;

use crate::base::shell;
use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::manifest::{Complaint, Key, Mistake, Node, Table, Value, explain, typed};
use crate::optim::RangeError;

use super::assign::{Assignment, empty_section, overlay};
use super::cell::TrainSpec;
use super::declared::lengthened;
use super::homes::{CHOICES, NAMED, Unit};
use super::matrix::Matrix;
use super::ranges;

/// The manifest's sections with what their resolution needs.
#[derive(Debug)]
pub(super) struct Written {
    /// The tree, without the matrices.
    pub(super) root: Table,
    /// The assignments of each variant.
    pub(super) variants: BTreeMap<String, Vec<Assignment>>,
    /// Folder that paths are relative to, absolute.
    pub(super) folder: PathBuf,
}

/// A named section as chosen for a cell.
#[derive(Debug, Clone)]
pub(super) struct Chosen {
    pub(super) name: String,
    /// Where the choice is written.
    pub(super) place: Place,
}

impl Written {
    /// All assignments of `matrix` and `choice`: `set` first, then the variant, then the axes.
    pub(super) fn assignments<'a>(
        &'a self,
        matrix: &'a Matrix,
        choice: &'a [u32],
    ) -> impl Iterator<Item = &'a Assignment> + Clone {
        let chosen = matrix
            .axes
            .iter()
            .zip(choice)
            .filter_map(|(axis, value)| axis.values.get(*value as usize))
            .map(|value| &value.assignment);
        let variant = chosen
            .clone()
            .filter(|assignment| assignment.path.len() == 1)
            .filter_map(|assignment| self.variants.get(assignment.node.as_str()?))
            .flatten();
        let axes = chosen.filter(|assignment| assignment.path.len() > 1);
        matrix.set.iter().chain(variant).chain(axes)
    }

    /// The section `[name]` as written, or an empty one.
    pub(super) fn section(&self, name: &str) -> Node {
        let written = self.root.get(name).filter(|node| node.as_table().is_some());
        written
            .cloned()
            .unwrap_or_else(|| empty_section(Place::default()))
    }

    /// Reads a plain section (`loader`, `validation`, …) of a cell.
    pub(super) fn plain<'a, T: DeserializeOwned>(
        &self,
        name: &str,
        assignments: impl Iterator<Item = &'a Assignment>,
    ) -> Result<T, Vec<Diagnostic>> {
        let node = overlay(self.section(name), &[name], assignments);
        read(&node, name, name, &[])
    }

    /// Reads `[train]` of a cell without the keys that are separate units.
    pub(super) fn train<'a>(
        &self,
        assignments: impl Iterator<Item = &'a Assignment>,
    ) -> Result<TrainSpec, Vec<Diagnostic>> {
        let mut node = overlay(self.section("train"), &["train"], assignments);
        if let Some(table) = node.as_table_mut() {
            for name in CHOICES.into_iter().chain(Unit::PARTS_OF_TRAIN) {
                table.take(name);
            }
        }
        read(&node, "train", "train", &CHOICES)
    }

    /// Reads `train.optimizer` or `train.schedule` of a cell; without `kind` it is of the default kind.
    pub(super) fn train_part<'a, T: DeserializeOwned>(
        &self,
        name: &str,
        default_kind: &str,
        check: impl Fn(&T) -> Vec<RangeError>,
        assignments: impl Iterator<Item = &'a Assignment>,
    ) -> Result<T, Vec<Diagnostic>> {
        let train = self.root.get("train");
        let written = train.and_then(|train| train.as_table()?.get(name));
        let place = train.map_or_else(Place::default, |train| train.place);
        let base = written.cloned().unwrap_or_else(|| empty_section(place));
        let mut node = overlay(base, &["train", name], assignments);
        let place = node.place;
        if let Some(table) = node.as_table_mut()
            && table.get("kind").is_none()
        {
            let key = Key {
                name: "kind".to_owned(),
                place,
            };
            let value = Value::String(default_kind.to_owned());
            table.set(key, Node { value, place });
        }
        let path = format!("train.{name}");
        let read = read(&node, &path, &path, &[]);
        let refused = match &read {
            Ok(value) => ranges::refused(&path, &node, &check(value)),
            Err(_) => refused_by(&path, &node, check),
        };
        and_none_of(read, refused)
    }

    /// The name that a cell chooses for `what` (`model`, `dataset`, `loss`), from an assignment or from `[train]`, or
    /// the only one that exists.
    pub(super) fn chosen<'a>(
        &self,
        what: &str,
        assignments: impl Iterator<Item = &'a Assignment>,
    ) -> Option<Result<Chosen, Diagnostic>> {
        let is_choice = |path: &[Key]| matches!(path, [train, key] if train.name == "train" && key.name == what);
        let assigned = assignments
            .filter(|assignment| is_choice(&assignment.path))
            .last();
        let train = self.root.get("train").and_then(Node::as_table);
        let node = assigned
            .map(|assignment| &assignment.node)
            .or_else(|| train.and_then(|table| table.get(what)));
        if let Some(node) = node {
            return Some(match node.as_str() {
                Some(name) => Ok(Chosen {
                    name: name.to_owned(),
                    place: node.place,
                }),
                None => Err(Diagnostic::error(format!(
                    "`train.{what}` is a name, found {}",
                    node.kind()
                ))
                .at(node.place, "expected a name in quotes")
                .help(format!(
                    "write `[{0}.NAME]` with `kind = \"…\"`, and here `{what} = \"NAME\"`",
                    plural(what)
                ))),
            });
        }
        let section = self.root.get(&plural(what)).and_then(Node::as_table);
        match section.map_or(&[][..], |table| table.entries.as_slice()) {
            [(key, _)] if what != "loss" => Some(Ok(Chosen {
                name: key.name.clone(),
                place: key.place,
            })),
            _ => None,
        }
    }

    /// Reads the named section `chosen` of a cell.
    pub(super) fn named<'a, T: DeserializeOwned>(
        &self,
        what: &str,
        chosen: &Chosen,
        kinds: &[&str],
        assignments: impl Iterator<Item = &'a Assignment>,
    ) -> Result<T, Vec<Diagnostic>> {
        let section = plural(what);
        let table = self.root.get(&section).and_then(Node::as_table);
        let base = match table.and_then(|table| table.get(&chosen.name)) {
            Some(node) => node.clone(),
            // A loss has few settings: its kind may stand for a name.
            None if what == "loss" && kinds.contains(&chosen.name.as_str()) => of_kind(chosen),
            None => return Err(vec![unknown_name(what, chosen, table, kinds)]),
        };
        let assignments = lengthened(&base, assignments);
        let node = overlay(base, &[&section, &chosen.name], assignments.iter());
        read(&node, &section, &format!("{section}.{}", chosen.name), &[])
    }
}

/// `model` → `models`, `loss` → `losses`.
pub(super) fn plural(what: &str) -> String {
    if what == "loss" {
        "losses".to_owned()
    } else {
        format!("{what}s")
    }
}

fn of_kind(chosen: &Chosen) -> Node {
    let mut node = empty_section(chosen.place);
    if let Some(table) = node.as_table_mut() {
        let key = Key {
            name: "kind".to_owned(),
            place: chosen.place,
        };
        let value = Value::String(chosen.name.clone());
        table.set(
            key,
            Node {
                value,
                place: chosen.place,
            },
        );
    }
    node
}

fn unknown_name(what: &str, chosen: &Chosen, table: Option<&Table>, kinds: &[&str]) -> Diagnostic {
    let section = plural(what);
    let own = table.into_iter().flat_map(Table::names);
    let built_in = kinds.iter().copied().filter(|_| what == "loss");
    let names: Vec<&str> = own.chain(built_in).collect();
    let known = if names.is_empty() {
        format!("this manifest has no `[{section}.…]`")
    } else {
        format!(
            "there {} {}",
            if names.len() == 1 { "is" } else { "are" },
            list(names.iter().copied())
        )
    };
    let name = &chosen.name;
    let diagnostic = Diagnostic::error(format!("unknown {what} `{name}`"))
        .at(
            chosen.place,
            format!("no `[{section}.{name}]` in this manifest"),
        )
        .maybe_help(did_you_mean(name, names.iter().copied()));
    if kinds.contains(&name.as_str()) {
        return diagnostic.help(format!(
            "`{name}` is a kind: add `[{section}.{name}]` with `kind = \"{name}\"`"
        ));
    }
    diagnostic.help(known)
}

/// Mistakes that a section finds in its own values, without those of a wrong type.
fn refused_by<T: DeserializeOwned>(
    shown: &str,
    node: &Node,
    check: impl Fn(&T) -> Vec<RangeError>,
) -> Vec<Diagnostic> {
    let value = typed::<T>(node).or_else(|mistakes| {
        let mut rest = node.clone();
        for mistake in &mistakes {
            if let (Some(table), Some(key)) = (rest.as_table_mut(), mistake.path.first()) {
                table.take(key);
            }
        }
        typed(&rest)
    });
    value.map_or_else(
        |_| Vec::new(),
        |value| ranges::refused(shown, node, &check(&value)),
    )
}

/// `read`, or all mistakes of both.
fn and_none_of<T>(
    read: Result<T, Vec<Diagnostic>>,
    refused: Vec<Diagnostic>,
) -> Result<T, Vec<Diagnostic>> {
    match read {
        Ok(value) if refused.is_empty() => Ok(value),
        Ok(_) => Err(refused),
        Err(mistakes) => Err(mistakes.into_iter().chain(refused).collect()),
    }
}

/// Reads a section as `T` and checks its ranges.
pub(super) fn read<T: DeserializeOwned>(
    node: &Node,
    ranges_of: &str,
    shown: &str,
    also: &[&str],
) -> Result<T, Vec<Diagnostic>> {
    read_where(node, ranges_of, shown, also, |_| true)
}

/// As [`read`], but returns only the mistakes for which `is_meant` is true; may return an empty list.
pub(super) fn read_where<T: DeserializeOwned>(
    node: &Node,
    ranges_of: &str,
    shown: &str,
    also: &[&str],
    is_meant: impl Fn(&Mistake) -> bool,
) -> Result<T, Vec<Diagnostic>> {
    let outside = ranges::check(ranges_of, shown, node);
    let found = match typed::<T>(node) {
        Ok(value) if outside.is_empty() => return Ok(value),
        Ok(_) => return Err(outside),
        Err(mistakes) => mistakes,
    };
    let meant = found.iter().filter(|mistake| is_meant(mistake));
    let mut all: Vec<Diagnostic> = meant
        .map(|mistake| {
            let diagnostic = explain(mistake, shown, also);
            let is_kind = matches!(mistake.complaint, Complaint::UnknownWord { .. })
                && mistake.path == ["kind"];
            let shows_all = is_kind && NAMED.contains(&ranges_of);
            diagnostic.maybe_help(shows_all.then(|| {
                let list = shell::command(&format!("list {ranges_of}"));
                format!("`{list}` shows all of them")
            }))
        })
        .collect();
    // A value of a wrong type is out of range too (`-1` samples); one message is enough.
    let is_new =
        |diagnostic: &Diagnostic| all.iter().all(|known| known.place() != diagnostic.place());
    let new: Vec<Diagnostic> = outside.into_iter().filter(is_new).collect();
    all.extend(new);
    Err(all)
}

/// `path` seen from `folder`, absolute, without `.` and `..`.
pub fn absolute(folder: &Path, path: &Path) -> PathBuf {
    let joined = folder.join(path);
    let whole = std::path::absolute(&joined).unwrap_or(joined);
    whole
        .components()
        .fold(PathBuf::new(), |mut clean, component| {
            match component {
                Component::ParentDir => {
                    clean.pop();
                }
                Component::CurDir => {}
                other => clean.push(other),
            }
            clean
        })
}
