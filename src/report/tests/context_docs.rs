//! `docs/report-context.md`: every field of the context, from the structs' own documentation, so that it cannot get
//! stale.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::report::comparison::golden::comparison;
use crate::report::{ComparisonReport, Language, Report};
use crate::results::golden::ddpm;

const HEAD: &str = "# What templates see

Written from the documentation of the types in `src/report/` (`FIELDTRIAL_ACCEPT=1 cargo test --lib context_docs` writes it
again). A template sees `report`, a [Report](#report), and `plot_style`, the style sheet of the plots; the template
`comparison` sees a [ComparisonReport](#comparisonreport) as `report`, once for each language. `fieldtrial report RESULTS
--context` prints the values for results of yours; [reports.md](reports.md) shows a template.
";

/// A struct that is part of the context.
struct Documented {
    about: String,
    fields: Vec<(String, String, String)>,
}

#[test]
fn every_field_of_the_context_is_documented() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut structs = BTreeMap::new();
    for file in sources(&root.join("src/report")) {
        collect(&fs::read_to_string(file).expect("a source"), &mut structs);
    }
    let mut names = vec!["Report".to_owned(), "ComparisonReport".to_owned()];
    let mut text = HEAD.to_owned();
    let mut place = 0;
    while let Some(name) = names.get(place).cloned() {
        let found = &structs[&name];
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n## {name}\n\n{}\n\n| field | type | meaning |\n| --- | --- | --- |\n",
            linked(&found.about)
        );
        for (field, kind, about) in &found.fields {
            let _ = writeln!(
                text,
                "| `{field}` | {} | {} |",
                in_words(kind, &structs),
                about.replace('|', "\\|")
            );
            let inner = kind.split(|c: char| !c.is_alphanumeric());
            for part in inner.filter(|part| structs.contains_key(*part)) {
                if !names.iter().any(|known| known == part) {
                    names.push(part.to_owned());
                }
            }
        }
        place += 1;
    }
    let to = root.join("docs/report-context.md");
    if std::env::var_os("FIELDTRIAL_ACCEPT").is_some() {
        fs::write(&to, &text).expect("writes");
    }
    let is = fs::read_to_string(&to).unwrap_or_default();
    assert!(
        is == text,
        "docs/report-context.md is stale: FIELDTRIAL_ACCEPT=1 cargo test --lib context_docs"
    );
    let known: Vec<&str> = names
        .iter()
        .flat_map(|name| structs[name].fields.iter().map(|(field, ..)| &**field))
        .collect();
    let context = serde_json::to_value(Report::of(&ddpm())).expect("a context");
    let compared = ComparisonReport::of(&[comparison()], Language::German);
    let compared = serde_json::to_value(compared).expect("a context");
    for context in [context, compared] {
        assert_eq!(
            unknown(&context, &known),
            [""; 0],
            "printed and not documented"
        );
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// Structs that are serialized, by name.
fn collect(source: &str, structs: &mut BTreeMap<String, Documented>) {
    let (mut about, mut is_serialized) = (String::new(), false);
    let mut open: Option<(String, Documented)> = None;
    for line in source.lines() {
        let trimmed = line.trim();
        if let Some(words) = trimmed.strip_prefix("/// ") {
            about = format!("{about} {words}");
        } else if trimmed.starts_with("#[derive(") {
            is_serialized = trimmed.contains("Serialize");
        } else if line == "}" {
            if let Some((name, found)) = open.take() {
                structs.insert(name, found);
            }
        } else if let Some(name) = trimmed
            .strip_prefix("pub struct ")
            .and_then(|rest| rest.strip_suffix(" {"))
        {
            if is_serialized {
                let about = std::mem::take(&mut about).trim().to_owned();
                let fields = Vec::new();
                open = Some((name.to_owned(), Documented { about, fields }));
            }
            is_serialized = false;
        } else if let (Some((_, found)), Some(field)) = (&mut open, trimmed.strip_prefix("pub ")) {
            let (name, kind) = field
                .trim_end_matches(',')
                .split_once(": ")
                .expect("a field");
            let about = std::mem::take(&mut about).trim().to_owned();
            assert!(!about.is_empty(), "{name} has no documentation");
            found.fields.push((name.to_owned(), kind.to_owned(), about));
        } else if !trimmed.starts_with("#[") {
            about.clear();
        }
    }
}

/// Links to types as links to their sections.
fn linked(about: &str) -> String {
    let mut parts = about.split("[`");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("`]").expect("the end of a link");
        let target = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let rest = target.map_or(rest, |(_, rest)| rest);
        // Writing to a String cannot fail.
        let _ = write!(text, "[{name}](#{}){rest}", name.to_lowercase());
    }
    text
}

/// A type in the words of template authors: `Vec<String>` is "list of text".
fn in_words(kind: &str, structs: &BTreeMap<String, Documented>) -> String {
    let inside = |outer: &str| {
        kind.strip_prefix(outer)
            .and_then(|rest| rest.strip_suffix('>'))
    };
    if let Some(inner) = inside("Vec<") {
        return format!("list of {}", in_words(inner, structs));
    }
    if let Some(inner) = inside("Option<") {
        return format!("{}, or none", in_words(inner, structs));
    }
    match kind {
        "String" | "&'static str" | "ColumnKind" => "text".to_owned(),
        "(f64, f64)" => "two numbers".to_owned(),
        "bool" => "true or false".to_owned(),
        "f64" => "number".to_owned(),
        "usize" | "u64" | "u32" => "whole number".to_owned(),
        other if structs.contains_key(other) => format!("[{other}](#{})", other.to_lowercase()),
        other => format!("`{other}`"),
    }
}

/// Names of fields that no struct documents.
fn unknown(value: &Value, known: &[&str]) -> Vec<String> {
    match value {
        Value::Object(map) => {
            let own = map
                .keys()
                .filter(|name| !known.contains(&name.as_str()))
                .cloned();
            let inner = map.values().flat_map(|value| unknown(value, known));
            own.chain(inner).collect()
        }
        Value::Array(list) => list
            .iter()
            .flat_map(|value| unknown(value, known))
            .collect(),
        _ => Vec::new(),
    }
}
