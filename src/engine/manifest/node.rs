//! [`Node`]: a TOML value with its position in the text.

use crate::diag::{Diagnostic, Place};

use super::toml_text::path_part;

/// A value of a manifest with its position.
///
/// The tree of the crate `toml` is not sufficient: it sorts keys, while the axes of a manifest are ordered, and it
/// refers to a single text, while each `--set` is a separate text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value, of one of the types of TOML.
    pub value: Value,
    /// Position of the value; for a table with a header, that of the header.
    pub place: Place,
}

/// The types of TOML.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Text.
    String(String),
    /// A whole number.
    Integer(i64),
    /// A number with a point or an exponent, `inf` or `nan`.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or time, as written.
    Datetime(String),
    /// A list.
    Array(Vec<Node>),
    /// A table.
    Table(Table),
}

/// A key with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The name.
    pub name: String,
    /// Position of the key.
    pub place: Place,
}

/// Keys with values, in the order of the manifest.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The entries.
    pub entries: Vec<(Key, Node)>,
}

impl Key {
    /// Creates the key `name` at the position `place`.
    pub fn new(name: impl Into<String>, place: Place) -> Self {
        let name = name.into();
        Self { name, place }
    }

    /// The dotted key of `below`, a key in the table under this key, with a position that spans both.
    fn dot(&self, below: &Self) -> Self {
        let is_before = self.place.start <= below.place.start;
        let whole = if is_before {
            self.place.to(below.place)
        } else {
            below.place
        };
        Self::new(format!("{}.{}", self.name, below.name), whole)
    }

    /// The keys of a path, joined by dots; keys that contain a dot are quoted.
    pub fn dotted(path: &[Self]) -> String {
        let names = path.iter().map(|key| path_part(&key.name));
        names.collect::<Vec<_>>().join(".")
    }
}

impl Node {
    /// Creates a node with this value and position.
    pub fn new(value: Value, place: Place) -> Self {
        Self { value, place }
    }

    /// Creates an empty table with the position `place`.
    pub fn empty(place: Place) -> Self {
        Self::new(Value::Table(Table::default()), place)
    }

    /// Creates a string with the position `place`.
    pub fn text(text: impl Into<String>, place: Place) -> Self {
        Self::new(Value::String(text.into()), place)
    }

    /// The elements of a list; for any other value, the value itself as the only element.
    pub fn alternatives(&self) -> &[Self] {
        self.as_array().unwrap_or(std::slice::from_ref(self))
    }

    /// All values below `key` with their dotted paths. Two kinds of tables are returned whole: empty ones, and those
    /// whose path satisfies `is_value`.
    pub fn leaves(&self, key: Key, is_value: &dyn Fn(&Key) -> bool) -> Vec<(Key, &Self)> {
        let entries = self.as_table().map_or(&[][..], |table| &table.entries);
        if entries.is_empty() || is_value(&key) {
            return vec![(key, self)];
        }
        let below = entries
            .iter()
            .flat_map(|(below, node)| node.leaves(key.dot(below), is_value));
        below.collect()
    }

    /// The diagnostic for a value of a wrong type. `expected` says what is right ("a matrix is a table"); `label` is
    /// shown at the value.
    pub fn unexpected(&self, expected: &str, label: &str) -> Diagnostic {
        Diagnostic::error(format!("{expected}, found {}", self.kind())).at(self.place, label)
    }

    /// The value as `f64`, if it is an integer or a float.
    pub fn as_f64(&self) -> Option<f64> {
        match self.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    /// The value as a table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value as a mutable table, if it is one.
    pub fn as_table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The value as a list, if it is one.
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// The value as a string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value's type as named in messages.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::String(_) => "a string",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "`true` or `false`",
            Value::Datetime(_) => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    /// The value as JSON; dates as strings.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::String(text) | Value::Datetime(text) => text.as_str().into(),
            Value::Integer(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Boolean(truth) => (*truth).into(),
            Value::Array(nodes) => nodes.iter().map(Self::to_json).collect(),
            Value::Table(table) => {
                let entries = table.entries.iter();
                entries
                    .map(|(key, node)| (key.name.clone(), node.to_json()))
                    .collect()
            }
        }
    }

    /// Puts `node` at `path` below this node, creating missing tables; an existing value is replaced.
    ///
    /// An intermediate value that is not a table is replaced by one: reading the section then reports the unexpected
    /// table.
    pub fn put(&mut self, path: &[Key], node: Self) {
        let Some((key, rest)) = path.split_first() else {
            *self = node;
            return;
        };
        if self.as_table().is_none() {
            self.value = Value::Table(Table::default());
            self.place = key.place;
        }
        let Some(table) = self.as_table_mut() else {
            return;
        };
        if rest.is_empty() {
            table.set(key.clone(), node);
            return;
        }
        if table.get(&key.name).is_none() {
            table.set(key.clone(), Self::empty(key.place));
        }
        if let Some(child) = table.get_mut(&key.name) {
            child.put(rest, node);
        }
    }
}

impl Table {
    /// The value under `name`; `None` if there is no such key.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// The value at a dotted path, whose names contain no dots; `None` if there is no such value.
    pub fn at_path(&self, path: &str) -> Option<&Node> {
        match path.split_once('.') {
            Some((first, rest)) => self.table(first)?.at_path(rest),
            None => self.get(path),
        }
    }

    /// The table under `name`, if there is one.
    pub fn table(&self, name: &str) -> Option<&Self> {
        self.get(name)?.as_table()
    }

    /// The entries of the table under `name`; empty if there is no such table.
    pub fn entries_of(&self, name: &str) -> &[(Key, Node)] {
        self.table(name).map_or(&[], |table| &table.entries)
    }

    /// The values of the list under `name`; empty if there is no such list.
    pub fn list(&self, name: &str) -> &[Node] {
        self.get(name).and_then(Node::as_array).unwrap_or_default()
    }

    /// The text under `name`, if there is one.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// Position of the value under `name`, or the beginning of the file if there is none.
    pub fn place_of(&self, name: &str) -> Place {
        self.get(name).map(|node| node.place).unwrap_or_default()
    }

    /// All values, those of nested tables included, with their dotted paths: TOML reads an unquoted dotted key
    /// (`train.optimizer.lr = …`) as nested tables.
    pub fn flat(&self) -> impl Iterator<Item = (Key, &Node)> {
        self.entries
            .iter()
            .flat_map(|(key, node)| node.leaves(key.clone(), &|_| false))
    }

    /// The key and value under `name`; `None` if there is no such key.
    pub fn entry(&self, name: &str) -> Option<&(Key, Node)> {
        self.entries.iter().find(|(key, _)| key.name == name)
    }

    /// Mutable access to the value under `name`; `None` if there is no such key.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        let mut entries = self.entries.iter_mut();
        entries.find_map(|(key, node)| (key.name == name).then_some(node))
    }

    /// Removes and returns the entry under `name`; `None` if there is no such key.
    pub fn take(&mut self, name: &str) -> Option<(Key, Node)> {
        let index = self.entries.iter().position(|(key, _)| key.name == name)?;
        Some(self.entries.remove(index))
    }

    /// Puts `node` under `key`. An older entry of that name is replaced together with its key, so that messages refer
    /// to the text that takes effect.
    pub fn set(&mut self, key: Key, node: Node) {
        let mut entries = self.entries.iter_mut();
        match entries.find(|(old, _)| old.name == key.name) {
            Some(entry) => *entry = (key, node),
            None => self.entries.push((key, node)),
        }
    }

    /// Names of the keys, in the order of the manifest.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.name.as_str())
    }
}
