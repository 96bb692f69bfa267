//! [`PlannedCell`] and the resolver that makes them one after the other.

use std::sync::Arc;

use serde::Serialize;

use crate::datasets::{DatasetFacts, DatasetSpec, DigitsSpec, Features, Target};
use crate::diag::Diagnostic;
use crate::loader::LoaderSpec;
use crate::losses::{LossSpec, MseSpec};
use crate::models::{MlpSpec, ModelSpec};
use crate::optim::{OptimizerSpec, ScheduleSpec};

use super::Plan;
use super::cell::{CellSpec, TrainSpec, ValidationSpec};
use super::check::{self, Feasibility};
use super::homes::Unit;
use super::identity::{combine, digest, digest_without};
use super::key::LONELY;
use super::matrix::Matrix;
use super::memo::{Memo, Part};
use super::resolve::{absolute, default_loss, locate_dataset, plural};
use super::settings::{LimitsSpec, MeasureSpec};
use super::world::{Unknown, World};

/// A cell of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedCell {
    /// What a worker gets.
    pub spec: CellSpec,
    /// Axis values as keys show them, in the order of [`Plan::axes`]; empty where the cell's matrix lacks the axis.
    pub axes: Vec<String>,
    /// Digest over the resolved cell and its data.
    pub cell_hash: String,
    /// The same job.
    pub task_signature: String,
    /// The same arithmetic per sample.
    pub work_signature: String,
    /// What the cell hash is made of: name of the part (`train.optimizer`) and its digest.
    pub hash_parts: Vec<(&'static str, Arc<str>)>,
    /// What is known of the dataset.
    pub facts: Arc<DatasetFacts>,
    /// Whether it can run.
    pub feasibility: Feasibility,
}

/// A dataset of a cell with what is known of it.
#[derive(Debug, Clone)]
struct Data {
    facts: Arc<DatasetFacts>,
    /// Digest over settings and content.
    digest: Arc<str>,
    unknown: Option<Unknown>,
}

/// What depends on model, dataset, loss and validation together.
#[derive(Debug, Clone)]
struct Pairing {
    misfit: Option<Arc<str>>,
    task: Arc<str>,
    work: Arc<str>,
}

/// Makes the cells of one matrix.
pub(super) struct Resolver<'a> {
    plan: &'a Plan,
    matrix: &'a Matrix,
    model: Memo<Part<ModelSpec>>,
    dataset: Memo<Part<DatasetSpec>>,
    loss: Memo<Part<LossSpec>>,
    train: Memo<Part<TrainSpec>>,
    optimizer: Memo<Part<OptimizerSpec>>,
    schedule: Memo<Part<ScheduleSpec>>,
    loader: Memo<Part<LoaderSpec>>,
    validation: Memo<Part<ValidationSpec>>,
    measure: Memo<Part<MeasureSpec>>,
    limits: Memo<Part<LimitsSpec>>,
    data: Memo<Data>,
    pairing: Memo<Pairing>,
    /// The last assembled `[train]`, by the combinations of its three parts.
    assembled: Option<([u64; 3], Arc<TrainSpec>)>,
}

/// Axes of `matrix` that change one of `units`.
pub(super) fn axes_of(plan: &Plan, matrix: &Matrix, units: &[Unit]) -> Vec<usize> {
    let is_touched =
        |path: &[crate::manifest::Key]| Unit::of(path).is_some_and(|unit| units.contains(&unit));
    let variant = plan
        .written
        .variants
        .values()
        .flatten()
        .any(|assignment| is_touched(&assignment.path));
    let touches = |(_, axis): &(usize, &super::matrix::Axis)| {
        if axis.path.len() == 1 {
            variant
        } else {
            is_touched(&axis.path)
        }
    };
    matrix
        .axes
        .iter()
        .enumerate()
        .filter(touches)
        .map(|(index, _)| index)
        .collect()
}

