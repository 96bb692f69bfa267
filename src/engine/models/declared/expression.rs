//! Expressions of numbers in declared models: `2 * width`, `(height - 1) / 2`, `max(heads, 4)`.

use std::ops::Range;

/// A parsed expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    Number(Amount),
    Name(String, Range<usize>),
    Negative(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>, Range<usize>),
    Extreme(Extreme, Vec<Self>),
}

/// The value of an expression: whole if all operands are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Amount {
    Whole(i64),
    Real(f64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extreme {
    Min,
    Max,
}

/// A mistake in an expression, with its byte range in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ExpressionError {
    pub(super) message: String,
    pub(super) span: Range<usize>,
}

/// Largest depth of nesting of an expression, and its largest length in bytes, so that parsing cannot exhaust the
/// stack.
const DEPTH: usize = 64;
const LENGTH: usize = 1000;

impl Amount {
    pub(super) fn as_f64(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

impl Expression {
    /// Parses `text`: numbers, names (`here.channels`), `+ - * /`, parentheses, `min(a, b)`, `max(a, b)`.
    pub(super) fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > LENGTH {
            return Err(ExpressionError {
                message: format!("an expression has at most {LENGTH} characters"),
                span: 0..text.len(),
            });
        }
        let mut parser = Parser {
            text,
            at: 0,
            depth: 0,
        };
        let whole = parser.sum()?;
        parser.skip_spaces();
        if parser.at < text.len() {
            return Err(parser.unexpected("an operator"));
        }
        Ok(whole)
    }

    /// Adds every name in the expression, with its byte range in the text, to `into`.
    pub(super) fn names(&self, into: &mut Vec<(String, Range<usize>)>) {
        match self {
            Self::Number(_) => {}
            Self::Name(name, span) => into.push((name.clone(), span.clone())),
            Self::Negative(one) => one.names(into),
            Self::Binary(_, left, right, _) => {
                left.names(into);
                right.names(into);
            }
            Self::Extreme(_, all) => all.iter().for_each(|one| one.names(into)),
        }
    }

    /// Computes the value; `lookup` returns the value of a name, or a sentence that says why the name has no value.
    pub(super) fn evaluate(
        &self,
        lookup: &dyn Fn(&str) -> Result<Amount, String>,
    ) -> Result<Amount, ExpressionError> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Name(name, span) => lookup(name).map_err(|message| ExpressionError {
                message,
                span: span.clone(),
            }),
            Self::Negative(one) => Ok(match one.evaluate(lookup)? {
                Amount::Whole(number) => Amount::Whole(number.saturating_neg()),
                Amount::Real(number) => Amount::Real(-number),
            }),
            Self::Binary(operator, left, right, span) => {
                let (left, right) = (left.evaluate(lookup)?, right.evaluate(lookup)?);
                operator
                    .apply(left, right)
                    .map_err(|message| ExpressionError {
                        message,
                        span: span.clone(),
                    })
            }
            Self::Extreme(which, all) => {
                let values: Result<Vec<Amount>, ExpressionError> =
                    all.iter().map(|one| one.evaluate(lookup)).collect();
                let better = |one: Amount, other: Amount| {
                    let is_less = other.as_f64() < one.as_f64();
                    if is_less == (*which == Extreme::Min) {
                        other
                    } else {
                        one
                    }
                };
                Ok(values?
                    .into_iter()
                    .reduce(better)
                    .unwrap_or(Amount::Whole(0)))
            }
        }
    }
}

