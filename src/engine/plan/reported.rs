//! Names in `[report]`: templates, metrics to reach, parts of the answer.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;

use crate::datasets::{DatasetSpec, Target};
use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::losses::LossSpec;
use crate::manifest::{Node, Table};
use crate::models::ModelSpec;
use crate::tasks::{LABEL_METRICS, class_metrics};

use super::answer_part::{STRING_PARTS, TABLE_PARTS};
use super::cell::WatchedSplit;
use super::references::axis_called;
use super::{Language, Plan, PlannedCell, axis_value, program, search};

/// The built-in templates, with a description.
pub const TEMPLATES: [(&str, &str); 4] = [
    (
        "analysis",
        "the answer, speed, quality, where the time goes, memory, recommendations, method",
    ),
    (
        "profiling",
        "where the time goes, what to change about it, and the machine that it was measured on",
    ),
    (
        SEARCH_TEMPLATE,
        "hyperparameter search: best trials, Pareto fronts, best value over time, importance of parameters, pruning, efficiency, cost",
    ),
    (
        COMPARISON_TEMPLATE,
        "before and after along `[compare] treatment`: verdicts, every factor that changed, quality, cost; in English and German",
    ),
];

/// The default template of a manifest with `[search]`.
pub const SEARCH_TEMPLATE: &str = "search";

/// The template that is used without `report.templates`.
pub fn default_template(is_search: bool) -> &'static str {
    if is_search {
        SEARCH_TEMPLATE
    } else {
        TEMPLATES[0].0
    }
}

/// The template that compares the values of a treatment, in the languages of `[report]`.
pub const COMPARISON_TEMPLATE: &str = "comparison";

/// Template names of earlier versions, with the names that replaced them.
const RENAMED: [(&str, &str); 1] = [("summary", "analysis")];

/// Least number of samples of a dataset with which a split of a usual fraction has at least one row.
const FEW_ROWS: usize = 20;

/// Largest number of cells whose metrics are checked.
const LOOKED_AT: usize = 1024;

/// Checks that every metric of `report.target`, and each that a search reads, is a column of `epochs.csv` for some cell,
/// and that some cell has each metric of `report.answer` and `report.targets`.
pub(super) fn targets(plan: &Plan) -> Vec<Diagnostic> {
    let report = plan.written.root.table("report");
    let target = report.and_then(|report| report.get("target"));
    let answer = report.map_or(&[][..], |report| report.list("answer"));
    let targets = report.map_or(&[][..], |report| report.list("targets"));
    let columns = targets
        .iter()
        .filter_map(|target| target.as_table()?.get("column"));
    let named = answer.iter().map(|node| ("answer", node));
    let named: Vec<(&str, &Node)> = named.chain(columns.map(|node| ("targets", node))).collect();
    if target.is_none() && named.is_empty() && plan.search.is_none() {
        return Vec::new();
    }
    let cells: Vec<PlannedCell> = plan.cells().take(LOOKED_AT).collect();
    let known: BTreeSet<String> = cells.iter().flat_map(metrics).collect();
    let mut mistakes = search::names_of_metrics(plan, &known);
    mistakes.extend(target.map_or_else(Vec::new, |target| unknown_metrics(target, &known)));
    mistakes.extend(unknown_names(&named, &cells));
    mistakes
}

/// Reports metrics of the validation or test split that `[report]` names and no cell has. Nothing is reported if a
/// program trains a cell (its metrics are unknown), or if a cell has few or unknown samples (a split may then be empty
/// by rounding alone).
fn unknown_names(named: &[(&str, &Node)], cells: &[PlannedCell]) -> Vec<Diagnostic> {
    let is_open =
        |cell: &PlannedCell| cell.spec.model.command().is_some() || cell.facts.samples < FEW_ROWS;
    if cells.iter().any(is_open) {
        return Vec::new();
    }
    let of_cell = |cell: &PlannedCell| {
        let (facts, names) = (&cell.facts, metric_names(cell));
        let has_rows = [
            ("val", facts.validation_samples > 0),
            ("test", facts.test_samples > 0),
        ];
        let splits = has_rows.into_iter().filter(|(_, has_rows)| *has_rows);
        let all =
            splits.flat_map(|(split, _)| names.iter().map(move |name| format!("{split}_{name}")));
        all.collect::<Vec<String>>()
    };
    let known: BTreeSet<String> = cells.iter().flat_map(of_cell).collect();
    let unknown = named.iter().filter_map(|(setting, node)| {
        let column = node.as_str()?;
        let metric = column.strip_prefix("best_").unwrap_or(column);
        let is_of_split = metric.starts_with("val_") || metric.starts_with("test_");
        let is_told = *setting == "answer" && search::objective::direction(column).is_none();
        if !is_of_split || is_told || metric.ends_with("_epoch") || known.contains(metric) {
            return None;
        }
        let title = format!("`report.{setting}` names `{column}`, which no cell has");
        let mistake = Diagnostic::error(title).at(node.place, "no cell can have a value");
        if known.is_empty() {
            // For a target this is no mistake: the report shows it as not measured.
            let help = "no rows are held out: neither to validate on nor to test on";
            return (*setting == "answer").then(|| mistake.help(help));
        }
        let names = known.iter().map(String::as_str);
        Some(mistake.suggest_from(metric, "the held-out rows have", names))
    });
    unknown.collect()
}

