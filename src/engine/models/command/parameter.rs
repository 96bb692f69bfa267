//! [`Parameter`]: a setting of a command, with its type, its range and its value.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::Mistake;

/// A parameter of a command with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Type and range.
    pub kind: ParameterKind,
    /// The value, from an axis, a variant or a search, else the default.
    pub value: Json,
    /// Name of the command line flag: `--amp`; `None` means `--NAME`.
    pub flag: Option<String>,
}

/// Type and range of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum ParameterKind {
    /// A number from the first to the second.
    Float(f64, f64),
    /// A whole number from the first to the second.
    Int(i64, i64),
    /// One of these strings or numbers.
    Choice(Vec<Json>),
    /// True or false.
    Bool,
    /// Any value: the manifest gives a value without a type.
    Any,
}

const KEYS: [&str; 6] = ["float", "int", "choice", "bool", "default", "flag"];

impl Parameter {
    /// Reads the parameter `name` from the manifest, in which an axis value replaces the default.
    ///
    /// # Errors
    /// All mistakes in the parameter.
    pub(super) fn read(name: &str, json: &Json) -> Result<Self, Vec<Mistake>> {
        let one = |keys: &[&str], message: String| vec![Mistake::new(&path(name, keys), message)];
        if let Some(message) = wrong_name(name) {
            return Err(vec![Mistake::new(&path(name, &[]), message).of_key()]);
        }
        let table = match json {
            Json::Object(table) => table,
            Json::Array(_) => {
                let message = format!("`{name}` is one value; several are an axis or a `choice`");
                return Err(one(&[], message));
            }
            value => {
                return Ok(Self {
                    kind: ParameterKind::Any,
                    value: value.clone(),
                    flag: None,
                });
            }
        };
        let kinds = table.keys().filter(|key| KEYS[..4].contains(&key.as_str()));
        if kinds.count() != 1 {
            let message = format!("`{name}` needs one of `float`, `int`, `choice` and `bool`");
            return Err(one(&[], message));
        }
        let unknown = unknown_keys(name, table);
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let kind = kind(table).map_err(|(key, message)| one(&[key], message))?;
        let flag = match table.get("flag") {
            None => None,
            Some(Json::String(flag)) => Some(flag.clone()),
            Some(_) => return Err(one(&["flag"], "a flag is a text, `\"--amp\"`".to_owned())),
        };
        let Some(value) = table.get("default") else {
            let mistake = Mistake::new(&path(name, &[]), format!("`{name}` has no value"));
            let help = format!("give it a `default`, or an axis `models.NAME.{name}`");
            return Err(vec![mistake.help(help)]);
        };
        let value = kind
            .fitted(value)
            .map_err(|message| one(&["default"], format!("`{name}`: {message}")))?;
        Ok(Self { kind, value, flag })
    }

    /// The value as a command line argument.
    pub fn text(&self) -> String {
        text(&self.value)
    }
}

/// Path in the model's section: `parameters`, `name`, then `keys`.
fn path(name: &str, keys: &[&str]) -> Vec<String> {
    let above = ["parameters", name];
    let keys = above.iter().chain(keys);
    keys.map(|key| (*key).to_owned()).collect()
}

fn wrong_name(name: &str) -> Option<String> {
    if !super::is_word(name) {
        return Some(format!(
            "a parameter has lower-case letters, digits and `_`, not `{name}`"
        ));
    }
    let is_of_run = super::RUN_PLACEHOLDERS.contains(&name);
    is_of_run.then(|| format!("`{name}` is given by the run; a parameter needs another name"))
}

fn unknown_keys(name: &str, table: &Map<String, Json>) -> Vec<Mistake> {
    let unknown = table.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let mistake = |key: &String| {
        let message = format!("`{name}` has no key `{key}`");
        let mistake = Mistake::new(&path(name, &[key]), message).of_key();
        mistake.help(format!("there are {}", crate::diag::list(KEYS)))
    };
    unknown.map(mistake).collect()
}

/// A JSON value as an argument: texts without quotes, numbers in their shortest exact form.
pub(crate) fn text(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

fn kind(table: &Map<String, Json>) -> Result<ParameterKind, (&'static str, String)> {
    if let Some(ends) = table.get("float") {
        let [low, high] =
            range(ends, "two numbers, `[1e-5, 1.0]`").map_err(|why| ("float", why))?;
        return Ok(ParameterKind::Float(low, high));
    }
    if let Some(ends) = table.get("int") {
        let [low, high] =
            range(ends, "two whole numbers, `[8, 1024]`").map_err(|why| ("int", why))?;
        return Ok(ParameterKind::Int(low, high));
    }
    if let Some(words) = table.get("choice") {
        let is_word = |word: &Json| word.is_string() || word.is_number();
        return match words.as_array() {
            Some(words) if !words.is_empty() && words.iter().all(is_word) => {
                Ok(ParameterKind::Choice(words.clone()))
            }
            _ => Err((
                "choice",
                "choices are words or numbers, `[\"adam\", \"sgd\"]`, `[8, 16]`".to_owned(),
            )),
        };
    }
    match table.get("bool") {
        Some(Json::Bool(true)) => Ok(ParameterKind::Bool),
        _ => Err(("bool", "write `bool = true`".to_owned())),
    }
}

fn range<T: DeserializeOwned + PartialOrd + Display>(
    ends: &Json,
    expected: &str,
) -> Result<[T; 2], String> {
    let Ok([low, high]) = serde_json::from_value::<[T; 2]>(ends.clone()) else {
        return Err(format!("a range is {expected}"));
    };
    if low > high {
        return Err(format!(
            "the range is empty: nothing is above {low} and below {high}"
        ));
    }
    Ok([low, high])
}

impl ParameterKind {
    /// The value converted to the parameter's type; or a message if it has another type or is out of range.
    fn fitted(&self, value: &Json) -> Result<Json, String> {
        let wrong = |expected: String| Err(format!("expected {expected}, found `{}`", text(value)));
        match self {
            Self::Float(low, high) => match value.as_f64() {
                Some(number) if (*low..=*high).contains(&number) => Ok(Json::from(number)),
                _ => wrong(format!("a number from {low} to {high}")),
            },
            Self::Int(low, high) => match value.as_i64() {
                Some(number) if (*low..=*high).contains(&number) => Ok(Json::from(number)),
                _ => wrong(format!("a whole number from {low} to {high}")),
            },
            Self::Choice(words) if words.contains(value) => Ok(value.clone()),
            Self::Choice(words) => {
                let texts: Vec<String> = words.iter().map(Json::to_string).collect();
                let found = format!("found `{value}`");
                Err(format!(
                    "expected {}, {found}",
                    crate::diag::list(texts.iter().map(String::as_str))
                ))
            }
            Self::Bool if value.is_boolean() => Ok(value.clone()),
            Self::Bool => wrong("`true` or `false`".to_owned()),
            Self::Any => Ok(value.clone()),
        }
    }
}
