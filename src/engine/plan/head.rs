//! Reads a manifest's head, its variants and its matrices into an unfinished [`Plan`].

use std::collections::BTreeMap;
use std::path::Path;

use crate::diag::{Diagnostic, Failure, Place, did_you_mean, list};
use crate::manifest::{Key, Manifest, Node, Table, Value};

use super::assign;
use super::inputs::PlanInputs;
use super::matrices;
use super::matrix::Matrix;
use super::references;
use super::reported::default_template;
use super::resolve::{Written, absolute, read as read_section};
use super::results_root::{namesakes, results_root};
use super::search::{self, SearchSpec, Searched};
use super::slurm::{self, SlurmSpec};
use super::texts::{Translated, texts};
use super::{
    AxisInfo, CompareSpec, CostSpec, Language, MeasureSpec, Plan, PlanOptions, ReportSpec,
};

/// Every key of a manifest's top level.
pub(super) const SECTIONS: [&str; 20] = [
    "name",
    "title",
    "question",
    "follows",
    "models",
    "datasets",
    "losses",
    "variants",
    "matrix",
    "matrices",
    "train",
    "loader",
    "validation",
    "measure",
    "limits",
    "report",
    "compare",
    "cost",
    "search",
    "slurm",
];

/// Names that a results folder cannot have.
const RESERVED: [&str; 2] = ["templates", "bench"];

/// Reads everything that is the same for all cells.
pub(super) fn read(
    manifest: &Manifest,
    inputs: &PlanInputs,
    options: &PlanOptions,
    mistakes: &mut Vec<Diagnostic>,
    warnings: &mut Vec<Diagnostic>,
) -> Plan {
    let root = top(manifest);
    unknown_sections(root, mistakes);
    let name = name(root, mistakes);
    let variants = variants(root, mistakes);
    let (mut found, places) = matrices::read(root, mistakes, warnings);
    let mut axes = matrices::union(&mut found);
    unknown_variants(&found, &variants, mistakes);
    matrices::names_twice(&found, &places, mistakes);
    same_name(manifest, root, &name, warnings);
    let searched = search(root, &mut axes, mistakes);
    let folder = absolute(Path::new("."), manifest.folder());
    let mut sections = without_matrices(root);
    references::overrides_of_nothing(&mut sections, mistakes);
    let results_name = options.results_name.as_deref().unwrap_or(&name);
    let (title, question) = (
        texts(root, "title", mistakes),
        texts(root, "question", mistakes),
    );
    Plan {
        title: title
            .in_language(Language::English)
            .unwrap_or_else(|| name.clone()),
        question: question.in_language(Language::English),
        translated: Translated { title, question },
        follows: text(root, "follows", mistakes),
        axes,
        variants: variants
            .iter()
            .map(|(name, set)| (name.clone(), listed(set)))
            .collect(),
        measure: MeasureSpec::default(),
        report: report(root, searched.0.is_some(), mistakes),
        compare: section::<CompareSpec>(root, "compare", mistakes),
        cost: section::<CostSpec>(root, "cost", mistakes),
        slurm: slurm(root, mistakes),
        search: searched.0,
        searched: searched.1,
        manifest_text: with_overrides(manifest),
        manifest_path: manifest.path.clone(),
        results_folder: results_root(&manifest.path).join(results_name),
        warnings: Failure::new(Vec::new(), manifest.sources.clone()),
        held_out: Vec::new(),
        name,
        written: Written {
            root: sections,
            variants,
            folder,
        },
        matrices: found,
        count: 0,
        selection: None,
        inputs: inputs.clone(),
    }
}

pub(super) fn top(manifest: &Manifest) -> &Table {
    static EMPTY: Table = Table {
        entries: Vec::new(),
    };
    manifest.root.as_table().unwrap_or(&EMPTY)
}

/// The sections that cells are resolved from. The matrices, whose lists can be long, are read already.
fn without_matrices(root: &Table) -> Table {
    let is_matrix = |key: &Key| ["matrix", "matrices"].contains(&key.name.as_str());
    let entries = root.entries.iter().filter(|(key, _)| !is_matrix(key));
    Table {
        entries: entries.cloned().collect(),
    }
}

