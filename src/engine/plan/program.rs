//! The program of a cell whose model is a command, with its arguments, and digests of everything that determines its
//! results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::diag::Diagnostic;
use crate::manifest::{Key, Table, deserialize_section};
use crate::models::{
    CommandSpec, MetricSpec, Mistake, Parameter, ParameterPassing, RUN_PLACEHOLDERS, Template,
    argument_text, escaped,
};

use super::Plan;
use super::declared;
use super::homes::Unit;
use super::identity::digest;
use super::inputs::PlanInputs;
use super::launch::Program;
use super::matrix::Axis;
use super::reader::Reader;
use super::resolve::absolute;
use super::tries::value_combinations;
use super::units::{Resolved, Units};
use super::validate::with_axis_name;

impl Program {
    /// The parts of the cell hash of a cell that this program trains: names and digests.
    pub(super) fn hash_parts(&self, cell: &Resolved) -> Vec<(&'static str, Arc<str>)> {
        let train = &cell.train;
        let metrics = cell.model.value.command().map(|spec| spec.metrics.keys());
        let metrics: Vec<&String> = metrics.into_iter().flatten().collect();
        let weights = train.init_from.as_deref().and_then(PlanInputs::file_digest);
        let run = json!([train.device, train.threads, weights, metrics]);
        let parts = [
            ("arguments", digest(&(&self.arguments, &self.environment))),
            ("parameters", digest(&self.parameters)),
            ("dataset", cell.data.digest.to_string()),
            ("data", self.data.clone()),
            ("train", digest(&run)),
            ("limits", cell.limits.digest.to_string()),
        ];
        parts.map(|(name, part)| (name, part.into())).into()
    }
}

/// The program of a cell whose model is the command `spec`.
///
/// # Errors
/// The mistakes in the model's section, each with its path in the section.
pub(super) fn program(
    plan: &Plan,
    cell: &Resolved,
    spec: &CommandSpec,
) -> Result<Program, Vec<Mistake>> {
    let parameters = spec.read_parameters()?;
    let folder = folder(plan, spec);
    let mut mistakes = Vec::new();
    let mut arguments = Vec::new();
    for (index, text) in spec.run.iter().enumerate() {
        match argument(text, &parameters, cell) {
            Ok(argument) => arguments.extend(argument),
            Err(mut mistake) => {
                mistake.path = vec!["run".to_owned(), index.to_string()];
                mistakes.push(mistake);
            }
        }
    }
    mistakes.extend(unreached_seeds(spec, cell));
    let values: BTreeMap<String, Json> = parameters
        .iter()
        .map(|(name, parameter)| (name.clone(), parameter.value.clone()))
        .collect();
    let environment = passed(spec.pass, &parameters, &values, &mut arguments);
    let files = |section, patterns, mistakes: &mut Vec<Mistake>| {
        digests((plan, &folder), section, patterns, mistakes)
    };
    let mut code = files("code", &spec.code, &mut mistakes);
    let data = digest(&files("data", &spec.data, &mut mistakes));
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    code.insert(
        "arguments".to_owned(),
        digest(&(&spec.run, spec.pass, &spec.scrape)),
    );
    let name = spec.run.first().map_or("", String::as_str);
    let found = plan.inputs.commands().program(&folder, name);
    let mut lacking = found.as_ref().err().cloned().unwrap_or_default();
    code.extend(found.unwrap_or_default());
    let failing = spec.requires.iter();
    let mut failing =
        failing.filter_map(|command| plan.inputs.commands().requirement(&folder, command).err());
    if lacking.is_empty() {
        lacking = failing.next().unwrap_or_default();
    }
    Ok(Program {
        folder,
        arguments,
        environment,
        parameters: values,
        code_hash: Program::hash_of(&code),
        code,
        data,
        lacking,
    })
}

/// An error if there are several seeds but the program cannot know its seed: its metrics are scraped, so it does not
/// read the order file, and its arguments contain neither `{seed}` nor `{split}`.
fn unreached_seeds(spec: &CommandSpec, cell: &Resolved) -> Option<Mistake> {
    let is_one = cell.measure.value.seeds.len() < 2;
    if is_one || spec.scrape.is_empty() || spec.has_placeholder("seed") || spec.is_given_split() {
        return None;
    }
    let message = "the program is not given its seed (with `scrape` it reads no order file): all of \
                   `measure.seeds` would be the same run";
    let help =
        "name it in `run`: `\"--seed={seed}\"`; or measure one seed with several `measure.repeats`";
    Some(Mistake::new(&["run".to_owned()], message.to_owned()).help(help))
}

