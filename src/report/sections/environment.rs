//! The machines and builds that the results come from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::text::count;
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::View;
use crate::results::Environment;
use crate::results::environment::UNKNOWN;

use super::cells::executions;

/// Fields without which an environment is not described.
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
/// The same, of those whose difference is worth a warning.
const WARN: [&str; 1] = ["clock_mhz"];

/// An environment, as a report shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentContext {
    /// `env_id`, as `blocks.csv` and `timings.csv` have it.
    pub id: String,
    /// Runs that were measured in it.
    pub runs: usize,
    /// The machine and the build in one sentence.
    pub sentence: String,
    /// What a reader asks of a system, in words and with units: `Clock`, `2.60 GHz`.
    pub system: Vec<SystemField>,
    /// Name, value and class (`must match`, `warn`, `info`) of each field of `env.toml`.
    pub fields: Vec<EnvironmentField>,
    /// Names of the fields that are unknown.
    pub unknown: Vec<String>,
}

/// A field of an environment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EnvironmentField {
    /// `cpu model`.
    pub name: String,
    /// Its value, or `unknown`.
    pub value: String,
    /// `must match`, `warn` or `info`: what a difference means when timings are compared.
    pub class: &'static str,
}

/// A line of the system information.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SystemField {
    /// `Clock`.
    pub name: &'static str,
    /// `2.60 GHz`, or `unknown`.
    pub value: String,
}

/// Every environment that a run names, by its id.
pub(crate) fn environments(view: &View<'_>) -> Vec<EnvironmentContext> {
    let mut ids: Vec<&str> = view
        .set
        .blocks
        .iter()
        .map(|run| &*run.env_id)
        .filter(|id| !id.is_empty())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(|id| environment(view, id)).collect()
}

/// Each environment: as the system names it, and as `env.toml` keeps it.
pub(crate) fn sections(view: &View<'_>) -> Vec<Section> {
    let row = |fields: [&str; 3], count: usize| Row {
        key: String::new(),
        fields: fields[..count]
            .iter()
            .map(|text| Entry::text(*text))
            .collect(),
        missing: None,
    };
    let section = |one: EnvironmentContext| {
        let system = one
            .system
            .iter()
            .map(|line| row([line.name, &line.value, ""], 2));
        let fields = one
            .fields
            .iter()
            .map(|field| row([&field.name, &field.value, field.class], 3));
        let columns = |names: &[&str]| names.iter().map(|name| Column::text(name)).collect();
        let about = format!(
            "{}, as the system and the build name it.",
            count(one.runs, "run")
        );
        let as_kept =
            "As `env.toml` keeps it, with what a difference means when timings are compared."
                .replace('`', "");
        let (system_id, fields_id) = (format!("system-{}", one.id), format!("fields-{}", one.id));
        let title = format!("Environment {}", one.id);
        Section {
            tables: vec![
                Table::of_rows(
                    (&system_id, "System", about),
                    columns(&["part", "what it is"]),
                    system.collect(),
                ),
                Table::of_rows(
                    (&fields_id, "All fields", as_kept),
                    columns(&["field", "value", "when compared"]),
                    fields.collect(),
                ),
            ],
            ..Section::titled(&format!("environment-{}", one.id), title)
        }
    };
    environments(view).into_iter().map(section).collect()
}

