//! Error message for a mistake in a template, with an excerpt of the template and the nearest valid name.

use std::ops::Range;
use std::sync::Arc;

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};

use super::ReportError;
use crate::diag::{Diagnostic, Failure, Place, Source, did_you_mean, list};

/// Converts an error of the template engine into a mistake at its position in the template. `context` is the value of
/// `report`, whose names are candidates for suggestions.
pub(super) fn template_mistake(error: &Error, name: &str, context: &Value) -> ReportError {
    let file = error.name().unwrap_or(name);
    let path = format!("reports/templates/{file}");
    let Some((text, span)) = error.template_source().zip(error.range()) else {
        let title = match error.line() {
            Some(line) => format!("{path}:{line}: {}", title(error)),
            None => format!("{path}: {}", title(error)),
        };
        return ReportError::Template(Box::new(Failure::without_source(title, None)));
    };
    let mut diagnostic = Diagnostic::error(title(error));
    if error.kind() == ErrorKind::UndefinedError {
        let place = written(text, &span);
        let (name, label, help) = undefined(&text[place.clone()], context);
        let place = place.start + name.start..place.start + name.end;
        diagnostic = diagnostic.at(Place::new(0, &place), label);
        diagnostic.help.extend(help);
    } else {
        diagnostic = diagnostic.at(Place::new(0, &span), "");
    }
    let source = Source {
        path,
        text: text.to_owned(),
    };
    let failure = Failure::new(vec![diagnostic], Arc::new([source]));
    ReportError::Template(Box::new(failure.with_consequence("no report was written")))
}

fn title(error: &Error) -> String {
    let kind = error.kind();
    match (kind, error.detail()) {
        (ErrorKind::UndefinedError, _) => {
            "the template names a value that does not exist".to_owned()
        }
        (ErrorKind::OutOfFuel, _) => "the template takes too many steps".to_owned(),
        (_, Some(detail)) => format!("{kind}: {detail}"),
        (_, None) => kind.to_string(),
    }
}

/// Range of the dotted path that ends where `span` ends.
fn written(text: &str, span: &Range<usize>) -> Range<usize> {
    let upto = text.get(..span.end).unwrap_or(text);
    let end = upto.trim_end_matches(|c: char| !is_of_name(c)).len();
    let before = |is_part: fn(char) -> bool| text[..end].trim_end_matches(is_part).len();
    let name = before(is_of_name);
    if name < span.start.saturating_sub(1) || name >= end {
        let start = span.start.min(upto.len());
        return if upto.is_char_boundary(start) {
            start..upto.len()
        } else {
            0..0
        };
    }
    before(|c| is_of_name(c) || c == '.')..end
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// For a path with an unknown name: the range of that name in the path, the message, and similar names.
fn undefined(written: &str, context: &Value) -> (Range<usize>, String, Vec<String>) {
    let mut parts = written.split('.');
    let last = written.rfind('.').map_or(0, |dot| dot + 1)..written.len();
    if parts.next() != Some("report") {
        let word = written[last.clone()].trim();
        let names = all_names(context);
        let among = ["report", "plot_style", "loop"].into_iter();
        let meant = did_you_mean(word, among.chain(names.iter().map(String::as_str)));
        let label = "neither a variable here nor a field of it".to_owned();
        return (last, label, meant.into_iter().collect());
    }
    let mut value = context.clone();
    let mut owner = "report".to_owned();
    let mut start = "report.".len();
    for part in parts {
        match value.get_attr(part) {
            Ok(found) if !found.is_undefined() => {
                value = found;
                owner = format!("{owner}.{part}");
            }
            _ => {
                let (label, help) = of_owner(part, &owner, &value);
                return (start..start + part.len(), label, help);
            }
        }
        start += part.len() + 1;
    }
    (last, format!("`{owner}` has no value here"), Vec::new())
}

fn of_owner(word: &str, owner: &str, value: &Value) -> (String, Vec<String>) {
    let label = format!("no such field of `{owner}`");
    if value.kind() == ValueKind::Seq {
        let help = format!("`{owner}` is a list: write `{{% for item in {owner} %}}`");
        return (label, vec![help]);
    }
    let names = names(value);
    let all = || format!("`{owner}` has {}", list(names.iter().map(String::as_str)));
    let meant = did_you_mean(word, names.iter().map(String::as_str));
    (label, vec![meant.unwrap_or_else(all)])
}

fn names(value: &Value) -> Vec<String> {
    if value.kind() != ValueKind::Map {
        return Vec::new();
    }
    let keys = value.try_iter().into_iter().flatten();
    keys.map(|key| key.to_string()).collect()
}

/// Every name anywhere in the context, each once.
fn all_names(value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![value.clone()];
    while let Some(value) = open.pop() {
        for name in names(&value) {
            open.extend(value.get_attr(&name).ok());
            found.push(name);
        }
        if value.kind() == ValueKind::Seq {
            // All elements of a list have the same fields, so the first one suffices.
            open.extend(value.try_iter().into_iter().flatten().next());
        }
    }
    found.sort();
    found.dedup();
    found
}