/// The folder that a command is started in.
fn folder(plan: &Plan, spec: &CommandSpec) -> PathBuf {
    let manifests = plan
        .inputs
        .programs
        .as_ref()
        .unwrap_or(&plan.written.folder);
    absolute(manifests, Path::new(&spec.folder))
}

/// Passes all parameters in the way `pass`: adds them to `arguments`, or returns them as environment variables.
fn passed(
    pass: ParameterPassing,
    parameters: &BTreeMap<String, Parameter>,
    values: &BTreeMap<String, Json>,
    arguments: &mut Vec<String>,
) -> BTreeMap<String, String> {
    match pass {
        ParameterPassing::None => {}
        ParameterPassing::Flags => arguments.extend(parameters.iter().filter_map(flag)),
        ParameterPassing::Json => arguments.push(escaped(&json!(values).to_string())),
        ParameterPassing::Env => {
            let variable =
                |(name, value): (&String, &Parameter)| (name.to_uppercase(), value.text());
            return parameters.iter().map(variable).collect();
        }
    }
    BTreeMap::new()
}

/// Digests of the files that `patterns` match, by their names relative to `folder`. A pattern without a file is a
/// mistake at its place in the list `section`.
fn digests(
    (plan, folder): (&Plan, &Path),
    section: &str,
    patterns: &[String],
    mistakes: &mut Vec<Mistake>,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let found = plan.inputs.commands().files(folder, pattern);
        let message = match found {
            Ok(files) if files.is_empty() => format!("`{pattern}` matches no file"),
            Ok(files) => {
                all.extend(files);
                continue;
            }
            Err(message) => message,
        };
        let mistake = Mistake::new(&[section.to_owned(), index.to_string()], message);
        mistakes.push(
            mistake.help(
                "a path is relative to the manifest's folder, or to `folder` where it is set",
            ),
        );
    }
    all
}

/// A parameter as a command line argument: `--lr=0.001`. For a boolean with a `flag`, the flag if it is true, else
/// `None`.
fn flag((name, parameter): (&String, &Parameter)) -> Option<String> {
    match (&parameter.flag, &parameter.value) {
        (Some(flag), Json::Bool(is_set)) => is_set.then(|| escaped(flag)),
        (Some(flag), _) => Some(escaped(&format!("{flag}={}", parameter.text()))),
        (None, _) => Some(escaped(&format!("--{name}={}", parameter.text()))),
    }
}

/// An argument with parameters and settings filled in; `None` if it only names a flag that is false.
fn argument(
    text: &str,
    parameters: &BTreeMap<String, Parameter>,
    cell: &Resolved,
) -> Result<Option<String>, Mistake> {
    let template = Template::read(text).map_err(|message| Mistake::new(&[], message))?;
    let only = template.only_name().and_then(|name| parameters.get(name));
    if let Some(Parameter {
        flag: Some(flag),
        value: Json::Bool(is_set),
        ..
    }) = only
    {
        return Ok(is_set.then(|| escaped(flag)));
    }
    let value = |name: &str| {
        if RUN_PLACEHOLDERS.contains(&name) {
            return Ok(None);
        }
        if let Some(parameter) = parameters.get(name) {
            return Ok(Some(parameter.text()));
        }
        match setting(cell, name) {
            Some(Json::Object(_) | Json::Array(_)) => {
                let message = format!("`{{{name}}}` is a table, an argument is one value");
                Err(Mistake::new(&[], message))
            }
            Some(value) => Ok(Some(argument_text(&value))),
            None => Err(unknown_name(name, parameters)),
        }
    };
    template.partly_filled(value).map(Some)
}

fn unknown_name(name: &str, parameters: &BTreeMap<String, Parameter>) -> Mistake {
    let message = format!("`{{{name}}}` is neither a parameter nor a setting");
    let known: Vec<&str> = parameters
        .keys()
        .map(String::as_str)
        .chain(RUN_PLACEHOLDERS)
        .collect();
    let meant = crate::diag::did_you_mean(name, known.iter().copied());
    let mistake = Mistake::new(&[], message).maybe_help(meant);
    mistake.help(format!(
        "there are {}, and settings by their whole path, `{{train.batch-size}}`",
        crate::diag::list(known)
    ))
}

