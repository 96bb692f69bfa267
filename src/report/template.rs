//! Templates: found by name, rendered strictly, escaped by the format they write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior};

use super::plot::STYLE;
use super::{ReportError, mistake};

/// Templates with the names of their files.
macro_rules! embedded {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../reports/templates/", $name)))),*]
    };
}

/// The templates of the program, by file name.
const EMBEDDED: [(&str, &str); 11] = embedded! {
    "analysis.html.j2"
    "analysis.md.j2"
    "comparison.html.j2"
    "comparison.md.j2"
    "layout.html.j2"
    "macros.html.j2"
    "macros.md.j2"
    "profiling.html.j2"
    "profiling.md.j2"
    "search.html.j2"
    "search.md.j2"
};

/// Instructions that one template may run: some ten times what the longest report needs.
const FUEL: u64 = 30_000_000;
const MARKDOWN: &str = "markdown";
/// What a template can write, in the order in which it does.
pub(crate) const FORMATS: [&str; 2] = ["md", "html"];
/// Files of the program that templates include and nobody renders alone.
const SHARED: [&str; 2] = ["layout", "macros"];

/// The engine for one results folder: the user's templates in `folder`, then the program's own.
pub(crate) fn engine(folder: Option<PathBuf>) -> Environment<'static> {
    let mut engine = Environment::new();
    engine.set_loader(move |name| load(folder.as_deref(), name));
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_fuel(Some(FUEL));
    let mut syntax = SyntaxConfig::builder();
    syntax
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true);
    // The delimiters are the library's own: nothing that it could refuse.
    engine.set_syntax(syntax.build().unwrap_or_default());
    engine.set_auto_escape_callback(|name| {
        if name.contains(".html") {
            AutoEscape::Html
        } else {
            AutoEscape::Custom(MARKDOWN.into())
        }
    });
    engine.set_formatter(format);
    engine
}

/// The formats that a template of this name writes; none where there is no such template.
pub(crate) fn formats(folder: Option<&Path>, name: &str) -> Vec<&'static str> {
    let is_there = |format: &&str| {
        load(folder, &format!("{name}.{format}.j2")).is_ok_and(|found| found.is_some())
    };
    FORMATS.into_iter().filter(is_there).collect()
}

/// Renders one template. `context` is what it sees under `report`.
pub(crate) fn render(
    engine: &Environment<'_>,
    name: &str,
    context: &Value,
) -> Result<String, ReportError> {
    let failed = |error: &minijinja::Error| mistake::drawn(error, name, context);
    let template = engine.get_template(name).map_err(|error| failed(&error))?;
    let values = minijinja::context! { report => context, plot_style => STYLE };
    template.render(values).map_err(|error| failed(&error))
}

/// A user's own templates in `folder`, by name, each with the comment that its first line is.
///
/// Files that others include (`layout`, `macros`) are none, nor are unchanged copies of the program's.
pub fn own_templates(folder: &Path) -> Vec<(String, String)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let endings = FORMATS.map(|format| format!(".{format}.j2"));
        let name = endings.iter().find_map(|ending| file.strip_suffix(ending));
        if let Some(name) = name.filter(|name| !SHARED.contains(name)) {
            let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
            if EMBEDDED.contains(&(&*file, &*text)) {
                continue;
            }
            let about: &mut String = found.entry(name.to_owned()).or_default();
            if about.is_empty() {
                first_comment(&text).clone_into(about);
            }
        }
    }
    found.into_iter().collect()
}

fn first_comment(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default().trim();
    let inner = line
        .strip_prefix("{#")
        .and_then(|line| line.strip_suffix("#}"));
    inner.unwrap_or_default().trim_matches(['-', ' '])
}

/// Only plain file names: a template cannot reach out of its folder.
fn load(folder: Option<&Path>, name: &str) -> Result<Option<String>, minijinja::Error> {
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if !is_plain || name.starts_with('.') {
        return Ok(None);
    }
    if let Some(own) = folder
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file())
    {
        return std::fs::read_to_string(&own).map(Some).map_err(|error| {
            let kind = minijinja::ErrorKind::InvalidOperation;
            minijinja::Error::new(kind, format!("cannot read `{}`: {error}", own.display()))
        });
    }
    let found = EMBEDDED.iter().find(|(known, _)| *known == name);
    Ok(found.map(|(_, text)| (*text).to_owned()))
}

/// Writes a value: escaped for Markdown where the template is one, by the library's own rules elsewhere.
fn format(
    out: &mut Output<'_>,
    state: &mut State<'_, '_>,
    value: &Value,
) -> Result<(), minijinja::Error> {
    if *state.auto_escape() != AutoEscape::Custom(MARKDOWN.into()) || value.is_safe() {
        return minijinja::escape_formatter(out, state, value);
    }
    write!(out, "{}", markdown(&value.to_string())).map_err(minijinja::Error::from)
}

/// Text as Markdown shows it: nothing in it is markup, a row of a table, or a line of its own.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let letters: Vec<char> = text.chars().collect();
    for (place, &letter) in letters.iter().enumerate() {
        let beside = |at: Option<usize>| {
            let neighbour = at.and_then(|at| letters.get(at));
            neighbour.is_some_and(|letter| letter.is_alphanumeric())
        };
        match letter {
            '\n' | '\r' | '\t' => out.push(' '),
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            // Inside a word an underscore is only itself.
            '_' if beside(place.checked_sub(1)) && beside(Some(place + 1)) => out.push('_'),
            '\\' | '|' | '*' | '`' | '[' | ']' | '_' | '~' => {
                out.push('\\');
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_text_is_never_markup() {
        assert_eq!(
            markdown("a|b\n<i>`x`</i> peak_rss_bytes _y_"),
            "a\\|b &lt;i>\\`x\\`&lt;/i> peak_rss_bytes \\_y\\_"
        );
    }

    #[test]
    fn templates_come_from_their_folder_only() {
        for name in ["../secret.md.j2", "/etc/passwd", ".hidden", "a/b.md.j2"] {
            assert!(
                load(Some(Path::new("/")), name)
                    .expect("no error")
                    .is_none(),
                "{name}"
            );
        }
    }
}
