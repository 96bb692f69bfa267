//! `next.toml`: a manifest of exactly the cells that a report's recommendations are about.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::plan::{MeasureSpec, PredictionSpec, TestedSpec};
use crate::report::view::{Cell, View};

use super::defaults::shortest;
use super::effect::FEWEST_PAIRS;
use super::recommendation::{Recommendation, text};
use super::toml_text;

/// First line of every manifest that is written here: what does not begin so is the user's own.
pub(super) const FIRST_LINE: &str =
    "# Written by Fieldtrial: the cells that test the recommendations of";

/// End of the title.
const TESTED: &str = ": recommendations tested";

/// Sections whose keys are settings of a cell.
const PLAIN: [&str; 5] = ["train", "loader", "validation", "measure", "limits"];
/// Sections of named things: section of a cell, key of `[train]`, section of a manifest.
const NAMED: [(&str, &str, &str); 3] = [
    ("model", "model", "models"),
    ("dataset", "dataset", "datasets"),
    ("loss", "loss", "losses"),
];

/// What a manifest is made of.
pub(super) struct Next<'v, 'a> {
    pub(super) view: &'v View<'a>,
    /// Name of the results folder that it follows.
    pub(super) name: &'v str,
    /// The cells that recommendations change, by study.
    pub(super) anchors: Vec<&'v Cell<'a>>,
    pub(super) recommendations: &'v [Recommendation],
    /// Changes that need no test any more.
    pub(super) tested: &'v [TestedSpec],
}

/// A cell of the manifest: its matrix and everything that it sets.
struct Written {
    name: String,
    set: BTreeMap<String, Value>,
}

impl Next<'_, '_> {
    /// The manifest's text; `None` where the results do not say what a cell is.
    pub(super) fn text(&self) -> Option<String> {
        let mut named: BTreeMap<(&str, String), Value> = BTreeMap::new();
        let mut sets: Vec<BTreeMap<String, Value>> = Vec::new();
        for anchor in &self.anchors {
            let mut spec = shortest(self.view, anchor)?;
            repoint(self.view, &mut spec);
            enough_runs(&mut spec);
            sets.push(settings(&spec, &mut named));
        }
        let common = common(&sets);
        for set in &mut sets {
            set.retain(|path, _| !common.contains_key(path));
        }
        let mut cells = Vec::new();
        for (study, set) in sets.iter().enumerate() {
            cells.push(Written {
                name: baseline_name(study),
                set: set.clone(),
            });
            for one in self.recommendations.iter().filter(|one| one.study == study) {
                let mut set = set.clone();
                set.insert(one.draft.setting.to_owned(), one.draft.to.clone());
                let name = cell_name(one);
                if !cells.iter().any(|cell| cell.name == name) {
                    cells.push(Written { name, set });
                }
            }
        }
        Some(self.written(&named, &common, &cells))
    }

    fn written(
        &self,
        named: &BTreeMap<(&str, String), Value>,
        common: &BTreeMap<String, Value>,
        cells: &[Written],
    ) -> String {
        let mut out = self.head();
        for ((section, name), value) in named {
            if let Value::Object(fields) = value {
                let head = format!("[{section}.{}]", toml_text::key(name));
                out.push_str(&toml_text::section(&head, fields));
            }
        }
        out.push_str(&plain_sections(common));
        for cell in cells {
            let set: Map<String, Value> = cell.set.clone().into_iter().collect();
            let mut fields = Map::from_iter([("name".to_owned(), json!(cell.name))]);
            if !set.is_empty() {
                fields.insert("set".to_owned(), Value::Object(set));
            }
            out.push_str(&toml_text::section("[[matrices]]", &fields));
        }
        out.push_str(&self.report());
        out
    }

    fn head(&self) -> String {
        let (name, plan) = (self.name, &self.view.set.plan);
        let title = if plan.title.is_empty() {
            name
        } else {
            plan.title.trim_end_matches(TESTED)
        };
        let fields = [
            ("name", format!("{name}-next")),
            ("title", format!("{title}{TESTED}")),
            (
                "question",
                format!("Do the recommendations of `{name}` hold?"),
            ),
            ("follows", name.to_owned()),
        ];
        let lines =
            fields.map(|(key, text)| format!("{key} = {}\n", toml_text::value(&json!(text))));
        format!(
            "{FIRST_LINE} `{name}`.\n{}{}",
            schema(self.view),
            lines.concat()
        )
    }

    /// `[report]` with the predictions.
    fn report(&self) -> String {
        let mut fields = Map::new();
        if let Some(templates) = self.view.set.plan.report.get("templates") {
            fields.insert("templates".to_owned(), templates.clone());
        }
        fields.insert("baseline".to_owned(), json!({"matrix": baseline_name(0)}));
        let mut out = toml_text::section("[report]", &fields);
        for one in self.recommendations {
            out.push_str(&entry("predictions", &prediction(one)));
        }
        for one in self.tested {
            out.push_str(&entry("tested", one));
        }
        out
    }
}

