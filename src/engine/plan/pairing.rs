//! Facts of a cell's data, and what depends on data and model together: signatures, and whether they fit.

use std::sync::Arc;

use crate::datasets::{DatasetError, DatasetFacts, DatasetSpec, Target};
use crate::losses::LossSpec;
use crate::models::{CommandSpec, Layer, ModelSpec};
use crate::tasks::Workload;

use super::cell::ValidationSpec;
use super::identity::{combine, digest, digest_without};
use super::inputs::PlanInputs;
use super::memo::Part;

#[derive(Debug, Clone)]
pub(super) struct Data {
    /// Facts of the dataset; all zero if they are unknown.
    pub(super) facts: Arc<DatasetFacts>,
    /// Digest over the dataset's settings and content.
    pub(super) digest: Arc<str>,
    /// Digest over the kind and size of the target.
    target: Arc<str>,
    /// Numbers of training, validation and test samples: `800/100/100`.
    samples: Arc<str>,
    /// Why the facts are unknown; `None` if they are known.
    pub(super) unknown: Option<Arc<DatasetError>>,
}

/// Properties of a cell that follow from its model, dataset, loss and validation together.
#[derive(Debug, Clone)]
pub(super) struct ModelDataFit {
    /// FLOPs of a forward pass, per sample; `None` if unknown.
    pub(super) flops: Option<f64>,
    /// Why model, data and loss do not fit together; `None` if they do.
    pub(super) misfit: Option<Arc<str>>,
    pub(super) task: Arc<str>,
    pub(super) work: Arc<str>,
    /// Digest over the model with the sizes that it has for these data.
    pub(super) model: Arc<str>,
    /// Whether the model has a batch norm whose input has one value per channel and sample.
    pub(super) normalises_rows: bool,
}

impl Data {
    /// Looks up the facts of a dataset.
    pub(super) fn of(
        inputs: &PlanInputs,
        dataset: &Part<DatasetSpec>,
        validation: &ValidationSpec,
    ) -> Self {
        let (facts, unknown) = match inputs.facts(dataset, validation.fraction_or_zero()) {
            Ok(facts) => (facts, None),
            Err(unknown) => (Arc::new(no_facts()), Some(unknown)),
        };
        // If the content is known, its digest replaces the settings `path` and `generate`.
        let digest = match &facts.fingerprint {
            Some(content) => {
                let settings = digest_without(&*dataset.value, &["path", "generate"]);
                combine([("settings", &*settings), ("content", content)])
            }
            None => digest_without(&*dataset.value, &["path"]),
        };
        let (train, test) = (facts.train_samples, facts.test_samples);
        let validation = facts.validation_samples;
        Self {
            target: self::digest(&facts.target).into(),
            samples: format!("{train}/{validation}/{test}").into(),
            facts,
            digest: digest.into(),
            unknown,
        }
    }
}

fn no_facts() -> DatasetFacts {
    DatasetFacts {
        target: Target::Values { len: 0 },
        ..DatasetFacts::none()
    }
}

/// The task signature of a cell.
fn task(loss: &LossSpec, data: &Data, is_given_split: bool) -> Arc<str> {
    let (facts, samples) = (&data.facts, &*data.samples);
    let content = facts.fingerprint.as_deref().unwrap_or(&data.digest);
    let quality = quality(loss, facts.target, is_given_split);
    combine([
        ("content", content),
        ("samples", samples),
        ("target", &*data.target),
        ("quality", quality),
    ])
    .into()
}

impl ModelDataFit {
    /// Combines a model with data and a loss.
    pub(super) fn of(model: &Part<ModelSpec>, loss: &Part<LossSpec>, data: &Data) -> Self {
        let facts = &data.facts;
        let command = model.value.command();
        let is_given_split = command.is_some_and(CommandSpec::is_given_split);
        let task = task(&loss.value, data, is_given_split);
        let (model_digest, normalises_rows) = expanded(model, facts);
        let work = combine([
            ("task", &*task),
            ("loss", &*loss.digest),
            ("model", &*model_digest),
        ]);
        let is_known = data.unknown.is_none();
        let flops = || model.value.forward_flops(facts.features, facts.target);
        Self {
            flops: is_known.then(flops).flatten(),
            misfit: model.value.misfit(facts, &loss.value).map(Into::into),
            task,
            work: work.into(),
            model: model_digest,
            normalises_rows,
        }
    }
}

/// The digest of a model, and [`ModelDataFit::normalises_rows`]. For a declared model that fits its data, the digest is
/// computed from the expanded layers, so that different descriptions of the same model give the same cell.
fn expanded(model: &Part<ModelSpec>, facts: &DatasetFacts) -> (Arc<str>, bool) {
    if let ModelSpec::Layers(spec) = &*model.value
        && let Ok(layers) = spec.expand(facts.features, facts.target)
    {
        let normalises_rows = layers.iter().any(Layer::has_one_value_batch_norm);
        return (digest(&layers).into(), normalises_rows);
    }
    (Arc::clone(&model.digest), false)
}

/// The metric that ranks cells of one task. A program that receives the split has the same task as built-in models on
/// these rows.
fn quality(loss: &LossSpec, target: Target, is_given_split: bool) -> &'static str {
    match loss {
        LossSpec::Own if is_given_split => match target {
            Target::Class { .. } | Target::Labels { .. } => "accuracy",
            _ => "mse",
        },
        LossSpec::CrossEntropy(_) if matches!(target, Target::Tokens { .. }) => "bits_per_byte",
        LossSpec::CrossEntropy(_) | LossSpec::BinaryCrossEntropy(_) => "accuracy",
        loss if loss.error_term().is_some() => "mse",
        // Without a quality metric, the loss is used for ranking.
        loss => loss.kind(),
    }
}