/// The value of a setting by its path, for example `train.optimizer.lr`; `None` if there is no such setting.
fn setting(cell: &Resolved, path: &str) -> Option<Json> {
    let mut steps = path.split('.');
    let section = match steps.next()? {
        "train" => serde_json::to_value(&cell.train),
        "loader" => serde_json::to_value(&cell.loader.value),
        "validation" => serde_json::to_value(&cell.validation.value),
        "measure" => serde_json::to_value(&cell.measure.value),
        "limits" => serde_json::to_value(&cell.limits.value),
        _ => return None,
    };
    let mut value = section.ok()?;
    for step in steps {
        value = value.get_mut(step)?.take();
    }
    Some(value)
}

/// The metrics that commands of the manifest declare, by name.
pub(super) fn metrics(root: &Table) -> BTreeMap<String, MetricSpec> {
    let sections = root.entries_of("models").iter();
    let metrics = sections.filter_map(|(_, node)| {
        let table = node.as_table()?;
        let metrics = table.get("metrics")?;
        let is_command = table.text("kind") == Some("command");
        is_command.then(|| deserialize_section::<BTreeMap<String, MetricSpec>>(metrics).ok())?
    });
    metrics.flatten().collect()
}

/// Keys of `[train]` that are in a program's order file, or that Fieldtrial itself uses.
pub const TRAIN_KEYS_IN_ORDER: [&str; 5] = ["model", "dataset", "device", "threads", "init-from"];

/// Checks the commands of all cells: placeholders, files, and settings that reach no program.
pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let mut named: BTreeSet<String> = BTreeSet::new();
    let mut has_own = false;
    for matrix in &plan.matrices {
        let reader = Reader::new(plan, matrix);
        let axes = reader.axes_of(&[Unit::Model]);
        let mut units = Units::new(reader);
        let mut found: BTreeMap<String, Vec<Mistake>> = BTreeMap::new();
        for choice in value_combinations(matrix, &axes, Axis::representative_values) {
            let cell = units.resolve(&choice);
            let Some(spec) = cell.model.value.command() else {
                has_own = true;
                continue;
            };
            let templates = spec.run.iter().filter_map(|text| Template::read(text).ok());
            for template in templates {
                named.extend(template.names().map(str::to_owned));
            }
            if cell.model.problem.is_some() {
                continue;
            }
            if let Err(wrong) = program(plan, &cell, spec) {
                found.entry(cell.model.name.to_string()).or_insert(wrong);
            }
        }
        for (name, wrong) in found {
            let node = reader.named_section("models", &name);
            let placed = declared::diagnostics(&name, &node, &wrong).into_iter();
            mistakes.extend(placed.map(|mistake| with_axis_name(mistake, plan, matrix)));
        }
    }
    if !has_own && mistakes.is_empty() {
        mistakes.extend(unreached(plan, &named));
    }
}

/// An error for each setting that only built-in models use and that is passed to no program.
fn unreached(plan: &Plan, named: &BTreeSet<String>) -> Vec<Diagnostic> {
    let sections = ["train", "loader", "validation"];
    let written = sections.into_iter().flat_map(|section| {
        let entries = plan.written.root.entries_of(section).iter();
        entries.map(move |(key, _)| (format!("{section}.{}", key.name), key.place))
    });
    let assigned = plan.paths().filter_map(|path| {
        let first = path.first()?;
        let is_one = sections.contains(&&*first.name);
        is_one.then(|| (Key::dotted(path), first.place))
    });
    let losses = plan.written.root.entries_of("losses").iter();
    let losses = losses.map(|(key, _)| (format!("losses.{}", key.name), key.place));
    let is_reached = |path: &str| {
        let native = path.strip_prefix("train.");
        native.is_some_and(|key| TRAIN_KEYS_IN_ORDER.contains(&key))
            || named.iter().any(|name| {
                let below = |long: &str, short: &str| {
                    let rest = long.strip_prefix(short);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                below(name, path) || below(path, name)
            })
    };
    let mut seen = BTreeSet::new();
    let all = written.chain(assigned).chain(losses);
    let unreached = all.filter(|(path, _)| !is_reached(path) && seen.insert(path.clone()));
    unreached
        .map(|(path, place)| {
            let key = path.rsplit('.').next().unwrap_or_default();
            Diagnostic::error(format!("`{path}` is passed to no program"))
                .at(place, "no command names it")
                .help(format!(
                    "name it in `run`: `\"--{key}={{{path}}}\"`, or leave it out"
                ))
        })
        .collect()
}