fn section<T: serde::de::DeserializeOwned + Default>(
    root: &Table,
    name: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> T {
    let Some(node) = root.get(name) else {
        return T::default();
    };
    read_section(node, name, name, &[]).unwrap_or_else(|found| {
        mistakes.extend(found);
        T::default()
    })
}

/// Reads `[search]`; the axes of trials come after those of the matrices.
fn search(
    root: &Table,
    axes: &mut Vec<AxisInfo>,
    mistakes: &mut Vec<Diagnostic>,
) -> (Option<SearchSpec>, Searched) {
    let read = root
        .get("search")
        .and_then(|node| search::read(node, axes, mistakes));
    let Some((spec, parameters)) = read else {
        return (None, Searched::default());
    };
    let searched = Searched::new(parameters, axes.len());
    axes.extend(searched.axes(spec.trials));
    (Some(spec), searched)
}

fn report(root: &Table, is_search: bool, mistakes: &mut Vec<Diagnostic>) -> ReportSpec {
    let mut report = section::<ReportSpec>(root, "report", mistakes);
    if report.templates.is_empty() {
        report
            .templates
            .push(default_template(is_search).to_owned());
    }
    report
}

fn slurm(root: &Table, mistakes: &mut Vec<Diagnostic>) -> SlurmSpec {
    if let Some(node) = root.get("slurm") {
        slurm::check(node, mistakes);
    }
    section::<SlurmSpec>(root, "slurm", mistakes)
}

fn unknown_sections(root: &Table, mistakes: &mut Vec<Diagnostic>) {
    for (key, node) in &root.entries {
        if SECTIONS.contains(&key.name.as_str()) {
            expect_table(key, node, mistakes);
        } else {
            mistakes.push(unknown_section(key, node));
        }
    }
}

fn unknown_section(key: &Key, node: &Node) -> Diagnostic {
    let what = if node.as_table().is_some() {
        "section"
    } else {
        "key"
    };
    let shown = if what == "section" {
        format!("[{}]", key.name)
    } else {
        key.name.clone()
    };
    let known = || SECTIONS.into_iter();
    let home = super::homes::long_path(&key.name, key.place)
        .ok()
        .filter(|path| path.len() == 2);
    let meant = home.and_then(|path| {
        path.first()
            .map(|home| format!("`{}` belongs into `[{}]`", key.name, home.name))
    });
    Diagnostic::error(format!("unknown {what} `{shown}`"))
        .at(key.place, format!("not a {what} of a manifest"))
        .maybe_help(did_you_mean(&key.name, known()).or(meant))
        .help(format!("a manifest has {}", list(known())))
}

fn expect_table(key: &Key, node: &Node, mistakes: &mut Vec<Diagnostic>) {
    let is_text = matches!(
        key.name.as_str(),
        "name" | "title" | "question" | "follows" | "matrices"
    );
    if !is_text && node.as_table().is_none() {
        mistakes.push(
            Diagnostic::error(format!(
                "`{}` is a section, found {}",
                key.name,
                node.kind()
            ))
            .at(node.place, "expected a table")
            .help(section_form(&key.name)),
        );
    }
}

/// How a section is written.
fn section_form(name: &str) -> String {
    match name {
        "models" | "datasets" | "losses" => {
            format!("write `[{name}.NAME]` for each of them, and under it `kind = \"…\"`; `fieldtrial list {name}` shows the kinds")
        }
        "variants" => "write `[variants.NAME]` for each of them, and under it settings by path: `batch-size = 8`".to_owned(),
        "matrix" => "write `[matrix]` on a line of its own; or, for several, `[[matrices]]`, each with a `name`".to_owned(),
        _ => format!("write `[{name}]` on a line of its own"),
    }
}

pub(super) fn text(root: &Table, name: &str, mistakes: &mut Vec<Diagnostic>) -> Option<String> {
    let node = root.get(name)?;
    if node.as_str().is_none() {
        mistakes.push(
            Diagnostic::error(format!(
                "`{name}`: expected a string, found {}",
                node.kind()
            ))
            .at(node.place, "expected a string"),
        );
    }
    node.as_str().map(str::to_owned)
}

fn name(root: &Table, mistakes: &mut Vec<Diagnostic>) -> String {
    let help = "for example `name = \"ddpm\"`: results go to `reports/ddpm/`";
    let Some(node) = root.get("name") else {
        mistakes.push(
            Diagnostic::error("the manifest needs a `name`")
                .at(Place::default(), "`name` is missing")
                .help(help),
        );
        return String::new();
    };
    let Some(name) = text(root, "name", mistakes) else {
        return String::new();
    };
    mistakes.extend(wrong_name(&name, node.place));
    name
}

/// What is wrong with the experiment name at `place`; `None` if nothing is.
pub fn wrong_name(name: &str, place: Place) -> Option<Diagnostic> {
    let starts_well =
        name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit());
    let is_inside =
        |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    let mistake = Diagnostic::error(format!("`name` cannot be `{name}`"));
    if !starts_well || !name.chars().all(is_inside) {
        return Some(
            mistake
                .at(place, "it is also the name of a folder")
                .help("a name has lower-case letters, digits and `-`, and does not begin with `-`"),
        );
    }
    let is_reserved = RESERVED.contains(&name);
    is_reserved.then(|| {
        mistake.at(
            place,
            format!("`reports/{name}/` is used for something else"),
        )
    })
}

