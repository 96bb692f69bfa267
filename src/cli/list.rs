//! `fieldtrial list`: what a manifest can name, from the types' own documentation.

use std::io::{self, Write};
use std::path::Path;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde_json::Value;

use crate::base::text::capitalised;
use crate::datasets::DatasetSpec;
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::models::ModelSpec;
use crate::optim::OptimizerSpec;
use crate::plan::search::{PrunerSection, SamplerSection, SearchSection};
use crate::plan::{
    CompareSpec, CostSpec, EarlyStoppingSpec, LimitsSpec, MeasureSpec, ReportSpec, SlurmSpec,
    TrainSpec, ValidationSpec, range_words, results_root, toml_text,
};
use crate::report::{RULES, TEMPLATES, own_templates};
use crate::tasks::{SamplingSpec, SelectionSpec, VerificationSpec};

use super::{Outcome, exit_code};

/// List what a manifest can name, with every setting, its default and its range
///
/// Example: `fieldtrial list models`
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// What to list; without it, what there is to list
    what: Option<What>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Kinds of models
    Models,
    /// Kinds of datasets
    Datasets,
    /// Kinds of losses
    Losses,
    /// Kinds of optimizers
    Optimizers,
    /// Kinds of samplers, for `[search]`
    Samplers,
    /// Kinds of pruners, for `[search]`
    Pruners,
    /// Sections of a manifest with their keys
    Sections,
    /// Report templates, your own among them
    Templates,
    /// Rules of recommendations
    Rules,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

/// A kind of model, dataset, loss, optimizer, sampler or pruner, a plain section, a template, or a rule of recommendations.
#[derive(Debug, serde::Serialize)]
struct Kind {
    name: String,
    description: String,
    settings: Vec<Setting>,
}

/// A key of its section.
#[derive(Debug, serde::Serialize)]
struct Setting {
    name: String,
    /// As TOML; `None` for one that must be given.
    default: Option<String>,
    /// What its numbers must be; `None` where there is no such rule.
    range: Option<String>,
    description: String,
}

