//! The machines and builds that the results come from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::report::view::View;
use crate::results::Environment;
use crate::results::environment::UNKNOWN;

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
    /// Name, value and class (`must match`, `warn`, `info`) of each field.
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
    EnvironmentContext {
        id: id.to_owned(),
        runs: view
            .set
            .blocks
            .iter()
            .filter(|run| run.env_id == id)
            .count(),
        unknown: fields
            .iter()
            .filter(|field| field.value == UNKNOWN)
            .map(|field| field.name.clone())
            .collect(),
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
