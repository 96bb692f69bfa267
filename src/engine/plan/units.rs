//! [`Units`]: the units of cells, resolved once per combination of values.

use std::sync::Arc;

use serde::Serialize;

use crate::datasets::{DatasetSpec, DigitsSpec};
use crate::loader::LoaderSpec;
use crate::losses::{LossSpec, MseSpec};
use crate::models::{MlpSpec, ModelSpec};
use crate::optim::{OptimizerSpec, ScheduleSpec};

use super::cell::{TrainSpec, ValidationSpec, WatchedSplit};
use super::homes::Unit;
use super::identity::digest;
use super::memo::{Memo, Part};
use super::pairing::{Data, Pairing, Tasks};
use super::reader::{Read, Reader};
use super::resolve::default_loss;
use super::section::Section;
use super::settings::{LimitsSpec, MeasureSpec};

#[derive(Debug)]
pub(super) struct Units<'a> {
    reader: Reader<'a>,
    model: Memo<Part<ModelSpec>>,
    dataset: Memo<Part<DatasetSpec>>,
    /// The loss that a cell names, if it names one.
    named_loss: Memo<Option<Part<LossSpec>>>,
    /// Losses of cells that name none.
    default_losses: Vec<Part<LossSpec>>,
    train: Section<TrainSpec>,
    optimizer: Memo<Part<OptimizerSpec>>,
    schedule: Memo<Part<ScheduleSpec>>,
    loader: Section<LoaderSpec>,
    validation: Section<ValidationSpec>,
    measure: Section<MeasureSpec>,
    limits: Section<LimitsSpec>,
    /// The data without and with the default validation share taken from it.
    data: [Memo<Data>; 2],
    tasks: Tasks,
    pairing: Memo<Pairing>,
    /// The last whole `[train]`, by the combinations of its three units.
    whole_train: Option<([u64; 3], Arc<TrainSpec>)>,
    /// The last `[validation]` without a written fraction, by its number and the bits of the default share.
    whole_validation: Option<([u64; 2], Part<ValidationSpec>)>,
}

#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) model: Part<ModelSpec>,
    pub(super) dataset: Part<DatasetSpec>,
    pub(super) loss: Part<LossSpec>,
    pub(super) train: Arc<TrainSpec>,
    pub(super) loader: Part<LoaderSpec>,
    pub(super) validation: Part<ValidationSpec>,
    pub(super) measure: Part<MeasureSpec>,
    pub(super) limits: Part<LimitsSpec>,
    /// Share of the training rows for validation where `validation.fraction` is not written.
    pub(super) default_share: f64,
    pub(super) data: Data,
    pub(super) pairing: Pairing,
    /// Digests of `[train]`, its optimizer and its schedule.
    train_digests: [Arc<str>; 3],
    /// Why one of them could not be resolved.
    pub(super) problem: Option<Arc<str>>,
}

impl Resolved {
    pub(super) fn hash_parts(&self) -> Vec<(&'static str, Arc<str>)> {
        let [train, optimizer, schedule] = &self.train_digests;
        let parts = [
            ("model", &self.model.digest),
            ("dataset", &self.data.digest),
            ("loss", &self.loss.digest),
            ("train", train),
            ("train.optimizer", optimizer),
            ("train.schedule", schedule),
            ("loader", &self.loader.digest),
            ("validation", &self.validation.digest),
            ("limits", &self.limits.digest),
        ];
        parts.map(|(name, part)| (name, Arc::clone(part))).into()
    }
}

/// `[train]` with the digests of its three units.
struct Train {
    whole: Arc<TrainSpec>,
    digests: [Arc<str>; 3],
    problem: Option<Arc<str>>,
}

impl<'a> Units<'a> {
    pub(super) fn new(reader: Reader<'a>) -> Self {
        fn memo<T: Clone>(reader: Reader<'_>, units: &[Unit]) -> Memo<T> {
            Memo::new(reader.matrix, &reader.axes_of(units))
        }
        Self {
            reader,
            model: memo(reader, &[Unit::Model]),
            dataset: memo(reader, &[Unit::Dataset]),
            named_loss: memo(reader, &[Unit::Loss]),
            default_losses: Vec::new(),
            train: Section::new(reader),
            optimizer: memo(reader, &[Unit::Optimizer]),
            schedule: memo(reader, &[Unit::Schedule]),
            loader: Section::new(reader),
            validation: Section::new(reader),
            measure: Section::new(reader),
            limits: Section::new(reader),
            data: [(); 2].map(|()| memo(reader, &[Unit::Dataset, Unit::Validation])),
            tasks: Tasks::default(),
            pairing: memo(
                reader,
                &[Unit::Model, Unit::Dataset, Unit::Loss, Unit::Validation],
            ),
            whole_train: None,
            whole_validation: None,
        }
    }

