//! Translates serde's errors into messages for users; all of these translations are here.

use crate::diag::Diagnostic;

use super::deserialize::DeserializeError;
use super::locate::Mistake;

/// Types as serde names them in errors, and their names in messages for users, which contain no names of Rust types.
const EXPECTATIONS: [(&str, &str); 22] = [
    ("usize", "a whole number of at least 0"),
    ("u64", "a whole number of at least 0"),
    ("u32", "a whole number of at least 0"),
    ("u8", "a whole number from 0 to 255"),
    ("i64", "a whole number"),
    ("f64", "a number"),
    ("f32", "a number"),
    ("a boolean", "`true` or `false`"),
    ("a bool", "`true` or `false`"),
    ("a string", "a string"),
    ("a borrowed string", "a string"),
    ("path string", "a path in quotes"),
    ("a sequence", "a list"),
    ("a map", "a table"),
    ("struct ", "a table"),
    ("internally tagged enum ", "a table with `kind`"),
    ("adjacently tagged enum ", "a table with `kind`"),
    ("enum ", "one word"),
    ("variant identifier", "one word"),
    ("field identifier", "a key"),
    ("an array of length ", "a list"),
    ("tuple ", "a list"),
];

/// Turns a mistake in a section into a diagnostic.
///
/// `section` is the section's name for the user (`train`, `models.unet`); `also` lists keys that the section accepts in
/// addition to those of its type.
pub fn explain(mistake: &Mistake, section: &str, also: &[&str]) -> Diagnostic {
    let path = mistake.path.iter().map(String::as_str);
    let path: Vec<&str> = [section].into_iter().chain(path).collect();
    let path = path.join(".");
    match &mistake.complaint {
        DeserializeError::UnknownKey { name, accepted } => {
            let also = also.iter().filter(|_| mistake.path.is_empty());
            let accepted: Vec<&str> = also.chain(accepted).copied().collect();
            unknown_key(mistake, name, &path, &accepted)
        }
        DeserializeError::UnknownWord { word, accepted }
            if mistake.path.last().is_some_and(|key| key == "kind") =>
        {
            let of = path.strip_suffix(".kind").unwrap_or(&path);
            Diagnostic::error(format!("unknown kind `{word}` in `[{of}]`"))
                .at(mistake.place, "no kind of this name")
                .suggest_from(word, "the kinds are", accepted.iter().copied())
        }
        DeserializeError::UnknownWord { word, accepted } => {
            Diagnostic::error(format!("`{path}` cannot be `{word}`"))
                .at(mistake.place, "not one of the accepted words")
                .suggest_from(
                    word,
                    &format!("`{path}` is one of"),
                    accepted.iter().copied(),
                )
        }
        DeserializeError::Missing { name } => {
            Diagnostic::error(format!("`[{path}]` needs `{name}`"))
                .at(mistake.place, format!("`{name}` is missing here"))
        }
        DeserializeError::WrongType { found, expected } => {
            let right = right_form(&path, translate(expected), found);
            let (expected, found) = (translate(expected), found_text(found));
            Diagnostic::error(format!("`{path}`: expected {expected}, found {found}"))
                .at(mistake.place, format!("expected {expected}"))
                .maybe_help(right)
        }
        DeserializeError::WrongLength { found, expected } => {
            // `expected` is, for example, "an array of length 2" or "2 elements in sequence".
            let is_number = |word: &&str| word.parse::<usize>().is_ok();
            let wanted = expected.split(' ').find(is_number).unwrap_or_default();
            Diagnostic::error(format!("`{path}`: expected {wanted} values, found {found}"))
                .at(mistake.place, format!("expected a list of {wanted}"))
        }
        DeserializeError::Other(message) => {
            Diagnostic::error(format!("`{path}`: {message}")).at(mistake.place, "")
        }
    }
}

/// Keys that users often write in the wrong section, each with the path of the setting.
const ELSEWHERE: [(&str, &str); 13] = [
    ("lr", "train.optimizer.lr"),
    ("learning-rate", "train.optimizer.lr"),
    ("weight-decay", "train.optimizer.weight-decay"),
    ("momentum", "train.optimizer.momentum"),
    ("epochs", "train.epochs"),
    ("batch-size", "train.batch-size"),
    ("device", "train.device"),
    ("threads", "train.threads"),
    ("workers", "loader.workers"),
    ("num-workers", "loader.workers"),
    ("seed", "measure.seeds"),
    ("seeds", "measure.seeds"),
    ("repeats", "measure.repeats"),
];

fn unknown_key(mistake: &Mistake, name: &str, path: &str, accepted: &[&str]) -> Diagnostic {
    let written = name.replace('_', "-");
    let elsewhere = ELSEWHERE
        .iter()
        .find(|(key, home)| *key == written && !home.starts_with(path));
    let diagnostic = Diagnostic::error(format!("unknown key `{name}` in `[{path}]`"))
        .at(mistake.place, "not a key of this section")
        .maybe_help(elsewhere.map(|(_, home)| format!("this setting is `{home}`")));
    if accepted.is_empty() {
        return diagnostic.help(format!("`[{path}]` has no settings of its own"));
    }
    diagnostic.suggest_from(
        name,
        &format!("`[{path}]` accepts"),
        accepted.iter().copied(),
    )
}

/// Advice on how to write the value at `path` in the expected type; `None` if there is no advice for the type.
fn right_form(path: &str, expected: &str, found: &str) -> Option<String> {
    let key = path.rsplit('.').next().unwrap_or(path);
    // `found` is, for example, "integer `42`" or "string "adam""; the value follows the type's name.
    let value = found.split_once(' ');
    let value = value.map(|(_, value)| value.trim_start_matches("point ").trim_matches('`'));
    match (expected, value) {
        ("a table with `kind`", Some(word)) if found.starts_with("string") => {
            Some(format!("write `{key} = {{ kind = {word} }}`"))
        }
        ("a table" | "a table with `kind`", _) => Some(format!(
            "a table is written `{{ key = value, … }}`; `fieldtrial list sections` shows the keys of `{path}`"
        )),
        ("a list", Some(value)) => Some(format!("write `{key} = [{value}]`")),
        ("a list", None) => Some(format!(
            "write the tables in brackets: `{key} = [{{ … }}, {{ … }}]`"
        )),
        _ => None,
    }
}

fn translate(expected: &str) -> &str {
    let is_meant =
        |words: &str| expected == words || words.ends_with(' ') && expected.starts_with(words);
    let found = EXPECTATIONS.iter().find(|(words, _)| is_meant(words));
    found.map_or(expected, |(_, ours)| ours)
}

/// The found value for a message: "integer `3`" without the type's name, "string "x"" with it.
fn found_text(found: &str) -> String {
    let (word, rest) = found.split_once(' ').unwrap_or((found, ""));
    match word {
        "integer" | "boolean" => rest.to_owned(),
        "floating" => rest.trim_start_matches("point ").to_owned(),
        "string" => format!("the string {rest}"),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_rust_are_translated() {
        assert_eq!(translate("usize"), "a whole number of at least 0");
        assert_eq!(translate("struct MlpSpec"), "a table");
        assert_eq!(
            translate("one of the known words"),
            "one of the known words"
        );
    }

    #[test]
    fn found_values_are_shown_as_written() {
        assert_eq!(found_text("integer `-1`"), "`-1`");
        assert_eq!(found_text("floating point `1.5`"), "`1.5`");
        assert_eq!(found_text("string \"fast\""), "the string \"fast\"");
    }
}