/// The line that names the schema, where the manifest as run has one.
pub(super) fn schema(view: &View<'_>) -> String {
    let plan = &view.set.plan;
    let folder = Path::new(&plan.manifest_path).parent();
    let mut lines = plan.manifest.lines();
    let path = lines.find_map(|line| line.strip_prefix("#:schema "));
    path.map_or(String::new(), |path| {
        let path = from_results(folder.unwrap_or(Path::new("")), path.trim());
        format!("#:schema {path}\n")
    })
}

/// Makes paths, which are relative to the manifest as run, relative to one in the results folder.
pub(super) fn repoint(view: &View<'_>, spec: &mut Map<String, Value>) {
    let manifest = Path::new(&view.set.plan.manifest_path);
    let folder = manifest.parent().unwrap_or(Path::new(""));
    for (section, key) in [("dataset", "path"), ("train", "init-from")] {
        let path = spec.get_mut(section).and_then(|fields| fields.get_mut(key));
        if let Some(Value::String(path)) = path {
            *path = from_results(folder, path);
        }
    }
}

/// The sections whose keys are settings of a cell, with these settings by long path.
pub(super) fn plain_sections(settings: &BTreeMap<String, Value>) -> String {
    let sections = PLAIN.map(|section| {
        let own = settings.iter().filter_map(|(path, value)| {
            let key = path.strip_prefix(section)?.strip_prefix('.')?;
            Some((key.to_owned(), value.clone()))
        });
        toml_text::section(&format!("[{section}]"), &own.collect())
    });
    sections.concat()
}

/// `path`, which `folder` of the project says, as a folder of `reports/` says it.
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

/// A verdict needs [`FEWEST_PAIRS`] pairs of runs.
fn enough_runs(spec: &mut Map<String, Value>) {
    let Some(Value::Object(measure)) = spec.get_mut("measure") else {
        return;
    };
    let Ok(own) = serde_json::from_value::<MeasureSpec>(Value::Object(measure.clone())) else {
        return;
    };
    let needed = FEWEST_PAIRS.div_ceil(own.seeds.len().max(1));
    if own.repeats < needed {
        measure.insert("repeats".to_owned(), json!(needed));
    }
}

/// A cell's settings by long path; its model, dataset and loss go to `named`, under names that nothing else has.
pub(super) fn settings(
    spec: &Map<String, Value>,
    named: &mut BTreeMap<(&'static str, String), Value>,
) -> BTreeMap<String, Value> {
    let mut settings = BTreeMap::new();
    for section in PLAIN {
        for (key, value) in spec
            .get(section)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            settings.insert(format!("{section}.{key}"), value.clone());
        }
    }
    for (section, key, plural) in NAMED {
        let value = spec.get(section).cloned().unwrap_or_default();
        let own = spec.get(&format!("{section}_name")).and_then(Value::as_str);
        let kind = value.get("kind").and_then(Value::as_str);
        let wanted = own.or(kind).unwrap_or(section).to_owned();
        let mut name = wanted.clone();
        let mut number = 1;
        while named
            .get(&(plural, name.clone()))
            .is_some_and(|other| *other != value)
        {
            number += 1;
            name = format!("{wanted}-{number}");
        }
        named.insert((plural, name.clone()), value);
        settings.insert(format!("train.{key}"), json!(name));
    }
    settings
}

/// Settings that all cells share.
pub(super) fn common(sets: &[BTreeMap<String, Value>]) -> BTreeMap<String, Value> {
    let mut common = sets.first().cloned().unwrap_or_default();
    common.retain(|path, value| sets.iter().all(|set| set.get(path) == Some(value)));
    common
}

/// Name of the matrix of a study's unchanged cell.
fn baseline_name(study: usize) -> String {
    if study == 0 {
        "baseline".to_owned()
    } else {
        format!("baseline-{}", study + 1)
    }
}

/// Name of the matrix of a changed cell: `batch-size-16`.
fn cell_name(one: &Recommendation) -> String {
    let key = one.draft.setting.rsplit('.').next().unwrap_or_default();
    let value = match &one.draft.to {
        Value::Object(_) => "on".to_owned(),
        value => text(value),
    };
    if one.study == 0 {
        format!("{key}-{value}")
    } else {
        format!("{}-{key}-{value}", baseline_name(one.study))
    }
}

/// The prediction of a recommendation, as the manifest carries it.
pub(super) fn prediction(one: &Recommendation) -> PredictionSpec {
    let axes = |name: String| Map::from_iter([("matrix".to_owned(), Value::from(name))]);
    let draft = &one.draft;
    let round = |end: f64| crate::base::units::round_significant(end, 5);
    PredictionSpec {
        rule: one.rule.to_owned(),
        setting: draft.setting.to_owned(),
        from: text(&draft.from),
        to: text(&draft.to),
        origin: one.cell.clone(),
        against: axes(baseline_name(one.study)),
        cell: axes(cell_name(one)),
        column: draft.column,
        claim: draft.claim,
        predicted: draft.predicted.estimate.map(round),
        low: round(draft.predicted.low),
        high: round(draft.predicted.high),
        reasoning: draft.reasoning.clone(),
    }
}

fn entry(name: &str, value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => toml_text::section(&format!("[[report.{name}]]"), &fields),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
