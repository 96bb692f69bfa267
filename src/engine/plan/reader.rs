//! [`Reader`]: reads the units of one cell from the manifest into their types.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::base::shell;
use crate::datasets::DatasetSpec;
use crate::diag::{Diagnostic, Place, did_you_mean, list};
use crate::loader::LoaderSpec;
use crate::losses::LossSpec;
use crate::manifest::{DeserializeError, Key, Node, Table, Value};
use crate::models::ModelSpec;
use crate::optim::{OptimizerSpec, RangeError, ScheduleSpec};

use super::Plan;
use super::assign::{Assignment, is_of_train, overlay};
use super::cell::{TrainSpec, ValidationSpec};
use super::declared;
use super::homes::{UNIT_CHOICE_KEYS, Unit};
use super::initial_weights;
use super::matrix::Matrix;
use super::resolve::{SectionResult, absolute, read, read_checked};
use super::section::Section;
use super::settings::{LimitsSpec, MeasureSpec};

/// Reads units of a cell of one matrix.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) plan: &'a Plan,
    pub(super) matrix: &'a Matrix,
    /// Index of the cell's value on each axis; empty to read the sections as written.
    choice: &'a [u32],
}

impl<'a> Reader<'a> {
    /// A reader of the sections of `plan`, with the settings that `matrix` sets for all its cells.
    pub(super) fn new(plan: &'a Plan, matrix: &'a Matrix) -> Self {
        let choice = &[];
        Self {
            plan,
            matrix,
            choice,
        }
    }

