//! The values of expressions in a declared model: parameters, sizes of the data, sizes of the current input.

use serde_json::Value as Json;

use super::Mistake;
use super::expand::{Expander, Found, MistakeNoted, State};
use super::expression::{Amount, ExpressionError};
use super::form::{Form, grouped};
use super::items::Number;
use super::settings::amount;
use crate::datasets::Target;

/// The largest integer that is accepted as a size.
const LARGEST: i64 = 1_000_000_000;

impl Expander<'_> {
    /// The value of `number` as an integer of at least `least`; otherwise adds a mistake.
    pub(super) fn whole(&mut self, number: &Number, state: State, least: i64) -> Found<usize> {
        let wrong = match self.evaluate(number, state)? {
            Amount::Whole(value) if (least..=LARGEST).contains(&value) => {
                return usize::try_from(value).map_err(|_| MistakeNoted);
            }
            Amount::Whole(value) if value < least => {
                format!("expected a whole number of at least {least}, found {value}")
            }
            Amount::Whole(value) => format!("{value} is too large"),
            Amount::Real(value) => format!("expected a whole number, found {value}"),
        };
        Err(self.note(&number.path, wrong))
    }

    /// The value of `number`, which must be in `range` (`shown` in messages); otherwise adds a mistake.
    pub(super) fn real(
        &mut self,
        number: &Number,
        state: State,
        range: impl Fn(f64) -> bool,
        shown: &str,
    ) -> Found<f64> {
        let value = self.evaluate(number, state)?.as_f64();
        if range(value) {
            return Ok(value);
        }
        Err(self.note(&number.path, format!("expected {shown}, found {value}")))
    }

    pub(super) fn evaluate(&mut self, number: &Number, state: State) -> Found<Amount> {
        let found = number.expression.evaluate(&|name| self.lookup(name, state));
        found.map_err(|mut wrong: ExpressionError| {
            if let Some(index) = state.index {
                wrong.message = format!("{} (index = {index})", wrong.message);
            }
            self.mistakes
                .push(Mistake::in_expression(&number.path, wrong));
            MistakeNoted
        })
    }

    pub(super) fn lookup(&self, name: &str, state: State) -> Result<Amount, String> {
        if let Some(Json::Number(number)) = self.spec.parameters.get(name) {
            return Ok(amount(number));
        }
        let size = match name {
            "index" => {
                let index = state.index.map(Amount::Whole);
                return index.ok_or_else(|| "`index` is known only inside of `repeat`".to_owned());
            }
            "classes" => match self.target {
                Target::Class { classes } => Some(classes),
                Target::Tokens { vocabulary, .. } => Some(vocabulary),
                _ => None,
            },
            "outputs" => match self.target {
                Target::Values { len } | Target::Labels { len } => Some(len),
                _ => None,
            },
            name => match name.strip_prefix("here.") {
                Some(size) => match state.form {
                    Some(form) => form.size(size),
                    // The form is unknown because of an earlier mistake, which is already reported; any value will do.
                    None => return Ok(Amount::Whole(1)),
                },
                None => self.data.size(name),
            },
        };
        let value = size.and_then(|size| i64::try_from(size).ok());
        value.map(Amount::Whole).ok_or_else(|| match name {
            "classes" => {
                "the dataset has no classes; `outputs` is how many numbers it wants".to_owned()
            }
            "outputs" => {
                "the dataset's targets are not numbers; `classes` counts its classes".to_owned()
            }
            name if name.starts_with("here.") => match state.form {
                Some(form) => format!("there is no `{name}` of {form}"),
                None => format!("there is no `{name}`"),
            },
            name => format!("`{name}` does not exist: the dataset has {}", self.data),
        })
    }

    pub(super) fn check_output(&mut self, output: Form) {
        let Some(wanted) = Form::of_output(self.target) else {
            return;
        };
        if output == wanted {
            return;
        }
        let why = match self.target {
            Target::Class { classes } => {
                format!("{wanted}, one for each of {} classes", grouped(classes))
            }
            Target::Tokens { .. } => format!("{wanted}, one for each of the vocabulary"),
            _ => format!("{wanted}"),
        };
        let path = self.items.layers.last().map(|item| item.path.clone());
        let message = format!("the model ends with {output}; the dataset's targets need {why}");
        let path = path.unwrap_or_else(|| vec!["layers".to_owned()]);
        self.note(&path, message);
    }
}
