//! [`Node`]: a TOML value with its place.

use crate::diag::Place;

/// A value of a manifest with its place.
///
/// toml's own spanned tree sorts keys and has only one source text; axes of a manifest are ordered, and each `--set` is
/// another source text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its place; for a table with a header, that of the header.
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

/// A key with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The name.
    pub name: String,
    /// Where it is written.
    pub place: Place,
}

/// Keys with values, in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The entries.
    pub entries: Vec<(Key, Node)>,
}

impl Node {
    /// The table, if it is one.
    pub fn as_table(&self) -> Option<&Table> {
        match &self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The table, to change it.
    pub fn as_table_mut(&mut self) -> Option<&mut Table> {
        match &mut self.value {
            Value::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub fn as_array(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Array(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// Its type as messages name it.
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
            let empty = Self {
                value: Value::Table(Table::default()),
                place: key.place,
            };
            table.set(key.clone(), empty);
        }
        if let Some(child) = table.get_mut(&key.name) {
            child.put(rest, node);
        }
    }
}

impl Table {
    /// The value under `name`.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, node)| node)
    }

    /// The key and value under `name`.
    pub fn entry(&self, name: &str) -> Option<&(Key, Node)> {
        self.entries.iter().find(|(key, _)| key.name == name)
    }

    /// The value under `name`, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Node> {
        self.entries
            .iter_mut()
            .find(|(key, _)| key.name == name)
            .map(|(_, node)| node)
    }

    /// Removes the entry under `name`.
    pub fn take(&mut self, name: &str) -> Option<(Key, Node)> {
        let index = self.entries.iter().position(|(key, _)| key.name == name)?;
        Some(self.entries.remove(index))
    }

    /// Puts `node` under `key`, replacing an older entry of that name with its key, so that messages point at the text
    /// that counts.
    pub fn set(&mut self, key: Key, node: Node) {
        match self
            .entries
            .iter_mut()
            .find(|(old, _)| old.name == key.name)
        {
            Some(entry) => *entry = (key, node),
            None => self.entries.push((key, node)),
        }
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.name.as_str())
    }
}
