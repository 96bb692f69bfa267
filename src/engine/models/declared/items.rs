//! Parses a manifest into the items of a declared model, and finds all mistakes that do not depend on data.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use super::expression::Expression;
use super::layer::Join;
use super::spec::below;
use super::words::{self, COMBINATIONS, Word};
use super::{LayersSpec, Mistake};
use crate::diag::{did_you_mean, list, nearest};

/// One entry of a list of layers in a manifest.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) path: Vec<String>,
    pub(super) name: Option<String>,
    pub(super) body: Body,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    Word(Box<Settings>),
    Residual {
        layers: Vec<Item>,
        shortcut: Vec<Item>,
    },
    Parallel {
        branches: Vec<Vec<Item>>,
        join: Join,
    },
    Repeat {
        count: Number,
        layers: Vec<Item>,
    },
    Use(String),
}

/// The word that names a layer in a manifest (such as `linear`), with its argument and options.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) word: &'static Word,
    pub(super) argument: Option<Number>,
    pub(super) numbers: BTreeMap<&'static str, Number>,
    pub(super) truths: BTreeMap<&'static str, BoolOption>,
    pub(super) tie: Option<String>,
}

/// A number in a manifest, written as a number or an expression.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub(super) expression: Expression,
    pub(super) path: Vec<String>,
}

/// A boolean option: `true`, `false` or the name of a boolean parameter.
#[derive(Debug, Clone)]
pub(super) enum BoolOption {
    Is(bool),
    Parameter(String),
}

/// Names with a fixed meaning, which parameters cannot have.
const RESERVED: [&str; 6] = ["classes", "outputs", "index", "here", "min", "max"];

/// Largest depth of nesting of items.
const DEPTH: usize = 32;

/// The items of a model and of its blocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Items {
    pub(super) layers: Vec<Item>,
    pub(super) blocks: BTreeMap<String, Vec<Item>>,
}

/// Reads `spec`; returns its items, and all mistakes that can be found without data.
pub(super) fn read(spec: &LayersSpec) -> (Items, Vec<Mistake>) {
    let mut reader = Reader {
        spec,
        mistakes: Vec::new(),
        used: BTreeSet::new(),
        has_unread: false,
        names: BTreeSet::new(),
    };
    reader.parameters();
    let root = vec!["layers".to_owned()];
    let layers = reader.items(&spec.layers, &root, 0);
    if spec.layers.is_empty() {
        reader.mistake(&root, "`layers` is empty".to_owned());
    }
    let blocks = spec.blocks.iter().map(|(name, block)| {
        let path = ["blocks", name, "layers"].map(str::to_owned);
        (name.clone(), reader.items(&block.layers, &path, 0))
    });
    let blocks = blocks.collect();
    reader.unused();
    (Items { layers, blocks }, reader.mistakes)
}

pub(super) struct Reader<'a> {
    pub(super) spec: &'a LayersSpec,
    pub(super) mistakes: Vec<Mistake>,
    /// Names of the parameters that layers use.
    pub(super) used: BTreeSet<String>,
    /// Whether an expression could not be parsed. Unused parameters are then not reported, since the expression may use
    /// them.
    pub(super) has_unread: bool,
    /// Values of `name` in items, to find duplicates.
    names: BTreeSet<String>,
}

