//! Checks ranges: numbers against the bounds that their types state, as in the JSON Schema and `fieldtrial list`; and
//! settings that depend on each other.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde_json::Value as Json;

use crate::diag::{Diagnostic, repeated};
use crate::manifest::{Node, Value};
use crate::optim::RangeError;

use super::bounds::Bounds;
use super::cell::SAFETENSORS;
use super::key::value_text;

/// Called for each number out of bounds: the keys that lead to it, its position, the number, and the bounds.
type Found<'a> = &'a mut dyn FnMut(&[&str], &Node, f64, &Bounds);

/// Bounds of every number in a value of the manifest, as a tree with the structure of the value.
#[derive(Debug, Default)]
struct Shape {
    /// Bounds of the value itself, if it is a number.
    bounds: Option<Bounds>,
    /// Bounds of the elements, if the value is a list.
    items: Option<Box<Self>>,
    /// Bounds of the values of a table, by key.
    keys: Vec<(String, Self)>,
    /// Bounds of the values that a table has only if its `kind` is this name.
    kinds: Vec<(String, Self)>,
}

/// Cache: the bounds of types, by the identifiers of their schemas.
static SHAPES: Mutex<BTreeMap<Cow<'static, str>, Arc<Shape>>> = Mutex::new(BTreeMap::new());

fn of<T: JsonSchema>() -> Arc<Shape> {
    let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    let shape = shapes.entry(T::schema_id()).or_insert_with(|| {
        let schema = schemars::schema_for!(T).to_value();
        Shape::of(&schema, &schema["$defs"], &[]).into()
    });
    Arc::clone(shape)
}

impl Shape {
    /// The bounds in a schema. Schemas can be recursive, such as lists of layers: the definitions named in `above`
    /// contain this schema and are not entered again.
    fn of(schema: &Json, definitions: &Json, above: &[&str]) -> Self {
        let items = schema.get("items");
        let items = items.map(|items| Self::of(items, definitions, above));
        let mut shape = Self {
            bounds: Bounds::of(schema),
            items: items.filter(Self::says_something).map(Box::new),
            ..Self::default()
        };
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            let property = Self::of(property, definitions, above);
            if property.says_something() {
                shape.keys.push((key.clone(), property));
            }
        }
        let path = schema["$ref"].as_str();
        let name = path.and_then(|path| path.rsplit('/').next());
        let name = name.filter(|name| !above.contains(name));
        let below: Vec<&str> = above.iter().copied().chain(name).collect();
        let target = name.map(|name| &definitions[name]);
        // The schema of an optional section is an `anyOf` of the section and `null`.
        let optional = schema["anyOf"].as_array().into_iter().flatten();
        for other in target.into_iter().chain(optional) {
            shape.merge(Self::of(other, definitions, &below));
        }
        for one in schema["oneOf"].as_array().into_iter().flatten() {
            if let Some(kind) = one["properties"]["kind"]["const"].as_str() {
                let of_kind = Self::of(one, definitions, above);
                shape.kinds.push((kind.to_owned(), of_kind));
            }
        }
        shape
    }

    fn merge(&mut self, other: Self) {
        self.bounds = self.bounds.or(other.bounds);
        self.items = self.items.take().or(other.items);
        self.keys.extend(other.keys);
        self.kinds.extend(other.kinds);
    }

    fn says_something(&self) -> bool {
        self.bounds.is_some()
            || self.items.is_some()
            || !self.keys.is_empty()
            || !self.kinds.is_empty()
    }

    fn outside<'a>(&self, node: &'a Node, path: &mut Vec<&'a str>, found: Found<'_>) {
        match &node.value {
            Value::Integer(number) => self.number(node, *number as f64, path, found),
            Value::Float(number) => self.number(node, *number, path, found),
            Value::Array(nodes) => {
                for node in nodes {
                    if let Some(items) = &self.items {
                        items.outside(node, path, found);
                    }
                }
            }
            Value::Table(table) => {
                let kind = table.get("kind").and_then(Node::as_str);
                let kind = self.kinds.iter().find(|(name, _)| Some(&**name) == kind);
                for (key, node) in &table.entries {
                    let of_kind = kind.map_or(&[][..], |(_, shape)| &shape.keys);
                    let mut shapes = self.keys.iter().chain(of_kind);
                    if let Some((_, shape)) = shapes.find(|(name, _)| *name == key.name) {
                        path.push(&key.name);
                        shape.outside(node, path, found);
                        path.pop();
                    }
                }
            }
            _ => {}
        }
    }

    fn number(&self, node: &Node, number: f64, path: &[&str], found: Found<'_>) {
        if let Some(bounds) = self.bounds.filter(|bounds| !bounds.hold(number)) {
            found(path, node, number, &bounds);
        }
    }
}

/// Reports all numbers of the section `shown` that are out of the range that `T` states.
pub(super) fn check<T: JsonSchema>(shown: &str, node: &Node) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    of::<T>().outside(node, &mut Vec::new(), &mut |path, node, number, bounds| {
        let path = path.join(".");
        let words = if number.is_finite() {
            bounds.words()
        } else {
            "a finite number".to_owned()
        };
        let title = format!("`{shown}.{path}` must be {words}, found `{number}`");
        mistakes.push(Diagnostic::error(title).at(node.place, words));
    });
    match shown {
        "measure" => mistakes.extend(seeds(node)),
        "train" => mistakes.extend(file_name(node)),
        _ => {}
    }
    mistakes
}