/// Reports metrics of `report.target` that no cell has.
fn unknown_metrics(target: &Node, known: &BTreeSet<String>) -> Vec<Diagnostic> {
    let metrics = target.alternatives().iter();
    let metrics = metrics.filter_map(|node| node.as_table()?.get("metric"));
    let unknown = metrics.filter_map(|node| {
        let name = node.as_str().filter(|name| !known.contains(*name))?;
        let title = format!("`report.target`: no cell has the metric `{name}`");
        let mistake = Diagnostic::error(title).at(node.place, "not a metric of these cells");
        Some(mistake.suggest_from(name, "every epoch has", known.iter().map(String::as_str)))
    });
    unknown.collect()
}

/// Names of the metrics that a cell has after every epoch.
fn metrics(cell: &PlannedCell) -> Vec<String> {
    let spec = &cell.spec;
    if let Some(command) = spec.model.command() {
        let own = command.metrics.iter().filter(|(_, metric)| !metric.time);
        let own = own.map(|(name, _)| name.clone());
        return own.chain(["train_loss".to_owned()]).collect();
    }
    let split = match spec.validation.split {
        WatchedSplit::Validation => "val",
        WatchedSplit::Test => "test",
    };
    let watched = metric_names(cell)
        .into_iter()
        .map(|name| format!("{split}_{name}"));
    watched.chain(["train_loss".to_owned()]).collect()
}

/// Names of the loss and metrics of a model on held-out rows, without that of the split.
fn metric_names(cell: &PlannedCell) -> Vec<&'static str> {
    let (cell, facts) = (&cell.spec, &cell.facts);
    let mut names = vec!["loss"];
    match &*cell.loss {
        LossSpec::CrossEntropy(_) => {
            names.push("accuracy");
            if let Target::Class { classes } = facts.target {
                names.extend(class_metrics(classes));
            }
        }
        LossSpec::BinaryCrossEntropy(_) => names.extend(LABEL_METRICS),
        loss if loss.error_term().is_some() => names.extend(["mse", "r2", "mae", "rmse"]),
        _ => {}
    }
    if matches!(&*cell.dataset, DatasetSpec::Text(_)) {
        names.push("bits_per_byte");
    }
    if matches!(&*cell.model, ModelSpec::Equilibrium(_)) {
        names.push("solver_iterations");
    }
    names
}

/// Checks the names in `[report]`: templates, languages, searches, parts of the answer, axes and values.
pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let Some(report) = plan.written.root.table("report") else {
        return;
    };
    let folder = plan.results_folder.with_file_name("templates");
    for node in report.list("templates") {
        if let Some(name) = node.as_str().filter(|name| !is_known(&folder, name)) {
            mistakes.push(unknown(node, name));
        }
    }
    compared(plan, report, mistakes);
    if let Some(node) = report.get("languages")
        && node.as_array().is_some_and(<[Node]>::is_empty)
    {
        let codes = list(Language::ALL.map(Language::code));
        let mistake =
            Diagnostic::error("`report.languages` is empty").at(node.place, "no language");
        mistakes.push(mistake.help(format!("there are {codes}")));
    }
    for node in report.list("searches") {
        mistakes.extend(node.as_str().and_then(|name| no_search(plan, node, name)));
    }
    answers(plan, report, mistakes);
    names(plan, report, mistakes);
}

/// Reports if the template `comparison` is used without a treatment, or with one that has a single value.
fn compared(plan: &Plan, report: &Table, mistakes: &mut Vec<Diagnostic>) {
    let mut templates = report.list("templates").iter();
    let Some(node) = templates.find(|node| node.as_str() == Some(COMPARISON_TEMPLATE)) else {
        return;
    };
    let Some(treatment) = &plan.compare.treatment else {
        let names = plan.axes.iter().map(|axis| axis.name.as_str());
        mistakes.push(
            Diagnostic::error(format!(
                "the template `{COMPARISON_TEMPLATE}` needs a treatment"
            ))
            .at(node.place, "compared along which axis?")
            .help("name an axis in `[compare]`: `treatment = \"AXIS\"`")
            .help(format!("the axes are {}", list(names))),
        );
        return;
    };
    if let Some(axis) = plan.axis(treatment).filter(|axis| axis.values.len() < 2) {
        let name = &axis.name;
        let title = format!("the template `{COMPARISON_TEMPLATE}` needs two values of `{name}`");
        let mistake = Diagnostic::error(title).at(node.place, "nothing to compare");
        mistakes.push(mistake.help(format!("the treatment `{name}` has one value only")));
    }
}

