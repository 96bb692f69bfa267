//! Supervised learning: the model predicts the targets of samples.
//!
//! Owns [`Supervised`], generic over the model ([`Predictor`]) and over targets with loss and metrics ([`Goal`]).

use super::backprop::{Backprop, DrawKey, Objective};
use super::classification::Classes;
use super::goal::Goal;
use super::labels::Labels;
use super::regression::Values;
use super::workload::{BuiltTask, ONE_CLASS, ReferenceDataKind, ReferenceFiles, Workload};
use super::{OutputKind, ReferenceInputs, Score, Task, TaskError, TaskParts};
use crate::base::{Purpose, Seed};
use crate::datasets::{DatasetFacts, Features, Target, channels_last};
use crate::layers::Init;
use crate::loader::Batch;
use crate::losses::LossSpec;
use crate::models::{Input, Mlp, MlpSpec, StatisticsUpdate};
use crate::ops::{Kernels, Module, Pass, Result, Shape, Var};

/// A model that computes its outputs from the samples alone, in one forward pass.
pub(super) trait Predictor<D: Kernels>: Module<D> {
    /// The outputs for a batch.
    fn forward(&self, pass: &mut Pass<D>, input: &Input<D>) -> Result<Var<D>>;

    /// Updates the running statistics (of batch normalisation); does nothing for models without any.
    fn update_statistics(&mut self, _device: &D, _update: &StatisticsUpdate<'_, D>) -> Result<()> {
        Ok(())
    }
}

impl<D: Kernels> Predictor<D> for Mlp<D> {
    fn forward(&self, pass: &mut Pass<D>, input: &Input<D>) -> Result<Var<D>> {
        Mlp::forward(self, pass, &input.x)
    }
}

pub(super) struct Supervised<M, G> {
    model: M,
    goal: G,
    /// Kind and size of a sample's features.
    features: Features,
}

/// A batch in host memory: features `x`, targets, and the number of samples.
pub(super) struct Rows<T> {
    x: Vec<f32>,
    targets: T,
    count: usize,
}

/// A batch on the device: inputs of the model, and targets.
pub(super) struct Labelled<D: Kernels, T> {
    input: Input<D>,
    targets: T,
}

impl<M, G> Supervised<M, G> {
    pub(super) fn new(model: M, goal: G, features: Features) -> Self {
        Self {
            model,
            goal,
            features,
        }
    }
}

impl<D: Kernels, M: Predictor<D>, G: Goal<D>> Objective<D> for Supervised<M, G> {
    type Drawn = Rows<G::Host>;
    type Inputs = Labelled<D, G::Targets>;

    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.model
    }

    fn draw(&self, mut batch: Batch, _draw: DrawKey) -> Self::Drawn {
        Rows {
            targets: self.goal.of_batch(&mut batch),
            x: batch.features,
            count: batch.size,
        }
    }

    fn reference(&self, inputs: &mut ReferenceInputs) -> Result<Self::Drawn> {
        let x = features_of(inputs, self.features);
        let targets = self.goal.of_reference(inputs);
        inputs.finish()?;
        Ok(Rows {
            x,
            targets,
            count: inputs.batch(),
        })
    }

    fn upload(&self, device: &D, rows: Self::Drawn) -> Result<Self::Inputs> {
        Ok(Labelled {
            input: input(device, rows.x, rows.count, self.features)?,
            targets: self.goal.upload(device, rows.targets, rows.count)?,
        })
    }

    fn update_statistics(&mut self, device: &D, update: &StatisticsUpdate<'_, D>) -> Result<()> {
        self.model.update_statistics(device, update)
    }

    fn meaning(&self) -> OutputKind {
        self.goal.meaning()
    }

    fn forward(&self, pass: &mut Pass<D>, inputs: &Self::Inputs) -> Result<Var<D>> {
        self.model.forward(pass, &inputs.input)
    }

    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, inputs: &Self::Inputs) -> Result<Var<D>> {
        self.goal.loss(pass, output, &inputs.targets)
    }

    fn score(
        &self,
        device: &D,
        output: &Var<D>,
        inputs: &Self::Inputs,
        score: &mut Score,
    ) -> Result<()> {
        self.goal.score(device, output, &inputs.targets, score)
    }
}

/// Moves the features of `count` samples to the device.
fn input<D: Kernels>(
    device: &D,
    values: Vec<f32>,
    count: usize,
    features: Features,
) -> Result<Input<D>> {
    let shape: Shape = match features {
        Features::Image(image) => image.shape(count),
        Features::Tokens { length, .. } => {
            // The last token of a window is only a target, so it is left out of the input.
            let windows = values.chunks_exact(length + 1);
            let read: Vec<f32> = windows
                .flat_map(|window| &window[..length])
                .copied()
                .collect();
            return Ok(Input {
                ids: read.iter().map(|id| *id as usize).collect(),
                x: Var::constant(device, read, [count, length])?,
            });
        }
        other => [count, other.len()].into(),
    };
    Ok(Input {
        x: Var::constant(device, values, shape)?,
        ids: Vec::new(),
    })
}