fn environment(view: &View<'_>, id: &str) -> EnvironmentContext {
    let known = view.set.environments.get(id).cloned().unwrap_or_default();
    let is_described = known != Environment::default();
    let groups = [
        (
            with_needed(known.must_match, &MUST_MATCH, is_described),
            "must match",
        ),
        (with_needed(known.warn, &WARN, is_described), "warn"),
        (known.info, "info"),
    ];
    let fields: Vec<EnvironmentField> = groups
        .into_iter()
        .flat_map(|(group, class)| {
            group
                .into_iter()
                .map(move |(name, value)| EnvironmentField {
                    name: name.replace('_', " "),
                    value: plausible(&name, value),
                    class,
                })
        })
        .collect();
    let system = system(&fields);
    let unknown = if fields.is_empty() {
        Vec::new()
    } else {
        let parts = system.iter().filter(|line| line.value.contains(UNKNOWN));
        let lines = parts.map(|line| line.name.to_lowercase());
        let all = fields.iter().filter(|field| field.value == UNKNOWN);
        let others = all.map(|field| field.name.clone());
        let others = others.filter(|name| !SHOWN.contains(&&**name));
        lines.chain(others).collect()
    };
    EnvironmentContext {
        id: id.to_owned(),
        runs: executions(view)
            .iter()
            .filter(|(_, run)| run.env_id == id)
            .count(),
        sentence: sentence(&system),
        system,
        unknown,
        fields,
    }
}

/// A field without which an environment is not described, and that is not there, is unknown.
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

/// Fields of `env.toml` that the system information shows in its own words.
const SHOWN: [&str; 15] = [
    "cpu model",
    "physical cores",
    "logical cores",
    "clock mhz",
    "memory gib",
    "devices",
    "os",
    "os version",
    "kernel",
    "build rustc",
    "build profile",
    "build features",
    "dfdx",
    "version",
    "commit",
];

/// What a reader asks of a system; `unknown` where `env.toml` does not say.
fn system(fields: &[EnvironmentField]) -> Vec<SystemField> {
    let get = |name: &str| {
        let found = fields.iter().find(|field| field.name == name);
        found.map_or(UNKNOWN, |field| &*field.value)
    };
    let line = |name, value: String| SystemField { name, value };
    vec![
        line("Processor", get("cpu model").to_owned()),
        line(
            "Cores",
            format!(
                "{} physical, {} logical",
                get("physical cores"),
                get("logical cores")
            ),
        ),
        line("Clock", gigahertz(get("clock mhz"))),
        line("Memory", with_unit(get("memory gib"), "GiB")),
        line("Other devices", get("devices").to_owned()),
        line(
            "Operating system",
            format!(
                "{} {}, kernel {}",
                get("os"),
                get("os version"),
                get("kernel")
            ),
        ),
        line(
            "Vectors",
            format!("{} on {}", get("vector level"), get("architecture")),
        ),
        line("Compiler", get("build rustc").to_owned()),
        line(
            "Build",
            format!(
                "{}, features: {}",
                get("build profile"),
                get("build features")
            ),
        ),
        line("Fieldtrial", get("version").to_owned()),
        line("dfdx", get("dfdx").to_owned()),
        line("Commit", commit(get("commit"), get("dirty"))),
    ]
}

/// "AMD EPYC, 2 physical, 2 logical cores at 2.60 GHz, 24 GiB of memory".
fn sentence(system: &[SystemField]) -> String {
    let get = |name: &str| {
        let found = system.iter().find(|line| line.name == name);
        found.map_or(UNKNOWN, |line| &*line.value)
    };
    let devices = match get("Other devices") {
        "none" => String::new(),
        devices => format!(", {devices}"),
    };
    format!(
        "{}, {} cores, {}, {} of memory{devices}",
        get("Processor"),
        get("Cores"),
        get("Clock"),
        get("Memory")
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

fn with_unit(value: &str, unit: &str) -> String {
    if value == UNKNOWN {
        value.to_owned()
    } else {
        format!("{value} {unit}")
    }
}

/// The first digits of a commit, and whether anything outside `reports/` differed from it.
fn commit(commit: &str, dirty: &str) -> String {
    let short = commit.get(..10).unwrap_or(commit);
    match dirty {
        "true" => format!("{short}, with changes that are not committed"),
        "false" => format!("{short}, nothing changed"),
        _ => format!("{short}, {UNKNOWN} whether anything changed"),
    }
}

/// A clock outside 0.1 to 10 GHz, or no memory, is not shown as if it were known.
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
