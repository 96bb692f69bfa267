//! Templates: found by name, rendered with undefined names as errors, and escaped for their output format.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, Output, State, UndefinedBehavior};

use super::plot::STYLE;
use super::{ReportError, mistake};
use crate::base::file;
use crate::base::text::{escape_control, one_line};
use crate::base::units::human_bytes;

/// Pairs of file name and text for templates, embedded at compile time.
macro_rules! embedded {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../reports/templates/", $name)))),*]
    };
}

/// The templates of the program, by file name.
const EMBEDDED: [(&str, &str); 12] = embedded! {
    "analysis.html.j2"
    "analysis.md.j2"
    "comparison.html.j2"
    "comparison.md.j2"
    "layout.html.j2"
    "live.html.j2"
    "macros.html.j2"
    "macros.md.j2"
    "profiling.html.j2"
    "profiling.md.j2"
    "search.html.j2"
    "search.md.j2"
};

/// Bytes of the largest template.
const MOST_BYTES: u64 = 4 << 20;
/// Instructions that one template may run: about ten times the need of the longest report.
const FUEL: u64 = 30_000_000;
const MARKDOWN: &str = "markdown";
/// Formats of a template, in the order of writing.
pub(crate) const FORMATS: [&str; 2] = ["md", "html"];
/// Files of the program that templates include; they are not reports themselves.
const SHARED: [&str; 3] = ["layout", "live", "macros"];

/// The engine for one results folder: the user's templates in `folder`, then the program's own.
pub(crate) fn engine(folder: Option<PathBuf>) -> Environment<'static> {
    let mut engine = Environment::new();
    engine.set_loader(move |name| load(folder.as_deref(), name));
    engine.set_undefined_behavior(UndefinedBehavior::Strict);
    engine.set_fuel(Some(FUEL));
    // Errors get their position in the template, also in release builds.
    engine.set_debug(true);
    let mut syntax = SyntaxConfig::builder();
    syntax
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true);
    // The delimiters are the library's defaults, so this cannot fail.
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

/// The formats that a template of this name writes; none if there is no such template.
pub(crate) fn formats(folder: Option<&Path>, name: &str) -> Vec<&'static str> {
    // An unreadable file counts as existing: rendering it reports the error.
    let is_there =
        |format: &&str| !matches!(load(folder, &format!("{name}.{format}.j2")), Ok(None));
    FORMATS.into_iter().filter(is_there).collect()
}

/// Renders one template. `context` is the value of the variable `report`.
pub(crate) fn render(
    engine: &Environment<'_>,
    name: &str,
    context: &Value,
) -> Result<String, ReportError> {
    let failed = |error: &minijinja::Error| mistake::template_mistake(error, name, context);
    let template = engine.get_template(name).map_err(|error| failed(&error))?;
    let values = minijinja::context! { report => context, plot_style => STYLE };
    template.render(values).map_err(|error| failed(&error))
}

/// A user's own templates in `folder`, by name, each with the comment in its first line.
///
/// Files that others include (`layout`, `macros`) are left out, as are unchanged copies of the program's.
pub fn own_templates(folder: &Path) -> Vec<(String, String)> {
    let mut found = BTreeMap::new();
    for (file, text) in own_files(folder) {
        let endings = FORMATS.map(|format| format!(".{format}.j2"));
        let name = endings.iter().find_map(|ending| file.strip_suffix(ending));
        if let Some(name) = name.filter(|name| !SHARED.contains(name)) {
            let about: &mut String = found.entry(escape_control(name).into_owned()).or_default();
            if about.is_empty() {
                *about = one_line(first_comment(&text));
            }
        }
    }
    found.into_iter().collect()
}

/// Whether a folder has templates that are not copies of the program's.
pub(crate) fn has_own(folder: &Path) -> bool {
    own_files(folder).next().is_some()
}

/// The files in `folder` that are named like templates, with their text (empty if unreadable), without unchanged copies
/// of the program's.
fn own_files(folder: &Path) -> impl Iterator<Item = (String, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_template = |name: &String| Path::new(name).extension().is_some_and(|end| end == "j2");
    let files = names.filter(is_template).map(move |name| {
        let text = read_own(folder, &name).ok().flatten();
        (name, text.unwrap_or_default())
    });
    files.filter(|(name, text)| !EMBEDDED.contains(&(&**name, &**text)))
}

