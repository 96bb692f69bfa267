//! From text to [`Node`]s: uses the parser of the crate `toml` and reports all syntax errors.

use std::collections::BTreeSet;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diag::{Diagnostic, Place};

use super::node::{Key, Node, Table, Value};

/// Parses a whole document as source number `source`.
///
/// # Errors
/// Every syntax error of the text.
pub(super) fn parse(text: &str, source: usize) -> Result<Node, Vec<Diagnostic>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let errors = first_of_each_line(errors, text);
    let mistakes = errors.iter().map(|error| syntax(error, text, source));
    let mut mistakes: Vec<Diagnostic> = mistakes.collect();
    let place = Place::new(source, &(0..0));
    let value = table(document.get_ref(), source, &mut mistakes);
    if mistakes.is_empty() {
        Ok(Node { value, place })
    } else {
        Err(mistakes)
    }
}

/// Messages of the crate `toml` that refer to its grammar, with their replacements for users.
const MESSAGES: [(&str, &str); 6] = [
    (
        "string values must be quoted, expected literal string",
        "expected a value; a text stands in quotes",
    ),
    (
        "unclosed table, expected `]`",
        "the `]` of the section is missing",
    ),
    (
        "unclosed array, expected `]`",
        "the `]` of the list is missing",
    ),
    ("extra `=`, expected nothing", "one `=` too many"),
    (
        "unexpected key or value, expected newline, `#`",
        "expected the end of the line",
    ),
    (
        "invalid basic string, expected `\"`",
        "the closing `\"` is missing",
    ),
];

fn syntax(error: &toml::de::Error, text: &str, source: usize) -> Diagnostic {
    let span = error.span().unwrap_or(text.len()..text.len());
    let message = error.message().trim();
    let known = MESSAGES.iter().find(|(theirs, _)| *theirs == message);
    let line = text.get(..span.start).map_or(text, |before| {
        &text[before.rfind('\n').map_or(0, |end| end + 1)..]
    });
    let is_marker = ["<<<<<<<", "=======", ">>>>>>>"]
        .iter()
        .any(|marker| line.starts_with(marker));
    let title = match known.map_or(message, |(_, ours)| ours) {
        _ if is_marker => {
            "a conflict marker of git: the merge of this file is not finished".to_owned()
        }
        "" => "the text is not TOML".to_owned(),
        message if message.starts_with("duplicate key") => {
            let name = text.get(span.clone()).unwrap_or_default();
            format!("the key `{name}` is written twice")
        }
        message => format!("broken TOML: {message}"),
    };
    Diagnostic::error(title).at(Place::new(source, &span), "")
}

/// The first error of every line: later ones are mostly consequences of it.
fn first_of_each_line(errors: Vec<toml::de::Error>, text: &str) -> Vec<toml::de::Error> {
    let line = |error: &toml::de::Error| {
        let start = error.span().map_or(0, |span| span.start);
        let before = text.bytes().take(start);
        before.filter(|byte| *byte == b'\n').count()
    };
    let mut seen = BTreeSet::new();
    let first = errors.into_iter().filter(|error| seen.insert(line(error)));
    first.collect()
}

fn node(value: &Spanned<DeValue<'_>>, source: usize, mistakes: &mut Vec<Diagnostic>) -> Node {
    let place = Place::new(source, &value.span());
    let value = match value.get_ref() {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(date) => Value::Datetime(date.to_string()),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            Value::Integer(parsed.unwrap_or_else(|_| {
                mistakes.push(too_large(place));
                0
            }))
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Array(nodes) => {
            let nodes = nodes.iter().map(|child| node(child, source, mistakes));
            Value::Array(nodes.collect())
        }
        DeValue::Table(entries) => table(entries, source, mistakes),
    };
    Node { value, place }
}

fn too_large(place: Place) -> Diagnostic {
    Diagnostic::error("the number is too large")
        .at(place, "does not fit 64 bits")
        .help(format!("whole numbers go up to {}", i64::MAX))
}

/// The entries sorted by position: `toml` sorts them by name, but axes are in the order of the manifest.
fn table(entries: &DeTable<'_>, source: usize, mistakes: &mut Vec<Diagnostic>) -> Value {
    let entries = entries.iter().map(|(name, value)| {
        let key = Key::new(name.get_ref().as_ref(), Place::new(source, &name.span()));
        (key, node(value, source, mistakes))
    });
    let mut entries: Vec<(Key, Node)> = entries.collect();
    entries.sort_by_key(|(key, _)| key.place);
    Value::Table(Table { entries })
}
