//! The JSON Schema of manifests, made from the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::datasets::DatasetSpec;
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::models::ModelSpec;

use super::cell::{TrainSpec, ValidationSpec};
use super::settings::{CompareSpec, CostSpec, LimitsSpec, MeasureSpec, ReportSpec};

/// The JSON Schema of a manifest (draft 7, which taplo reads), as indented text.
pub fn manifest_schema() -> String {
    let mut generator = SchemaSettings::draft07().into_generator();
    let mut properties = head();
    add(
        &mut properties,
        "models",
        named::<ModelSpec>(&mut generator, "Models by name."),
    );
    add(
        &mut properties,
        "datasets",
        named::<DatasetSpec>(&mut generator, "Datasets by name."),
    );
    add(
        &mut properties,
        "losses",
        named::<LossSpec>(
            &mut generator,
            "Losses by name; model and dataset decide where none is chosen.",
        ),
    );
    add(
        &mut properties,
        "train",
        section::<TrainSpec>(&mut generator),
    );
    add(
        &mut properties,
        "loader",
        section::<LoaderSpec>(&mut generator),
    );
    add(
        &mut properties,
        "validation",
        section::<ValidationSpec>(&mut generator),
    );
    add(
        &mut properties,
        "measure",
        section::<MeasureSpec>(&mut generator),
    );
    add(
        &mut properties,
        "limits",
        section::<LimitsSpec>(&mut generator),
    );
    add(
        &mut properties,
        "report",
        section::<ReportSpec>(&mut generator),
    );
    add(
        &mut properties,
        "compare",
        section::<CompareSpec>(&mut generator),
    );
    add(&mut properties, "cost", section::<CostSpec>(&mut generator));
    let mut definitions = Value::Object(generator.take_definitions(true));
    choose_in_train(&mut definitions);
    for part in ["OptimizerSpec", "ScheduleSpec"] {
        default_kind(&mut definitions[part]);
    }
    definitions["Matrix"] = matrix();
    let schema = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Fieldtrial manifest",
        "description": "One experiment: what to train, in which combinations, what to measure and to report.",
        "type": "object",
        "properties": properties,
        "required": ["name"],
        "additionalProperties": false,
        "definitions": definitions,
    });
    serde_json::to_string_pretty(&schema).unwrap_or_default() + "\n"
}

fn head() -> Value {
    json!({
        "name": {
            "type": "string",
            "pattern": "^[a-z0-9][a-z0-9-]*$",
            "description": "Name of the experiment; results go to `reports/<name>/`."
        },
        "title": { "type": "string", "description": "Title of the reports." },
        "question": { "type": "string", "description": "What the experiment is to answer." },
        "follows": { "type": "string", "description": "Name of the experiment whose recommendations this one tests." },
        "variants": {
            "type": "object",
            "description": "Named sets of overrides by dotted path; `variant` is then an axis.",
            "additionalProperties": { "type": "object" }
        },
        "matrix": { "$ref": "#/definitions/Matrix" },
        "matrices": {
            "type": "array",
            "description": "Several matrices, each with a `name` (the first part of its cells' keys) and `set`.",
            "items": { "$ref": "#/definitions/Matrix" }
        }
    })
}

fn matrix() -> Value {
    let axes = json!({
        "type": "object",
        "additionalProperties": { "type": "array", "minItems": 1 }
    });
    let filters = |description: &str| json!({ "type": "array", "description": description, "items": { "type": "object" } });
    let mut zip = axes.clone();
    zip["description"] = "Axes that go together, value by value.".into();
    json!({
        "type": "object",
        "description": "Axes, each with its values; the cells are their product. A bare name is short for its one home (`batch-size` for `train.batch-size`), any other setting is named by its dotted path in quotes.",
        "properties": {
            "name": { "type": "string", "description": "Name, for one of several matrices." },
            "set": { "type": "object", "description": "Overrides by dotted path, for all cells of this matrix." },
            "zip": zip,
            "include": filters("Cells to add: values by axis; axes that are not named run over all of theirs."),
            "exclude": filters("Cells to leave out: those that have all of the values.")
        },
        "additionalProperties": { "type": ["array", "object"], "minItems": 1 }
    })
}

fn add(properties: &mut Value, name: &str, schema: Value) {
    properties[name] = schema;
}

fn section<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>().to_value()
}

fn named<T: JsonSchema>(generator: &mut SchemaGenerator, description: &str) -> Value {
    json!({
        "type": "object",
        "description": description,
        "additionalProperties": generator.subschema_for::<T>().to_value()
    })
}

/// `model`, `dataset` and `loss` stand in `[train]` and are no part of its type: the planner puts in what they name.
fn choose_in_train(definitions: &mut Value) {
    for what in super::homes::CHOICES {
        definitions["TrainSpec"]["properties"][what] = json!({
            "type": "string",
            "description": format!("Name of the {what}.")
        });
    }
}

/// The first kind is the default: a table without `kind` is of it.
fn default_kind(definition: &mut Value) {
    if let Some(required) = definition["oneOf"][0]["required"].as_array_mut() {
        required.retain(|name| name != "kind");
    }
    if let Some(map) = definition.as_object_mut()
        && let Some(kinds) = map.remove("oneOf")
    {
        map.insert("anyOf".to_owned(), kinds);
    }
}
