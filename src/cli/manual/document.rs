//! Writes docs/manifest.md: the text of `manifest.md` with the keys of every section inserted.

use std::fmt::Write;

use super::schema::{Entry, Schema, Setting};
use super::{Keys, SECTIONS};

/// The text, with a line `{{ section }}` for the keys of each section.
const TEXT: &str = include_str!("manifest.md");

pub(in crate::cli) fn markdown() -> String {
    let schema = Schema::of_manifest();
    let mut text = TEXT.to_owned();
    for (title, source) in SECTIONS {
        // `[datasets.NAME.augment]` is at `datasets.augment`.
        let names = title.trim_matches(['[', ']']).split('.');
        let names = names.filter(|name| *name != name.to_uppercase());
        let place = names.collect::<Vec<_>>().join(".");
        // Kinds are one level below the heading of their section.
        let level = if place.contains('.') { "####" } else { "###" };
        let keys = keys(&schema, title, source, level);
        text = text.replace(&format!("{{{{ {place} }}}}\n"), &keys);
    }
    text
}

fn keys(schema: &Schema, title: &str, source: Keys, level: &str) -> String {
    let parts = match source {
        Keys::Top => return table(&schema.top_level_keys()),
        Keys::Of(definition) => return table(&schema.table(definition, title)),
        Keys::Kinds(definition) | Keys::Listed(definition, _) => schema.kinds(definition),
        Keys::Space => schema.parameter_forms(),
    };
    let parts = parts.iter().map(|entry| part(level, entry));
    parts.collect::<Vec<_>>().join("\n")
}

/// The keys of one kind of a section as a table, with its heading.
fn part(level: &str, entry: &Entry) -> String {
    let mut text = format!("{level} `{}`\n", entry.name);
    if !entry.description.is_empty() {
        let _ = write!(text, "\n{}\n", entry.description);
    }
    if !entry.settings.is_empty() {
        let _ = write!(text, "\n{}", table(entry));
    }
    text
}

fn table(entry: &Entry) -> String {
    let mut text = "| key | type | default | range | meaning |\n|---|---|---|---|---|\n".to_owned();
    for setting in &entry.settings {
        let _ = writeln!(text, "{}", row(setting));
    }
    let settings = entry.settings.iter();
    for setting in settings.filter(|setting| !setting.words.is_empty()) {
        let _ = write!(text, "\n`{}`:\n\n", setting.name);
        for (word, meaning) in &setting.words {
            let _ = writeln!(text, "- `{word}`: {meaning}");
        }
    }
    text
}

fn row(setting: &Setting) -> String {
    let default = match setting.default.as_deref() {
        None => "needed".to_owned(),
        Some("none") => "none".to_owned(),
        Some(default) => format!("`{default}`"),
    };
    let words = setting.words.iter();
    let words: Vec<String> = words.map(|(word, _)| format!("`{word}`")).collect();
    let words = words.join(", ");
    let cells = [
        &format!("`{}`", setting.name),
        &setting.kind,
        &default,
        setting.range.as_ref().unwrap_or(&words),
        &setting.description,
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |", cells.join(" | "))
}
