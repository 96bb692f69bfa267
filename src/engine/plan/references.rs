//! Checks names by which sections refer to each other, and finds unused sections.

use std::collections::BTreeSet;

use crate::diag::{Diagnostic, Place};
use crate::manifest::{Key, Node, Table};

use super::assign::is_of_train;
use super::homes::NAMED_TABLE_SECTIONS;
use super::key::value_text;
use super::matrix::{Axis, Matrix};
use super::reader::Reader;
use super::tries::value_combinations;
use super::{AxisInfo, Plan};

/// Number of threads per core above which a warning is given.
const MOST_THREADS_A_CORE: usize = 8;

pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>, warnings: &mut Vec<Diagnostic>) {
    unused(plan, "models", "model", warnings);
    unused(plan, "datasets", "dataset", warnings);
    unused(plan, "losses", "loss", warnings);
    unused(plan, "variants", "variant", warnings);
    named_cells(plan, mistakes);
    followed(plan, warnings);
    many_threads(plan, warnings);
    treatment(plan, mistakes);
    matrix_paths(plan, mistakes);
    set_twice(plan, mistakes);
    overridden(plan, mistakes);
}

fn unused(plan: &Plan, section: &str, what: &str, warnings: &mut Vec<Diagnostic>) {
    let mut used: BTreeSet<String> = BTreeSet::new();
    for matrix in &plan.matrices {
        let reader = Reader::new(plan, matrix);
        let axes = reader.axes_where(|path| is_of_train(path, what));
        for choice in value_combinations(matrix, &axes, Axis::all) {
            if let Some(Ok(chosen)) = reader.at(&choice).chosen(what) {
                used.insert(chosen.name);
            }
        }
    }
    let searched = plan.searched.parameters.iter();
    let searched = searched.filter(|one| is_of_train(&one.path, what));
    let values = searched.flat_map(|one| &one.values);
    used.extend(values.filter_map(|value| Some(value.assignment.node.as_str()?.to_owned())));
    let axes = plan.matrices.iter().flat_map(|matrix| &matrix.axes);
    let axes = axes.filter(|axis| axis.is_variant() && what == "variant");
    let values = axes.flat_map(|axis| &axis.values);
    used.extend(values.map(|value| value.text.to_string()));
    let or_in_train = match what {
        "variant" => String::new(),
        _ => format!(", or set `{what}` in `[train]`"),
    };
    for (key, _) in plan.written.root.entries_of(section) {
        if !used.contains(&key.name) {
            warnings.push(
                Diagnostic::warning(format!("{what} `{}` is never used", key.name))
                    .at(key.place, format!("no cell has this {what}"))
                    .help(format!(
                        "add it to the axis `{what}` of `[matrix]`{or_in_train}"
                    )),
            );
        }
    }
}

/// Checks the cells named in `[report]`: the baseline, and those of each prediction.
fn named_cells(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let Some(report) = plan.written.root.table("report") else {
        return;
    };
    named_cell(plan, report, "report.baseline", mistakes);
    for prediction in report.list("predictions").iter().filter_map(Node::as_table) {
        for path in ["report.predictions.cell", "report.predictions.against"] {
            named_cell(plan, prediction, path, mistakes);
        }
    }
}

/// Checks the cell that `table` has under the last key of `path`: that its keys are axes and have these values.
pub(super) fn named_cell(plan: &Plan, table: &Table, path: &str, mistakes: &mut Vec<Diagnostic>) {
    let key = path.rsplit('.').next().unwrap_or(path);
    for (key, node) in table.entries_of(key) {
        let text = value_text(node);
        match axis_called(plan, path, &key.name, key.place) {
            Ok(axis) if !axis.has(&text) => {
                let title = format!("`{path}`: axis `{}` has no value `{text}`", axis.name);
                let mistake = Diagnostic::error(title).at(node.place, "not a value of the axis");
                mistakes.push(mistake.suggest_from(&text, "its values are", axis.texts()));
            }
            Ok(_) => {}
            Err(mistake) => mistakes.push(mistake),
        }
    }
}