impl<'a> Resolver<'a> {
    pub(super) fn new(plan: &'a Plan, matrix: &'a Matrix) -> Self {
        fn memo<T: Clone>(plan: &Plan, matrix: &Matrix, units: &[Unit]) -> Memo<T> {
            Memo::new(matrix, &axes_of(plan, matrix, units))
        }
        Self {
            plan,
            matrix,
            model: memo(plan, matrix, &[Unit::Model]),
            dataset: memo(plan, matrix, &[Unit::Dataset]),
            loss: memo(plan, matrix, &[Unit::Loss, Unit::Model, Unit::Dataset]),
            train: memo(plan, matrix, &[Unit::Train]),
            optimizer: memo(plan, matrix, &[Unit::Optimizer]),
            schedule: memo(plan, matrix, &[Unit::Schedule]),
            loader: memo(plan, matrix, &[Unit::Loader]),
            validation: memo(plan, matrix, &[Unit::Validation]),
            measure: memo(plan, matrix, &[Unit::Measure]),
            limits: memo(plan, matrix, &[Unit::Limits]),
            data: memo(plan, matrix, &[Unit::Dataset, Unit::Validation]),
            pairing: memo(
                plan,
                matrix,
                &[Unit::Model, Unit::Dataset, Unit::Loss, Unit::Validation],
            ),
            assembled: None,
        }
    }

    /// Resolves one unit of a cell, for its mistakes.
    pub(super) fn mistakes(&self, unit: Unit, choice: &[u32]) -> Vec<Diagnostic> {
        let written = &self.plan.written;
        let assignments = || written.assignments(self.matrix, choice);
        let errors = match unit {
            Unit::Model => self
                .read_named::<ModelSpec>("model", &ModelSpec::KINDS, choice)
                .err(),
            Unit::Dataset => self
                .read_named::<DatasetSpec>("dataset", &DatasetSpec::KINDS, choice)
                .err(),
            Unit::Loss => self.read_loss(choice).and_then(Result::err),
            Unit::Train => written.train::<TrainSpec>(assignments()).err(),
            Unit::Optimizer => written
                .train_part::<OptimizerSpec>("optimizer", "adam", assignments())
                .err(),
            Unit::Schedule => written
                .train_part::<ScheduleSpec>("schedule", "constant", assignments())
                .err(),
            Unit::Loader => written.plain::<LoaderSpec>("loader", assignments()).err(),
            Unit::Validation => written
                .plain::<ValidationSpec>("validation", assignments())
                .err(),
            Unit::Measure => written.plain::<MeasureSpec>("measure", assignments()).err(),
            Unit::Limits => written.plain::<LimitsSpec>("limits", assignments()).err(),
        };
        errors.unwrap_or_default()
    }

    fn read_named<T: serde::de::DeserializeOwned>(
        &self,
        what: &str,
        kinds: &[&str],
        choice: &[u32],
    ) -> Result<(String, T), Vec<Diagnostic>> {
        let written = &self.plan.written;
        let assignments = written.assignments(self.matrix, choice);
        match written.chosen(what, assignments.clone()) {
            Some(Ok(chosen)) => written
                .named(what, &chosen, kinds, assignments)
                .map(|value| (chosen.name, value)),
            Some(Err(mistake)) => Err(vec![mistake]),
            None => Err(vec![self.plan.nothing_chosen(what, kinds)]),
        }
    }

    /// The loss that the cell names, if it names one.
    fn read_loss(&self, choice: &[u32]) -> Option<Result<(String, LossSpec), Vec<Diagnostic>>> {
        let written = &self.plan.written;
        let assignments = written.assignments(self.matrix, choice);
        let chosen = match written.chosen("loss", assignments.clone())? {
            Ok(chosen) => chosen,
            Err(mistake) => return Some(Err(vec![mistake])),
        };
        let read = written.named("loss", &chosen, &LossSpec::KINDS, assignments);
        Some(read.map(|value| (chosen.name, value)))
    }

