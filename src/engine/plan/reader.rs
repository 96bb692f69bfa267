//! [`Reader`]: reads one unit of one cell from the manifest into its type.

use serde::de::DeserializeOwned;

use crate::base::shell;
use crate::datasets::DatasetSpec;
use crate::diag::{Diagnostic, Place, list};
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::manifest::{Key, Node, Table};
use crate::models::ModelSpec;
use crate::optim::{OptimizerSpec, RangeError, ScheduleSpec};

use super::Plan;
use super::assign::{Assignment, empty_section, overlay};
use super::cell::{TrainSpec, ValidationSpec};
use super::declared;
use super::homes::Unit;
use super::matrix::Matrix;
use super::resolve::{absolute, plural};
use super::section::Section;
use super::settings::{LimitsSpec, MeasureSpec};

/// A typed section, or what is wrong with it.
pub(super) type Read<T> = Result<T, Vec<Diagnostic>>;

/// Reads units of the cells of one matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) plan: &'a Plan,
    pub(super) matrix: &'a Matrix,
}

impl<'a> Reader<'a> {
    /// Axes of the matrix that change one of `units`.
    pub(super) fn axes_of(self, units: &[Unit]) -> Vec<usize> {
        self.axes_where(|path| Unit::of(path).is_some_and(|unit| units.contains(&unit)))
    }

    /// Axes of the matrix that set a path for which `is_meant` holds, or choose a variant that does.
    pub(super) fn axes_where(self, is_meant: impl Fn(&[Key]) -> bool) -> Vec<usize> {
        let mut overrides = self.plan.written.variants.values().flatten();
        let by_variant = overrides.any(|assignment| is_meant(&assignment.path));
        let axes = self.matrix.axes.iter().enumerate();
        let axes = axes.filter(|(_, axis)| {
            if axis.path.len() == 1 {
                by_variant
            } else {
                is_meant(&axis.path)
            }
        });
        axes.map(|(index, _)| index).collect()
    }

    pub(super) fn mistakes(self, unit: Unit, choice: &[u32]) -> Vec<Diagnostic> {
        let errors = match unit {
            Unit::Model => self.model(choice).err(),
            Unit::Dataset => self.dataset(choice).err(),
            Unit::Loss => self.loss(choice).and_then(Result::err),
            Unit::Train => self.train(choice).err(),
            Unit::Optimizer => self.optimizer(choice).err(),
            Unit::Schedule => self.schedule(choice).err(),
            Unit::Loader => self.plain::<LoaderSpec>(choice).err(),
            Unit::Validation => self.plain::<ValidationSpec>(choice).err(),
            Unit::Measure => self.plain::<MeasureSpec>(choice).err(),
            Unit::Limits => self.plain::<LimitsSpec>(choice).err(),
        };
        errors.unwrap_or_default()
    }

    pub(super) fn model(self, choice: &[u32]) -> Read<(String, ModelSpec)> {
        let (name, model) = self.named("model", &ModelSpec::KINDS, choice)?;
        let node = self.model_section(&name, choice);
        let mistakes = declared::mistakes(&name, &node, &model);
        if mistakes.is_empty() {
            Ok((name, model))
        } else {
            Err(mistakes)
        }
    }

    /// The section of the model `name` for a cell; every value keeps its place.
    pub(super) fn model_section(self, name: &str, choice: &[u32]) -> Node {
        let models = self.plan.written.root.get("models");
        let written = models.and_then(|models| models.as_table()?.get(name));
        let base = written.cloned();
        let base = base.unwrap_or_else(|| empty_section(Place::default()));
        let assignments = declared::lengthened(&base, self.assignments(choice));
        overlay(base, &["models", name], assignments.iter())
    }

    /// The dataset and its name; paths are absolute.
    pub(super) fn dataset(self, choice: &[u32]) -> Read<(String, DatasetSpec)> {
        let folder = &self.plan.written.folder;
        let read = self.named("dataset", &DatasetSpec::KINDS, choice);
        read.map(|(name, mut dataset): (String, DatasetSpec)| {
            dataset.resolve_paths(folder);
            (name, dataset)
        })
    }

