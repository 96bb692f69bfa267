//! `next.toml`: a manifest of exactly the cells that a report's recommendations are about.

use serde_json::{Map, Value, json};

use crate::base::units::round_significant;
use crate::plan::{MeasureSpec, PredictionSpec, TestedSpec};
use crate::report::names;
use crate::report::view::{Cell, View};

use super::advice_data::AdviceData;
use super::effect::FEWEST_PAIRS;
use super::manifests::{ManifestCells, Settings, head, section};
use super::recommendation::{Recommendation, key_of, other_parts, text};
use super::study::parameter_of;

/// First line of every `next.toml` that this program writes.
pub(super) const FIRST_LINE: &str =
    "# Written by Fieldtrial: the cells that test the recommendations of";

/// Appended to the results' title to make the title of `next.toml`.
const TESTED: &str = ": recommendations tested";

/// Text of `next.toml` for the results `name`; `None` if a cell's specification is missing, or if nothing is
/// recommended. `tested` are changes that have been tested.
pub(super) fn next_manifest_text(
    view: &View<'_>,
    name: &str,
    advice_data: &AdviceData<'_, '_>,
    tested: &[TestedSpec],
) -> Option<String> {
    let recommendations = &advice_data.recommendations;
    recommendations.first()?;
    let mut cells = ManifestCells::default();
    // Names of the cells in reports, by name of their matrix; a changed cell's name contains that of the unchanged
    // cell.
    let mut shown = Map::from_iter([("matrix".to_owned(), json!("cell"))]);
    for (place, study) in advice_data.studies.iter().enumerate() {
        let mut set = cells.settings(view, study.anchor)?;
        if let Some(repeats) = repeats(view, study.anchor) {
            set.insert("measure.repeats".to_owned(), json!(repeats));
        }
        cells.add(baseline_name(place), set.clone());
        let anchor = view.name_in_plan(study.anchor);
        shown.insert(baseline_name(place), json!(anchor));
        for one in recommendations.iter().filter(|one| one.study == place) {
            let name = cell_name(one);
            if cells.matrices.iter().all(|(known, _)| *known != name) {
                let mut set = set.clone();
                set.insert(placed(&set, &one.setting), one.to.clone());
                shown.insert(name.clone(), json!(shown_name(&anchor, one)));
                cells.matrices.push((name, set));
            }
        }
    }
    let title = names::title(&view.set.plan, name).trim_end_matches(TESTED);
    let lines = [
        ("name", format!("{name}-next")),
        ("title", format!("{title}{TESTED}")),
        (
            "question",
            format!("Do the recommendations of `{name}` hold?"),
        ),
        ("follows", name.to_owned()),
    ];
    let (schema, lines) = head(view, &lines);
    let mut fields = Map::new();
    if let Some(Value::Array(templates)) = view.set.plan.report.get("templates") {
        // A comparison needs a treatment, and these cells have none.
        let others = templates.iter().filter(|name| *name != "comparison");
        fields.insert("templates".to_owned(), others.cloned().collect());
    }
    fields.insert("baseline".to_owned(), json!({"matrix": baseline_name(0)}));
    if advice_data.studies.len() > 1 {
        fields.insert("names".to_owned(), json!(shown));
    }
    let predictions = recommendations.iter();
    let predictions = predictions.map(|one| entry("predictions", &json!(prediction(one))));
    let tested = tested.iter().map(|one| entry("tested", &json!(one)));
    let (cells, report) = (cells.text(), section("[report]", &fields));
    let entries: String = predictions.chain(tested).collect();
    Some(format!(
        "{FIRST_LINE} `{name}`.\n{schema}{lines}{cells}{report}{entries}"
    ))
}

fn entry(name: &str, value: &Value) -> String {
    let fields = value.as_object().cloned().unwrap_or_default();
    section(&format!("[[report.{name}]]"), &fields)
}

/// The path of a setting in `next.toml`, where the model may have a different name than in the original manifest.
fn placed(set: &Settings, setting: &str) -> String {
    let model = set.get("train.model").and_then(Value::as_str);
    match parameter_of(setting).zip(model) {
        Some((parameter, model)) => format!("models.{model}.{parameter}"),
        None => setting.to_owned(),
    }
}

/// Number of repeats that gives a cell the [`FEWEST_PAIRS`] pairs of runs that a verdict needs; `None` if it already
/// has them.
fn repeats(view: &View<'_>, cell: &Cell<'_>) -> Option<usize> {
    let own = view.section(cell, "measure")?.clone();
    let own: MeasureSpec = serde_json::from_value(own).ok()?;
    let needed = FEWEST_PAIRS.div_ceil(own.seeds.len().max(1));
    (own.repeats < needed).then_some(needed)
}

/// Name of the matrix with the unchanged cell of study `study` (from 0).
fn baseline_name(study: usize) -> String {
    if study == 0 {
        "baseline".to_owned()
    } else {
        format!("baseline-{}", study + 1)
    }
}

/// Name of the matrix with a changed cell: `batch-size-16`.
fn cell_name(one: &Recommendation) -> String {
    let (key, value) = key_and_value(one);
    if one.study == 0 {
        format!("{key}-{value}")
    } else {
        format!("{}-{key}-{value}", baseline_name(one.study))
    }
}

/// Name of a changed cell in reports: `large, batch-size 16`, where `anchor` is the name of the unchanged cell.
fn shown_name(anchor: &str, one: &Recommendation) -> String {
    let (key, value) = key_and_value(one);
    let others = other_parts(anchor, &one.setting, &text(&one.from));
    let change = format!("{key} {value}");
    [others, vec![&change]].concat().join(", ")
}

/// The last part of the changed setting's path, and its new value.
fn key_and_value(one: &Recommendation) -> (&str, String) {
    let value = match &one.to {
        Value::Object(_) => "on".to_owned(),
        value => text(value),
    };
    (key_of(&one.setting), value)
}

/// The prediction of a recommendation, as written into `next.toml`.
pub(super) fn prediction(one: &Recommendation) -> PredictionSpec {
    let axes = |name: String| Map::from_iter([("matrix".to_owned(), Value::from(name))]);
    let round = |end: f64| round_significant(end, 5);
    PredictionSpec {
        rule: one.rule.to_owned(),
        setting: one.setting.to_string(),
        from: text(&one.from),
        to: text(&one.to),
        origin: one.cell.clone(),
        against: axes(baseline_name(one.study)),
        cell: axes(cell_name(one)),
        column: one.column,
        claim: one.claim,
        predicted: one.predicted.estimate.map(round),
        low: round(one.predicted.low),
        high: round(one.predicted.high),
        reasoning: one.reasoning.clone(),
    }
}
