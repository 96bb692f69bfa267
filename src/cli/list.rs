//! `fieldtrial list`: what a manifest can contain, from the documentation of the types.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};

use crate::base::text::capitalised;
use crate::diag::Failure;
use crate::plan::results_root;
use crate::report::{RULES, TEMPLATES, own_templates};
use crate::results::pretty_json;

use super::layers::layers;
use super::manual::{Entry, Keys, SECTIONS, Schema, Setting};
use super::output::Format;
use super::problem::mistake;
use super::{Outcome, exit_code};

/// List what a manifest can name, with every setting, its default and its range
///
/// Example: `fieldtrial list models`
#[derive(Debug, Args)]
pub(super) struct ListArguments {
    /// What to list; without it, the possible values of this argument
    what: Option<What>,
    /// For `list model`: the manifest
    manifest: Option<PathBuf>,
    /// For `list model`: the model's name in it
    name: Option<String>,
    /// For `list model`: override a value of the manifest, as TOML; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum What {
    /// Kinds of models
    Models,
    /// A model of a manifest, layer by layer: `list model MANIFEST NAME`
    Model,
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

pub(super) fn list(arguments: &ListArguments) -> Outcome {
    let is_json = arguments.format == Format::Json;
    let text = match (arguments.what, &arguments.manifest, &arguments.name) {
        (Some(What::Model), Some(manifest), Some(name)) => {
            layers(manifest, &arguments.set, name, is_json)?
        }
        (Some(What::Model), ..) => {
            let title = "`list model` needs a manifest and the name of a model in it";
            let help = "for example `list model experiments/architectures.toml resnet`".to_owned();
            return Err(Failure::without_source(title, Some(help)).into());
        }
        (_, Some(_), _) => return Err(mistake("only `list model` reads a manifest")),
        (what, ..) => {
            let entries = entries(what);
            match what {
                _ if is_json => pretty_json(&entries),
                None => entries.iter().map(word).collect(),
                Some(_) => entries.iter().map(text).collect::<Vec<_>>().join("\n"),
            }
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(exit_code::GOOD)
}

fn entries(what: Option<What>) -> Vec<Entry> {
    let schema = Schema::of_manifest();
    match what {
        None | Some(What::Model) => words(),
        Some(What::Models) => schema.kinds("ModelSpec"),
        Some(What::Datasets) => schema.kinds("DatasetSpec"),
        Some(What::Losses) => schema.kinds("LossSpec"),
        Some(What::Optimizers) => schema.kinds("OptimizerSpec"),
        Some(What::Samplers) => schema.kinds("SamplerSection"),
        Some(What::Pruners) => schema.kinds("PrunerSection"),
        Some(What::Sections) => sections(&schema),
        Some(What::Templates) => templates(),
        Some(What::Rules) => RULES.map(|rule| entry(rule.id, rule.about)).into(),
    }
}

fn words() -> Vec<Entry> {
    let words = What::value_variants().iter();
    let words = words.filter_map(ValueEnum::to_possible_value);
    let word = |word: PossibleValue| {
        let help = word.get_help().map(ToString::to_string);
        entry(word.get_name(), help.unwrap_or_default())
    };
    words.map(word).collect()
}

/// One line of the list of possible arguments: `models      Kinds of models`.
fn word(kind: &Entry) -> String {
    format!("{:<10}  {}\n", kind.name, kind.description)
}

/// Built-in templates, then those in `reports/templates`; one with a built-in name replaces the built-in.
fn templates() -> Vec<Entry> {
    let own = own_templates(&results_root(Path::new("manifest.toml")).join("templates"));
    let is_own = |name: &str| own.iter().any(|(own, _)| own == name);
    let programs = TEMPLATES.into_iter().filter(|(name, _)| !is_own(name));
    let programs = programs.map(|(name, description)| entry(name, description));
    let own = own.iter().map(|(name, about)| match about.as_str() {
        "" => entry(name, "your own, in reports/templates"),
        about => entry(name, format!("{about} (your own, in reports/templates)")),
    });
    programs.chain(own).collect()
}

fn entry(name: &str, description: impl Into<String>) -> Entry {
    Entry {
        name: name.to_owned(),
        description: description.into(),
        settings: Vec::new(),
    }
}

fn text(kind: &Entry) -> String {
    let mut text = format!("{}\n  {}\n", kind.name, kind.description);
    let left = |setting: &Setting| match &setting.default {
        Some(default) => format!("{} = {default}", setting.name),
        None => format!("{} (needed)", setting.name),
    };
    let settings = kind.settings.iter();
    let widths = settings.map(|setting| left(setting).chars().count());
    // Very long defaults are ignored for the width, so that they widen only their own line.
    let width = widths.filter(|width| *width <= 40).max().unwrap_or(0);
    for setting in &kind.settings {
        let line = format!("    {:<width$}  {}", left(setting), meaning(setting));
        text = text + line.trim_end() + "\n";
    }
    text
}

/// Meaning and allowed values of a key; also its type if it has no default.
fn meaning(setting: &Setting) -> String {
    let mut text = setting.description.clone();
    if !setting.words.is_empty() {
        let words = setting.words.iter().map(|(word, _)| word.as_str());
        text = format!("{text} One of {}.", crate::diag::list(words));
    }
    let has_value = setting.default.as_ref().is_some_and(|text| text != "none");
    let kind = (!has_value && setting.words.is_empty()).then_some(setting.kind.as_str());
    let rules: Vec<&str> = kind.into_iter().chain(setting.range.as_deref()).collect();
    if rules.is_empty() {
        return text;
    }
    format!("{text} {}.", capitalised(&rules.join(", ")))
}

/// Every section, with the list of its kinds if there is one.
fn sections(schema: &Schema) -> Vec<Entry> {
    let entries = SECTIONS.iter().flat_map(|(title, source)| match *source {
        Keys::Top => vec![schema.top_level_keys()],
        Keys::Of(definition) => vec![schema.table(definition, title)],
        Keys::Kinds(definition) => {
            let name = |kind: &str| format!("{title} kind = \"{kind}\"");
            renamed(schema.kinds(definition), name)
        }
        Keys::Listed(definition, word) => {
            let about = schema.description_of(definition);
            let about = format!("{about} `fieldtrial list {word}` shows the kinds.");
            vec![entry(title, about)]
        }
        Keys::Space => renamed(schema.parameter_forms(), |form| format!("{title} {form}")),
    });
    entries.collect()
}

fn renamed(mut entries: Vec<Entry>, name: impl Fn(&str) -> String) -> Vec<Entry> {
    for entry in &mut entries {
        entry.name = name(&entry.name);
    }
    entries
}
