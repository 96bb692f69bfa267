//! Reads options, numbers, booleans and names of a declared model, and finds mistakes that do not depend on data.

use std::ops::Range;

use serde_json::{Map, Value as Json};

use super::expression::{Amount, Expression, ExpressionError};
use super::items::{BoolOption, Number, Reader, Settings, kind};
use super::spec::{Mistake, below};
use super::words::{Kind, Word};
use crate::diag::{did_you_mean, list};

/// Names in expressions that are sizes of the data, unless a parameter has the same name.
const OF_DATA: [&str; 4] = ["channels", "height", "width", "length"];

/// Names in expressions that are sizes of the current layer's input.
const HERE: [&str; 5] = [
    "here.channels",
    "here.height",
    "here.width",
    "here.features",
    "here.tokens",
];

impl Reader<'_> {
    pub(super) fn unknown_keys(
        &mut self,
        table: &Map<String, Json>,
        path: &[String],
        word: &str,
        keys: &[&'static str],
    ) {
        for key in table.keys() {
            if key == word || key == "name" || keys.contains(&key.as_str()) {
                continue;
            }
            let accepted = || keys.iter().copied().chain(["name"]);
            let message = format!("`{word}` has no option `{key}`");
            let mistake = Mistake::new(&below(path, key), message).of_key();
            let mistake = mistake.maybe_help(did_you_mean(key, accepted()));
            let help = format!("`{word}` accepts {}", list(accepted()));
            self.mistakes.push(mistake.help(help));
        }
    }

    pub(super) fn settings(
        &mut self,
        word: &'static Word,
        table: &Map<String, Json>,
        path: &[String],
    ) -> Option<Settings> {
        let accepted: Vec<&str> = word.options.iter().map(|(name, _)| *name).collect();
        self.unknown_keys(table, path, word.name, &accepted);
        let mut settings = Settings::of(word);
        let mut is_sound = true;
        let (value, own) = (&table[word.name], below(path, word.name));
        match word.argument {
            Some(_) => {
                settings.argument = self.number(value, &own);
                is_sound &= settings.argument.is_some();
            }
            None if *value == Json::Bool(true) => {}
            None => {
                let name = word.name;
                let message = format!(
                    "`{name}` takes no value: `\"{name}\"`, or with options `{{ {name} = true, … }}`"
                );
                self.mistake(&own, message);
            }
        }
        for (name, kind) in word.options {
            let Some(value) = table.get(*name) else {
                if word.name == "conv" && *name == "kernel" {
                    let message = "`conv` needs `kernel`, its size in pixels".to_owned();
                    self.mistake(path, message);
                }
                continue;
            };
            let path = below(path, name);
            match kind {
                Kind::Whole | Kind::Real => {
                    let number = self.number(value, &path);
                    is_sound &= number.is_some();
                    settings
                        .numbers
                        .extend(number.map(|number| (*name, number)));
                }
                Kind::Truth => {
                    let truth = self.truth(name, value, &path);
                    is_sound &= truth.is_some();
                    settings.truths.extend(truth.map(|truth| (*name, truth)));
                }
                Kind::Name => settings.tie = self.tie(value, &path),
            }
        }
        is_sound.then_some(settings)
    }

    pub(super) fn tie(&mut self, value: &Json, path: &[String]) -> Option<String> {
        let name = value.as_str();
        if name.is_none() {
            let message = format!("`tie` is the `name` of a layer, found {}", kind(value));
            self.mistake(path, message);
        }
        name.map(str::to_owned)
    }

    pub(super) fn truth(
        &mut self,
        name: &str,
        value: &Json,
        path: &[String],
    ) -> Option<BoolOption> {
        match value {
            Json::Bool(truth) => return Some(BoolOption::Is(*truth)),
            Json::String(parameter) => match self.spec.parameters.get(parameter) {
                Some(Json::Bool(_)) => {
                    self.used.insert(parameter.clone());
                    return Some(BoolOption::Parameter(parameter.clone()));
                }
                Some(other) => {
                    self.used.insert(parameter.clone());
                    let message = format!(
                        "`{name}` is `true` or `false`, and the parameter `{parameter}` is {}",
                        kind(other)
                    );
                    self.mistake(path, message);
                }
                None => {
                    let message = format!("there is no parameter `{parameter}`");
                    self.mistake(path, message);
                }
            },
            other => {
                let message = format!("`{name}` is `true` or `false`, found {}", kind(other));
                self.mistake(path, message);
            }
        }
        None
    }

    pub(super) fn number(&mut self, value: &Json, path: &[String]) -> Option<Number> {
        let expression = match value {
            Json::Number(number) => Expression::Number(amount(number)),
            Json::String(text) => match Expression::parse(text) {
                Ok(expression) => expression,
                Err(wrong) => {
                    self.has_unread = true;
                    self.mistakes.push(Mistake::in_expression(path, wrong));
                    return None;
                }
            },
            other => {
                let message = format!(
                    "expected a number, or an expression in quotes, found {}",
                    kind(other)
                );
                self.mistake(path, message);
                return None;
            }
        };
        let mut names = Vec::new();
        expression.names(&mut names);
        let known = names
            .into_iter()
            .filter(|(name, span)| !self.is_known(name, span, path))
            .count()
            == 0;
        let path = path.to_vec();
        known.then_some(Number { expression, path })
    }

    /// Whether an expression may use `name`; otherwise adds a mistake.
    fn is_known(&mut self, name: &str, span: &Range<usize>, path: &[String]) -> bool {
        let message = match self.spec.parameters.get(name) {
            Some(value) => {
                self.used.insert(name.to_owned());
                if value.is_number() {
                    return true;
                }
                format!("the parameter `{name}` is {}, not a number", kind(value))
            }
            None if OF_DATA.contains(&name)
                || HERE.contains(&name)
                || ["classes", "outputs", "index"].contains(&name) =>
            {
                return true;
            }
            None => format!("there is no parameter `{name}`"),
        };
        let own = self.spec.parameters.keys().map(String::as_str);
        let given = ["classes", "outputs", "index"].into_iter();
        let given = given.chain(OF_DATA).chain(HERE);
        let all: Vec<&str> = own
            .chain(given.filter(|name| !self.spec.parameters.contains_key(*name)))
            .collect();
        let span = span.clone();
        let own_number = "a parameter used in an expression is a number without quotes; expressions stand in the layers";
        let advice = if self.spec.parameters.contains_key(name) {
            Some(own_number.to_owned())
        } else {
            did_you_mean(name, all.iter().copied())
        };
        let mistake =
            Mistake::in_expression(path, ExpressionError { message, span }).maybe_help(advice);
        let help = format!("names are {}", list(all));
        self.mistakes.push(mistake.help(help));
        false
    }
}

/// A JSON number: whole if it is an integer, otherwise real.
pub(super) fn amount(number: &serde_json::Number) -> Amount {
    let real = || Amount::Real(number.as_f64().unwrap_or(f64::NAN));
    number.as_i64().map_or_else(real, Amount::Whole)
}
