//! Checks the files that a manifest names: a missing or unreadable file is a mistake in the manifest (a missing device
//! or precision only makes cells `skipped`).

use std::fmt;
use std::path::{Path, PathBuf};

use crate::base::text::one_line;
use crate::datasets::DatasetError;
use crate::diag::Diagnostic;
use crate::manifest::{Node, Table};

use super::Plan;
use super::assign::is_of_train;
use super::homes::Unit;
use super::initial_weights;
use super::matrix::Axis;
use super::reader::Reader;
use super::resolve::similar_file_help;
use super::tries::value_combinations;
use super::units::{Resolved, Units};
use super::validate::with_axis_name;

/// Data of one dataset that is held out from training.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldOut {
    /// Name of the dataset.
    pub dataset: String,
    /// Fraction of the training rows that is held out for validation by default; 0 if the manifest sets the fraction,
    /// or if nothing is held out by default.
    pub by_default: f64,
    /// Whether cells evaluate the dataset only on data that they trained on.
    pub evaluates_on_training_data: bool,
}

impl fmt::Display for HeldOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.dataset;
        if self.evaluates_on_training_data {
            return write!(
                f,
                "dataset `{name}` has no held-out rows: reported quality is measured on the same rows that were trained \
                 on; `fraction = 0.2` in `[validation]` keeps a fifth for validation"
            );
        }
        write!(
            f,
            "dataset `{name}` has no validation split: {} % of its training part are kept for validation \
             (`validation.fraction`)",
            100.0 * self.by_default
        )
    }
}

/// Warnings on a plan's data.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DataNotes {
    /// Data held out from training by default, and datasets of which nothing is held out.
    pub held_out: Vec<HeldOut>,
    /// Warnings for readers of results, a sentence each.
    pub remarks: Vec<String>,
}

/// Checks the data of every cell and the initial weights.
pub(super) fn check(plan: &Plan, mistakes: &mut Vec<Diagnostic>) -> DataNotes {
    let mut notes = DataNotes::default();
    for matrix in &plan.matrices {
        let reader = Reader::new(plan, matrix);
        datasets(reader, mistakes, &mut notes);
        check_initial_weights(reader, mistakes);
    }
    notes
}

fn datasets(reader: Reader<'_>, mistakes: &mut Vec<Diagnostic>, notes: &mut DataNotes) {
    let (plan, matrix) = (reader.plan, reader.matrix);
    let parts = [Unit::Model, Unit::Dataset, Unit::Loss, Unit::Validation];
    let axes = reader.axes_of(&parts);
    let mut units = Units::new(reader);
    for choice in value_combinations(matrix, &axes, Axis::representative_values) {
        let cell = units.resolve(&choice);
        // These mistakes are reported elsewhere with their own messages.
        let has_problem = cell.model.problem.is_some()
            || cell.dataset.problem.is_some()
            || cell.loss.problem.is_some()
            || cell.validation.problem.is_some();
        match &cell.data.unknown {
            _ if has_problem => {}
            None if cell.model.value.command().is_some() => {}
            None => notes.add(&cell),
            Some(error) => {
                let reader = reader.at(&choice);
                let found = error.single_errors().iter();
                let found = found.filter_map(|error| unreadable(reader, &cell, error));
                mistakes.extend(found.map(|found| with_axis_name(found, plan, matrix)));
            }
        }
    }
}

impl DataNotes {
    fn add(&mut self, cell: &Resolved) {
        let facts = &cell.data.facts;
        let held_out = HeldOut {
            dataset: cell.dataset.name.to_string(),
            by_default: cell.default_share,
            evaluates_on_training_data: facts.validation_samples == 0 && facts.test_samples == 0,
        };
        let is_worth_a_line = held_out.by_default > 0.0 || held_out.evaluates_on_training_data;
        if is_worth_a_line && !self.held_out.contains(&held_out) {
            self.held_out.push(held_out);
        }
        for remark in &facts.remarks {
            // Names of files and columns may contain control characters.
            let remark = one_line(&format!("dataset `{}`: {remark}", cell.dataset.name));
            if !self.remarks.contains(&remark) {
                self.remarks.push(remark);
            }
        }
    }
}

