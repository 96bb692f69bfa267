//! The configuration as run: what all cells have in common once, then what each cell sets, as lines of TOML.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::base::units::human_integer;
use crate::plan::toml_text;
use crate::report::groups::ROWS;
use crate::report::view::{Cell, View};

/// Sections of a specification that are shown, in this order.
const SECTIONS: [&str; 8] = [
    "model",
    "dataset",
    "loss",
    "train",
    "loader",
    "validation",
    "measure",
    "limits",
];

/// The configuration of all cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Configuration {
    /// What every cell has, by section.
    pub common: Vec<ConfigSection>,
    /// What each cell has that not all have.
    pub cells: Vec<CellConfig>,
    /// "The first 200 of 1,000 cells…", where cells are left out.
    pub cut: Option<String>,
}

/// A section with its settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConfigSection {
    /// `train`.
    pub name: String,
    /// Each as `key = value`, as a manifest would have it.
    pub lines: Vec<String>,
}

/// What sets one cell apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellConfig {
    /// The cell in words.
    pub cell: String,
    /// Each as `section.key = value`.
    pub lines: Vec<String>,
}

/// Settings by section and key.
type Settings = BTreeMap<(usize, String), String>;

impl Configuration {
    /// Compares the resolved specifications of all cells, setting by setting. What is not set does not stand here.
    pub(crate) fn of(view: &View<'_>) -> Self {
        let all: Vec<Settings> = view.cells.iter().map(|cell| settings(view, cell)).collect();
        let mut common = all.first().cloned().unwrap_or_default();
        for one in &all {
            common.retain(|key, value| one.get(key) == Some(value));
        }
        let lines = |section: usize| -> Vec<String> {
            let own = common.iter().filter(|((place, _), _)| *place == section);
            own.map(|((_, key), value)| format!("{key} = {value}"))
                .collect()
        };
        let sections = SECTIONS
            .iter()
            .enumerate()
            .map(|(place, name)| ConfigSection {
                name: (*name).to_owned(),
                lines: lines(place),
            });
        let is_own = |entry: &(&(usize, String), &String)| !common.contains_key(entry.0);
        let cells = view
            .cells
            .iter()
            .zip(&all)
            .take(ROWS)
            .map(|(cell, own)| CellConfig {
                cell: view.name(cell, None),
                lines: own
                    .iter()
                    .filter(is_own)
                    .map(|((place, key), value)| format!("{}.{key} = {value}", SECTIONS[*place]))
                    .collect(),
            });
        let cells: Vec<CellConfig> = cells.filter(|cell| !cell.lines.is_empty()).collect();
        Self {
            common: sections
                .filter(|section| !section.lines.is_empty())
                .collect(),
            cut: cut(view.cells.len()).filter(|_| !cells.is_empty()),
            cells,
        }
    }
}

fn cut(cells: usize) -> Option<String> {
    let all = human_integer(cells as u64);
    (cells > ROWS)
        .then(|| format!("The first {ROWS} of {all} cells; all of them are in plan.json."))
}

fn settings(view: &View<'_>, cell: &Cell<'_>) -> Settings {
    let mut found = Settings::new();
    for (place, name) in SECTIONS.iter().enumerate() {
        let section = view.section(cell, name).and_then(Value::as_object);
        for (key, value) in section.into_iter().flatten() {
            add(&mut found, place, key.clone(), value);
        }
    }
    found
}

/// Adds a setting by its dotted path; a table by each of its own settings.
fn add(found: &mut Settings, section: usize, path: String, value: &Value) {
    match value {
        Value::Null => {}
        Value::Object(table) => {
            for (key, value) in table {
                add(found, section, format!("{path}.{key}"), value);
            }
        }
        other => {
            found.insert((section, path), toml_text(other));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_read_like_a_manifest() {
        let mut found = Settings::new();
        let value = json!({"kind": "adam", "lr": 0.5, "betas": [0.9, 0.999], "clip": null});
        add(&mut found, 3, "optimizer".into(), &value);
        let lines = found
            .iter()
            .map(|((_, key), value)| format!("{key} = {value}"));
        let expected = [
            "optimizer.betas = [0.9, 0.999]",
            "optimizer.kind = \"adam\"",
            "optimizer.lr = 0.5",
        ];
        assert_eq!(lines.collect::<Vec<_>>(), expected);
        assert_eq!(toml_text(&json!(true)), "true");
    }

    #[test]
    fn what_all_cells_have_stands_once() {
        let set = crate::results::golden::ddpm();
        let found = Configuration::of(&View::of(&set));
        assert!(found.common.is_empty(), "{:?}", found.common);
        assert_eq!(found.cells.len(), set.plan.cells.len());
        assert_eq!(
            found.cells[1].lines,
            ["train.batch-size = 8", "loader.workers = 4"]
        );
    }
}