/// The axis `name`, to which the setting `path` refers at `place`; an error if there is none.
pub(super) fn axis_called<'a>(
    plan: &'a Plan,
    path: &str,
    name: &str,
    place: Place,
) -> Result<&'a AxisInfo, Diagnostic> {
    plan.axis(name).ok_or_else(|| {
        let names = plan.axes.iter().map(|axis| axis.name.as_str());
        Diagnostic::error(format!("`{path}` names `{name}`, which is no axis"))
            .at(place, "not an axis")
            .suggest_from(name, "the axes are", names)
    })
}

/// Warns if `train.threads` is far above the number of this machine's cores.
fn many_threads(plan: &Plan, warnings: &mut Vec<Diagnostic>) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let is_it = |path: &[Key]| Key::dotted(path) == "train.threads";
    let train = plan.written.root.table("train");
    let written = train.and_then(|train| train.get("threads")).into_iter();
    let set = plan.assignments().filter(|one| is_it(&one.path));
    let set = set.map(|one| &one.node);
    for node in written.chain(set) {
        let is_many = |threads: f64| threads > (MOST_THREADS_A_CORE * cores) as f64;
        if let Some(threads) = node.as_f64().filter(|threads| is_many(*threads)) {
            let title = format!("`train.threads` is {threads}, and this machine has {cores} cores");
            warnings.push(
                Diagnostic::warning(title)
                    .at(node.place, "more than 8 threads a core")
                    .help("threads that compute are fastest where each has a core"),
            );
        }
    }
}

/// Warns if there are no results of the manifest that this one `follows`.
fn followed(plan: &Plan, warnings: &mut Vec<Diagnostic>) {
    let Some(name) = &plan.follows else { return };
    let folder = plan.results_folder.with_file_name(name);
    if !folder.join("plan.json").is_file() {
        let place = plan.written.root.place_of("follows");
        warnings.push(
            Diagnostic::warning(format!("there are no results of `{name}`"))
                .at(place, format!("no `reports/{name}/plan.json`"))
                .help("the predictions are measured all the same; their origin cannot be read"),
        );
    }
}

fn treatment(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let compare = plan.written.root.table("compare");
    let treatment = compare.and_then(|compare| Some((compare, compare.text("treatment")?)));
    let Some((compare, name)) = treatment else {
        return;
    };
    let place = compare.place_of("treatment");
    let axis = match axis_called(plan, "compare.treatment", name, place) {
        Ok(axis) => axis,
        Err(mistake) => return mistakes.push(mistake),
    };
    let axis = axis.with_unquoted_values();
    if let Some(value) = compare.text("baseline").filter(|value| !axis.has(value)) {
        let name = &axis.name;
        let title = format!("`compare.baseline` is `{value}`, which is no value of `{name}`");
        mistakes.push(
            Diagnostic::error(title)
                .at(compare.place_of("baseline"), "not a value of the treatment")
                .suggest_from(value, &format!("`{name}` has"), axis.texts()),
        );
    }
}

pub(super) fn too_large(place: Place, found: String, most: &str) -> Diagnostic {
    Diagnostic::error("the plan is too large")
        .at(place, found)
        .help(format!("a plan has at most {most}"))
}

pub(super) fn no_cells_error(root: &Table) -> Diagnostic {
    let exclude = root
        .table("matrix")
        .and_then(|matrix| matrix.list("exclude").first());
    let place = exclude.map(|node| node.place).unwrap_or_default();
    Diagnostic::error("`exclude` leaves no cell")
        .at(place, "this takes out all that is left")
        .help("every combination of axis values is excluded")
}

