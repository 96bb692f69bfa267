//! The machines and builds that the results come from.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::base::text::count;
use crate::report::section::Section;
use crate::report::table::Table;
use crate::report::view::View;
use crate::results::Environment;
use crate::results::environment::UNKNOWN;

use super::cells::executions;

/// Fields that the description of an environment must have.
const MUST_MATCH: [&str; 8] = [
    "architecture",
    "build_profile",
    "build_rustc",
    "cpu_model",
    "devices",
    "logical_cores",
    "memory_gib",
    "os",
];

/// An environment, for display in a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentContext {
    /// `env_id`, as in `blocks.csv` and `timings.csv`.
    pub id: String,
    /// Number of runs in the environment.
    pub runs: usize,
    /// The machine and the build in one sentence.
    pub sentence: String,
    /// Name, value and class (`must match`, `warn`, `info`) of each field of `env.toml`.
    pub fields: Vec<EnvironmentField>,
    /// Names of the fields that are unknown.
    pub unknown: Vec<String>,
}

/// A field of an environment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentField {
    /// Displayed name: `cpu model`.
    pub name: String,
    /// The field's value, or `unknown`.
    pub value: String,
    /// `must match`, `warn` or `info`: consequence of a difference when timings are compared.
    pub class: &'static str,
}

/// Every environment that a run names, sorted by id.
pub(crate) fn environments(view: &View<'_>) -> Vec<EnvironmentContext> {
    let ids = view.set.blocks.iter().map(|run| &*run.env_id);
    let ids: BTreeSet<&str> = ids.filter(|id| !id.is_empty()).collect();
    let runs = executions(view);
    let runs_of = |id: &str| runs.iter().filter(|(_, run)| run.env_id == id).count();
    let all = ids.into_iter();
    all.map(|id| environment(view, id, runs_of(id))).collect()
}

/// Sections that describe the environments, if there are several.
pub(crate) fn sections(environments: Vec<EnvironmentContext>) -> Vec<Section> {
    let section = |one: EnvironmentContext| {
        let about = format!("{}; the fields of env.toml.", count(one.runs, "run"));
        let rows = one.fields.into_iter();
        let rows = rows.map(|field| vec![field.name, field.value]);
        let (id, title) = (
            format!("environment-{}", one.id),
            format!("Environment {}", one.id),
        );
        let head = (&*id, &*title, about);
        Section::table(Table::of_texts(head, &["part", "what it is"], rows))
    };
    let several = environments.len() != 1;
    let shown = environments.into_iter().filter(|_| several);
    shown.map(section).collect()
}

/// Sentences on system and build, if there is only one environment.
pub(crate) fn build(environments: &[EnvironmentContext]) -> Option<String> {
    let [one] = environments else {
        return None;
    };
    let get = |name| value_of(&one.fields, name);
    Some(format!(
        "Built and run with {} {}, kernel {}, {} on {}, {}, {}, features: {}, fieldtrial {}, dfdx {}, commit {}; every field \
         is in env.toml.",
        get("os"),
        get("os version"),
        get("kernel"),
        get("vector level"),
        get("architecture"),
        get("build rustc"),
        get("build profile"),
        get("build features"),
        get("version"),
        get("dfdx"),
        commit(get("commit"), get("dirty"))
    ))
}

/// The value of the field `name`, or `unknown`.
fn value_of<'f>(fields: &'f [EnvironmentField], name: &str) -> &'f str {
    let found = fields.iter().find(|field| field.name == name);
    found.map_or(UNKNOWN, |field| &*field.value)
}

fn environment(view: &View<'_>, id: &str, runs: usize) -> EnvironmentContext {
    let known = view.set.environments.get(id).cloned().unwrap_or_default();
    let is_described = known != Environment::default();
    let needed = |fields, needed| with_needed(fields, needed, is_described);
    let classes = [
        (needed(known.must_match, &MUST_MATCH), "must match"),
        (needed(known.warn, &["clock_mhz"]), "warn"),
        (known.info, "info"),
    ];
    let fields = classes.into_iter().flat_map(|(fields, class)| {
        fields
            .into_iter()
            .map(move |(name, value)| EnvironmentField {
                name: name.replace('_', " "),
                value: plausible(&name, value),
                class,
            })
    });
    let fields: Vec<EnvironmentField> = fields.collect();
    let unknown = fields.iter().filter(|field| field.value == UNKNOWN);
    EnvironmentContext {
        id: id.to_owned(),
        runs,
        sentence: sentence(&fields),
        unknown: unknown.map(|field| field.name.clone()).collect(),
        fields,
    }
}

/// Adds missing necessary fields with the value `unknown`.
fn with_needed(
    mut fields: BTreeMap<String, String>,
    needed: &[&str],
    is_described: bool,
) -> BTreeMap<String, String> {
    for name in needed.iter().filter(|_| is_described) {
        let unknown = || UNKNOWN.to_owned();
        fields.entry((*name).to_owned()).or_insert_with(unknown);
    }
    fields
}

/// A system as text: "AMD EPYC, 2 physical, 2 logical cores, 2.60 GHz, 24 GiB of memory".
fn sentence(fields: &[EnvironmentField]) -> String {
    let get = |name| value_of(fields, name);
    let memory = match get("memory gib") {
        UNKNOWN => UNKNOWN.to_owned(),
        gib => format!("{gib} GiB"),
    };
    let devices = match get("devices") {
        "none" => String::new(),
        devices => format!(", {devices}"),
    };
    format!(
        "{}, {} physical, {} logical cores, {}, {memory} of memory{devices}",
        get("cpu model"),
        get("physical cores"),
        get("logical cores"),
        gigahertz(get("clock mhz")),
    )
}

/// Megahertz of `env.toml` as gigahertz.
fn gigahertz(megahertz: &str) -> String {
    let number: Option<f64> = megahertz.parse().ok();
    number.map_or_else(
        || UNKNOWN.to_owned(),
        |mhz| format!("{:.2} GHz", mhz / 1000.0),
    )
}

/// The abbreviated commit hash, and whether files outside `reports/` differed from the commit.
fn commit(commit: &str, dirty: &str) -> String {
    let short = commit.get(..10).unwrap_or(commit);
    match dirty {
        "true" => format!("{short}, with changes that are not committed"),
        "false" => format!("{short}, nothing changed"),
        _ => format!("{short}, {UNKNOWN} whether anything changed"),
    }
}

/// `unknown` for an implausible value: a clock outside 0.1 to 10 GHz, or memory of 0.
fn plausible(name: &str, value: String) -> String {
    let number: Option<f64> = value.parse().ok();
    let is_plausible = match name {
        "clock_mhz" => number.is_some_and(|mhz| (100.0..=10_000.0).contains(&mhz)),
        "memory_gib" | "logical_cores" | "physical_cores" => number.is_some_and(|n| n > 0.0),
        _ => !value.is_empty(),
    };
    if is_plausible {
        value
    } else {
        UNKNOWN.to_owned()
    }
}
