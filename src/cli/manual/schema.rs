//! [`Schema`]: sections and their keys, from the JSON Schema of manifests.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;

use crate::plan::{manifest_schema, range_words, toml_text};

/// A section, or one kind of it; also other entries of `fieldtrial list`.
#[derive(Debug, Serialize)]
pub(in crate::cli) struct Entry {
    pub(in crate::cli) name: String,
    pub(in crate::cli) description: String,
    /// Required keys first, then alphabetically.
    pub(in crate::cli) settings: Vec<Setting>,
}

#[derive(Debug, Serialize)]
pub(in crate::cli) struct Setting {
    pub(in crate::cli) name: String,
    /// Type of the value in words: "whole number", "list of strings", "table".
    #[serde(rename = "type")]
    pub(in crate::cli) kind: String,
    /// Default value as TOML; `None` for a required key.
    pub(in crate::cli) default: Option<String>,
    /// Range of allowed numbers as text; `None` without a restriction.
    pub(in crate::cli) range: Option<String>,
    /// Allowed words with their meanings; empty if the value is not a word.
    #[serde(skip)]
    pub(in crate::cli) words: Vec<(String, String)>,
    pub(in crate::cli) description: String,
}

/// The JSON Schema of manifests.
pub(in crate::cli) struct Schema(Value);

impl Schema {
    pub(in crate::cli) fn of_manifest() -> Self {
        Self(serde_json::from_str(&manifest_schema()).unwrap_or_default())
    }

    /// The keys at the top level of a manifest that are not tables.
    pub(in crate::cli) fn top_level_keys(&self) -> Entry {
        let mut entry = self.entry("the top level", &self.0);
        let is_value = |setting: &Setting| setting.kind.starts_with("string");
        entry.settings.retain(is_value);
        entry
    }

    /// The entry for a table, from its definition in the schema.
    pub(in crate::cli) fn table(&self, definition: &str, name: &str) -> Entry {
        self.entry(name, &self.0["definitions"][definition])
    }