/// The message for `error` in the data of a dataset, at the setting or path that caused it; `None` if the dataset has
/// no files: then its settings are wrong, which is reported with the cells.
fn unreadable(reader: Reader<'_>, cell: &Resolved, error: &DatasetError) -> Option<Diagnostic> {
    let root = cell.dataset.value.path()?;
    let section = reader.named_section("datasets", &cell.dataset.name);
    let table = section.as_table()?;
    let (at_key, file) = named_file(table, root, &reader.plan.written.folder, error)?;
    let setting = error.key().and_then(|key| table.get(key));
    let (title, list, help) = error.parts();
    let name = &cell.dataset.name;
    let title = match table.text("path") {
        Some(written) => title.replace(&root.display().to_string(), written),
        None => title.replace(&format!("{}/", root.display()), ""),
    };
    // Messages on several files: also shortens the paths of the other files.
    let title = title.replace(&format!("{}/", reader.plan.written.folder.display()), "");
    let mut found = Diagnostic::error(format!("dataset `{name}`: {title}"));
    found = found
        .at(setting.unwrap_or(at_key).place, "")
        .maybe_help(help);
    if setting.is_none()
        && let Some(file) = file
    {
        found = found
            .maybe_help(
                similar_file_help(&file, at_key.as_str().unwrap_or_default())
                    .filter(|_| !is_pattern(&file)),
            )
            .help("a path is relative to the manifest's folder");
    }
    for line in list {
        found = found.note(line);
    }
    Some(found)
}

fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// The value in the dataset's section that names the file of `error`, and the path of the file if it does not exist.
fn named_file<'t>(
    table: &'t Table,
    root: &Path,
    folder: &Path,
    error: &DatasetError,
) -> Option<(&'t Node, Option<PathBuf>)> {
    let absent = |file: PathBuf| (!file.exists()).then_some(file);
    let Some(path) = table.get("path") else {
        // Datasets of arrays may have no `path`: `x` and `y` name files relative to the manifest's folder.
        let mut files = ["x", "y"].into_iter().filter_map(|key| {
            let file = root.join(table.text(key)?);
            Some((table.get(key)?, Some(absent(file)?)))
        });
        return files.next().or_else(|| Some((table.get("kind")?, None)));
    };
    // Finds the entry of the list `path`, or the single path, whose file could not be read.
    let several = path.as_array().unwrap_or(std::slice::from_ref(path));
    let is_it = |one: &&Node| {
        let file = one.as_str().map(|text| folder.join(text));
        matches!((error, file), (DatasetError::Unreadable { path, .. }, Some(file)) if Path::new(path) == file)
    };
    match several.iter().find(is_it) {
        Some(one) => Some((one, absent(folder.join(one.as_str()?)))),
        // The pattern has matching files, so none of them is missing.
        None if is_pattern(root) => Some((path, None)),
        None => Some((path, path.as_str().and_then(|_| absent(root.to_owned())))),
    }
}

fn check_initial_weights(reader: Reader<'_>, mistakes: &mut Vec<Diagnostic>) {
    let (plan, matrix) = (reader.plan, reader.matrix);
    let axes = reader.axes_where(|path| is_of_train(path, "init-from"));
    for choice in value_combinations(matrix, &axes, Axis::all) {
        let section = reader.at(&choice).section("train");
        let Some((place, written)) = section
            .as_table()
            .and_then(|table| Some((table.place_of("init-from"), table.text("init-from")?)))
        else {
            continue;
        };
        if let Some(found) = initial_weights::mistake(&plan.written.folder, written) {
            mistakes.push(with_axis_name(found.at(place, ""), plan, matrix));
        }
    }
}
