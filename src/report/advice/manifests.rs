//! Manifests beside a report: the parts that `next.toml` and `best.toml` share.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::base::file;
use crate::plan::{TRAIN_KEYS_IN_ORDER, toml_key, toml_text};
use crate::report::ReportError;
use crate::report::view::{Cell, View};
use crate::results::{ResultsError, write_if_changed};

use super::defaults::spec_without_defaults;
use super::study::names_setting;

/// Sections whose keys are settings of a cell.
const PLAIN: [&str; 5] = ["train", "loader", "validation", "measure", "limits"];
/// Sections of named models, datasets and losses: section of a cell, key that refers to it, section of a manifest.
const NAMED: [(&str, &str, &str); 3] = [
    ("model", "model", "models"),
    ("dataset", "dataset", "datasets"),
    ("loss", "loss", "losses"),
];

/// Internal kinds of dataset and loss of a `kind = "command"` model; a manifest cannot contain them.
const OF_COMMANDS: [&str; 2] = ["none", "own"];

/// The path and content of a file in a results folder, ready to write.
pub(super) struct GeneratedFile {
    pub(super) path: PathBuf,
    /// Beginning of every such file that this program writes; a file that begins otherwise is the user's.
    pub(super) mark: &'static str,
    /// Content of the file; `None` if there is nothing to write: then a file of this program is removed, a user's file
    /// is kept.
    pub(super) text: Option<Vec<u8>>,
}

impl GeneratedFile {
    /// Writes the file and returns its path. Without content the file is removed, unless the user wrote it.
    pub(super) fn write(self) -> Result<Option<PathBuf>, ReportError> {
        let is_ours =
            file::read(&self.path).is_ok_and(|text| text.starts_with(self.mark.as_bytes()));
        match self.text {
            Some(text) if is_ours || !self.path.exists() => {
                write_if_changed(&self.path, &text)?;
                return Ok(Some(self.path));
            }
            None if is_ours => {
                fs::remove_file(&self.path).map_err(ResultsError::unwritable(&self.path))?;
            }
            _ => {}
        }
        Ok(None)
    }
}

/// Settings of a cell by dotted path.
pub(super) type Settings = BTreeMap<String, Value>;

/// The cells of a manifest.
#[derive(Default)]
pub(super) struct ManifestCells {
    /// Models, data sets and losses by section and name.
    pub(super) named: BTreeMap<(&'static str, String), Value>,
    /// Name and settings of each cell; each becomes a matrix of its own.
    pub(super) matrices: Vec<(String, Settings)>,
    /// Settings with equal values in all added cells; `None` before the first cell.
    common: Option<Settings>,
}

impl ManifestCells {
    /// A cell's settings for a manifest in the results folder. The model, dataset and loss are added to `named`, under
    /// unique names. `None` if this version cannot read the cell's specification.
    pub(super) fn settings(&mut self, view: &View<'_>, cell: &Cell<'_>) -> Option<Settings> {
        let mut spec = spec_without_defaults(view, cell)?;
        repoint(view, &mut spec);
        let mut settings = Settings::new();
        for section in PLAIN {
            let fields = spec.get(section).and_then(Value::as_object);
            let fields = fields.into_iter().flatten();
            settings.extend(fields.map(|(key, value)| (format!("{section}.{key}"), value.clone())));
        }
        if cell.is_of_command {
            // A setting that the command line does not use is a mistake in a manifest, so it is left out.
            let run = &spec["model"]["run"];
            settings.retain(|path, _| match path.split_once('.') {
                Some(("measure" | "limits", _)) => true,
                Some(("train", key)) if TRAIN_KEYS_IN_ORDER.contains(&key) => true,
                _ => names_setting(run, path),
            });
        }
        for (section, key, plural) in NAMED {
            let value = spec.get(section).cloned().unwrap_or_default();
            let own = spec.get(&format!("{section}_name")).and_then(Value::as_str);
            let kind = value.get("kind").and_then(Value::as_str);
            if kind.is_some_and(|kind| OF_COMMANDS.contains(&kind)) {
                continue;
            }
            let wanted = own.or(kind).unwrap_or(section).to_owned();
            let numbered = (2..).map(|number| format!("{wanted}-{number}"));
            let mut names = std::iter::once(wanted.clone()).chain(numbered);
            let is_free = |name: &String| {
                let known = self.named.get(&(plural, name.clone()));
                known.is_none_or(|known| *known == value)
            };
            let name = names.find(is_free).unwrap_or(wanted);
            settings.insert(format!("train.{key}"), json!(name));
            self.named.insert((plural, name), value);
        }
        Some(settings)
    }

    /// Adds a cell with all its settings.
    pub(super) fn add(&mut self, name: String, set: Settings) {
        match &mut self.common {
            Some(common) => common.retain(|path, value| set.get(path) == Some(value)),
            None => self.common = Some(set.clone()),
        }
        self.matrices.push((name, set));
    }