/// Reports a setting that is set both by an axis and by a variant of the same matrix or the search, which is ambiguous.
fn set_twice(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    for matrix in &plan.matrices {
        let values = matrix.axes.iter().filter(|axis| axis.is_variant());
        let values = values.flat_map(|axis| &axis.values);
        let set = values.filter_map(|value| plan.written.variants.get(&*value.text));
        let set = set.flatten().map(|one| (&one.path, one.place()));
        let searched = plan.searched.parameters.iter();
        let searched = searched.map(|one| (&one.path, one.place));
        for (path, place) in set.chain(searched) {
            let path = Key::dotted(path);
            if let Some(axis) = matrix.axes.iter().find(|axis| axis.long() == path) {
                mistakes.push(
                    Diagnostic::error(format!("`{path}` is set twice"))
                        .at(place, "set here")
                        .context(axis.place, "set by the axis")
                        .help("leave one of them out"),
                );
            }
        }
    }
}

/// Reports a `--set` without effect, because every cell gets the value from an axis, from `set` or from the search.
fn overridden(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let Some((first, others)) = plan.matrices.split_first() else {
        return;
    };
    let set = first.set.iter().map(|one| &one.path);
    let set = first.axes.iter().map(|axis| &axis.path).chain(set);
    let in_all = |path: &String| others.iter().all(|matrix| sets(matrix, path));
    let in_matrix = set.map(|path| Key::dotted(path)).filter(in_all);
    let searched = plan.searched.parameters.iter();
    let searched = searched.map(|one| Key::dotted(&one.path));
    for path in in_matrix.chain(searched) {
        let written = plan.written.root.at_path(&path);
        if let Some(node) = written.filter(|node| node.place.is_override()) {
            mistakes.push(
                Diagnostic::error(format!(
                    "the matrix or the search sets `{path}` in every cell"
                ))
                .at(node.place, "this would change nothing")
                .help("change its values there, or choose among them with `--only`"),
            );
        }
    }
}

/// Whether an axis of the matrix, or its `set`, assigns the setting at the full dotted path.
fn sets(matrix: &Matrix, path: &str) -> bool {
    let mut set = matrix.set.iter();
    matrix.axes.iter().any(|axis| axis.long() == path)
        || set.any(|one| Key::dotted(&one.path) == path)
}

/// Removes and reports entries that a `--set` created because the file has no such entry (`--set models.mpl.hidden=8`).
pub(super) fn check_overrides_exist(sections: &mut Table, mistakes: &mut Vec<Diagnostic>) {
    for section in NAMED_TABLE_SECTIONS {
        let Some(table) = sections.get_mut(section).and_then(Node::as_table_mut) else {
            continue;
        };
        let is_of_nothing = |(key, node): &mut (Key, Node)| {
            let lacks_kind = |table: &Table| table.get("kind").is_none();
            key.place.is_override() && node.as_table().is_some_and(lacks_kind)
        };
        let taken: Vec<_> = table.entries.extract_if(.., is_of_nothing).collect();
        for (key, _) in taken {
            mistakes.push(no_section(section, &key, "", table));
        }
    }
}

fn no_section(section: &str, key: &Key, label: &str, table: &Table) -> Diagnostic {
    Diagnostic::error(format!("there is no `[{section}.{}]`", key.name))
        .at(key.place, label)
        .suggest_from(&key.name, &format!("`{section}` has"), table.names())
}

/// Reports paths that lead to a model, dataset or loss that does not exist (`models.unte.base-channels`).
fn matrix_paths(plan: &Plan, mistakes: &mut Vec<Diagnostic>) {
    let none = Table::default();
    for path in plan.paths() {
        let [section, key, ..] = path else { continue };
        let section = section.name.as_str();
        let table = plan.written.root.table(section).unwrap_or(&none);
        if NAMED_TABLE_SECTIONS.contains(&section) && table.get(&key.name).is_none() {
            mistakes.push(no_section(section, key, "this path leads nowhere", table));
        }
    }
}