    /// The cell that takes the values `choice`.
    pub(super) fn cell(&mut self, choice: &[u32]) -> PlannedCell {
        let model = self.model(choice);
        let dataset = self.dataset(choice);
        let loss = self.loss(choice, &model.value, &dataset.value);
        let (train, train_parts, train_problem) = self.train(choice);
        let (written, matrix) = (&self.plan.written, self.matrix);
        let plain = |name: &'static str| {
            move || {
                written
                    .assignments(matrix, choice)
                    .filter(move |a| a.path.first().is_some_and(|key| key.name == name))
            }
        };
        let (_, loader) = self.loader.get(choice, || {
            part(
                written.plain::<LoaderSpec>("loader", plain("loader")()),
                LoaderSpec::default,
                |v| digest(v),
            )
        });
        let (_, validation) = self.validation.get(choice, || {
            part(
                written.plain::<ValidationSpec>("validation", plain("validation")()),
                ValidationSpec::default,
                |v| digest(v),
            )
        });
        let (_, measure) = self.measure.get(choice, || {
            part(
                written.plain::<MeasureSpec>("measure", plain("measure")()),
                MeasureSpec::default,
                |_| String::new(),
            )
        });
        let (_, limits) = self.limits.get(choice, || {
            part(
                written.plain::<LimitsSpec>("limits", plain("limits")()),
                LimitsSpec::default,
                |v| digest_without(v, &["time", "memory"]),
            )
        });
        let world = &self.plan.world;
        let (_, data) = self
            .data
            .get(choice, || data(world, &dataset.value, &validation.value));
        let (_, pairing) = self.pairing.get(choice, || pairing(&model, &loss, &data));
        let [rest, optimizer, schedule] = train_parts;
        let hash_parts = vec![
            ("model", Arc::clone(&model.digest)),
            ("dataset", Arc::clone(&data.digest)),
            ("loss", Arc::clone(&loss.digest)),
            ("train", rest),
            ("train.optimizer", optimizer),
            ("train.schedule", schedule),
            ("loader", Arc::clone(&loader.digest)),
            ("validation", Arc::clone(&validation.digest)),
            ("limits", Arc::clone(&limits.digest)),
        ];
        let cell_hash = combine(hash_parts.iter().map(|(name, part)| (*name, &**part)));
        let problems = [
            &model.problem,
            &dataset.problem,
            &loss.problem,
            &train_problem,
            &loader.problem,
            &validation.problem,
            &measure.problem,
            &limits.problem,
        ];
        let problem = problems.into_iter().flatten().next();
        let feasibility = self.feasibility(problem, &train, &data, &pairing);
        let checkpoint_folder = train
            .save_to
            .is_some()
            .then(|| self.plan.checkpoint_folder(&cell_hash));
        let axes = self.axes(choice);
        PlannedCell {
            spec: CellSpec {
                key: self.key(&axes),
                model_name: model.name,
                model: model.value,
                dataset_name: dataset.name,
                dataset: dataset.value,
                loss: loss.value,
                train,
                loader: loader.value,
                validation: validation.value,
                measure: measure.value,
                limits: limits.value,
                checkpoint_folder,
            },
            axes,
            cell_hash,
            task_signature: pairing.task.to_string(),
            work_signature: pairing.work.to_string(),
            hash_parts,
            facts: data.facts,
            feasibility,
        }
    }

    fn model(&mut self, choice: &[u32]) -> Part<ModelSpec> {
        if let Some(known) = self.model.known(choice) {
            return known;
        }
        let read = self.read_named::<ModelSpec>("model", &ModelSpec::KINDS, choice);
        let made = named_part(read, || ModelSpec::Mlp(MlpSpec::default()));
        self.model.get(choice, || made).1
    }

    fn dataset(&mut self, choice: &[u32]) -> Part<DatasetSpec> {
        if let Some(known) = self.dataset.known(choice) {
            return known;
        }
        let read = self.read_named::<DatasetSpec>("dataset", &DatasetSpec::KINDS, choice);
        let folder = &self.plan.written.folder;
        let read = read.map(|(name, spec)| (name, locate_dataset(spec, folder)));
        let made = named_part(read, || DatasetSpec::Digits(DigitsSpec::default()));
        self.dataset.get(choice, || made).1
    }

    fn loss(&mut self, choice: &[u32], model: &ModelSpec, dataset: &DatasetSpec) -> Part<LossSpec> {
        if let Some(known) = self.loss.known(choice) {
            return known;
        }
        let read = self.read_loss(choice).unwrap_or_else(|| {
            let loss = default_loss(model, dataset);
            Ok((loss.kind().to_owned(), loss))
        });
        let made = named_part(read, || LossSpec::Mse(MseSpec::default()));
        self.loss.get(choice, || made).1
    }

    /// `[train]` of a cell, the digests of its three parts, and what is wrong with it.
    fn train(&mut self, choice: &[u32]) -> (Arc<TrainSpec>, [Arc<str>; 3], Option<Arc<str>>) {
        let (written, matrix) = (&self.plan.written, self.matrix);
        let assignments = || written.assignments(matrix, choice);
        let (rest_number, rest) = self.train.get(choice, || {
            let mut read = written.train::<TrainSpec>(assignments());
            if let Ok(train) = &mut read {
                train.init_from = train
                    .init_from
                    .take()
                    .map(|path| absolute(&written.folder, &path));
            }
            part(read, TrainSpec::default, rest_digest)
        });
        let (optimizer_number, optimizer) = self.optimizer.get(choice, || {
            part(
                written.train_part("optimizer", "adam", assignments()),
                OptimizerSpec::default,
                |v| digest(v),
            )
        });
        let (schedule_number, schedule) = self.schedule.get(choice, || {
            part(
                written.train_part("schedule", "constant", assignments()),
                ScheduleSpec::default,
                |v| digest(v),
            )
        });
        let numbers = [rest_number, optimizer_number, schedule_number];
        let digests = [rest.digest, optimizer.digest, schedule.digest];
        let problem = rest.problem.or(optimizer.problem).or(schedule.problem);
        if let Some((known, train)) = &self.assembled
            && *known == numbers
        {
            return (Arc::clone(train), digests, problem);
        }
        let train = Arc::new(TrainSpec {
            optimizer: OptimizerSpec::clone(&optimizer.value),
            schedule: ScheduleSpec::clone(&schedule.value),
            ..TrainSpec::clone(&rest.value)
        });
        self.assembled = Some((numbers, Arc::clone(&train)));
        (train, digests, problem)
    }

    fn feasibility(
        &self,
        problem: Option<&Arc<str>>,
        train: &TrainSpec,
        data: &Data,
        pairing: &Pairing,
    ) -> Feasibility {
        if let Some(problem) = problem {
            return Feasibility::Infeasible(problem.to_string());
        }
        match &data.unknown {
            Some(Unknown::Wrong(reason)) => return Feasibility::Infeasible(reason.clone()),
            Some(Unknown::Absent(reason)) => return Feasibility::Skipped(reason.clone()),
            None => {}
        }
        let misfit = pairing.misfit.as_ref().map(ToString::to_string);
        let reason = misfit
            .or_else(|| check::oversized(train, &data.facts))
            .or_else(|| check::wrong_arithmetic(train));
        if let Some(reason) = reason {
            return Feasibility::Infeasible(reason);
        }
        if let Some(path) = train.init_from.as_ref().filter(|path| !path.is_file()) {
            return Feasibility::Skipped(format!(
                "there are no initial weights at `{}`",
                path.display()
            ));
        }
        match self.plan.world.presence(train.device) {
            Ok(()) => Feasibility::Runs,
            Err(reason) => Feasibility::Skipped(reason),
        }
    }

    fn axes(&self, choice: &[u32]) -> Vec<String> {
        let text = |index: &usize| {
            let value = self
                .matrix
                .axes
                .get(*index)?
                .values
                .get(*choice.get(*index)? as usize)?;
            Some(value.text.clone())
        };
        let own = self
            .matrix
            .columns
            .iter()
            .map(|column| column.as_ref().and_then(text).unwrap_or_default());
        self.matrix.name.iter().cloned().chain(own).collect()
    }

    fn key(&self, texts: &[String]) -> String {
        let mut key = String::new();
        for (axis, text) in self.plan.axes.iter().zip(texts) {
            if text.is_empty() {
                continue;
            }
            if !key.is_empty() {
                key.push(',');
            }
            key.push_str(&axis.name);
            key.push('=');
            key.push_str(text);
        }
        if key.is_empty() {
            LONELY.to_owned()
        } else {
            key
        }
    }
}