fn first_comment(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default().trim();
    let inner = line
        .strip_prefix("{#")
        .and_then(|line| line.strip_suffix("#}"));
    inner.unwrap_or_default().trim_matches(['-', ' '])
}

/// The text of the user's or the program's template `name`; `None` if there is none. Only plain file names are found,
/// so that a template cannot include files outside of its folder.
fn load(folder: Option<&Path>, name: &str) -> Result<Option<String>, minijinja::Error> {
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
    if !is_plain || name.starts_with('.') {
        return Ok(None);
    }
    let own = folder.map(|folder| read_own(folder, name)).transpose();
    let own = own.map_err(|reason| {
        let kind = minijinja::ErrorKind::InvalidOperation;
        minijinja::Error::new(kind, format!("cannot read `{name}`: {reason}"))
    })?;
    let embedded = || EMBEDDED.iter().find(|(known, _)| *known == name);
    let found = own.flatten();
    Ok(found.or_else(|| embedded().map(|(_, text)| (*text).to_owned())))
}

/// The text of a user's file; `None` if it does not exist. A link out of the folder, a pipe or a device is refused: a
/// report must not contain other files or block.
///
/// # Errors
/// The file cannot be read; a sentence says why.
fn read_own(folder: &Path, name: &str) -> Result<Option<String>, String> {
    let said = |error: io::Error| error.to_string();
    let path = match folder.join(name).canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        path => path.map_err(said)?,
    };
    if path.parent() != Some(&*folder.canonicalize().map_err(said)?) {
        return Err("it leads out of its folder".to_owned());
    }
    let bytes = file::read_at_most(&path, MOST_BYTES).map_err(|error| match error.kind() {
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => "it is not a file".to_owned(),
        ErrorKind::FileTooLarge => format!("a template has at most {}", human_bytes(MOST_BYTES)),
        _ => said(error),
    })?;
    let text = String::from_utf8(bytes);
    text.map(Some)
        .map_err(|_| "stream did not contain valid UTF-8".to_owned())
}

/// Writes a value: escaped for Markdown in Markdown templates, by the library's rules in others.
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

/// Escapes text for Markdown: it contains no markup, table separators or line breaks.
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
            // An underscore inside a word is not markup.
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

    #[cfg(unix)]
    #[test]
    fn no_link_leads_out_and_only_files_are_read() {
        use std::os::unix::fs::symlink;
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("templates");
        std::fs::create_dir_all(folder.join("folder.md.j2")).expect("folders");
        std::fs::write(root.path().join("secret"), "secret").expect("a file");
        std::fs::write(folder.join("good.md.j2"), "good").expect("a file");
        std::fs::write(folder.join("large.md.j2"), "x".repeat((4 << 20) + 1)).expect("a file");
        symlink("../secret", folder.join("out.md.j2")).expect("a link");
        symlink("/dev/zero", folder.join("endless.md.j2")).expect("a link");
        symlink("good.md.j2", folder.join("inside.md.j2")).expect("a link");
        let pipe = std::process::Command::new("mkfifo")
            .arg(folder.join("pipe.md.j2"))
            .status();
        assert!(pipe.expect("mkfifo").success());
        let loaded = |name: &str| load(Some(&folder), name).map_err(|error| error.to_string());
        assert_eq!(loaded("inside.md.j2"), Ok(Some("good".to_owned())));
        assert_eq!(loaded("none.md.j2"), Ok(None));
        for (name, reason) in [
            ("out", "it leads out of its folder"),
            ("endless", "it leads out of its folder"),
            ("folder", "it is not a file"),
            ("pipe", "it is not a file"),
            ("large", "a template has at most 4.00 MiB"),
        ] {
            let said = loaded(&format!("{name}.md.j2")).expect_err(name);
            assert!(said.ends_with(reason), "{said}");
            assert_eq!(formats(Some(&folder), name), ["md"], "its mistake is shown");
        }
        // Files that cannot be read are listed, too, because their content is unknown.
        assert_eq!(own_templates(&folder).len(), 7);
    }
}
