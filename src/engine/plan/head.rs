//! Reads what all cells share (name, title, variants, matrices …) into a [`Plan`] whose cells are not yet counted.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::diag::{Diagnostic, Failure, Place, did_you_mean, list};
use crate::manifest::{Key, Manifest, Node, Table};

use super::assign::{self, Assignment, ManifestSections, Variants};
use super::homes::{long_path, sections};
use super::inputs::PlanInputs;
use super::matrices;
use super::matrix::Matrix;
use super::program;
use super::references;
use super::reported::default_template;
use super::resolve::{absolute, or_default, read as read_section};
use super::results_root::{manifests_with_name, results_root};
use super::search::{self, SearchSpec, StudyList};
use super::slurm::{self, SlurmSpec};
use super::texts::{TitleAndQuestion, text, texts};
use super::{
    AxisInfo, CompareSpec, CostSpec, Language, MeasureSpec, Plan, PlanOptions, ReportSpec,
};

/// Names that a results folder cannot have.
const RESERVED: [&str; 2] = ["templates", "bench"];

/// Reads everything that is the same for all cells; the cells are not yet counted.
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
    matrices::report_duplicate_names(&found, &places, mistakes);
    same_name(manifest, root, &name, warnings);
    let searched = search(root, &mut axes, mistakes);
    let folder = absolute(Path::new("."), manifest.folder());
    let mut sections = without_matrices(root);
    references::check_overrides_exist(&mut sections, mistakes);
    let results_name = options.results_name.as_deref().unwrap_or(&name);
    let title = texts(root, "title", mistakes);
    let question = texts(root, "question", mistakes);
    let english = title.in_language(Language::English);
    let sets = listed(&variants);
    Plan {
        title: english.unwrap_or_else(|| name.clone()),
        question: question.in_language(Language::English),
        translated: TitleAndQuestion { title, question },
        follows: text(root, "follows", mistakes),
        axes,
        variants: sets,
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
        data_notes: super::DataNotes::default(),
        name,
        written: ManifestSections {
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

/// The sections that cells are resolved from. The matrices are left out: they are already read, and their lists can be
/// long.
fn without_matrices(root: &Table) -> Table {
    let is_matrix = |key: &Key| ["matrix", "matrices"].contains(&key.name.as_str());
    let entries = root.entries.iter().filter(|(key, _)| !is_matrix(key));
    Table {
        entries: entries.cloned().collect(),
    }
}

fn section<T: DeserializeOwned + JsonSchema + Default>(
    root: &Table,
    name: &str,
    mistakes: &mut Vec<Diagnostic>,
) -> T {
    let read = root.get(name).map(|node| read_section(node, name, &[]));
    read.map_or_else(T::default, |read| or_default(read, mistakes))
}

/// Reads `[search]`; adds the axes of trials to `axes`, after those of the matrices.
fn search(
    root: &Table,
    axes: &mut Vec<AxisInfo>,
    mistakes: &mut Vec<Diagnostic>,
) -> (Option<SearchSpec>, StudyList) {
    let read = root
        .get("search")
        .and_then(|node| search::read(node, axes, &program::metrics(root), mistakes));
    let Some((spec, parameters)) = read else {
        return (None, StudyList::default());
    };
    let searched = StudyList::new(parameters, axes.len());
    axes.extend(searched.axes(spec.trials));
    (Some(spec), searched)
}

fn report(root: &Table, is_search: bool, mistakes: &mut Vec<Diagnostic>) -> ReportSpec {
    let mut report = section::<ReportSpec>(root, "report", mistakes);
    if report.templates.is_empty() {
        let template = default_template(is_search);
        report.templates.push(template.to_owned());
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
        if sections().any(|name| name == key.name) {
            expect_table(key, node, mistakes);
        } else {
            mistakes.push(unknown_section(key, node));
        }
    }
}

fn unknown_section(key: &Key, node: &Node) -> Diagnostic {
    let name = &key.name;
    let (what, shown) = match node.as_table() {
        Some(_) => ("section", format!("[{name}]")),
        None => ("key", name.clone()),
    };
    let home = long_path(name, key.place)
        .ok()
        .filter(|path| path.len() == 2);
    let home = home.and_then(|path| path.into_iter().next());
    let home = home.map(|home| format!("`{name}` belongs into `[{}]`", home.name));
    Diagnostic::error(format!("unknown {what} `{shown}`"))
        .at(key.place, format!("not a {what} of a manifest"))
        .maybe_help(did_you_mean(name, sections()).or(home))
        .help(format!("a manifest has {}", list(sections())))
}

fn expect_table(key: &Key, node: &Node, mistakes: &mut Vec<Diagnostic>) {
    let name = key.name.as_str();
    let is_text = ["name", "title", "question", "follows", "matrices"].contains(&name);
    if !is_text && node.as_table().is_none() {
        let mistake = node.unexpected(&format!("`{name}` is a section"), "expected a table");
        mistakes.push(mistake.help(section_form(name)));
    }
}

/// Example of a section in TOML, for messages.
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

fn name(root: &Table, mistakes: &mut Vec<Diagnostic>) -> String {
    if root.get("name").is_none() {
        mistakes.push(
            Diagnostic::error("the manifest needs a `name`")
                .at(Place::default(), "`name` is missing")
                .help("for example `name = \"ddpm\"`: results go to `reports/ddpm/`"),
        );
    }
    let name = text(root, "name", mistakes);
    if let Some(name) = &name {
        mistakes.extend(experiment_name_error(name, root.place_of("name")));
    }
    name.unwrap_or_default()
}

/// The mistake in the experiment name at `place`; `None` if the name is valid.
pub fn experiment_name_error(name: &str, place: Place) -> Option<Diagnostic> {
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_inside = |letter: char| is_plain(letter) || letter == '-';
    let mistake = Diagnostic::error(format!("`name` cannot be `{name}`"));
    if !name.starts_with(is_plain) || !name.chars().all(is_inside) {
        let help = "a name has lower-case letters, digits and `-`, and does not begin with `-`";
        return Some(
            mistake
                .at(place, "it is also the name of a folder")
                .help(help),
        );
    }
    let label = format!("`reports/{name}/` is used for something else");
    let is_reserved = RESERVED.contains(&name);
    is_reserved.then(|| mistake.at(place, label))
}

fn variants(root: &Table, mistakes: &mut Vec<Diagnostic>) -> Variants {
    let mut variants = BTreeMap::new();
    for (key, node) in root.entries_of("variants") {
        let name = &key.name;
        if let Some(set) = node.as_table() {
            variants.insert(name.clone(), assign::read(set, mistakes));
        } else {
            let expected = format!("variant `{name}` is a table");
            let help = format!("write `[variants.{name}]` and under it `batch-size = 8`");
            let mistake = node.unexpected(&expected, "expected a table of overrides");
            mistakes.push(mistake.help(help));
        }
    }
    variants
}

fn listed(variants: &Variants) -> BTreeMap<String, BTreeMap<String, serde_json::Value>> {
    let entry = |one: &Assignment| (Key::dotted(&one.path), one.node.to_json());
    let set = |set: &Vec<Assignment>| set.iter().map(entry).collect();
    variants
        .iter()
        .map(|(name, one)| (name.clone(), set(one)))
        .collect()
}

fn unknown_variants(matrices: &[Matrix], variants: &Variants, mistakes: &mut Vec<Diagnostic>) {
    let axes = matrices.iter().flat_map(|matrix| &matrix.axes);
    let axes = axes.filter(|axis| axis.is_variant());
    for value in axes.flat_map(|axis| &axis.values) {
        let node = &value.assignment.node;
        if node
            .as_str()
            .is_some_and(|name| variants.contains_key(name))
        {
            continue;
        }
        let mistake = Diagnostic::error(format!("unknown variant `{}`", value.text))
            .at(node.place, "no variant of this name");
        let names = variants.keys().map(String::as_str);
        mistakes.push(if variants.is_empty() {
            mistake.help("this manifest has no `[variants.…]`")
        } else {
            mistake.suggest_from(&value.text, "this manifest has", names)
        });
    }
}

fn same_name(manifest: &Manifest, root: &Table, name: &str, warnings: &mut Vec<Diagnostic>) {
    for other in manifests_with_name(&manifest.path, name) {
        let help = "results go to `reports/<name>/`; choose another name, or `run --as NAME`";
        let also = format!("also the name of {}", other.display());
        let warning = Diagnostic::warning(format!("`name = \"{name}\"` is taken"));
        warnings.push(warning.at(root.place_of("name"), also).help(help));
    }
}

fn with_overrides(manifest: &Manifest) -> String {
    let one_line = |set: &String| format!("# --set {}\n", set.replace('\n', " "));
    manifest.sets.iter().map(one_line).collect::<String>() + &manifest.text
}