fn part<T>(
    read: Result<T, Vec<Diagnostic>>,
    stand_in: impl FnOnce() -> T,
    digest: impl FnOnce(&T) -> String,
) -> Part<T> {
    let (value, problem) = match read {
        Ok(value) => (value, None),
        Err(mistakes) => (
            stand_in(),
            mistakes
                .first()
                .map(|mistake| mistake.title.as_str().into()),
        ),
    };
    Part {
        name: "".into(),
        digest: digest(&value).into(),
        value: Arc::new(value),
        problem,
    }
}

fn named_part<T: Serialize>(
    read: Result<(String, T), Vec<Diagnostic>>,
    stand_in: impl FnOnce() -> T,
) -> Part<T> {
    let (name, read) = match read {
        Ok((name, value)) => (name, Ok(value)),
        Err(mistakes) => (String::new(), Err(mistakes)),
    };
    Part {
        name: name.into(),
        ..part(read, stand_in, |value| digest(value))
    }
}

/// Digest of `[train]` without its own units; the content of initial weights stands for their path.
fn rest_digest(train: &TrainSpec) -> String {
    let own = digest_without(train, &["optimizer", "schedule", "init-from"]);
    match &train.init_from {
        None => own,
        Some(path) => {
            let content = World::file_digest(path).unwrap_or_else(|| "absent".to_owned());
            combine([("train", own.as_str()), ("init-from", content.as_str())])
        }
    }
}