impl Operator {
    fn apply(self, left: Amount, right: Amount) -> Result<Amount, String> {
        let (Amount::Whole(a), Amount::Whole(b)) = (left, right) else {
            let (a, b) = (left.as_f64(), right.as_f64());
            return Ok(Amount::Real(match self {
                Self::Add => a + b,
                Self::Subtract => a - b,
                Self::Multiply => a * b,
                Self::Divide => a / b,
            }));
        };
        let whole = match self {
            Self::Add => a.checked_add(b),
            Self::Subtract => a.checked_sub(b),
            Self::Multiply => a.checked_mul(b),
            Self::Divide if b == 0 => return Err(format!("{a} / {b} divides by zero")),
            Self::Divide if a % b != 0 => {
                return Err(format!("{a} / {b} leaves a remainder of {}", a % b));
            }
            Self::Divide => a.checked_div(b),
        };
        whole
            .map(Amount::Whole)
            .ok_or_else(|| "the result is too large".to_owned())
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Consumes `symbol` if it comes next, and returns whether it did.
    fn takes(&mut self, symbol: char) -> bool {
        self.skip_spaces();
        let is_next = self.rest().starts_with(symbol);
        if is_next {
            self.at += symbol.len_utf8();
        }
        is_next
    }

    fn unexpected(&self, expected: &str) -> ExpressionError {
        let next = self.rest().chars().next();
        let found = next.map_or("the end".to_owned(), |next| format!("`{next}`"));
        let end = self.at + next.map_or(0, char::len_utf8);
        ExpressionError {
            message: format!("expected {expected}, found {found}"),
            span: self.at..end,
        }
    }

    fn sum(&mut self) -> Result<Expression, ExpressionError> {
        self.depth += 1;
        if self.depth > DEPTH {
            let span = self.at..self.text.len();
            let message = format!("parentheses are nested deeper than {DEPTH}");
            return Err(ExpressionError { message, span });
        }
        let sum = self.chain(
            &[('+', Operator::Add), ('-', Operator::Subtract)],
            Self::product,
        );
        self.depth -= 1;
        sum
    }

    fn product(&mut self) -> Result<Expression, ExpressionError> {
        self.chain(
            &[('*', Operator::Multiply), ('/', Operator::Divide)],
            Self::factor,
        )
    }

    /// Parses operands joined by operators of equal precedence, evaluated from left to right.
    fn chain(
        &mut self,
        operators: &[(char, Operator)],
        operand: fn(&mut Self) -> Result<Expression, ExpressionError>,
    ) -> Result<Expression, ExpressionError> {
        self.skip_spaces();
        let start = self.at;
        let mut left = operand(self)?;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.takes(*symbol)) {
            let right = operand(self)?;
            let span = start..self.at;
            left = Expression::Binary(*operator, Box::new(left), Box::new(right), span);
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, ExpressionError> {
        let mut is_negative = false;
        while self.takes('-') {
            is_negative = !is_negative;
        }
        let one = self.atom()?;
        Ok(if is_negative {
            Expression::Negative(Box::new(one))
        } else {
            one
        })
    }

    fn atom(&mut self) -> Result<Expression, ExpressionError> {
        if self.takes('(') {
            let inner = self.sum()?;
            return if self.takes(')') {
                Ok(inner)
            } else {
                Err(self.unexpected("`)`"))
            };
        }
        self.skip_spaces();
        let (start, rest) = (self.at, self.rest());
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let word = rest[..length].to_owned();
        let Some(first) = word.chars().next() else {
            return Err(self.unexpected("a number or a name"));
        };
        self.at += length;
        let span = start..self.at;
        if first.is_ascii_digit() || first == '.' {
            let whole = word.parse().ok().map(Amount::Whole);
            let real = || word.parse().ok().map(Amount::Real);
            let number = whole.or_else(real).ok_or_else(|| ExpressionError {
                message: format!("`{word}` is not a number"),
                span,
            });
            return number.map(Expression::Number);
        }
        let extreme = match word.as_str() {
            "min" => Extreme::Min,
            "max" => Extreme::Max,
            _ => return Ok(Expression::Name(word, span)),
        };
        if !self.takes('(') {
            return Err(self.unexpected("`(`"));
        }
        let mut all = vec![self.sum()?];
        while self.takes(',') {
            all.push(self.sum()?);
        }
        if !self.takes(')') {
            return Err(self.unexpected("`,` or `)`"));
        }
        Ok(Expression::Extreme(extreme, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Amount, ExpressionError> {
        Expression::parse(text)?.evaluate(&|name| match name {
            "width" => Ok(Amount::Whole(32)),
            "rate" => Ok(Amount::Real(0.5)),
            "here.channels" => Ok(Amount::Whole(7)),
            other => Err(format!("no `{other}`")),
        })
    }

    #[test]
    fn operators_bind_as_in_arithmetic() {
        for (text, expected) in [
            ("2 * width", 64),
            ("2 + 3 * 4 - 1", 13),
            ("20 - 4 - 3", 13),
            ("(2 + 3) * -4", -20),
            ("96 / 3 / 2", 16),
            ("--3", 3),
            ("max(width, 4, 2 * 40)", 80),
            ("min(width,here.channels) ", 7),
        ] {
            assert_eq!(value(text), Ok(Amount::Whole(expected)), "{text}");
        }
        assert_eq!(value("rate / 2"), Ok(Amount::Real(0.25)));
    }

    #[test]
    fn a_mistake_has_its_bytes() {
        for (text, message, span) in [
            ("2 * widht", "no `widht`", 4..9),
            ("1 + 7 / 2", "7 / 2 leaves a remainder of 1", 4..9),
            ("7 / 0", "7 / 0 divides by zero", 0..5),
            ("2 *", "expected a number or a name, found the end", 3..3),
            ("(2", "expected `)`, found the end", 2..2),
            ("2 3", "expected an operator, found `3`", 2..3),
            ("2 × 3", "expected an operator, found `×`", 2..4),
            ("3x", "`3x` is not a number", 0..2),
            ("min 3", "expected `(`, found `3`", 4..5),
            ("min(3", "expected `,` or `)`, found the end", 5..5),
            ("9223372036854775807 + 1", "the result is too large", 0..23),
        ] {
            let message = message.to_owned();
            assert_eq!(
                value(text),
                Err(ExpressionError { message, span }),
                "{text}"
            );
        }
        for text in ["(".repeat(900), "1+".repeat(10_000)] {
            assert!(value(&text).is_err());
        }
    }
}