    /// A reader for the cell with the values `choice`.
    pub(super) fn at<'b>(self, choice: &'b [u32]) -> Reader<'b>
    where
        'a: 'b,
    {
        Reader { choice, ..self }
    }

    /// Axes of the matrix that change one of `units`.
    pub(super) fn axes_of(self, units: &[Unit]) -> Vec<usize> {
        self.axes_where(|path| Unit::of(path).is_some_and(|unit| units.contains(&unit)))
    }

    /// Axes of the matrix that set a path for which `is_meant` holds, or choose a variant that sets one.
    pub(super) fn axes_where(self, is_meant: impl Fn(&[Key]) -> bool) -> Vec<usize> {
        let mut overrides = self.plan.written.variants.values().flatten();
        let by_variant = overrides.any(|assignment| is_meant(&assignment.path));
        let is_one = |axis: usize| {
            let axis = &self.matrix.axes[axis];
            if axis.is_variant() {
                by_variant
            } else {
                is_meant(&axis.path)
            }
        };
        (0..self.matrix.axes.len())
            .filter(|axis| is_one(*axis))
            .collect()
    }

    /// All assignments of the cell: `set` first, then the variant, then the axes.
    pub(super) fn assignments(self) -> impl Iterator<Item = &'a Assignment> + Clone {
        let variants = &self.plan.written.variants;
        let values = self.matrix.axes.iter().zip(self.choice);
        let values = values.filter_map(|(axis, value)| axis.values.get(*value as usize));
        let chosen = values.map(|value| &value.assignment);
        let of_variant = |one: &'a Assignment| variants.get(one.node.as_str()?);
        let variant = chosen.clone().filter(|one| one.path.len() == 1);
        let axes = chosen.filter(|one| one.path.len() > 1);
        let variant = variant.filter_map(of_variant).flatten();
        self.matrix.set.iter().chain(variant).chain(axes)
    }

    pub(super) fn mistakes(self, unit: Unit) -> Vec<Diagnostic> {
        let errors = match unit {
            Unit::Model => self.model().err(),
            Unit::Dataset => self.dataset().err(),
            Unit::Loss => self.loss().and_then(Result::err),
            Unit::Train => self.train().err(),
            Unit::Optimizer => self.optimizer().err(),
            Unit::Schedule => self.schedule().err(),
            Unit::Loader => self.plain::<LoaderSpec>().err(),
            Unit::Validation => self.plain::<ValidationSpec>().err(),
            Unit::Measure => self.plain::<MeasureSpec>().err(),
            Unit::Limits => self.plain::<LimitsSpec>().err(),
        };
        errors.unwrap_or_default()
    }

    pub(super) fn model(self) -> SectionResult<(String, ModelSpec)> {
        let (name, model) = self.named::<ModelSpec>("model")?;
        let node = || self.named_section("models", &name);
        let mistakes = declared::mistakes(&name, node, &model);
        if mistakes.is_empty() {
            Ok((name, model))
        } else {
            Err(mistakes)
        }
    }

    /// The dataset and its name; paths in the dataset are absolute.
    pub(super) fn dataset(self) -> SectionResult<(String, DatasetSpec)> {
        if self.chosen("dataset").is_none() && self.is_command() {
            return Ok((String::new(), DatasetSpec::Absent));
        }
        let (name, mut dataset) = self.named::<DatasetSpec>("dataset")?;
        dataset.resolve_paths(&self.plan.written.folder);
        Ok((name, dataset))
    }

    /// Whether the cell's model is a command.
    fn is_command(self) -> bool {
        let name = self.chosen("model").and_then(Result::ok);
        name.is_some_and(|name| {
            let section = self.named_section("models", &name.name);
            section.as_table().and_then(|table| table.text("kind")) == Some("command")
        })
    }

    /// The loss that the cell names, with its name; `None` if it names none.
    pub(super) fn loss(self) -> Option<SectionResult<(String, LossSpec)>> {
        let chosen = self.chosen("loss")?.map_err(|mistake| vec![mistake]);
        Some(chosen.and_then(|chosen| self.of_name("loss", chosen)))
    }

    /// `[train]` without the units that it contains, with the file of initial weights as an absolute path.
    pub(super) fn train(self) -> SectionResult<TrainSpec> {
        let mut node = self.section("train");
        if let Some(table) = node.as_table_mut() {
            for name in UNIT_CHOICE_KEYS.into_iter().chain(Unit::TRAIN_UNIT_KEYS) {
                table.take(name);
            }
        }
        let mut train: TrainSpec = read(&node, "train", &UNIT_CHOICE_KEYS)?;
        let folder = &self.plan.written.folder;
        train.init_from = train
            .init_from
            .map(|path| initial_weights::file(absolute(folder, &path)));
        Ok(train)
    }

    pub(super) fn optimizer(self) -> SectionResult<OptimizerSpec> {
        self.train_part("optimizer", "adam", OptimizerSpec::check)
    }

    pub(super) fn schedule(self) -> SectionResult<ScheduleSpec> {
        // Finds only mistakes that exist for every learning rate and number of epochs.
        self.train_part("schedule", "constant", |schedule: &ScheduleSpec| {
            schedule.check(f64::INFINITY, 0)
        })
    }

    /// Reads a section that is a single table.
    pub(super) fn plain<T: Section>(self) -> SectionResult<T> {
        read(&self.section(T::NAME), T::NAME, &[])
    }

    /// The section `[name]` with the assignments of the cell applied; values keep their positions.
    pub(super) fn section(self, name: &str) -> Node {
        let written = self.plan.written.root.get(name);
        let written = written.filter(|node| node.as_table().is_some()).cloned();
        let base = written.unwrap_or_else(|| Node::empty(Place::default()));
        overlay(base, &[name], self.assignments())
    }

    /// The section `[section.name]` of a model, dataset or loss with the assignments of the cell applied; values keep
    /// their positions.
    pub(super) fn named_section(self, section: &str, name: &str) -> Node {
        let table = self.plan.written.root.table(section);
        let written = table.and_then(|table| table.get(name)).cloned();
        let base = written.unwrap_or_else(|| Node::empty(Place::default()));
        self.overlaid(base, section, name)
    }

    fn overlaid(self, base: Node, section: &str, name: &str) -> Node {
        let assignments = declared::expand_parameter_paths(&base, self.assignments());
        overlay(base, &[section, name], assignments.iter())
    }

    /// Reads `train.optimizer` or `train.schedule`; without `kind`, it is of `default_kind`.
    fn train_part<T: DeserializeOwned + JsonSchema>(
        self,
        name: &str,
        default_kind: &str,
        check: impl Fn(&T) -> Vec<RangeError>,
    ) -> SectionResult<T> {
        let root = &self.plan.written.root;
        let written = root
            .table("train")
            .and_then(|train| train.get(name))
            .cloned();
        let base = written.unwrap_or_else(|| Node::empty(root.place_of("train")));
        let mut node = overlay(base, &["train", name], self.assignments());
        let place = node.place;
        if let Some(table) = node.as_table_mut()
            && table.get("kind").is_none()
        {
            table.set(Key::new("kind", place), Node::text(default_kind, place));
        }
        read_checked(&node, &format!("train.{name}"), check)
    }

    /// The name, with its position, of the model, dataset or loss (`what`) of the cell: from an assignment, else from
    /// `[train]`, else that of the only model or dataset; `None` if nothing determines it.
    pub(super) fn chosen(self, what: &str) -> Option<Result<Key, Diagnostic>> {
        let root = &self.plan.written.root;
        let assigned = self
            .assignments()
            .filter(|one| is_of_train(&one.path, what));
        let assigned = assigned.last().map(|one| &one.node);
        let written = || root.table("train").and_then(|table| table.get(what));
        let section = plural(what);
        if let Some(node) = assigned.or_else(written) {
            let name = node.as_str().map(|name| Key::new(name, node.place));
            return Some(name.ok_or_else(|| {
                let form = "with `kind = \"…\"`, and here";
                node.unexpected(
                    &format!("`train.{what}` is a name"),
                    "expected a name in quotes",
                )
                .help(format!(
                    "write `[{section}.NAME]` {form} `{what} = \"NAME\"`"
                ))
            }));
        }
        match root.entries_of(&section) {
            [(key, _)] if what != "loss" => Some(Ok(key.clone())),
            _ => None,
        }
    }

    fn named<T: DeserializeOwned + JsonSchema>(self, what: &str) -> SectionResult<(String, T)> {
        let chosen = self.chosen(what);
        let chosen = chosen.unwrap_or_else(|| Err(self.nothing_chosen(what, &kinds::<T>())));
        self.of_name(what, chosen.map_err(|mistake| vec![mistake])?)
    }

    /// Reads the section of the model, dataset or loss (`what`) with the name `chosen`.
    fn of_name<T: DeserializeOwned + JsonSchema>(
        self,
        what: &str,
        chosen: Key,
    ) -> SectionResult<(String, T)> {
        let (section, name) = (plural(what), chosen.name.as_str());
        let table = self.plan.written.root.table(&section);
        let base = match table.and_then(|table| table.get(name)) {
            Some(node) => node.clone(),
            // For a loss, a kind is accepted instead of a name, because losses have few settings.
            None if what == "loss" && kinds::<T>().contains(&name) => of_kind(&chosen),
            None => return Err(vec![unknown_name(what, &chosen, table, &kinds::<T>())]),
        };
        let undeclared = declared::undeclared_parameter_errors(&base, name, self.assignments());
        if !undeclared.is_empty() {
            return Err(undeclared);
        }
        let node = self.overlaid(base, &section, name);
        let value = read(&node, &format!("{section}.{name}"), &[])?;
        Ok((chosen.name, value))
    }

    fn nothing_chosen(self, what: &str, kinds: &[&str]) -> Diagnostic {
        let section = plural(what);
        let root = &self.plan.written.root;
        let table = root.table(&section);
        let names: Vec<&str> = table.into_iter().flat_map(Table::names).collect();
        if names.is_empty() {
            let kind = kinds.first().copied().unwrap_or_default();
            let all = shell::command(&format!("list {section}"));
            return Diagnostic::error(format!("the manifest has no {what}"))
                .at(Place::default(), format!("`[{section}.NAME]` is missing"))
                .help(format!(
                    "add one: `[{section}.NAME]` with `kind = \"{kind}\"`"
                ))
                .help(format!("`{all}` shows every kind"));
        }
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        let (shown, quoted) = (list(names), quoted.join(", "));
        Diagnostic::error(format!("no {what} is chosen"))
            .at(root.place_of("train"), format!("`{what}` is missing"))
            .help(format!(
                "there are {shown}: add `{what} = [{quoted}]` to `[matrix]`"
            ))
            .help(format!("or set `{what}` in `[train]`"))
    }
}

