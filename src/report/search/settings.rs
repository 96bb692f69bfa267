//! What the manifest asks of the search: assumed, not measured.

use crate::base::text::count;
use crate::base::units::{human_seconds, shortest};
use crate::plan::search::{
    Domain, HalvingSection, MedianSection, Parameter, PrunerSpec, SamplerSpec, Space, TpeSection,
};
use crate::plan::toml_text;
use crate::report::table::{Column, Entry, Row, Table};

use super::trials::Search;

/// Choices that a field names.
const NAMED: usize = 12;

/// Sampler, pruner, objectives, lag, seed, budget.
pub(crate) fn table(search: &Search<'_, '_>) -> Table {
    let spec = search.spec;
    let mut rows: Vec<(&str, String)> = Vec::new();
    let several = search.studies.len();
    if several > 1 {
        let names: Vec<&str> = search.studies.iter().map(|study| &*study.name).collect();
        rows.push(("studies", names.join("; ")));
    }
    let each = if several > 1 { " in each study" } else { "" };
    rows.push(("trials", format!("{}{each}", spec.trials)));
    let goals = search.objectives.iter().map(|objective| {
        let clock = if objective.is_clock {
            ", depends on the clock"
        } else {
            ""
        };
        format!("{}{clock}", objective.goal())
    });
    rows.push((
        if search.objectives.len() == 1 {
            "objective"
        } else {
            "objectives"
        },
        goals.collect::<Vec<String>>().join("; "),
    ));
    rows.push(("sampler", sampler(&spec.sampler)));
    rows.push(("pruner", pruner(&spec.pruner)));
    rows.push((
        "lag",
        format!(
            "{}: a trial is decided from the trials more than {} before it, so that any number of jobs gives the same trials",
            spec.lag, spec.lag
        ),
    ));
    rows.push((
        "seed",
        format!("{} (of sampler and regret sample)", spec.seed),
    ));
    rows.push(("jobs", format!("{} (--jobs overrides it)", spec.jobs)));
    rows.push(("budget", budget(search)));
    rows.extend(afterwards(search, each));
    let rows = rows.into_iter().map(|(name, value)| Row {
        key: String::new(),
        fields: vec![Entry::text(name), Entry::text(value)],
        missing: None,
    });
    Table::of_rows(
        (
            "search-settings",
            "The search",
            "Assumed, from the manifest’s search section.".to_owned(),
        ),
        vec![
            Column::text("setting"),
            Column::text("as the manifest has it"),
        ],
        rows.collect(),
    )
}

/// What follows the trials.
fn afterwards(search: &Search<'_, '_>, each: &str) -> Vec<(&'static str, String)> {
    let spec = search.spec;
    let mut rows = Vec::new();
    if spec.regret > 0 {
        rows.push((
            "regret",
            format!(
                "{}{each} run again to the end",
                count(spec.regret, "pruned trial")
            ),
        ));
    }
    if spec.ensemble > 0 {
        rows.push((
            "ensemble",
            format!(
                "mean of the predictions of the best {}{each}",
                spec.ensemble
            ),
        ));
    }
    for (path, value) in &spec.final_set {
        rows.push(("final training", format!("{path} = {}", toml_text(value))));
    }
    rows
}

/// Kind and settings of a sampler, in words.
pub(crate) fn sampler(spec: &SamplerSpec) -> String {
    match spec {
        SamplerSpec::Grid(_) => "grid: every combination in order".to_owned(),
        SamplerSpec::Random(_) => "random".to_owned(),
        SamplerSpec::Sobol(_) => "Sobol sequence".to_owned(),
        SamplerSpec::Tpe(TpeSection {
            startup_trials,
            candidates,
        }) => format!(
            "TPE, after {} at random, the best of {candidates} candidates each",
            count(*startup_trials, "trial")
        ),
        SamplerSpec::Nsga2(nsga2) => format!("NSGA-II, generations of {}", nsga2.population),
    }
}

