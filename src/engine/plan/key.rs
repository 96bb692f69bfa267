//! Readable keys: how axis values are written in `model=unet,batch-size=8`.

use std::borrow::Cow;

use crate::base::text::{escape_control, into_escaped};
use crate::manifest::{Node, Value};

/// Key of the only cell of a plan without axes.
pub(super) const SINGLE_CELL_KEY: &str = "cell";

/// The text of an axis value in keys.
///
/// Numbers are in the shortest form that parses to the same number; texts are unquoted if unambiguous, else JSON
/// strings; lists are `[a;b]`, tables `{kind:adam;lr:1e-4}`, so that commas only separate axes and equals signs only
/// separate an axis from its value.
pub(super) fn value_text(node: &Node) -> String {
    match &node.value {
        Value::String(text) | Value::Datetime(text) => string(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => float(*number),
        Value::Boolean(truth) => truth.to_string(),
        Value::Array(nodes) => {
            let texts: Vec<String> = nodes.iter().map(value_text).collect();
            format!("[{}]", texts.join(";"))
        }
        Value::Table(table) => {
            let entry = |(key, node): &(crate::manifest::Key, Node)| {
                format!("{}:{}", string(&key.name), value_text(node))
            };
            let texts: Vec<String> = table.entries.iter().map(entry).collect();
            format!("{{{}}}", texts.join(";"))
        }
    }
}

/// The shorter of the decimal and the exponential form of `number`; both parse to the same number.
pub(super) fn float(number: f64) -> String {
    let plain = format!("{number}");
    let exponential = format!("{number:e}");
    if exponential.len() < plain.len() {
        exponential
    } else {
        plain
    }
}

fn string(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-.:/+".contains(letter);
    let is_literal = text.parse::<f64>().is_ok() || text == "true" || text == "false";
    if !text.is_empty() && text.chars().all(is_plain) && !is_literal {
        text.to_owned()
    } else {
        // JSON escapes only some control characters; the others are escaped here.
        into_escaped(serde_json::Value::from(text).to_string())
    }
}

/// The axis value from its text in a key: `a,b` from `"a,b"`. The empty text keeps its quotes, to distinguish it from a
/// missing axis; control characters stay escaped.
///
/// # Example
/// ```
/// use fieldtrial_engine::plan::axis_value;
/// assert_eq!(axis_value(r#""a,\"b\"""#), r#"a,"b""#);
/// assert_eq!(axis_value("-rf"), "-rf");
/// ```
pub fn axis_value(text: &str) -> Cow<'_, str> {
    let inside = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let Some(inside) = inside.filter(|inside| !inside.is_empty()) else {
        return Cow::Borrowed(text);
    };
    let is_plain =
        |value: &String| !value.contains(['\n', '\t']) && escape_control(value) == *value;
    let value = serde_json::from_str(text).ok().filter(is_plain);
    value.map_or(Cow::Borrowed(inside), Cow::Owned)
}

/// The parts `axis=value` of a key, with values as [`axis_value`] returns them.
pub fn key_parts(key: &str) -> impl Iterator<Item = String> {
    split(key, ',')
        .into_iter()
        .map(|part| match part.split_once('=') {
            Some((axis, text)) => format!("{axis}={}", axis_value(text)),
            None => part.to_owned(),
        })
}

/// Splits at `separator` outside double quotes.
pub(super) fn split(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut is_quoted, mut is_escaped) = (0, false, false);
    for (position, letter) in text.char_indices() {
        if letter == '"' && !is_escaped {
            is_quoted = !is_quoted;
        } else if letter == separator && !is_quoted {
            parts.push(text.get(start..position).unwrap_or_default());
            start = position + letter.len_utf8();
        }
        is_escaped = is_quoted && letter == '\\' && !is_escaped;
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_shortest_form_that_reads_back() {
        let texts: Vec<String> = [5e-5, 0.1, 1.0, 0.001, 1e6, 0.015]
            .into_iter()
            .map(float)
            .collect();
        assert_eq!(texts, ["5e-5", "0.1", "1", "1e-3", "1e6", "0.015"]);
    }

    #[test]
    fn texts_that_could_be_misread_are_quoted() {
        let texts: Vec<String> = ["cuda:1", "a,b", "x=1", "8", ""]
            .into_iter()
            .map(string)
            .collect();
        assert_eq!(texts, ["cuda:1", "\"a,b\"", "\"x=1\"", "\"8\"", "\"\""]);
    }

    #[test]
    fn the_value_of_a_text_is_what_the_manifest_has() {
        for value in ["-rf", "a,b", "x=1", "8", "true", "a \"b\" \\c", "ü,\\"] {
            assert_eq!(axis_value(&string(value)), value);
        }
        assert_eq!(axis_value(&string("")), "\"\"");
        assert_eq!(axis_value(&string("a\u{1b}[2J\n")), r"a\u001b[2J\n");
        assert_eq!(axis_value(&string("a\u{9b}")), r"a\u{9b}");
        assert_eq!(axis_value(r#"["a,b";c]"#), r#"["a,b";c]"#);
    }

    #[test]
    fn a_key_is_split_outside_of_quotes() {
        let key = format!("text={},lr=1e-3,last={}", string("a,\"b,"), string("c\\"));
        let parts: Vec<String> = key_parts(&key).collect();
        assert_eq!(parts, ["text=a,\"b,", "lr=1e-3", "last=c\\"]);
    }

    #[test]
    fn no_key_has_a_character_that_a_terminal_acts_on() {
        assert_eq!(string("a\u{1b}[2J"), r#""a\u001b[2J""#);
        assert_eq!(string("a\u{9b}\u{7f}"), r#""a\u{9b}\u{7f}""#);
    }
}
