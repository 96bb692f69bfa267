//! The supervised task of a model that the manifest declares layer by layer (`kind = "layers"`).

use super::classification::Classes;
use super::labels::Labels;
use super::regression::Values;
use super::supervised::{Predictor, loss_misfit, supervised};
use super::tokens::NextToken;
use super::workload::{BuiltTask, Workload};
use super::{TaskError, TaskParts};
use crate::base::Purpose;
use crate::datasets::{DatasetFacts, Features, Target};
use crate::layers::Init;
use crate::losses::LossSpec;
use crate::models::{Input, Layer, LayersSpec, Network, StatisticsUpdate};
use crate::ops::{Kernels, Pass, Result, Var};

impl<D: Kernels> Predictor<D> for Network<D> {
    fn forward(&self, pass: &mut Pass<D>, input: &Input<D>) -> Result<Var<D>> {
        Network::forward(self, pass, input)
    }

    fn update_statistics(&mut self, device: &D, update: &StatisticsUpdate<'_, D>) -> Result<()> {
        Network::update_statistics(self, device, update)
    }
}

impl Workload for LayersSpec {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        if facts.target == Target::None {
            return Some("`layers` learns targets, the dataset has none".to_owned());
        }
        let mistakes = self.expand(facts.features, facts.target).err();
        let first = mistakes.and_then(|mistakes| mistakes.into_iter().next());
        let wrong = loss_misfit(facts.target, loss);
        wrong.or_else(|| first.map(|mistake| mistake.message))
    }

    fn learns_mixed_targets(&self) -> bool {
        true
    }

    fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
        let layers = self.expand(features, target).ok()?;
        Some(layers.iter().map(Layer::forward_flops).sum())
    }

    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
        let layers = self.expand(parts.features, parts.target);
        let layers = layers.map_err(|mistakes| {
            let all: Vec<String> = mistakes.into_iter().map(|one| one.message).collect();
            TaskError::Misfit(all.join("; "))
        })?;
        let init = Init::new(device, parts.seed.stream(Purpose::Weights));
        let mut init = init.with_convolution(parts.convolution);
        let model = Network::new(&mut init, &layers)?;
        let (features, seed) = (parts.features, parts.seed);
        match (parts.loss, parts.target) {
            (LossSpec::CrossEntropy(spec), Target::Class { classes }) => {
                let goal = Classes::new(spec, classes, parts)?;
                Ok(supervised(device, model, goal, features, seed))
            }
            (LossSpec::CrossEntropy(spec), Target::Tokens { length, vocabulary }) => {
                let goal = NextToken {
                    length,
                    vocabulary,
                    label_smoothing: spec.label_smoothing,
                };
                Ok(supervised(device, model, goal, features, seed))
            }
            (LossSpec::BinaryCrossEntropy(spec), Target::Labels { len }) => {
                let goal = Labels::new(spec, len)?;
                Ok(supervised(device, model, goal, features, seed))
            }
            (loss, Target::Values { len } | Target::Labels { len }) => {
                let term = loss.error_term().ok_or_else(|| TaskError::misfit(parts))?;
                let goal = Values { len, term };
                Ok(supervised(device, model, goal, features, seed))
            }
            _ => Err(TaskError::misfit(parts)),
        }
    }
}