/// Plural of a section's name: `model` → `models`, `loss` → `losses`.
fn plural(what: &str) -> String {
    let ending = if what == "loss" { "es" } else { "s" };
    format!("{what}{ending}")
}

/// A section that contains only `kind`, at the position where the kind is written.
pub(super) fn of_kind(kind: &Key) -> Node {
    let entry = (
        Key::new("kind", kind.place),
        Node::text(&kind.name, kind.place),
    );
    let entries = vec![entry];
    Node::new(Value::Table(Table { entries }), kind.place)
}

/// Names of the variants of the enum `T` (its values of `kind`), in the order in which `fieldtrial list` shows them.
pub(super) fn kinds<T: DeserializeOwned>() -> Vec<&'static str> {
    match T::deserialize(&of_kind(&Key::new("", Place::default()))) {
        Err(DeserializeError::UnknownWord { accepted, .. }) => accepted,
        _ => Vec::new(),
    }
}

fn unknown_name(what: &str, chosen: &Key, table: Option<&Table>, kinds: &[&str]) -> Diagnostic {
    let (section, name) = (plural(what), chosen.name.as_str());
    let own = table.into_iter().flat_map(Table::names);
    let built_in = kinds.iter().copied().filter(|_| what == "loss");
    let names: Vec<&str> = own.chain(built_in).collect();
    let help = if kinds.contains(&name) {
        format!("`{name}` is a kind: add `[{section}.{name}]` with `kind = \"{name}\"`")
    } else if names.is_empty() {
        format!("this manifest has no `[{section}.…]`")
    } else {
        let are = if names.len() == 1 { "is" } else { "are" };
        format!("there {are} {}", list(names.iter().copied()))
    };
    Diagnostic::error(format!("unknown {what} `{name}`"))
        .at(
            chosen.place,
            format!("no `[{section}.{name}]` in this manifest"),
        )
        .maybe_help(did_you_mean(name, names))
        .help(help)
}
