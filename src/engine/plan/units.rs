//! [`Units`]: the units of cells, resolved once per combination of the values that change them.

use std::sync::Arc;

use serde::Serialize;

use crate::datasets::{DatasetSpec, DigitsSpec};
use crate::diag::Diagnostic;
use crate::loader::LoaderSpec;
use crate::losses::{LossSpec, MseSpec};
use crate::models::{MlpSpec, ModelSpec};
use crate::optim::{OptimizerSpec, ScheduleSpec};
use crate::tasks::Workload;

use super::cell::{TrainSpec, ValidationSpec, WatchedSplit};
use super::homes::Unit;
use super::identity::digest;
use super::memo::{Memo, Part};
use super::pairing::{Data, ModelDataFit};
use super::reader::Reader;
use super::resolve::SectionResult;
use super::section::Section;
use super::settings::{LimitsSpec, MeasureSpec};

/// Resolves the units of cells.
#[derive(Debug)]
pub(super) struct Units<'a> {
    reader: Reader<'a>,
    model: Memo<Part<ModelSpec>>,
    dataset: Memo<Part<DatasetSpec>>,
    loss: Memo<Part<LossSpec>>,
    /// `[train]` with the default optimizer and schedule.
    train: Memo<Part<TrainSpec>>,
    optimizer: Memo<Part<OptimizerSpec>>,
    schedule: Memo<Part<ScheduleSpec>>,
    whole_train: Memo<Train>,
    loader: Memo<Part<LoaderSpec>>,
    /// The section, the default fraction of rows for validation, the data, and the results of combining model, data and
    /// loss.
    validation: Memo<(Part<ValidationSpec>, f64, Data, ModelDataFit)>,
    measure: Memo<Part<MeasureSpec>>,
    limits: Memo<Part<LimitsSpec>>,
}

/// All units of one cell.
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
    /// Fraction of the training rows for validation if `validation.fraction` is not set.
    pub(super) default_share: f64,
    pub(super) data: Data,
    pub(super) pairing: ModelDataFit,
    /// Digests of `[train]`, of the optimizer and of the schedule.
    train_digests: [Arc<str>; 3],
    /// Why a unit could not be resolved; `None` if all could.
    pub(super) problem: Option<Arc<str>>,
}