/// The input tensor `x` of the reference files, converted for this program: windows of tokens get a last token 0;
/// images go from `(B, C, H, W)` to `(B, H, W, C)`.
fn features_of(inputs: &mut ReferenceInputs, features: Features) -> Vec<f32> {
    match features {
        Features::Image(image) => {
            let x = inputs.floats("x", &[image.channels, image.height, image.width]);
            channels_last(&x, image.channels, image.height * image.width)
        }
        Features::Tokens { length, vocabulary } => {
            let ids = inputs.indices("x", &[length], vocabulary);
            let windows = ids.chunks_exact(length);
            let padded = windows.flat_map(|ids| ids.iter().chain(&[0]));
            padded.map(|id| *id as f32).collect()
        }
        other => inputs.floats("x", &[other.len()]),
    }
}

/// Message saying why data with this target cannot be learned with this loss; `None` if they can.
pub(super) fn loss_misfit(target: Target, loss: &LossSpec) -> Option<String> {
    match (target, loss) {
        (Target::Class { classes: ..2 }, _) => Some(ONE_CLASS.to_owned()),
        (Target::None, _) => None,
        (Target::Values { .. } | Target::Labels { .. }, LossSpec::Huber(spec)) => {
            spec.incompatibility()
        }
        (Target::Values { .. } | Target::Labels { .. }, loss) if loss.error_term().is_some() => {
            None
        }
        (Target::Labels { len }, LossSpec::BinaryCrossEntropy(spec)) => spec.incompatibility(len),
        (Target::Labels { .. }, loss) => Some(format!(
            "the dataset's targets are labels, `{}` does not fit them; use `binary-cross-entropy`",
            loss.kind()
        )),
        (Target::Class { classes }, LossSpec::CrossEntropy(spec)) => spec.incompatibility(classes),
        (Target::Tokens { .. }, LossSpec::CrossEntropy(spec)) => {
            let message = "`weights` of `cross-entropy` are those of classes, the dataset's targets are tokens";
            spec.weights.as_ref().map(|_| message.to_owned())
        }
        (Target::Tokens { .. }, loss) => Some(format!(
            "the dataset's targets are tokens, `{}` does not fit them; use `cross-entropy`",
            loss.kind()
        )),
        (Target::Values { .. }, loss) => Some(format!(
            "the dataset's targets are numbers, `{}` does not fit them; use `mse`, `l1` or `huber`",
            loss.kind()
        )),
        (Target::Class { .. }, LossSpec::NoiseMse(_)) => {
            Some("`noise-mse` trains diffusion models; use `cross-entropy`".to_owned())
        }
        (Target::Class { .. }, loss) => Some(format!(
            "the dataset's targets are classes, `{}` does not fit them; use `cross-entropy`",
            loss.kind()
        )),
    }
}

impl Workload for MlpSpec {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        if let Target::Tokens { .. } = facts.target {
            return Some("`mlp` does not read tokens; use `layers`".to_owned());
        }
        if facts.target == Target::None {
            let message =
                "`mlp` learns targets, the dataset has none; use `canned-net` or `neural-sde`";
            return Some(message.to_owned());
        }
        loss_misfit(facts.target, loss)
    }

    fn learns_mixed_targets(&self) -> bool {
        true
    }

    fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
        let outputs = match target {
            Target::Values { len } | Target::Labels { len } => len,
            Target::Class { classes } => classes,
            Target::Tokens { .. } | Target::None => return None,
        };
        Some(self.forward_flops(features.len(), outputs))
    }

    fn reference_data_kind(&self, files: &ReferenceFiles<'_>) -> ReferenceDataKind {
        let len = files.inputs.len_of("x")?;
        let outputs = files.rows_of(&format!("layers.{}.weight", 2 * self.depth))?;
        let target = match files.loss {
            LossSpec::CrossEntropy(_) => Target::Class { classes: outputs },
            LossSpec::BinaryCrossEntropy(_) => Target::Labels { len: outputs },
            _ => Target::Values { len: outputs },
        };
        Ok(Some((Features::Vector { len }, target)))
    }

    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
        let mut init = Init::new(device, parts.seed.stream(Purpose::Weights));
        let (len, seed) = (parts.features.len(), parts.seed);
        let row = Features::Vector { len };
        let mut model = |outputs| self.build(&mut init, len, outputs);
        match (parts.loss, parts.target) {
            (LossSpec::CrossEntropy(spec), Target::Class { classes }) => {
                let goal = Classes::new(spec, classes, parts)?;
                Ok(supervised(device, model(classes)?, goal, row, seed))
            }
            (LossSpec::BinaryCrossEntropy(spec), Target::Labels { len }) => {
                let goal = Labels::new(spec, len)?;
                Ok(supervised(device, model(len)?, goal, row, seed))
            }
            (loss, Target::Values { len } | Target::Labels { len }) => {
                let term = loss.error_term().ok_or_else(|| TaskError::misfit(parts))?;
                let goal = Values { len, term };
                Ok(supervised(device, model(len)?, goal, row, seed))
            }
            _ => Err(TaskError::misfit(parts)),
        }
    }
}

/// The task of a model that predicts targets from samples with the features `features`.
pub(super) fn supervised<D, M, G>(
    device: &D,
    model: M,
    goal: G,
    features: Features,
    seed: Seed,
) -> Box<dyn Task<D>>
where
    D: Kernels,
    M: Predictor<D> + 'static,
    G: Goal<D> + 'static,
{
    let objective = Supervised::new(model, goal, features);
    Box::new(Backprop::new(device, objective, seed))
}
