//! [`Draft`]: the text of a new manifest, from a template with placeholders.

use crate::base::text::one_line;
use crate::plan::toml_text;

use super::place::NewManifest;

/// Largest number of names that are listed in one line.
pub(super) const MAX_LISTED: usize = 12;
/// Column, in characters, at which the comments of the manifest's lines are aligned.
const COMMENT: usize = 36;
const BATCH: usize = 32;

pub(super) struct Draft {
    pub(super) text: String,
    /// How the data were interpreted, one line each.
    pub(super) guesses: Vec<String>,
}

/// Names of placeholders `{name}` in a template, with their values.
type Fillings<'a> = &'a [(&'a str, String)];

impl Draft {
    /// A manifest without guesses.
    pub(super) fn plain(text: String) -> Self {
        Self {
            text,
            guesses: Vec::new(),
        }
    }
}

pub(super) fn filled(
    new_manifest: &NewManifest,
    form: &str,
    about: &str,
    more: Fillings<'_>,
) -> String {
    let name = &new_manifest.name;
    let own = [
        ("name", name.clone()),
        ("file", new_manifest.manifest.to_string_lossy().into_owned()),
        ("title", toml_escaped(&format!("{name}: {about}"))),
    ];
    let fill = |text: &str| {
        let words = own.iter().chain(more);
        words.fold(text.to_owned(), |text, (word, filling)| {
            text.replace(&format!("{{{word}}}"), filling)
        })
    };
    // Editors use the schema named in the first line; the line is written only if the schema file exists.
    let schema = new_manifest
        .manifest
        .with_file_name("manifest.schema.json")
        .is_file();
    let schema = schema.then(|| "#:schema manifest.schema.json".to_owned());
    let lines = form
        .lines()
        .filter_map(|line| match line.split_once("  # ") {
            Some((code, comment)) => {
                Some(aligned(&fill(code.trim_end()), &fill(comment.trim_start())))
            }
            // Drop a line that is empty after filling.
            None => Some(fill(line)).filter(|filled| line.is_empty() || !filled.is_empty()),
        });
    let lines: Vec<String> = schema.into_iter().chain(lines).collect();
    lines.join("\n") + "\n"
}

/// A line with its comment, aligned with the comments of other lines.
fn aligned(code: &str, comment: &str) -> String {
    let gap = COMMENT.saturating_sub(code.chars().count()).max(2);
    format!("{code}{:gap$}# {comment}", "")
}

pub(super) fn quoted(text: &str) -> String {
    toml_text(&text.into())
}

pub(super) fn named(names: &[String]) -> String {
    let shown = names.iter().take(MAX_LISTED);
    let shown = shown.map(|name| format!("`{}`", one_line(name)));
    let more = names.len().saturating_sub(MAX_LISTED);
    let more = (more > 0).then(|| format!("{more} more"));
    shown.chain(more).collect::<Vec<_>>().join(", ")
}

/// The largest power of two up to the size of the training split.
pub(super) fn batch_size(train_rows: usize) -> String {
    let mut size = BATCH;
    while size > train_rows.max(1) {
        size /= 2;
    }
    size.to_string()
}

/// Text escaped for a TOML string, without its quotes.
pub(super) fn toml_escaped(text: &str) -> String {
    let whole = quoted(text);
    let inner = whole.trim_start_matches('"').strip_suffix('"');
    inner.unwrap_or(&whole).to_owned()
}
