//! JSON text without the control characters that JSON allows in strings, U+007F to U+009F: terminals interpret them.

use serde::Serialize;

/// The value as indented JSON with a final line break. It must serialize without error (maps need string keys); NaN
/// becomes null.
pub fn pretty_json(value: &impl Serialize) -> String {
    escaped(serde_json::to_string_pretty(value).unwrap_or_default()) + "\n"
}

/// The value as JSON in one line, without a final line break; otherwise like [`pretty_json`].
pub fn json_line(value: &impl Serialize) -> String {
    escaped(serde_json::to_string(value).unwrap_or_default())
}

fn escaped(json: String) -> String {
    let is_control = |letter: char| matches!(letter, '\u{7f}'..='\u{9f}');
    if !json.contains(is_control) {
        return json;
    }
    let escaped = |letter: char| {
        if is_control(letter) {
            format!("\\u{:04x}", u32::from(letter))
        } else {
            letter.to_string()
        }
    };
    json.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_acts_on_is_written_as_its_code_and_reads_back() {
        let text = "\u{7f}a\u{9b}31m\u{1b}";
        let json = json_line(&text);
        assert_eq!(json, r#""\u007fa\u009b31m\u001b""#);
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        assert_eq!(pretty_json(&text), json + "\n");
    }
}