type Variants = BTreeMap<String, Vec<assign::Assignment>>;

fn variants(root: &Table, mistakes: &mut Vec<Diagnostic>) -> Variants {
    let Some(table) = root.get("variants").and_then(Node::as_table) else {
        return BTreeMap::new();
    };
    let mut variants = BTreeMap::new();
    for (key, node) in &table.entries {
        let Some(set) = node.as_table() else {
            mistakes.push(
                Diagnostic::error(format!(
                    "variant `{}` is a table, found {}",
                    key.name,
                    node.kind()
                ))
                .at(node.place, "expected a table of overrides")
                .help(format!(
                    "write `[variants.{}]` and under it `batch-size = 8`",
                    key.name
                )),
            );
            continue;
        };
        variants.insert(key.name.clone(), assign::read(set, mistakes));
    }
    variants
}

fn listed(set: &[assign::Assignment]) -> BTreeMap<String, serde_json::Value> {
    set.iter()
        .map(|assignment| {
            let names: Vec<&str> = assignment
                .path
                .iter()
                .map(|key| key.name.as_str())
                .collect();
            (names.join("."), json(&assignment.node))
        })
        .collect()
}

pub(super) fn json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::String(text) | Value::Datetime(text) => text.as_str().into(),
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(truth) => (*truth).into(),
        Value::Array(nodes) => nodes.iter().map(json).collect(),
        Value::Table(table) => {
            let entries = table
                .entries
                .iter()
                .map(|(key, node)| (key.name.clone(), json(node)));
            serde_json::Value::Object(entries.collect())
        }
    }
}

fn unknown_variants(matrices: &[Matrix], variants: &Variants, mistakes: &mut Vec<Diagnostic>) {
    let axes = matrices
        .iter()
        .flat_map(|matrix| &matrix.axes)
        .filter(|axis| axis.path.len() == 1);
    for value in axes.flat_map(|axis| &axis.values) {
        let node = &value.assignment.node;
        let names = || variants.keys().map(String::as_str);
        if node
            .as_str()
            .is_some_and(|name| variants.contains_key(name))
        {
            continue;
        }
        let known = if variants.is_empty() {
            "this manifest has no `[variants.…]`".to_owned()
        } else {
            format!("this manifest has {}", list(names()))
        };
        mistakes.push(
            Diagnostic::error(format!("unknown variant `{}`", value.text))
                .at(node.place, "no variant of this name")
                .maybe_help(did_you_mean(&value.text, names()))
                .help(known),
        );
    }
}

fn same_name(manifest: &Manifest, root: &Table, name: &str, warnings: &mut Vec<Diagnostic>) {
    for other in namesakes(&manifest.path, name) {
        let place = root
            .get("name")
            .map_or_else(Place::default, |node| node.place);
        warnings.push(
            Diagnostic::warning(format!("`name = \"{name}\"` is taken"))
                .at(place, format!("also the name of {}", other.display()))
                .help("results go to `reports/<name>/`; choose another name, or `run --as NAME`"),
        );
    }
}

fn with_overrides(manifest: &Manifest) -> String {
    let one_line = |set: &String| format!("# --set {}\n", set.replace('\n', " "));
    let comments: Vec<String> = manifest.sets.iter().map(one_line).collect();
    comments.concat() + &manifest.text
}