    /// The section of the dataset `name` for a cell; every value keeps its place.
    pub(super) fn dataset_section(self, name: &str, choice: &[u32]) -> Node {
        let datasets = self.plan.written.root.get("datasets");
        let written = datasets.and_then(|datasets| datasets.as_table()?.get(name));
        let base = written.cloned();
        let base = base.unwrap_or_else(|| empty_section(Place::default()));
        overlay(base, &["datasets", name], self.assignments(choice))
    }

    /// The loss that the cell names and its name, if it names one.
    pub(super) fn loss(self, choice: &[u32]) -> Option<Read<(String, LossSpec)>> {
        let written = &self.plan.written;
        let chosen = match written.chosen("loss", self.assignments(choice))? {
            Ok(chosen) => chosen,
            Err(mistake) => return Some(Err(vec![mistake])),
        };
        let read = written.named("loss", &chosen, &LossSpec::KINDS, self.assignments(choice));
        Some(read.map(|value| (chosen.name, value)))
    }

    /// `[train]` without the units that stand in it, its path absolute.
    pub(super) fn train(self, choice: &[u32]) -> Read<TrainSpec> {
        let mut train = self.plan.written.train(self.assignments(choice))?;
        let folder = &self.plan.written.folder;
        train.init_from = train.init_from.map(|path| absolute(folder, &path));
        Ok(train)
    }

    pub(super) fn optimizer(self, choice: &[u32]) -> Read<OptimizerSpec> {
        let assignments = self.assignments(choice);
        self.plan
            .written
            .train_part("optimizer", "adam", OptimizerSpec::check, assignments)
    }

    pub(super) fn schedule(self, choice: &[u32]) -> Read<ScheduleSpec> {
        let assignments = self.assignments(choice);
        self.plan
            .written
            .train_part("schedule", "constant", alone, assignments)
    }

    /// A section that is one table.
    pub(super) fn plain<T: Section>(self, choice: &[u32]) -> Read<T> {
        self.plan.written.plain(T::NAME, self.assignments(choice))
    }

    fn assignments<'b>(self, choice: &'b [u32]) -> impl Iterator<Item = &'b Assignment> + Clone
    where
        'a: 'b,
    {
        self.plan.written.assignments(self.matrix, choice)
    }

    fn named<T: DeserializeOwned>(
        self,
        what: &str,
        kinds: &[&str],
        choice: &[u32],
    ) -> Read<(String, T)> {
        let written = &self.plan.written;
        let chosen = match written.chosen(what, self.assignments(choice)) {
            Some(chosen) => chosen.map_err(|mistake| vec![mistake])?,
            None => return Err(vec![self.nothing_chosen(what, kinds)]),
        };
        let value = written.named(what, &chosen, kinds, self.assignments(choice))?;
        Ok((chosen.name, value))
    }

    fn nothing_chosen(self, what: &str, kinds: &[&str]) -> Diagnostic {
        let section = plural(what);
        let table = self
            .plan
            .written
            .root
            .get(&section)
            .and_then(Node::as_table);
        let names: Vec<&str> = table.into_iter().flat_map(Table::names).collect();
        if names.is_empty() {
            let kind = kinds.first().copied().unwrap_or_default();
            let all = shell::command(&format!("list {section}"));
            return Diagnostic::error(format!("the manifest has no {what}"))
                .help(format!(
                    "add one: `[{section}.NAME]` with `kind = \"{kind}\"`"
                ))
                .help(format!("`{all}` shows every kind"));
        }
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let (shown, quoted) = (list(names.iter().copied()), quoted.join(", "));
        Diagnostic::error(format!("no {what} is chosen"))
            .help(format!(
                "there are {shown}: add `{what} = [{quoted}]` to `[matrix]`"
            ))
            .help(format!("or set `{what}` in `[train]`"))
    }
}

/// What is wrong with a schedule for all learning rates and epochs.
pub(super) fn alone(schedule: &ScheduleSpec) -> Vec<RangeError> {
    schedule.check(f64::INFINITY, 0)
}