/// Advice for an unknown template name: "did you mean …?" with a similar name; `None` if no name is similar.
pub fn suggest_template(name: &str) -> Option<String> {
    let renamed = RENAMED.iter().find(|(old, _)| *old == name);
    let meant = renamed.map(|(_, meant)| format!("did you mean `{meant}`?"));
    meant.or_else(|| did_you_mean(name, TEMPLATES.map(|(name, _)| name)))
}

/// Whether a template is built in or a user's own: one or two files in `folder`, the templates folder next to the
/// results.
fn is_known(folder: &Path, name: &str) -> bool {
    let is_file = |format: &str| folder.join(format!("{name}.{format}.j2")).is_file();
    TEMPLATES.iter().any(|(known, _)| *known == name) || is_file("md") || is_file("html")
}

fn unknown(node: &Node, name: &str) -> Diagnostic {
    Diagnostic::error(format!("unknown template `{name}`"))
        .at(node.place, "no template of this name")
        .maybe_help(suggest_template(name))
        .help(format!(
            "there are {}, and `<name>.md.j2` or `<name>.html.j2` in `reports/templates`",
            list(TEMPLATES.map(|(name, _)| name))
        ))
}

/// Whether a name can be that of a results folder; it cannot lead out of `reports/`.
pub fn is_results_name(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\'])
}

/// The mistake in an entry of `report.searches`: this manifest's own name, or one that no results folder can have;
/// `None` if it is valid.
fn no_search(plan: &Plan, node: &Node, name: &str) -> Option<Diagnostic> {
    let is_own = name == plan.name;
    if is_results_name(name) && !is_own {
        return None;
    }
    let what = if is_own {
        "this manifest"
    } else {
        "no name of results"
    };
    Some(
        Diagnostic::error(format!("`report.searches` names `{name}`"))
            .at(node.place, what)
            .help("name the manifests of searches whose results lie beside these"),
    )
}

/// Checks that every key in `report.names` is an axis or a value of one; in a search, any key is accepted.
fn names(plan: &Plan, report: &Table, mistakes: &mut Vec<Diagnostic>) {
    let values = plan.axes.iter().flat_map(|axis| &axis.values);
    let values: BTreeSet<Cow<'_, str>> = values.map(|value| axis_value(value)).collect();
    let known = || {
        let axes = plan.axes.iter().map(|axis| axis.name.as_str());
        axes.chain(values.iter().map(|value| &**value))
    };
    for (key, _) in report.entries_of("names") {
        let name = key.name.as_str();
        if plan.search.is_some() || known().any(|known| known == name) {
            continue;
        }
        let title =
            format!("`report.names` has `{name}`, which is neither an axis nor a value of one");
        mistakes.push(
            Diagnostic::error(title)
                .at(key.place, "nothing is called so")
                .maybe_help(did_you_mean(name, known())),
        );
    }
}

/// Common metrics, for suggestions; models and programs may have others.
const METRICS: [&str; 10] = [
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "roc_auc",
    "average_precision",
    "r2",
    "mse",
    "rmse",
    "mae",
    "loss",
];

/// Mistakes in `report.answer`: metrics without a known direction, and names that are no axes.
fn answers(plan: &Plan, report: &Table, mistakes: &mut Vec<Diagnostic>) {
    let declared = program::metrics(&plan.written.root);
    let is_known = |name: &str| declared.contains_key(name);
    for node in report.list("answer") {
        if let Some(name) = node.as_str() {
            let is_known = is_known(name) || STRING_PARTS.contains(&name);
            mistakes.extend((!is_known).then(|| undecided(node.place, name)).flatten());
            continue;
        }
        let Some(table) = node.as_table() else {
            continue;
        };
        for part in TABLE_PARTS {
            let Some(name) = table.text(part) else {
                continue;
            };
            let place = table.place_of(part);
            let found = match part {
                "fastest-at-equal" if is_known(name) => None,
                "fastest-at-equal" => undecided(place, name),
                _ => axis_called(plan, &format!("report.answer.{part}"), name, place).err(),
            };
            mistakes.extend(found);
        }
    }
}

/// An error if the name is not a column or metric with a known direction; `None` if it is.
fn undecided(place: Place, name: &str) -> Option<Diagnostic> {
    if search::objective::is_known(name) && search::objective::direction(name).is_some() {
        return None;
    }
    let title =
        format!("`report.answer` names `{name}`, of which neither lower nor higher is better");
    let known = || {
        search::objective::known_columns()
            .into_iter()
            .chain(STRING_PARTS)
    };
    let metrics = METRICS
        .iter()
        .flat_map(|metric| ["val_", "test_", "train_"].map(|split| format!("{split}{metric}")));
    let metrics: Vec<String> = metrics.collect();
    let parts = TABLE_PARTS.map(|part| format!("{{ {part} = … }}"));
    Some(
        Diagnostic::error(title)
            .at(place, "neither a measured column nor a metric")
            .maybe_help(did_you_mean(
                name,
                known().chain(metrics.iter().map(String::as_str)),
            ))
            .help(format!(
                "there are {}, metrics such as `val_accuracy`, and {}",
                list(known()),
                list(parts.iter().map(String::as_str))
            )),
    )
}
