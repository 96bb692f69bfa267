//! The JSON Schema of manifests, generated from the types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use crate::datasets::DatasetSpec;
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::models::ModelSpec;

use super::cell::{TrainSpec, ValidationSpec};
use super::reader::kinds;
use super::search::{
    FloatSection, IntSection, ObjectiveSection, PrunerSpec, SamplerSpec, SearchSection,
};
use super::settings::{CompareSpec, CostSpec, Language, LimitsSpec, MeasureSpec, ReportSpec};
use super::slurm::SlurmSpec;

/// The JSON Schema of a manifest (draft 7, which taplo reads), as indented text.
pub fn manifest_schema() -> String {
    let mut generator = SchemaSettings::draft07().into_generator();
    let properties = properties(&mut generator);
    let search = search(&mut generator);
    let mut definitions = Value::Object(generator.take_definitions(true));
    choose_in_train(&mut definitions);
    for part in ["OptimizerSpec", "ScheduleSpec"] {
        default_kind(&mut definitions[part]);
    }
    definitions["Matrix"] = matrix();
    for (key, schema) in search.as_object().into_iter().flatten() {
        definitions["SearchSection"]["properties"][key] = schema.clone();
    }
    definitions["SearchSection"]["required"] = json!(["objective", "space"]);
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

/// Schemas of all top-level keys.
fn properties(generator: &mut SchemaGenerator) -> Value {
    let mut properties = head();
    properties["models"] = named::<ModelSpec>(generator, "Models by name.");
    properties["datasets"] = named::<DatasetSpec>(generator, "Datasets by name.");
    properties["losses"] = named::<LossSpec>(
        generator,
        "Losses by name; model and dataset decide where none is chosen.",
    );
    properties["train"] = section::<TrainSpec>(generator);
    properties["loader"] = section::<LoaderSpec>(generator);
    properties["validation"] = section::<ValidationSpec>(generator);
    properties["measure"] = section::<MeasureSpec>(generator);
    properties["limits"] = section::<LimitsSpec>(generator);
    properties["report"] = section::<ReportSpec>(generator);
    properties["compare"] = section::<CompareSpec>(generator);
    properties["cost"] = section::<CostSpec>(generator);
    properties["search"] = section::<SearchSection>(generator);
    properties["slurm"] = section::<SlurmSpec>(generator);
    properties
}

/// Schema of a text, or of one text for each language of reports: `{ en = "…", de = "…" }`.
fn in_languages(description: &str) -> Value {
    let texts =
        Language::ALL.map(|language| (language.code().to_owned(), json!({ "type": "string" })));
    json!({
        "type": ["string", "object"],
        "properties": serde_json::Map::from_iter(texts),
        "additionalProperties": false,
        "minProperties": 1,
        "description": format!("{description} Either a text, or one for each language: `{{ en = \"…\", de = \"…\" }}`."),
    })
}

fn head() -> Value {
    json!({
        "name": {
            "type": "string",
            "pattern": "^[a-z0-9][a-z0-9-]*$",
            "description": "Name of the experiment, and of the folder of its results, `reports/<name>/`: lower-case letters, digits and `-`."
        },
        "title": in_languages("Title of the reports; without it, the name."),
        "question": in_languages("What the experiment is to answer; the report shows it."),
        "follows": { "type": "string", "description": "Name of the experiment whose recommendations this one tests; a report writes it into `next.toml`." },
        "variants": {
            "type": "object",
            "description": "Named sets of settings, by path: `[variants.NAME]`. The axis `variant` chooses among them.",
            "additionalProperties": { "type": "object" }
        },
        "matrix": { "$ref": "#/definitions/Matrix" },
        "matrices": {
            "type": "array",
            "description": "Several matrices, `[[matrices]]`, each with a `name`, which is the first part of its cells' keys.",
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
    zip["description"] = "Axes that go together: the first value of each, then the second of each. `[matrix.zip]`, and under it a list for each axis, all of one length.".into();
    json!({
        "type": "object",
        "description": "Axes, each a list of values; the cells are all combinations. An axis is a setting by its path (`\"train.optimizer.lr\"`); `batch-size` is short for `train.batch-size`.",
        "properties": {
            "name": { "type": "string", "description": "Name of one of several `[[matrices]]`, which needs one." },
            "set": { "type": "object", "description": "Settings for all cells of this matrix, by path." },
            "zip": zip,
            "include": filters("Cells to add: `[[matrix.include]]`, and under it a value (or a list of values) for each axis. An axis that is not named has all of its values."),
            "exclude": filters("Cells to leave out: `[[matrix.exclude]]`, and under it values (or lists of values) of axes. A cell that has all of them is left out.")
        },
        "additionalProperties": { "type": ["array", "object"], "minItems": 1 }
    })
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

/// Schemas of the keys of `[search]` that are not plain values.
fn search(generator: &mut SchemaGenerator) -> Value {
    let objective = section::<ObjectiveSection>(generator);
    let objective = json!({ "anyOf": [{ "type": "string" }, objective] });
    let sampler = section::<SamplerSpec>(generator);
    let pruner = section::<PrunerSpec>(generator);
    json!({
        "objective": {
            "description": "What is optimised: a column of the results, a table with `column` and `direction`, or a list of them.",
            "anyOf": [objective.clone(), { "type": "array", "minItems": 1, "items": objective }]
        },
        "sampler": {
            "description": "How values are proposed: a kind, or a table with `kind`; without it, `tpe`.",
            "anyOf": [{ "type": "string", "enum": kinds::<SamplerSpec>() }, sampler]
        },
        "pruner": {
            "description": "Which trials end early: a kind, or a table with `kind`; without it, none.",
            "anyOf": [{ "type": "string", "enum": kinds::<PrunerSpec>() }, pruner]
        },
        "space": {
            "type": "object",
            "description": "What the search chooses: settings by path, each with its choices or its range.",
            "additionalProperties": { "anyOf": parameters() }
        },
        "final": {
            "type": "object",
            "description": "What `best.toml` changes to train the best configuration in full: settings by path."
        }
    })
}

/// Schemas of the forms in which a parameter of the search space can be written.
fn parameters() -> Vec<Value> {
    let when = json!({
        "type": "object",
        "minProperties": 1,
        "description": "When the parameter exists: values of a choice that stands before it in the space, or of an axis of the matrix."
    });
    let choices = json!({ "type": "array", "minItems": 1, "description": "The values to choose among; a list without a table is short for it." });
    let mut parameters = vec![
        choices.clone(),
        json!({
            "type": "object",
            "properties": { "choice": choices, "when": when },
            "required": ["choice"],
            "additionalProperties": false
        }),
    ];
    let ranges = [
        schemars::schema_for!(IntSection),
        schemars::schema_for!(FloatSection),
    ];
    for mut range in ranges.map(schemars::Schema::to_value) {
        range["properties"]["when"] = when.clone();
        if let Some(map) = range.as_object_mut() {
            map.retain(|key, _| !["$schema", "title"].contains(&key.as_str()));
        }
        parameters.push(range);
    }
    let values = ["choice", "int", "float"].map(|key| json!({ "required": [key] }));
    parameters.push(json!({
        "type": "object",
        "description": "A path without quotes goes on here.",
        "not": { "anyOf": values.to_vec() }
    }));
    parameters
}

fn choose_in_train(definitions: &mut Value) {
    for what in super::homes::UNIT_CHOICE_KEYS {
        definitions["TrainSpec"]["properties"][what] = json!({
            "type": "string",
            "description": match what {
                "loss" => "Name of a loss, or its kind; without it, what fits model and dataset.".to_owned(),
                _ => format!("Name of the {what}; not needed where there is one only."),
            }
        });
    }
}

/// Makes `kind` optional for the first kind, which is the default.
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