pub(super) fn list(arguments: &ListArguments) -> Outcome {
    let kinds = match arguments.what {
        None => words(),
        Some(What::Models) => kinds::<ModelSpec>(),
        Some(What::Datasets) => kinds::<DatasetSpec>(),
        Some(What::Losses) => kinds::<LossSpec>(),
        Some(What::Optimizers) => kinds::<OptimizerSpec>(),
        Some(What::Samplers) => kinds::<SamplerSection>(),
        Some(What::Pruners) => kinds::<PrunerSection>(),
        Some(What::Sections) => sections(),
        Some(What::Templates) => templates(),
        Some(What::Rules) => RULES.map(|rule| template(rule.id, rule.about)).into(),
    };
    let text = match (arguments.format, arguments.what) {
        (Format::Json, _) => serde_json::to_string_pretty(&kinds).unwrap_or_default() + "\n",
        (Format::Text, None) => kinds.iter().map(word).collect(),
        (Format::Text, Some(_)) => kinds.iter().map(text).collect::<Vec<_>>().join("\n"),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(exit_code::GOOD)
}

/// What there is to list.
fn words() -> Vec<Kind> {
    let words = What::value_variants().iter();
    let words = words.filter_map(ValueEnum::to_possible_value);
    words
        .map(|word| {
            template(
                word.get_name(),
                &word.get_help().map(ToString::to_string).unwrap_or_default(),
            )
        })
        .collect()
}

/// `models      Kinds of models`
fn word(kind: &Kind) -> String {
    format!("{:<10}  {}\n", kind.name, kind.description)
}

/// The program's templates, then those in `reports/templates`; one of a program's name takes its place.
fn templates() -> Vec<Kind> {
    let own = own_templates(&results_root(Path::new("manifest.toml")).join("templates"));
    let is_own = |name: &str| own.iter().any(|(own, _)| own == name);
    let programs = TEMPLATES.into_iter().filter(|(name, _)| !is_own(name));
    let mut kinds: Vec<Kind> = programs
        .map(|(name, description)| template(name, description))
        .collect();
    kinds.extend(own.iter().map(|(name, about)| {
        let own = "your own, in reports/templates";
        let about = if about.is_empty() {
            own.to_owned()
        } else {
            format!("{about} ({own})")
        };
        template(name, &about)
    }));
    kinds
}

fn template(name: &str, description: &str) -> Kind {
    Kind {
        name: name.to_owned(),
        description: description.to_owned(),
        settings: Vec::new(),
    }
}

fn text(kind: &Kind) -> String {
    let mut text = format!("{}\n  {}\n", kind.name, kind.description);
    let left = |setting: &Setting| match &setting.default {
        Some(default) => format!("{} = {default}", setting.name),
        None => format!("{} (needed)", setting.name),
    };
    let width = kind
        .settings
        .iter()
        .map(|setting| left(setting).chars().count())
        // One long default moves only its own line.
        .filter(|width| *width <= 40)
        .max()
        .unwrap_or(0);
    for setting in &kind.settings {
        let range = setting
            .range
            .as_deref()
            .map(|range| format!(" {}.", capitalised(range)));
        let (description, range) = (&setting.description, range.unwrap_or_default());
        let line = format!("    {:<width$}  {description}{range}", left(setting));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The sections that are no named things, those of `[train]` and `[validation]` that are off by default among them.
fn sections() -> Vec<Kind> {
    vec![
        section::<TrainSpec>("train"),
        section::<EarlyStoppingSpec>("train.early-stopping"),
        section::<LoaderSpec>("loader"),
        section::<ValidationSpec>("validation"),
        section::<SamplingSpec>("validation.sampling"),
        section::<VerificationSpec>("validation.verification"),
        section::<SelectionSpec>("validation.selection"),
        section::<MeasureSpec>("measure"),
        section::<LimitsSpec>("limits"),
        section::<ReportSpec>("report"),
        section::<CompareSpec>("compare"),
        section::<CostSpec>("cost"),
        section::<SearchSection>("search"),
        section::<SlurmSpec>("slurm"),
    ]
}

/// A plain section, from its schema.
fn section<T: JsonSchema>(name: &str) -> Kind {
    let schema = schemars::schema_for!(T).to_value();
    Kind {
        name: format!("[{name}]"),
        ..kind(&schema, &schema["$defs"])
    }
}

/// The kinds of an enum tagged by `kind`, from its schema.
fn kinds<T: JsonSchema>() -> Vec<Kind> {
    let schema = schemars::schema_for!(T).to_value();
    let variants = schema["oneOf"].as_array().cloned().unwrap_or_default();
    variants
        .iter()
        .map(|variant| kind(variant, &schema["$defs"]))
        .collect()
}

fn kind(variant: &Value, definitions: &Value) -> Kind {
    let own = resolve(variant, definitions);
    let properties = own["properties"]
        .as_object()
        .or(variant["properties"].as_object());
    let required: Vec<&str> = own["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let setting = |(name, property): (&String, &Value)| Setting {
        default: (!required.contains(&name.as_str())).then(|| toml_text(&property["default"])),
        range: range_words(property),
        description: sentence(property, definitions),
        name: name.clone(),
    };
    Kind {
        name: variant["properties"]["kind"]["const"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        description: one_line(
            own["description"]
                .as_str()
                .or(variant["description"].as_str()),
        ),
        settings: properties
            .into_iter()
            .flatten()
            .filter(|(name, _)| *name != "kind")
            .map(setting)
            .collect(),
    }
}

fn resolve<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    let name = schema["$ref"]
        .as_str()
        .and_then(|path| path.rsplit('/').next());
    name.map_or(schema, |name| &definitions[name])
}

fn sentence(property: &Value, definitions: &Value) -> String {
    let target = resolve(property, definitions);
    let described = property["description"]
        .as_str()
        .or(target["description"].as_str());
    let words: Vec<&str> = target["oneOf"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|one| one["const"].as_str())
        .chain(
            target["enum"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str),
        )
        .collect();
    let mut text = one_line(described);
    if !words.is_empty() {
        text = format!("{text} One of {}.", crate::diag::list(words));
    }
    text
}

fn one_line(text: Option<&str>) -> String {
    text.unwrap_or_default()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}
