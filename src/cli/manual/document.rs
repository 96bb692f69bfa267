//! Writes docs/manifest.md: the text of `manifest.md` with the keys of every section inserted.

use std::fmt::Write;

use super::schema::{Entry, Schema, Setting};
use super::{Keys, SECTIONS, Section};

/// The text, with a line `{{ section }}` for the keys of each section.
const TEXT: &str = include_str!("manifest.md");

pub(in crate::cli) fn markdown() -> String {
    let schema = Schema::of_manifest();
    let mut text = TEXT.to_owned();
    for section in &SECTIONS {
        let mark = format!("{{{{ {} }}}}\n", section.mark);
        text = text.replace(&mark, &keys(&schema, section));
    }
    text
}

fn keys(schema: &Schema, section: &Section) -> String {
    let parts = match section.keys {
        Keys::Top => return table(&schema.top()),
        Keys::Of(definition) => return table(&schema.table(definition, section.title)),
        Keys::Kinds(definition) | Keys::Listed(definition, _) => schema.kinds(definition),
        Keys::Space => schema.space(),
    };
    // Kinds are one level below the heading of their section.
    let level = if section.mark.contains('.') {
        "####"
    } else {
        "###"
    };
    let parts = parts.iter().map(|entry| part(level, entry));
    parts.collect::<Vec<_>>().join("\n")
}

/// One of several tables, with its heading.
fn part(level: &str, entry: &Entry) -> String {
    let mut text = format!("{level} `{}`\n", entry.name);
    if !entry.description.is_empty() {
        let _ = write!(text, "\n{}\n", entry.description);
    }
    if !entry.settings.is_empty() {
        text.push('\n');
        text.push_str(&table(entry));
    }
    text
}

fn table(entry: &Entry) -> String {
    let mut text = "| key | type | default | range | meaning |\n|---|---|---|---|---|\n".to_owned();
    for setting in &entry.settings {
        let _ = writeln!(text, "{}", row(setting));
    }
    for setting in entry
        .settings
        .iter()
        .filter(|setting| !setting.words.is_empty())
    {
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
    let words: Vec<String> = setting
        .words
        .iter()
        .map(|(word, _)| format!("`{word}`"))
        .collect();
    let range = setting.range.clone().unwrap_or_else(|| words.join(", "));
    let cells = [
        format!("`{}`", setting.name),
        setting.kind.clone(),
        default,
        range,
        setting.description.clone(),
    ];
    format!(
        "| {} |",
        cells.map(|cell| cell.replace('|', "\\|")).join(" | ")
    )
}