    pub(super) fn resolve(&mut self, choice: &[u32]) -> Resolved {
        let reader = self.reader;
        let model = self.model.value(choice, || model(reader, choice));
        let dataset = self.dataset.value(choice, || dataset(reader, choice));
        let loss = self.loss(choice, &model.value, &dataset.value);
        let train = self.train(choice);
        let loader = self.loader.get(reader, choice).1;
        let (validation, default_share) = self.validation(choice, &dataset.value, &loss.value);
        let measure = self.measure.get(reader, choice).1;
        let limits = self.limits.get(reader, choice).1;
        let inputs = &reader.plan.inputs;
        let [plain, shared] = &mut self.data;
        let data = if default_share > 0.0 { shared } else { plain };
        let data = data.value(choice, || Data::of(inputs, &dataset, &validation.value));
        let pairing = self.pairing.value(choice, || {
            Pairing::of(&model, &loss, &data, &mut self.tasks)
        });
        let problems = [
            &model.problem,
            &dataset.problem,
            &loss.problem,
            &train.problem,
            &loader.problem,
        ];
        let more = [&validation.problem, &measure.problem, &limits.problem];
        let problem = problems.into_iter().chain(more).flatten().next().cloned();
        Resolved {
            train_digests: train.digests,
            problem,
            model,
            dataset,
            loss,
            train: train.whole,
            loader,
            validation,
            measure,
            limits,
            default_share,
            data,
            pairing,
        }
    }

    /// `[validation]` with its fraction, and the default share where the fraction is not written.
    fn validation(
        &mut self,
        choice: &[u32],
        dataset: &DatasetSpec,
        loss: &LossSpec,
    ) -> (Part<ValidationSpec>, f64) {
        let (number, written) = self.validation.get(self.reader, choice);
        if written.value.fraction.is_some() {
            return (written, 0.0);
        }
        let share = default_share(&written.value, dataset, loss);
        let name = [number, share.to_bits()];
        let known = self.whole_validation.take();
        let known = known.filter(|(known, _)| *known == name);
        let part = known.map_or_else(
            || Section::changed(&written, |section| section.fraction = Some(share)),
            |(_, part)| part,
        );
        self.whole_validation = Some((name, part.clone()));
        (part, share)
    }

    fn loss(&mut self, choice: &[u32], model: &ModelSpec, dataset: &DatasetSpec) -> Part<LossSpec> {
        let reader = self.reader;
        let read = || {
            let read = reader.loss(choice)?;
            Some(named(read, || LossSpec::Mse(MseSpec::default())))
        };
        if let Some(loss) = self.named_loss.value(choice, read) {
            return loss;
        }
        let loss = default_loss(model, dataset);
        let known = self
            .default_losses
            .iter()
            .find(|known| *known.value == loss);
        if let Some(known) = known {
            return known.clone();
        }
        let part = named(Ok((loss.kind().to_owned(), loss)), || {
            LossSpec::Mse(MseSpec::default())
        });
        self.default_losses.push(part.clone());
        part
    }

    fn train(&mut self, choice: &[u32]) -> Train {
        let reader = self.reader;
        let (rest_number, rest) = self.train.get(reader, choice);
        let (optimizer_number, optimizer) = self.optimizer.get(choice, || {
            part(reader.optimizer(choice), OptimizerSpec::default, digest)
        });
        let (schedule_number, schedule) = self.schedule.get(choice, || {
            part(reader.schedule(choice), ScheduleSpec::default, digest)
        });
        let numbers = [rest_number, optimizer_number, schedule_number];
        let known = self
            .whole_train
            .as_ref()
            .filter(|(known, _)| *known == numbers);
        let assemble = || {
            Arc::new(TrainSpec {
                optimizer: OptimizerSpec::clone(&optimizer.value),
                schedule: ScheduleSpec::clone(&schedule.value),
                ..TrainSpec::clone(&rest.value)
            })
        };
        let whole = known.map_or_else(assemble, |(_, train)| Arc::clone(train));
        self.whole_train = Some((numbers, Arc::clone(&whole)));
        Train {
            whole,
            digests: [rest.digest, optimizer.digest, schedule.digest],
            problem: rest.problem.or(optimizer.problem).or(schedule.problem),
        }
    }
}

/// A model that learns targets is judged on rows that it was not trained on; one that generates or denoises trains on
/// all rows. Where the test split is evaluated, validation rows would be unused.
fn default_share(validation: &ValidationSpec, dataset: &DatasetSpec, loss: &LossSpec) -> f64 {
    let is_taken = loss.is_supervised()
        && !dataset.splits_itself()
        && validation.split == WatchedSplit::Validation;
    if is_taken {
        ValidationSpec::DEFAULT_FRACTION
    } else {
        0.0
    }
}

fn model(reader: Reader<'_>, choice: &[u32]) -> Part<ModelSpec> {
    named(reader.model(choice), || ModelSpec::Mlp(MlpSpec::default()))
}

fn dataset(reader: Reader<'_>, choice: &[u32]) -> Part<DatasetSpec> {
    named(reader.dataset(choice), || {
        DatasetSpec::Digits(DigitsSpec::default())
    })
}

/// A unit, or its placeholder with the mistake.
fn part<T>(
    read: Read<T>,
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

fn named<T: Serialize>(read: Read<(String, T)>, stand_in: impl FnOnce() -> T) -> Part<T> {
    let (name, read) = match read {
        Ok((name, value)) => (name, Ok(value)),
        Err(mistakes) => (String::new(), Err(mistakes)),
    };
    Part {
        name: name.into(),
        ..part(read, stand_in, digest)
    }
}