fn data(world: &World, dataset: &DatasetSpec, validation: &ValidationSpec) -> Data {
    let (facts, unknown) = match world.facts(dataset, validation.fraction) {
        Ok(facts) => (facts, None),
        Err(unknown) => (Arc::new(no_facts()), Some(unknown)),
    };
    // Where the content is known, how to generate it adds nothing.
    let digest = match &facts.fingerprint {
        Some(content) => {
            let settings = digest_without(dataset, &["path", "generate"]);
            combine([
                ("settings", settings.as_str()),
                ("content", content.as_str()),
            ])
        }
        None => digest_without(dataset, &["path"]),
    };
    Data {
        facts,
        digest: digest.into(),
        unknown,
    }
}

fn no_facts() -> DatasetFacts {
    DatasetFacts {
        samples: 0,
        train_samples: 0,
        validation_samples: 0,
        test_samples: 0,
        features: Features::Vector { len: 0 },
        target: Target::Values { len: 0 },
        fingerprint: None,
    }
}

fn pairing(model: &Part<ModelSpec>, loss: &Part<LossSpec>, data: &Data) -> Pairing {
    let facts = &data.facts;
    let target = digest(&facts.target);
    let samples = format!(
        "{}/{}/{}",
        facts.train_samples, facts.validation_samples, facts.test_samples
    );
    let content = facts.fingerprint.as_deref().unwrap_or(&data.digest);
    let task = combine([
        ("content", content),
        ("samples", samples.as_str()),
        ("target", target.as_str()),
        ("quality", quality(&loss.value)),
    ]);
    let work = combine([
        ("task", task.as_str()),
        ("loss", &*loss.digest),
        ("model", &*model.digest),
    ]);
    Pairing {
        misfit: check::misfit(&model.value, facts, &loss.value).map(Into::into),
        task: task.into(),
        work: work.into(),
    }
}

/// The metric that ranks cells of one task.
fn quality(loss: &LossSpec) -> &'static str {
    match loss {
        LossSpec::Mse(_) => "mse",
        LossSpec::CrossEntropy(_) => "accuracy",
        LossSpec::NoiseMse(_) => "noise-mse",
    }
}

impl Plan {
    fn nothing_chosen(&self, what: &str, kinds: &[&str]) -> Diagnostic {
        let section = plural(what);
        let names: Vec<&str> = self
            .written
            .root
            .get(&section)
            .and_then(crate::manifest::Node::as_table)
            .into_iter()
            .flat_map(crate::manifest::Table::names)
            .collect();
        if names.is_empty() {
            let kind = kinds.first().copied().unwrap_or_default();
            Diagnostic::error(format!("the manifest has no {what}"))
                .help(format!(
                    "add one: `[{section}.NAME]` with `kind = \"{kind}\"`"
                ))
                .help(format!("`fieldtrial list {section}` shows every kind"))
        } else {
            let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            Diagnostic::error(format!("no {what} is chosen"))
                .help(format!(
                    "there are {}: add `{what} = [{}]` to `[matrix]`",
                    crate::diag::list(names.iter().copied()),
                    quoted.join(", ")
                ))
                .help(format!("or set `{what}` in `[train]`"))
        }
    }
}