impl Reader<'_> {
    pub(super) fn mistake(&mut self, path: &[String], message: String) {
        self.mistakes.push(Mistake::new(path, message));
    }

    fn parameters(&mut self) {
        for (name, value) in &self.spec.parameters {
            let path = ["parameters".to_owned(), name.clone()];
            let starts = name.starts_with(|first: char| first.is_ascii_lowercase());
            let is_plain = |letter: char| {
                letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_'
            };
            if !starts || !name.chars().all(is_plain) {
                let message = format!("a parameter cannot have the name `{name}`");
                let help = "a name has lower-case letters, digits and `_`, a letter first";
                self.mistakes
                    .push(Mistake::new(&path, message).of_key().help(help));
            } else if RESERVED.contains(&name.as_str()) {
                let message = format!("`{name}` is given, so no parameter can have this name");
                let help = format!("given are {}", list(RESERVED));
                self.mistakes
                    .push(Mistake::new(&path, message).of_key().help(help));
            }
            if !(value.is_number() || value.is_boolean() || value.is_string()) {
                let message = format!(
                    "the parameter `{name}` is {}; it can be a number, a word, `true` or `false`",
                    kind(value)
                );
                self.mistake(&path, message);
            }
        }
    }

    fn unused(&mut self) {
        for name in self.spec.parameters.keys() {
            if !self.used.contains(name) && !self.has_unread {
                let path = ["parameters".to_owned(), name.clone()];
                let message = format!("no layer uses the parameter `{name}`");
                let meant = did_you_mean(name, self.used.iter().map(String::as_str));
                let mistake = Mistake::new(&path, message).of_key();
                self.mistakes.push(mistake.maybe_help(meant));
            }
        }
    }

    fn items(&mut self, values: &[Json], path: &[String], depth: usize) -> Vec<Item> {
        if depth > DEPTH {
            self.mistake(path, format!("layers are nested deeper than {DEPTH}"));
            return Vec::new();
        }
        let items = values.iter().enumerate();
        items
            .filter_map(|(index, value)| self.item(value, &below(path, &index.to_string()), depth))
            .collect()
    }

    /// Reads the list of layers at `key` of `table`; empty if there is no such key.
    fn list(
        &mut self,
        table: &Map<String, Json>,
        key: &str,
        path: &[String],
        depth: usize,
    ) -> Vec<Item> {
        let path = below(path, key);
        match table.get(key) {
            None => Vec::new(),
            Some(Json::Array(values)) => self.items(values, &path, depth + 1),
            Some(other) => {
                let message = format!("`{key}` is a list of layers, found {}", kind(other));
                self.mistake(&path, message);
                Vec::new()
            }
        }
    }

    fn item(&mut self, value: &Json, path: &[String], depth: usize) -> Option<Item> {
        match value {
            Json::String(word) => self.plain(word, path),
            Json::Object(table) => self.table(table, path, depth),
            other => {
                let message = format!(
                    "a layer is a word or a table with one word as key, found {}",
                    kind(other)
                );
                self.mistake(path, message);
                None
            }
        }
    }

    fn plain(&mut self, name: &str, path: &[String]) -> Option<Item> {
        let Some(word) = Word::find(name) else {
            if let Some((combination, ..)) = COMBINATIONS.iter().find(|(own, ..)| *own == name) {
                let message = format!("`{combination}` needs a value: `{{ {combination} = … }}`");
                self.mistake(path, message);
            } else {
                self.unknown_word(name, path, false);
            }
            return None;
        };
        if let Some(argument) = word.argument {
            let message = format!("`{name}` needs {argument}: `{{ {name} = … }}`");
            self.mistake(path, message);
            return None;
        }
        Some(Item {
            path: path.to_vec(),
            name: None,
            body: Body::Word(Box::new(Settings::of(word))),
        })
    }

    fn unknown_word(&mut self, name: &str, path: &[String], is_key: bool) {
        let mut mistake = Mistake::new(path, format!("`{name}` is not a layer"));
        mistake.is_key = is_key;
        mistake = match did_you_mean(name, words::all()) {
            Some(meant) => mistake.help(meant),
            None if self.spec.blocks.contains_key(name) => {
                mistake.help(format!("insert a block by `{{ use = \"{name}\" }}`"))
            }
            None => mistake.help(format!("the layers are {}", list(words::all()))),
        };
        self.mistakes.push(mistake);
    }

    fn table(&mut self, table: &Map<String, Json>, path: &[String], depth: usize) -> Option<Item> {
        let is_word = |key: &&String| words::all().any(|word| word == key.as_str());
        let all: Vec<&String> = table.keys().filter(is_word).collect();
        // A word that is also an option of another word of the table is not a layer: `dropout` beside `attention`.
        let is_option = |name: &&String| {
            let words = all.iter().filter_map(|word| Word::find(word));
            words
                .flat_map(|word| word.options)
                .any(|(option, _)| option == name)
        };
        let found: Vec<&String> = all
            .iter()
            .copied()
            .filter(|name| !is_option(name))
            .collect();
        let word = match found.as_slice() {
            [word] => word.as_str(),
            [] => {
                let meant = |key: &&String| nearest(key, words::all()).is_some();
                match table.keys().find(meant).or_else(|| table.keys().next()) {
                    Some(key) => self.unknown_word(key, &below(path, key), true),
                    None => self.mistake(path, "a layer without a word".to_owned()),
                }
                return None;
            }
            [first, second, ..] => {
                let message =
                    format!("one table describes one layer, here are `{first}` and `{second}`");
                self.mistake(&below(path, second), message);
                return None;
            }
        };
        let name = self.name(table, path);
        let body = match word {
            "residual" => Body::Residual {
                layers: self.list(table, word, path, depth),
                shortcut: self.list(table, "shortcut", path, depth),
            },
            "parallel" => self.parallel(table, path, depth)?,
            "repeat" => {
                if !table.contains_key("layers") {
                    let message = "`repeat` needs `layers`, the list to repeat".to_owned();
                    self.mistake(path, message);
                }
                let layers = self.list(table, "layers", path, depth);
                let count = self.number(&table[word], &below(path, word))?;
                Body::Repeat { count, layers }
            }
            "use" => self.insertion(&table[word], &below(path, word))?,
            word => Body::Word(Box::new(self.settings(Word::find(word)?, table, path)?)),
        };
        if let Some((_, keys, _)) = COMBINATIONS.iter().find(|(own, ..)| *own == word) {
            self.unknown_keys(table, path, word, keys);
        }
        let path = path.to_vec();
        Some(Item { path, name, body })
    }

    fn name(&mut self, table: &Map<String, Json>, path: &[String]) -> Option<String> {
        let path = below(path, "name");
        match table.get("name")? {
            Json::String(name) => {
                if !self.names.insert(name.clone()) {
                    self.mistake(&path, format!("two layers have the name `{name}`"));
                }
                Some(name.clone())
            }
            other => {
                self.mistake(&path, format!("`name` is text, found {}", kind(other)));
                None
            }
        }
    }

    fn parallel(
        &mut self,
        table: &Map<String, Json>,
        path: &[String],
        depth: usize,
    ) -> Option<Body> {
        let own = below(path, "parallel");
        let Some(Json::Array(lists)) = table.get("parallel") else {
            let message = "`parallel` is a list of lists of layers".to_owned();
            self.mistake(&own, message);
            return None;
        };
        if lists.len() < 2 {
            self.mistake(&own, "`parallel` needs at least two lists".to_owned());
        }
        let mut branches = Vec::new();
        for (index, branch) in lists.iter().enumerate() {
            let path = below(&own, &index.to_string());
            match branch {
                Json::Array(values) => branches.push(self.items(values, &path, depth + 1)),
                other => {
                    let message = format!("a branch is a list of layers, found {}", kind(other));
                    self.mistake(&path, message);
                }
            }
        }
        let join = match table.get("join").map(|join| (join, join.as_str())) {
            None | Some((_, Some("concat"))) => Join::Concat,
            Some((_, Some("add"))) => Join::Add,
            Some((_, Some("multiply"))) => Join::Multiply,
            Some((other, word)) => {
                let shown = word.map_or_else(|| kind(other).to_owned(), |word| format!("`{word}`"));
                let message = format!("`join` is `concat`, `add` or `multiply`, found {shown}");
                self.mistake(&below(path, "join"), message);
                return None;
            }
        };
        Some(Body::Parallel { branches, join })
    }

    fn insertion(&mut self, value: &Json, path: &[String]) -> Option<Body> {
        let Json::String(name) = value else {
            let message = format!(
                "`use` is the name of a block or of a parameter, found {}",
                kind(value)
            );
            self.mistake(path, message);
            return None;
        };
        let is_parameter = self.spec.parameters.contains_key(name);
        if is_parameter {
            self.used.insert(name.clone());
        } else if !self.spec.blocks.contains_key(name) && Word::find(name).is_none() {
            let known = self.spec.blocks.keys().chain(self.spec.parameters.keys());
            let known: Vec<&str> = known.map(String::as_str).collect();
            let message = format!("`use`: there is no block and no parameter `{name}`");
            let help = did_you_mean(name, known.iter().copied())
                .unwrap_or_else(|| format!("a block is written as `[models.….blocks.{name}]`"));
            self.mistakes.push(Mistake::new(path, message).help(help));
            return None;
        }
        Some(Body::Use(name.clone()))
    }
}

impl Settings {
    pub(super) fn of(word: &'static Word) -> Self {
        Self {
            word,
            argument: None,
            numbers: BTreeMap::new(),
            truths: BTreeMap::new(),
            tie: None,
        }
    }
}

/// The type of a JSON value, in words for messages.
pub(super) fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "not a number",
        Json::Bool(_) => "`true` or `false`",
        Json::Number(_) => "a number",
        Json::String(_) => "a word",
        Json::Array(_) => "a list",
        Json::Object(_) => "a table",
    }
}
