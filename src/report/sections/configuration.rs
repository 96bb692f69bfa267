//! The configuration as run: what all cells have in common once, then what each cell sets, as lines of TOML.

use std::collections::BTreeMap;

use crate::base::units::human_integer;
use crate::plan::toml_text;
use crate::report::groups::ROWS;
use crate::report::section::{Code, Section};
use crate::report::view::{Cell, View};

use super::difference::leaves;

/// Sections of a specification that are shown, in this order.
pub(crate) const SECTIONS: [&str; 8] = [
    "model",
    "dataset",
    "loss",
    "train",
    "loader",
    "validation",
    "measure",
    "limits",
];

/// Settings by section and key.
type Settings = BTreeMap<(usize, String), String>;

/// The resolved specifications of all cells, setting by setting. What is not set does not stand here.
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let all: Vec<Settings> = view.cells.iter().map(|cell| settings(view, cell)).collect();
    let mut common = all.first().cloned().unwrap_or_default();
    for one in &all {
        common.retain(|key, value| one.get(key) == Some(value));
    }
    vec![in_all(&common), apart(view, &all, &common)]
}

/// What every cell has, as a manifest would have it.
fn in_all(common: &Settings) -> Section {
    let tables = SECTIONS.iter().enumerate().filter_map(|(section, name)| {
        let own = common.iter().filter(|((place, _), _)| *place == section);
        let lines: Vec<String> = own
            .map(|((_, key), value)| format!("{key} = {value}"))
            .collect();
        (!lines.is_empty()).then(|| format!("[{name}]\n{}", lines.join("\n")))
    });
    let text = tables.collect::<Vec<_>>().join("\n\n");
    Section {
        code: (!text.is_empty()).then(|| Code::of("toml", &text)),
        ..Section::titled("configuration-common", "In all cells")
    }
}

/// What each cell has that not all have.
fn apart(view: &View<'_>, all: &[Settings], common: &Settings) -> Section {
    let is_own = |entry: &(&(usize, String), &String)| !common.contains_key(entry.0);
    let cells = view.cells.iter().zip(all).take(ROWS);
    let cells = cells.filter_map(|(cell, own)| {
        let own = own.iter().filter(is_own);
        let lines =
            own.map(|((place, key), value)| format!("{}.{key} = {value}", SECTIONS[*place]));
        let lines = lines.collect::<Vec<_>>().join(", ");
        (!lines.is_empty()).then(|| format!("{}: {lines}", view.name(cell, None)))
    });
    let points: Vec<String> = cells.collect();
    let count = human_integer(view.cells.len() as u64);
    let cut = || format!("The first {ROWS} of {count} cells; all of them are in plan.json.");
    let is_cut = view.cells.len() > ROWS && !points.is_empty();
    Section {
        paragraphs: is_cut.then(cut).into_iter().collect(),
        points,
        ..Section::titled("configuration-apart", "What sets each cell apart")
    }
}

fn settings(view: &View<'_>, cell: &Cell<'_>) -> Settings {
    let sections = SECTIONS.iter().enumerate();
    let all = sections.filter_map(|(place, name)| Some((place, view.section(cell, name)?)));
    let all = all.flat_map(|(place, section)| {
        let own = leaves(section).into_iter();
        own.map(move |(path, value)| ((place, path), toml_text(value)))
    });
    all.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_read_like_a_manifest() {
        let value =
            json!({"optimizer": {"kind": "adam", "lr": 0.5, "betas": [0.9, 0.999], "clip": null}});
        let lines = leaves(&value).into_iter();
        let lines = lines.map(|(key, value)| format!("{key} = {}", toml_text(value)));
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
        let found = sections(&View::of(&set));
        assert_eq!(found[0].code, None);
        assert_eq!(found[1].points.len(), set.plan.cells.len());
        assert_eq!(
            found[1].points[1],
            "batch-size 8, workers 4: train.batch-size = 8, loader.workers = 4"
        );
    }
}
