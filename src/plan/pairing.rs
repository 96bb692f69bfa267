//! What a cell's data are, and what goes with them: facts, signatures, misfits.

use std::sync::Arc;

use crate::datasets::{DatasetFacts, DatasetSpec, Features, Target};
use crate::losses::LossSpec;
use crate::models::ModelSpec;

use super::cell::ValidationSpec;
use super::check;
use super::identity::{combine, digest, digest_without};
use super::memo::Part;
use super::world::{Unknown, World};

/// A dataset of a cell with what is known of it.
#[derive(Debug, Clone)]
pub(super) struct Data {
    /// The facts; all zero where they are unknown.
    pub(super) facts: Arc<DatasetFacts>,
    /// Digest over settings and content.
    pub(super) digest: Arc<str>,
    /// Digest over the target's form.
    target: Arc<str>,
    /// Samples of every split.
    samples: Arc<str>,
    /// Why the facts are not known.
    pub(super) unknown: Option<Unknown>,
}

/// What depends on model, dataset, loss and validation together.
#[derive(Debug, Clone)]
pub(super) struct Pairing {
    /// FLOPs of a forward pass, per sample.
    pub(super) flops: Option<f64>,
    /// Why they do not fit.
    pub(super) misfit: Option<Arc<str>>,
    /// Task signature.
    pub(super) task: Arc<str>,
    /// Work signature.
    pub(super) work: Arc<str>,
}

impl Data {
    /// Asks the world about a dataset.
    pub(super) fn of(world: &World, dataset: &DatasetSpec, validation: &ValidationSpec) -> Self {
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
        let (train, validation, test) = (
            facts.train_samples,
            facts.validation_samples,
            facts.test_samples,
        );
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
        samples: 0,
        train_samples: 0,
        validation_samples: 0,
        test_samples: 0,
        features: Features::Vector { len: 0 },
        target: Target::Values { len: 0 },
        fingerprint: None,
    }
}

impl Pairing {
    /// Signs the work of a model on data with a loss.
    pub(super) fn of(model: &Part<ModelSpec>, loss: &Part<LossSpec>, data: &Data) -> Self {
        let facts = &data.facts;
        let task = combine([
            (
                "content",
                facts.fingerprint.as_deref().unwrap_or(&data.digest),
            ),
            ("samples", &*data.samples),
            ("target", &*data.target),
            ("quality", quality(&loss.value)),
        ]);
        let work = combine([
            ("task", task.as_str()),
            ("loss", &*loss.digest),
            ("model", &*model.digest),
        ]);
        let is_known = data.unknown.is_none();
        let flops = || model.value.forward_flops(facts.features, facts.target);
        Self {
            flops: is_known.then(flops).flatten(),
            misfit: check::misfit(&model.value, facts, &loss.value).map(Into::into),
            task: task.into(),
            work: work.into(),
        }
    }
}

/// The metric that ranks cells of one task.
fn quality(loss: &LossSpec) -> &'static str {
    match loss {
        LossSpec::Mse(_) => "mse",
        LossSpec::CrossEntropy(_) => "accuracy",
        LossSpec::NoiseMse(_) => "noise-mse",
        LossSpec::DetectorNoise(_) => "detector-noise",
    }
}