impl Resolved {
    /// Names and digests of the parts of the cell hash.
    pub(super) fn hash_parts(&self) -> Vec<(&'static str, Arc<str>)> {
        let [train, optimizer, schedule] = &self.train_digests;
        let parts = [
            ("model", &self.pairing.model),
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

/// `[train]` with the digests of its units: the section itself, optimizer, schedule.
#[derive(Debug, Clone)]
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
        use Unit::{Dataset, Loss, Model, Optimizer, Schedule, Train, Validation};
        Self {
            reader,
            model: memo(reader, &[Model]),
            dataset: memo(reader, &[Model, Dataset]),
            loss: memo(reader, &[Model, Dataset, Loss]),
            train: memo(reader, &[Train]),
            optimizer: memo(reader, &[Optimizer]),
            schedule: memo(reader, &[Schedule]),
            whole_train: memo(reader, &[Train, Optimizer, Schedule]),
            loader: memo(reader, &[Unit::Loader]),
            validation: memo(reader, &[Model, Dataset, Loss, Validation]),
            measure: memo(reader, &[Unit::Measure]),
            limits: memo(reader, &[Unit::Limits]),
        }
    }

    /// Resolves the cell with the values `choice`.
    pub(super) fn resolve(&mut self, choice: &[u32]) -> Resolved {
        let reader = self.reader.at(choice);
        let model = self.model.get(choice, || {
            named(reader.model(), || ModelSpec::Mlp(MlpSpec::default()))
        });
        let dataset = self.dataset.get(choice, || {
            let default = || DatasetSpec::Digits(DigitsSpec::default());
            named(reader.dataset(), default)
        });
        let loss = self.loss.get(choice, || {
            let default = || model.value.default_loss(&dataset.value);
            let by_default = || Ok((default().kind().to_owned(), default()));
            let read = reader.loss().unwrap_or_else(by_default);
            named(read, || LossSpec::Mse(MseSpec::default()))
        });
        let train = self.train(choice);
        let loader = self.loader.get(choice, || section(reader.plain()));
        let (validation, default_share, data, pairing) = self.validation.get(choice, || {
            let (section, share) = with_fraction(reader.plain(), &dataset.value, &loss.value);
            let data = Data::of(&reader.plan.inputs, &dataset, &section.value);
            let pairing = ModelDataFit::of(&model, &loss, &data);
            (section, share, data, pairing)
        });
        let measure = self.measure.get(choice, || section(reader.plain()));
        let limits = self.limits.get(choice, || section(reader.plain()));
        let problems = [
            &model.problem,
            &dataset.problem,
            &loss.problem,
            &train.problem,
            &loader.problem,
            &validation.problem,
            &measure.problem,
            &limits.problem,
        ];
        let problem = problems.into_iter().flatten().next().cloned();
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

    fn train(&mut self, choice: &[u32]) -> Train {
        let reader = self.reader.at(choice);
        self.whole_train.get(choice, || {
            let rest = self.train.get(choice, || section(reader.train()));
            let optimizer = self.optimizer.get(choice, || {
                part(reader.optimizer(), OptimizerSpec::default, digest)
            });
            let schedule = self.schedule.get(choice, || {
                part(reader.schedule(), ScheduleSpec::default, digest)
            });
            Train {
                whole: Arc::new(TrainSpec {
                    optimizer: OptimizerSpec::clone(&optimizer.value),
                    schedule: ScheduleSpec::clone(&schedule.value),
                    ..TrainSpec::clone(&rest.value)
                }),
                digests: [rest.digest, optimizer.digest, schedule.digest],
                problem: rest.problem.or(optimizer.problem).or(schedule.problem),
            }
        })
    }
}

/// `[validation]` with its fraction filled in, and the default fraction that was used (else 0). For images with a
/// validation folder the fraction is 0, whatever is set.
fn with_fraction(
    read: SectionResult<ValidationSpec>,
    dataset: &DatasetSpec,
    loss: &LossSpec,
) -> (Part<ValidationSpec>, f64) {
    let mut share = 0.0;
    let read = read.map(|mut validation| {
        if validation.fraction.is_none() {
            share = default_share(&validation, dataset, loss);
            validation.fraction = Some(share);
        }
        if matches!(dataset, DatasetSpec::ImageFolder(_)) && dataset.splits_itself() {
            validation.fraction = Some(0.0);
        }
        validation
    });
    (section(read), share)
}

/// The default fraction for validation: a supervised model needs held-out rows; a generative or denoising model keeps
/// all rows, and so does one that is evaluated on the test split.
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

/// Resolves a section that is a single table; if it has mistakes, its default with the first one's message.
fn section<T: Section>(read: SectionResult<T>) -> Part<T> {
    part(read, T::default, T::digest)
}

/// Resolves a unit; if it has mistakes, the value of `stand_in` with the first one's message.
fn part<T>(
    read: SectionResult<T>,
    stand_in: impl FnOnce() -> T,
    digest: impl FnOnce(&T) -> String,
) -> Part<T> {
    let title = |mistakes: &Vec<Diagnostic>| Some(mistakes.first()?.title.as_str().into());
    let problem = read.as_ref().err().and_then(title);
    let value = read.unwrap_or_else(|_| stand_in());
    Part {
        name: "".into(),
        digest: digest(&value).into(),
        value: Arc::new(value),
        problem,
    }
}

fn named<T: Serialize>(read: SectionResult<(String, T)>, stand_in: impl FnOnce() -> T) -> Part<T> {
    let name = read.as_ref().map_or("", |(name, _)| name).into();
    Part {
        name,
        ..part(read.map(|(_, value)| value), stand_in, digest)
    }
}
