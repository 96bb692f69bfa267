//! Values as TOML text.

use serde_json::Value;

/// A value on one line of TOML: `{ patience = 5 }`; `none` for what TOML cannot write.
pub fn toml_text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(name, value)| format!("{name} = {}", toml_text(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(toml_text).collect();
            format!("[{}]", values.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_lists_stand_as_a_manifest_writes_them() {
        let value =
            serde_json::json!({"patience": 5, "betas": [0.9, 1e-8], "kind": "adam", "clip": null});
        assert_eq!(
            toml_text(&value),
            "{ betas = [0.9, 1e-8], clip = none, kind = \"adam\", patience = 5 }"
        );
        assert_eq!(toml_text(&serde_json::json!({})), "{}");
    }
}