fn pruner(spec: &PrunerSpec) -> String {
    match spec {
        PrunerSpec::None(_) => "none".to_owned(),
        PrunerSpec::Median(MedianSection {
            startup_trials,
            warmup_steps,
            interval_steps,
        }) => format!(
            "median, after {} and from step {warmup_steps} on, every {}",
            count(*startup_trials, "done trial"),
            if *interval_steps == 1 {
                "step".to_owned()
            } else {
                count(*interval_steps, "step")
            }
        ),
        PrunerSpec::SuccessiveHalving(HalvingSection {
            min_resource,
            reduction,
            ..
        }) => format!(
            "successive halving, from {} on, by {reduction}",
            count(*min_resource, "step")
        ),
    }
}

fn budget(search: &Search<'_, '_>) -> String {
    let spec = search.spec;
    let time = spec
        .max_time_s
        .map(|seconds| format!("{} of the search’s clock", human_seconds(seconds)));
    let currency = search
        .view
        .set
        .plan
        .cost
        .get("currency")
        .and_then(|value| value.as_str());
    let cost = spec.max_cost.map(|cost| {
        format!(
            "{} {}",
            shortest(cost).unwrap_or_default(),
            currency.unwrap_or("of the currency")
        )
    });
    let parts: Vec<String> = time.into_iter().chain(cost).collect();
    if parts.is_empty() {
        "the number of trials alone".to_owned()
    } else {
        format!("no trial begins after {}", parts.join(" or "))
    }
}

/// The parameters, their values and when they exist.
pub(crate) fn space(search: &Search<'_, '_>) -> Table {
    let space = &search.spec.space;
    let rows = space.parameters.iter().map(|parameter| Row {
        key: String::new(),
        fields: vec![
            Entry::text(parameter.name.clone()),
            Entry::text(values(&parameter.domain)),
            Entry::text(scale(&parameter.domain)),
            Entry::text(when(space, parameter)),
        ],
        missing: None,
    });
    Table::of_rows(
        (
            "search-space",
            "The space",
            format!(
                "{}, assumed from the manifest: what the sampler could choose.",
                count(space.parameters.len(), "parameter")
            ),
        ),
        ["parameter", "values", "kind", "exists"]
            .map(Column::text)
            .into(),
        rows.collect(),
    )
}

fn values(domain: &Domain) -> String {
    let number = |value: f64| shortest(value).unwrap_or_default();
    match domain {
        Domain::Choice { texts, .. } if texts.len() > NAMED => format!(
            "{} and {} more",
            texts[..NAMED].join(", "),
            texts.len() - NAMED
        ),
        Domain::Choice { texts, .. } => texts.join(", "),
        Domain::Int {
            low, high, step, ..
        } => {
            let step = if *step == 1 {
                String::new()
            } else {
                format!(", step {step}")
            };
            format!("{low} to {high}{step}")
        }
        Domain::Float {
            low, high, step, ..
        } => {
            let step = step.map_or_else(String::new, |step| format!(", step {}", number(step)));
            format!("{} to {}{step}", number(*low), number(*high))
        }
    }
}

fn scale(domain: &Domain) -> String {
    let with_log = |kind: &str, log: bool| {
        if log {
            format!("{kind}, logarithmic")
        } else {
            kind.to_owned()
        }
    };
    match domain {
        Domain::Choice { .. } => "choice".to_owned(),
        Domain::Int { log, .. } => with_log("whole number", *log),
        Domain::Float { log, .. } => with_log("number", *log),
    }
}

fn when(space: &Space, parameter: &Parameter) -> String {
    let Some(condition) = &parameter.when else {
        return "always".to_owned();
    };
    let Some(other) = space.parameters.get(condition.parameter) else {
        return "under a condition".to_owned();
    };
    let texts = match &other.domain {
        Domain::Choice { texts, .. } => texts.as_slice(),
        Domain::Int { .. } | Domain::Float { .. } => &[],
    };
    let choices = condition
        .choices
        .iter()
        .filter_map(|choice| texts.get(*choice).cloned());
    format!(
        "where {} is {}",
        other.name,
        choices.collect::<Vec<String>>().join(" or ")
    )
}
