//! Values as TOML text.

use serde_json::Value;

/// A JSON value on one line of TOML: `{ kind = "adam", lr = 5e-5 }`. In a table, `kind` comes first and null entries
/// are left out; any other null, which TOML cannot express, is written as `none`.
pub fn toml_text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Object(map) => {
            let given = map.iter().filter(|(_, value)| !value.is_null());
            let (kind, rest): (Vec<_>, Vec<_>) = given.partition(|(name, _)| *name == "kind");
            let entries = kind.into_iter().chain(rest);
            let entries: Vec<String> = entries
                .map(|(name, value)| format!("{} = {}", toml_key(name), toml_text(value)))
                .collect();
            if entries.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", entries.join(", "))
            }
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(toml_text).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(number) => format!("{number:?}"),
            None => number.to_string(),
        },
        other => other.to_string(),
    }
}

/// A key of TOML, quoted if necessary.
pub fn toml_key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        toml_text(&name.into())
    }
}

/// A name as a part of a path with dots: in quotes if it contains a dot.
pub fn path_part(name: &str) -> String {
    if name.contains('.') {
        toml_key(name)
    } else {
        name.to_owned()
    }
}

/// The names of a path with dots; a name in quotes may contain dots: `columns."a.b".missing`.
pub fn path_names(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let text = rest?;
        let quoted = text.strip_prefix('"').and_then(|text| text.split_once('"'));
        let (name, after) = match quoted {
            Some((name, "")) => (name, None),
            Some((name, after)) if after.starts_with('.') => (name, Some(&after[1..])),
            _ => match text.split_once('.') {
                Some((name, after)) => (name, Some(after)),
                None => (text, None),
            },
        };
        rest = after;
        Some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_quotes_may_have_dots() {
        let names = |path| path_names(path).collect::<Vec<_>>();
        assert_eq!(names("a.b-c"), ["a", "b-c"]);
        assert_eq!(names("a.\"pm2.5\".c"), ["a", "pm2.5", "c"]);
        assert_eq!(names("a.\"pm2.5\""), ["a", "pm2.5"]);
        assert_eq!(names("a.\"b"), ["a", "\"b"]);
    }

    #[test]
    fn tables_and_lists_stand_as_a_manifest_writes_them() {
        let value = serde_json::json!({"patience": 5, "betas": [0.9, 1e-8], "kind": "adam", "a.b": 5e-5, "clip": null});
        assert_eq!(
            toml_text(&value),
            "{ kind = \"adam\", \"a.b\" = 5e-5, betas = [0.9, 1e-8], patience = 5 }"
        );
        assert_eq!(toml_text(&serde_json::json!({})), "{}");
        assert_eq!(toml_text(&Value::Null), "none");
    }
}
