//! `best.toml`: a manifest that trains the best configurations of a search in full.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::base::text::kebab_case;
use crate::report::ReportError;
use crate::report::search::{Search, best_trials};
use crate::report::view::{Cell, View};
use crate::results::write_if_changed;

use super::defaults::shortest;
use super::files::{name_of, remove};
use super::next::{common, plain_sections, repoint, schema, settings};
use super::toml_text;

/// First line of every manifest that is written here: what does not begin so is the user's own.
const FIRST_LINE: &str = "# Written by Fieldtrial: the best of the search";
/// Name of its one matrix, where there is one study.
const ONE: &str = "best";

/// `best.toml` of a results folder, ready to write.
pub(crate) struct BestFile {
    path: PathBuf,
    /// Its text; `None` where there is no search, or no done trial.
    text: Option<String>,
}

/// A configuration of the manifest: its matrix and everything that it sets.
struct Written {
    name: String,
    set: BTreeMap<String, Value>,
}

/// The manifest that goes with results in `folder`.
pub(crate) fn best_file(folder: &Path, view: &View<'_>) -> BestFile {
    let name = name_of(folder, view.set);
    let search = Search::of(view);
    BestFile {
        path: folder.join("best.toml"),
        text: search.and_then(|search| text(&search, &name)),
    }
}

impl BestFile {
    /// Writes it and returns its path. Without content it goes, but for a file of the user's own.
    ///
    /// # Errors
    /// [`ReportError::Results`] for a file that cannot be written or removed.
    pub(crate) fn write(self) -> Result<Option<PathBuf>, ReportError> {
        let is_ours = fs::read_to_string(&self.path).is_ok_and(|text| text.starts_with(FIRST_LINE));
        match self.text {
            Some(text) if is_ours || !self.path.exists() => {
                write_if_changed(&self.path, text.as_bytes())?;
                Ok(Some(self.path))
            }
            None if is_ours => {
                remove(&self.path)?;
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

fn text(search: &Search<'_, '_>, name: &str) -> Option<String> {
    let view = search.view;
    let mut named: BTreeMap<(&str, String), Value> = BTreeMap::new();
    let mut cells: Vec<Written> = Vec::new();
    let mut comments: Vec<String> = Vec::new();
    for (study, trial) in best_trials(search) {
        let mut own = configuration(view, trial.cell)?;
        let mut set = settings(&own, &mut named);
        own.clear();
        finish(&mut set, &mut named, &search.spec.final_set);
        let matrix = if study.name.is_empty() {
            ONE.to_owned()
        } else {
            kebab_case(&study.name)
        };
        let first = search.first();
        let value = first
            .value(&trial)
            .map(|value| first.show(value))
            .unwrap_or_default();
        comments.push(format!(
            "# {matrix}: {}, {} {value}.\n",
            search.trial_name(&trial),
            first.column
        ));
        cells.push(Written { name: matrix, set });
    }
    if cells.is_empty() {
        return None;
    }
    let shared = common(
        &cells
            .iter()
            .map(|cell| cell.set.clone())
            .collect::<Vec<_>>(),
    );
    for cell in &mut cells {
        cell.set.retain(|path, _| !shared.contains_key(path));
    }
    let mut out = head(view, name, &comments);
    for ((section, name), value) in &named {
        if let Value::Object(fields) = value {
            let head = format!("[{section}.{}]", toml_text::key(name));
            out.push_str(&toml_text::section(&head, fields));
        }
    }
    out.push_str(&plain_sections(&shared));
    for cell in &cells {
        let mut fields = Map::from_iter([("name".to_owned(), json!(cell.name))]);
        let set: Map<String, Value> = cell.set.clone().into_iter().collect();
        if !set.is_empty() {
            fields.insert("set".to_owned(), Value::Object(set));
        }
        out.push_str(&toml_text::section("[[matrices]]", &fields));
    }
    out.push_str(&report(view));
    Some(out)
}

/// A trial's resolved specification, as a manifest in the results folder writes it.
fn configuration(view: &View<'_>, cell: &Cell<'_>) -> Option<Map<String, Value>> {
    let mut spec = shortest(view, cell)?;
    repoint(view, &mut spec);
    Some(spec)
}

/// Sets what `[search.final]` changes, each at the innermost table that has its place.
fn finish(
    set: &mut BTreeMap<String, Value>,
    named: &mut BTreeMap<(&'static str, String), Value>,
    changes: &Map<String, Value>,
) {
    for (path, value) in changes {
        let of_named = named.iter_mut().find_map(|((section, name), fields)| {
            let rest = path.strip_prefix(*section)?.strip_prefix('.')?;
            Some((rest.strip_prefix(name.as_str())?.strip_prefix('.')?, fields))
        });
        if let Some((rest, fields)) = of_named {
            put(fields, rest, value);
            continue;
        }
        let above = set.iter_mut().find_map(|(known, fields)| {
            let rest = path.strip_prefix(known.as_str())?.strip_prefix('.')?;
            fields.is_object().then_some((rest, fields))
        });
        match above {
            Some((rest, fields)) => put(fields, rest, value),
            None => {
                set.insert(path.clone(), value.clone());
            }
        }
    }
}

/// Sets a value at a dotted path below `at`, making missing tables.
fn put(at: &mut Value, path: &str, value: &Value) {
    let Value::Object(fields) = at else {
        return;
    };
    match path.split_once('.') {
        None => {
            fields.insert(path.to_owned(), value.clone());
        }
        Some((key, rest)) => {
            let below = fields
                .entry(key)
                .or_insert_with(|| Value::Object(Map::new()));
            put(below, rest, value);
        }
    }
}

fn head(view: &View<'_>, name: &str, comments: &[String]) -> String {
    let plan = &view.set.plan;
    let title = if plan.title.is_empty() {
        name
    } else {
        &plan.title
    };
    let fields = [
        ("name", format!("{name}-best")),
        ("title", format!("{title}: the best, trained in full")),
        (
            "question",
            format!("How good is the best configuration that `{name}` found, trained in full?"),
        ),
    ];
    let lines = fields.map(|(key, text)| format!("{key} = {}\n", toml_text::value(&json!(text))));
    format!(
        "{FIRST_LINE} `{name}`, with what its `[search.final]` changes.\n{}{}\n{}",
        comments.concat(),
        schema(view),
        lines.concat()
    )
}

/// What to report, and what computing costs.
fn report(view: &View<'_>) -> String {
    let plan = &view.set.plan;
    let mut fields = Map::from_iter([("templates".to_owned(), json!(["analysis"]))]);
    if let Some(target) = plan.report.get("target").filter(|target| !target.is_null()) {
        fields.insert("target".to_owned(), target.clone());
    }
    let mut out = toml_text::section("[report]", &fields);
    if let Value::Object(cost) = &plan.cost
        && ["core-hour", "gpu-hour"]
            .iter()
            .any(|price| cost.get(*price).is_some_and(Value::is_number))
    {
        out.push_str(&toml_text::section("[cost]", cost));
    }
    out
}