    /// The manifest's text: named models, datasets and losses, the settings that all cells share, and a matrix for each
    /// cell.
    pub(super) fn text(mut self) -> String {
        let common = self.common.unwrap_or_default();
        let mut out = String::new();
        for ((plural, name), value) in &self.named {
            let fields = value.as_object().cloned().unwrap_or_default();
            out += &section(&format!("[{plural}.{}]", toml_key(name)), &fields);
        }
        for name in PLAIN {
            let own = common.iter().filter_map(|(path, value)| {
                let key = path.strip_prefix(name)?.strip_prefix('.')?;
                Some((key.to_owned(), value.clone()))
            });
            out += &section(&format!("[{name}]"), &own.collect());
        }
        for (name, set) in &mut self.matrices {
            set.retain(|path, value| common.get(path) != Some(&*value));
            let mut fields = Map::from_iter([("name".to_owned(), json!(name))]);
            if !set.is_empty() {
                fields.insert("set".to_owned(), json!(set));
            }
            out += &section("[[matrices]]", &fields);
        }
        out
    }
}

/// The head of a manifest: the schema comment, if the original manifest has one, then one line for each of `lines`
/// (`name`, `title` …).
pub(super) fn head(view: &View<'_>, lines: &[(&str, String)]) -> (String, String) {
    let plan = &view.set.plan;
    let folder = Path::new(&plan.manifest_path).parent();
    let folder = folder.unwrap_or(Path::new(""));
    let schema = plan
        .manifest
        .lines()
        .find_map(|line| line.strip_prefix("#:schema "));
    let schema = schema.map_or_else(String::new, |path| {
        format!("#:schema {}\n", from_results(folder, path.trim()))
    });
    let lines = lines
        .iter()
        .map(|(key, text)| format!("{key} = {}\n", toml_text(&json!(text))));
    (schema, lines.collect())
}

/// The text of a section with one key per line; empty without keys.
pub(super) fn section(head: &str, fields: &Map<String, Value>) -> String {
    let (kind, rest): (Vec<_>, Vec<_>) = fields.iter().partition(|(name, _)| *name == "kind");
    let given = kind
        .into_iter()
        .chain(rest)
        .filter(|(_, field)| !field.is_null());
    let lines = given.map(|(name, field)| format!("{} = {}\n", toml_key(name), toml_text(field)));
    let lines: String = lines.collect();
    if lines.is_empty() {
        return lines;
    }
    format!("\n{head}\n{lines}")
}

/// Makes the paths of a specification relative to the results folder instead of the original manifest's folder.
fn repoint(view: &View<'_>, spec: &mut Map<String, Value>) {
    let manifest = Path::new(&view.set.plan.manifest_path);
    let folder = manifest.parent().unwrap_or(Path::new(""));
    if let Some(Value::Object(model)) = spec.get_mut("model")
        && model.get("kind").is_some_and(|kind| kind == "command")
    {
        let own = model.get("folder").and_then(Value::as_str).unwrap_or("");
        let own = from_results(folder, own);
        model.insert("folder".to_owned(), json!(own));
    }
    if let Some(Value::Object(dataset)) = spec.get_mut("dataset")
        && dataset.get("kind").is_some_and(|kind| kind == "arrays")
    {
        // An array dataset without `path` has its files in the manifest's folder.
        dataset.entry("path").or_insert_with(|| json!(""));
    }
    for (section, key) in [("dataset", "path"), ("train", "init-from")] {
        let path = spec.get_mut(section).and_then(|fields| fields.get_mut(key));
        let paths = match path {
            Some(Value::Array(paths)) => &mut paths[..],
            path => path.map_or(&mut [][..], std::slice::from_mut),
        };
        for path in paths {
            if let Value::String(path) = path {
                *path = from_results(folder, path);
            }
        }
    }
}

/// Converts `path`, relative to the project's folder `folder`, to a path relative to a results folder `reports/NAME`.
fn from_results(folder: &Path, path: &str) -> String {
    let joined = folder.join(path);
    if joined.is_absolute() {
        return path.to_owned();
    }
    let mut clean = PathBuf::new();
    for part in joined.components() {
        match part {
            Component::ParentDir if clean.file_name().is_some() => {
                clean.pop();
            }
            Component::CurDir => {}
            part => clean.push(part),
        }
    }
    Path::new("../..")
        .join(clean)
        .to_string_lossy()
        .replace('\\', "/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::assert_contains;

    #[test]
    fn paths_lead_from_the_results_folder_to_the_same_place() {
        let from = |folder: &str, path: &str| from_results(Path::new(folder), path);
        assert_eq!(
            from("experiments", "../data/surfaces"),
            "../../data/surfaces"
        );
        assert_eq!(
            from("experiments", "here.csv"),
            "../../experiments/here.csv"
        );
        assert_eq!(from("reports/ddpm", "../../data/x"), "../../data/x");
        assert_eq!(from("experiments", "../../outside"), "../../../outside");
        assert_eq!(from("experiments", "/data/x"), "/data/x");
        assert_eq!(from("", "data"), "../../data");
    }

    #[test]
    fn what_is_written_reads_back() {
        let fields = json!({
            "lr": 5e-5, "whole": 1.0, "n": 8, "text": "a \"b\" \\ c\nd", "list": [1, [2.5]], "on": true,
            "none": null, "a.b": {"kind": "adam", "betas": [0.9, 0.999], "nothing": null}
        });
        let Value::Object(fields) = &fields else {
            panic!("a table")
        };
        let text = section("[train]", fields);
        let read: toml::Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut expected = fields.clone();
        expected.remove("none");
        expected["a.b"]
            .as_object_mut()
            .expect("a table")
            .remove("nothing");
        assert_eq!(
            serde_json::to_value(&read["train"]).expect("JSON"),
            Value::Object(expected)
        );
        assert_contains(&text, "\"a.b\" = { kind = \"adam\", betas");
    }
}