/// Diagnostics for mistakes that a settings type found in its values, with their positions in the section `shown`.
pub(super) fn range_error_diagnostics(
    shown: &str,
    node: &Node,
    errors: &[RangeError],
) -> Vec<Diagnostic> {
    let refused = |error: &RangeError| {
        let RangeError { key, message } = error;
        let written = node.as_table().and_then(|table| table.at_path(key));
        let label = message.split(", not ").next().unwrap_or(message);
        Diagnostic::error(format!("`{shown}.{key}` {message}"))
            .at(written.unwrap_or(node).place, label)
    };
    errors.iter().map(refused).collect()
}

/// Longest file name in bytes, short enough that seed and extension can be appended on any file system.
const LONGEST_NAME: usize = 100;

/// `train.save-to` must be a file name, not a path.
fn file_name(node: &Node) -> Option<Diagnostic> {
    let node = node.as_table()?.get("save-to")?;
    let written = node.as_str()?;
    let name = written.strip_suffix(SAFETENSORS).unwrap_or(written);
    let parts = |letter: char| letter.is_control() || "/\\:".contains(letter);
    let label = if name.is_empty() {
        "a name is missing"
    } else if name.contains(parts) {
        "must have none of `/`, `\\`, `:` and control characters"
    } else if name.starts_with('.') {
        "must not begin with a dot"
    } else if name.len() > LONGEST_NAME {
        "must have at most 100 bytes"
    } else {
        return None;
    };
    let shown = written.escape_debug();
    let title = format!("`train.save-to` must be a plain file name, found `{shown}`");
    let help = "each run writes its own file below `reports/<name>/checkpoints/`: `save-to = \"unet\"` makes \
                `unet-seed1.safetensors`";
    Some(Diagnostic::error(title).at(node.place, label).help(help))
}

/// `measure.seeds` must contain at least one seed and no duplicates.
fn seeds(node: &Node) -> Vec<Diagnostic> {
    let list = node.as_table().and_then(|table| table.get("seeds"));
    let Some((list, seeds)) = list.and_then(|list| Some((list, list.as_array()?))) else {
        return Vec::new();
    };
    if seeds.is_empty() {
        let mistake = Diagnostic::error("`measure.seeds` is empty");
        let mistake = mistake.at(list.place, "without a seed nothing runs");
        return vec![mistake.help("for example `seeds = [42]`")];
    }
    let texts: Vec<String> = seeds.iter().map(value_text).collect();
    let seeds = texts.iter().zip(seeds.iter().map(|seed| seed.place));
    let again =
        |(_, place, _)| Diagnostic::error("`measure.seeds` has a seed twice").at(place, "again");
    repeated(seeds).into_iter().map(again).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::cell::TrainSpec;
    use super::*;
    use crate::datasets::DatasetSpec;
    use crate::manifest::Manifest;
    use crate::models::ModelSpec;
    use crate::optim::OptimizerSpec;

    #[track_caller]
    fn mistakes<T: JsonSchema>(text: &str) -> Vec<String> {
        let manifest = Manifest::new(Path::new("x.toml"), text.to_owned(), &[]).unwrap();
        let found = check::<T>("s", &manifest.root);
        found.into_iter().map(|mistake| mistake.title).collect()
    }

    #[test]
    fn a_rule_belongs_to_its_kind() {
        let text = "kind = \"ddpm-unet\"\ndropout = 1.0\nhidden = 0\n";
        let expected = "`s.dropout` must be at least 0 and less than 1, found `1`";
        assert_eq!(mistakes::<ModelSpec>(text), [expected]);
    }

    #[test]
    fn rules_of_datasets_are_those_of_their_schemas() {
        let text = "kind = \"image-folder\"\nsize = [8, 0]\n[augment]\nflip = 2\n[generate]\nkind = \"surface-textures\"\nsize = 4\n";
        let expected = [
            "`s.size` must be from 1 to 16384, found `0`",
            "`s.augment.flip` must be from 0 to 1, found `2`",
            "`s.generate.size` must be from 8 to 2048, found `4`",
        ];
        assert_eq!(mistakes::<DatasetSpec>(text), expected);
        let text = "kind = \"detector-events\"\nvoxels = 2\nheight-mm = 0\nsamples = 0\n";
        let expected = [
            "`s.voxels` must be from 3 to 1000000, found `2`",
            "`s.height-mm` must be larger than 0, found `0`",
            "`s.samples` must be from 1 to 4294967295, found `0`",
        ];
        assert_eq!(mistakes::<DatasetSpec>(text), expected);
    }

    #[test]
    fn rules_of_inner_tables_and_of_lists_hold() {
        let text = "[early-stopping]\npatience = 0\n[ema]\ndecay = 1\n";
        let expected = [
            "`s.early-stopping.patience` must be at least 1, found `0`",
            "`s.ema.decay` must be at least 0 and less than 1, found `1`",
        ];
        assert_eq!(mistakes::<TrainSpec>(text), expected);
        let text = "kind = \"adam\"\nbetas = [0.9, 1.0]\n";
        let expected = "`s.betas` must be at least 0 and less than 1, found `1`";
        assert_eq!(mistakes::<OptimizerSpec>(text), [expected]);
        let text =
            "kind = \"image-folder\"\ngenerate = { kind = \"surface-textures\", size = 0 }\n";
        let expected = "`s.generate.size` must be from 8 to 2048, found `0`";
        assert_eq!(mistakes::<DatasetSpec>(text), [expected]);
    }
}
