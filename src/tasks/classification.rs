//! Classification: a row of numbers, or an image taken as one, to one of some classes.

use super::backprop::{Draw, Objective};
use super::{ReferenceInputs, Score, TaskParts};
use crate::base::Purpose;
use crate::layers::Init;
use crate::loader::Batch;
use crate::losses::CrossEntropySpec;
use crate::measure::{Phase, Stopwatch};
use crate::models::{Mlp, MlpSpec};
use crate::ops::{Kernels, Module, OpError, Pass, Var};

/// An MLP whose outputs are the logits of the classes.
pub(super) struct Classification<D: Kernels> {
    model: Mlp<D>,
    loss: CrossEntropySpec,
    inputs: usize,
    classes: usize,
}

/// `x: (B, inputs)` and B classes.
pub(super) struct Labelled<D: Kernels> {
    x: Var<D>,
    labels: Vec<usize>,
}

impl<D: Kernels> Classification<D> {
    pub(super) fn new(
        device: &D,
        model: &MlpSpec,
        loss: &CrossEntropySpec,
        parts: TaskParts<'_>,
        classes: usize,
    ) -> Result<Self, OpError> {
        let inputs = parts.features.len();
        let mut init = Init::new(device, parts.seed.stream(Purpose::Weights));
        Ok(Self {
            model: model.build(&mut init, inputs, classes)?,
            loss: loss.clone(),
            inputs,
            classes,
        })
    }
}

impl<D: Kernels> Objective<D> for Classification<D> {
    type Inputs = Labelled<D>;

    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.model
    }

    fn inputs(
        &self,
        device: &D,
        batch: Batch,
        _draw: Draw,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Labelled<D>, OpError> {
        let inputs = Labelled {
            x: Var::constant(device, batch.features, [batch.size, self.inputs])?,
            labels: indices(&batch.labels),
        };
        watch.mark(Phase::Transfer);
        Ok(inputs)
    }

    fn reference_inputs(
        &self,
        device: &D,
        inputs: &mut ReferenceInputs,
    ) -> Result<Labelled<D>, OpError> {
        let x = inputs.floats("x", &[self.inputs]);
        let labels = inputs.indices("label", self.classes);
        inputs.finish()?;
        Ok(Labelled {
            x: Var::constant(device, x, [inputs.batch(), self.inputs])?,
            labels,
        })
    }

    fn forward(&self, pass: &mut Pass<D>, inputs: &Labelled<D>) -> Result<Var<D>, OpError> {
        self.model.forward(pass, &inputs.x)
    }

    fn loss(
        &self,
        pass: &mut Pass<D>,
        output: &Var<D>,
        inputs: &Labelled<D>,
    ) -> Result<Var<D>, OpError> {
        self.loss.loss(pass, output, &inputs.labels)
    }

    fn score(
        &self,
        device: &D,
        output: &Var<D>,
        inputs: &Labelled<D>,
        score: &mut Score,
    ) -> Result<(), OpError> {
        let logits = output.to_host(device)?;
        score.add_classes(&logits, self.classes, &inputs.labels);
        Ok(())
    }
}

/// Labels as operations take them.
pub(super) fn indices(labels: &[u32]) -> Vec<usize> {
    labels.iter().map(|&label| label as usize).collect()
}