    /// The kinds in a definition of the schema, sorted by name.
    pub(in crate::cli) fn kinds<'a>(&'a self, definition: &str) -> Vec<Entry> {
        let kinds = alternatives(&self.0["definitions"][definition]).iter();
        let name = |kind: &'a Value| kind["properties"]["kind"]["const"].as_str();
        let kinds = kinds.filter_map(|kind| Some(self.entry(name(kind)?, kind)));
        kinds.collect()
    }

    /// The forms of a search parameter, by the key that selects each.
    pub(in crate::cli) fn parameter_forms(&self) -> Vec<Entry> {
        let space = &self.0["definitions"]["SearchSection"]["properties"]["space"];
        let forms = alternatives(&space["additionalProperties"]).iter();
        let forms = forms.filter_map(|form| Some(self.entry(form["required"][0].as_str()?, form)));
        forms.collect()
    }

    /// The description of a type's definition in the schema.
    pub(in crate::cli) fn description_of(&self, definition: &str) -> String {
        one_line(&self.0["definitions"][definition])
    }

    /// Names of all definitions that are tables, except the layers of a model, which docs/models.md describes.
    #[cfg(test)]
    pub(super) fn tables(&self) -> Vec<String> {
        // Definitions of list elements, which are described together with the list.
        const PARTS: [&str; 2] = ["AnswerPart", "Layer"];
        let has_keys = |value: &Value| value["properties"].is_object();
        let is_table = |value: &Value| has_keys(value) || alternatives(value).iter().any(has_keys);
        let definitions = self.0["definitions"].as_object().into_iter().flatten();
        definitions
            .filter(|(name, value)| is_table(value) && !PARTS.contains(&name.as_str()))
            .map(|(name, _)| name.clone())
            .collect()
    }

    fn entry(&self, name: &str, schema: &Value) -> Entry {
        let needed = schema["required"].as_array().into_iter().flatten();
        let needed: Vec<&str> = needed.filter_map(Value::as_str).collect();
        let keys = schema["properties"].as_object().into_iter().flatten();
        let keys = keys.filter(|(key, _)| *key != "kind");
        let setting = |(key, property): (&String, &Value)| {
            self.setting(key, property, needed.contains(&key.as_str()))
        };
        let mut settings: Vec<Setting> = keys.map(setting).collect();
        settings.sort_by_key(|setting| setting.default.is_some());
        Entry {
            name: name.to_owned(),
            description: one_line(schema),
            settings,
        }
    }

    fn setting(&self, name: &str, property: &Value, is_needed: bool) -> Setting {
        let target = self.target(property);
        let words = alternatives(target).iter();
        let word = |one: &Value| Some((one["const"].as_str()?.to_owned(), one_line(one)));
        let mut description = one_line(property);
        if description.is_empty() {
            description = one_line(target);
        }
        Setting {
            name: name.to_owned(),
            kind: self.kind(property),
            default: (!is_needed).then(|| toml_text(&property["default"])),
            range: range_words(property),
            words: words.filter_map(word).collect(),
            description,
        }
    }

    /// Resolves a `$ref`, also if it is the only entry of `allOf` or combined with `null`; otherwise returns the schema
    /// itself.
    fn target<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let inner = [&schema["allOf"][0], &schema["anyOf"][0], &schema["items"]];
        let holders = std::iter::once(schema).chain(inner);
        let names = holders.filter_map(|holder| holder["$ref"].as_str()?.rsplit('/').next());
        let mut definitions = names.map(|name| &self.0["definitions"][name]);
        definitions.next().unwrap_or(schema)
    }

    /// The type of a value as text.
    fn kind(&self, schema: &Value) -> String {
        if schema["type"] == "array" {
            return self.list(schema);
        }
        if let Some(name) = schema["type"].as_str() {
            return plain(name).to_owned();
        }
        let several = schema["type"].as_array().into_iter().flatten();
        let several = several.filter_map(Value::as_str).map(plain);
        let several = several.filter(|name| *name != "null");
        let mut kinds: Vec<String> = several.map(str::to_owned).collect();
        if kinds == ["list"] {
            return self.list(schema);
        }
        let target = self.target(schema);
        let others: &[Value] = match &schema["anyOf"] {
            Value::Array(others) => others,
            _ if kinds.is_empty() && !std::ptr::eq(target, schema) => return self.kind(target),
            _ => alternatives(schema),
        };
        let others = others.iter().filter(|other| other["type"] != "null");
        kinds.extend(others.map(|other| self.kind(other)));
        let mut seen = BTreeSet::new();
        kinds.retain(|kind| seen.insert(kind.clone()));
        kinds.join(" or ")
    }

    fn list(&self, schema: &Value) -> String {
        let items = match &schema["items"] {
            Value::Null => "values".to_owned(),
            items => {
                let kinds = self.kind(items);
                let kinds = kinds.split(" or ").map(plural);
                kinds.collect::<Vec<_>>().join(" or ")
            }
        };
        let ends = [&schema["minItems"], &schema["maxItems"]].map(Value::as_u64);
        match ends {
            [Some(least), Some(most)] if least == most => format!("list of {least} {items}"),
            _ => format!("list of {items}"),
        }
    }
}

/// The alternatives (`oneOf`, `anyOf`) of a schema.
fn alternatives(schema: &Value) -> &[Value] {
    let lists = [&schema["oneOf"], &schema["anyOf"]];
    let found = lists.into_iter().find_map(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

/// The plural of a type's name: "string" becomes "strings", "list of strings" becomes "lists of strings".
fn plural(kind: &str) -> String {
    match kind.strip_prefix("list") {
        Some(rest) => format!("lists{rest}"),
        None => format!("{kind}s"),
    }
}

/// Name of a JSON type in messages.
fn plain(name: &str) -> &str {
    match name {
        "integer" => "whole number",
        "object" => "table",
        "array" => "list",
        other => other,
    }
}

fn one_line(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
