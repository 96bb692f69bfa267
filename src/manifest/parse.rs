//! From text to [`Node`]s: toml's parser, all syntax errors at once.

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
    let mut mistakes: Vec<Diagnostic> = errors
        .iter()
        .map(|error| syntax(error, text, source))
        .collect();
    let place = Place::new(source, &(0..0));
    let value = table(document.get_ref(), source, &mut mistakes);
    if mistakes.is_empty() {
        Ok(Node { value, place })
    } else {
        Err(mistakes)
    }
}

fn syntax(error: &toml::de::Error, text: &str, source: usize) -> Diagnostic {
    let span = error.span().unwrap_or(text.len()..text.len());
    let message = error.message().trim();
    let title = match message {
        "" => "the text is not TOML".to_owned(),
        message if message.starts_with("duplicate key") => {
            let name = text.get(span.clone()).unwrap_or_default();
            format!("the key `{name}` is written twice")
        }
        message => format!("broken TOML: {message}"),
    };
    Diagnostic::error(title).at(Place::new(source, &span), "")
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
        DeValue::Array(nodes) => Value::Array(
            nodes
                .iter()
                .map(|child| node(child, source, mistakes))
                .collect(),
        ),
        DeValue::Table(entries) => table(entries, source, mistakes),
    };
    Node { value, place }
}

fn too_large(place: Place) -> Diagnostic {
    Diagnostic::error("the number is too large")
        .at(place, "does not fit 64 bits")
        .help(format!("whole numbers go up to {}", i64::MAX))
}

/// Entries by position: toml keeps them by name, and the order of axes is the order in which they are written.
fn table(entries: &DeTable<'_>, source: usize, mistakes: &mut Vec<Diagnostic>) -> Value {
    let mut entries: Vec<(Key, Node)> = entries
        .iter()
        .map(|(name, value)| {
            let key = Key {
                name: name.get_ref().clone().into_owned(),
                place: Place::new(source, &name.span()),
            };
            (key, node(value, source, mistakes))
        })
        .collect();
    entries.sort_by_key(|(key, _)| key.place);
    Value::Table(Table { entries })
}
