//! JSON values as TOML text, tables inline and `kind` first.

use serde_json::{Map, Value};

/// A key, quoted where it needs it.
pub(super) fn key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        string(name)
    }
}

/// A value; what is null in a table is left out.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => string("none"),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => format!("{number:?}"),
            None => number.to_string(),
        },
        Value::String(text) => string(text),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(self::value).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields_of(fields)
                .map(|(name, field)| format!("{} = {}", key(name), self::value(field)))
                .collect();
            if fields.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", fields.join(", "))
            }
        }
    }
}

/// A section with one key a line; empty for one without keys.
pub(super) fn section(head: &str, fields: &Map<String, Value>) -> String {
    let lines: Vec<String> = fields_of(fields)
        .map(|(name, field)| format!("{} = {}\n", key(name), value(field)))
        .collect();
    if lines.is_empty() {
        String::new()
    } else {
        format!("\n{head}\n{}", lines.concat())
    }
}

fn fields_of(fields: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let given = fields.iter().filter(|(_, field)| !field.is_null());
    let (kind, rest): (Vec<_>, Vec<_>) = given.partition(|(name, _)| *name == "kind");
    kind.into_iter().chain(rest)
}

/// A basic string.
fn string(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let fields = json!({
            "lr": 5e-5, "whole": 1.0, "n": 8, "text": "a \"b\" \\ c\nd", "list": [1, [2.5]], "on": true,
            "none": null, "a.b": {"kind": "adam", "betas": [0.9, 0.999], "nothing": null}
        });
        let Value::Object(fields) = &fields else {
            panic!("a table")
        };
        let text = section("[train]", fields);
        let read: toml::Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut expected = fields.clone();
        expected.remove("none");
        expected["a.b"]
            .as_object_mut()
            .expect("a table")
            .remove("nothing");
        assert_eq!(
            serde_json::to_value(&read["train"]).expect("JSON"),
            Value::Object(expected)
        );
        assert!(
            text.contains("\"a.b\" = { kind = \"adam\", betas"),
            "{text}"
        );
    }
}
